"""Conversations for lab 10: scripts and decisions. What ran, what was asked, and results are judged."""

from __future__ import annotations

from random import Random
from typing import Any

from labs.l10.cases import ORDER, WORLD, calls_of, lead, script_of
from zoolab_grader import Student
from zoolab_grader.process import WHOLE

CALLS = list(calls_of(Random(0)))
#: What is often asked about, and again.
RISKY = ["logs", "draft", "restart", "restart", "restart_other", "ping", "ping_turned", "all", "all_turned"]


def draw(chance: Random) -> dict[str, Any]:
    """Return a script, the decisions, and whether the program is started anew before each of them."""
    replies = [
        " ".join(chance.choice(chance.choice([CALLS, RISKY])) for _ in range(chance.choice([1, 1, 2, 4])))
        for _ in range(chance.randrange(1, 7))
    ]
    decisions = [chance.choice(["once", "session", "deny"]) for _ in range(12)]
    fresh = chance.random() < 0.03
    return {
        "script": " | ".join(replies),
        "decisions": " ".join(decisions),
        "fresh": fresh,
        "told": chance.choice([None, None, "", ORDER]),
        "first": [{"role": "system", "content": ORDER}] if chance.random() < 0.2 else [],
        "last": chance.choice([{}, {"tool_calls": None}, {"tool_calls": []}]),
        "seed": chance.random(),
    }


def play(student: Student, given: dict[str, Any]) -> Any:
    """Return what happened, and the messages, without the words of a result that is no result of a tool."""
    student.left = WHOLE  # each conversation has a process of its own, which takes its time
    replies = script_of(calls_of(Random(given["seed"])), given["script"], last=given["last"])
    how = {"domains": WORLD, "strict": True, "exact": True, "fresh": given["fresh"]}
    how |= {key: given[key] for key in ("told", "first") if given[key] is not None}
    events, messages, requests = lead(student, replies, given["decisions"], **how)
    return [events, [_plain(message) for message in messages], len(requests)]


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("role") != "tool":
        return message
    content = str(message.get("content"))
    said = next((word for word in ("denied", "error") if word in content.lower()), content)
    return {"tool_call_id": message.get("tool_call_id"), "content": said}
