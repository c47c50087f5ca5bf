"""Days in the company for lab 11: scripts of calls, the lines of a user, and answers."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from labs.l11.cases import Day
from zoolab_grader import Callback, Student
from zoolab_grader.process import WHOLE

LETTERS = "SsvLDFGPIEeRTCVWQkcwKUJAMNBZXYHOnxyzluabqdftom"
#: What is often called, and again.
COMMON = "SDRRTCKE"
LINES = ("Go.", "", " And? ", "yes", "bye", "Restart critical-db.")
ANSWERS = ("yes", " YES\n", "no", "", "yes, please", "yes!", "no\nyes", None)


def draw(chance: Random) -> dict[str, Any]:
    """Return the words of a script, what the user says in each round, and the answers to questions."""
    words = [
        "." if chance.random() < 0.2 else _word(chance, chance.choice([1, 1, 2, 3]))
        for _ in range(chance.choice([1, 3, 6, 9, 14]))
    ]
    lines = [chance.choice(LINES) for _ in range(chance.choice([0, 1, 2, 3, 4]))]
    return {
        "script": " ".join([*words, *["."] * 5]),
        "lines": lines,
        "talks": chance.random() < 0.5,
        "answers": {letter: [chance.choice(ANSWERS) for _ in range(4)] for letter in "RTK"},
        "none": chance.choice([{}, {"none": None}, {"none": []}]),
        "seed": chance.random(),
    }


def _word(chance: Random, length: int) -> str:
    return "".join(chance.choice(chance.choice([LETTERS, COMMON])) for _ in range(length))


def play(student: Student, given: dict[str, Any]) -> Any:
    """Return what ran, what was said and asked, the messages, and the trace, without the words that
    are free.
    """
    student.left = WHOLE
    answers = {letter: list(texts) for letter, texts in given["answers"].items()}
    day = Day(
        Random(given["seed"]),
        given["script"],
        given["lines"],
        talks=given["talks"],
        end={"tool_calls": given["none"]["none"]} if given["none"] else {},
        **answers,
    )
    callbacks = Callback(day.user, "user"), Callback(day.model, "model"), Callback(day.act, "world")
    trace = student.call("assistant", *callbacks).value
    contents = [reply["content"] for reply in day.replies]
    return {
        "ran": day.did,
        "company": [day.world.services, day.world.logs],
        "said": [text if text in contents else "limit" in text.lower() for text in day.said[1:]],
        "asked": [_named(day, text) for text in day.asked],
        "after": len(day.after),
        "requests": [_plain(messages) for messages, _ in day.requests[-1:]],
        "lengths": [len(_plain(messages)) for messages, _ in day.requests],
        "trace": trace,
    }


def _named(day: Day, text: str) -> str:
    """Return the service that a question names: the longest, because a name may begin like another one."""
    given = [arguments for name, arguments in day.calls.values() if name == "restart_service"]
    names = [str(each["service"]).strip() for each in given if isinstance(each, dict)]
    return max((name for name in names if name in text), key=len, default="")


def _plain(messages: list[dict[str, Any]]) -> list[Any]:
    sent = [message for message in messages if message.get("role") != "system"]
    return [
        [message["tool_call_id"], _result(str(message["content"]))] if message["role"] == "tool" else message
        for message in sent
    ]


def _result(content: str) -> Any:
    """Return what the world returned, or the word that says why the call did not run."""
    try:
        return json.loads(content)
    except ValueError:
        return next((word for word in ("error", "limit", "already", "denied") if word in content.lower()), "")
