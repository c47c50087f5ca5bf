"""Conversations, budgets and ways to count for lab 2; what comes back is judged message by message."""

from __future__ import annotations

from random import Random
from typing import Any

from zoolab.jsontext import canonical
from zoolab_grader import Callback, Student

CONTENTS = ("", None, "no", "a longer text than the others", [{"type": "text", "text": "a part"}])
#: How a reply without calls may say so.
NO_CALLS: tuple[dict[str, Any], ...] = ({}, {}, {"tool_calls": None}, {"tool_calls": []})


def draw(chance: Random) -> dict[str, Any]:
    """Return a conversation with at least one question, a budget, and how messages are counted."""
    messages: list[dict[str, Any]] = []
    for _ in range(chance.randrange(1, 9)):
        role = chance.choice(["system", "developer", "user", "user", "assistant", "calls", "calls"])
        if role == "calls":
            ids = [f"call_{chance.randrange(3)}" for _ in range(chance.randrange(1, 4))]
            asked = {"name": "look", "arguments": chance.choice(['{"at": 1}', '{"at":2 }'])}
            calls = [{"id": id, "type": "function", "function": asked} for id in ids]
            messages.append({"role": "assistant", "content": chance.choice(CONTENTS), "tool_calls": calls})
            messages += [
                {"role": "tool", "tool_call_id": id, "content": chance.choice(CONTENTS)} for id in ids
            ]
        else:
            more = chance.choice(NO_CALLS) if role == "assistant" else {}
            messages.append({"role": role, "content": chance.choice(CONTENTS), **more})
    if all(message["role"] != "user" for message in messages):
        messages.append({"role": "user", "content": chance.choice(CONTENTS)})
    base, per = chance.choice([(1, 10**6), (0, 1), (5, 3), (40, 10)])
    sizes = [_size(message, base, per) for message in messages]
    budget = sum(sizes[chance.randrange(len(sizes)) :]) + chance.choice([-1, 0, 0, 1, 7])
    return {"messages": messages, "budget": max(budget, 0), "base": base, "per": per}


def play(student: Student, given: dict[str, Any]) -> Any:
    """Return the messages that are kept, and the caller's list afterwards."""

    def tokens_of(message: Any) -> int:
        if not isinstance(message, dict):
            raise TypeError("tokens_of takes one message, a dict")
        return _size(message, given["base"], given["per"])

    asked = Callback(tokens_of, "tokens_of")
    answer = student.call("condense", given["messages"], given["budget"], asked, args_after=True)
    return [answer.value, answer.args[0]]


def _size(message: dict[str, Any], base: int, per: int) -> int:
    return base + len(canonical([message.get("content"), message.get("tool_calls")])) // per
