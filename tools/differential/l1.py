"""Conversations for lab 1: replies, tools that return or raise, and decisions; requests and runs are judged.

What the task leaves open is not compared: the words of an error, the order of runs, which error a call of an
unknown tool with broken arguments has, and how the last calls that the limit allows are answered.
"""

from __future__ import annotations

import json
from functools import partial
from random import Random
from typing import Any

from zoolab.jsontext import NotStrictJSON, canonical, parse_json
from zoolab_grader import Callback, Student, Wrong

TOOLS = ("ping", "usage", "delete")
VALUES: tuple[Any, ...] = (
    "up",
    " up \r\n",
    "",
    '{"a":1}',
    "error: none",
    [3, 1],
    {"result": 1},
    None,
    True,
    0,
    0.5,
    [],
    {"a": ["é"]},
    "x" * 120_000,
)
KINDS = (ValueError, KeyError, TypeError, RuntimeError, TimeoutError, OSError)
BROKEN = (
    "",
    " ",
    "{",
    "null",
    "[]",
    '"{}"',
    "7",
    '{"host": 1} {}',
    "[{}]",
    "```json\n{}\n```",
    "{'host': 1}",
    '{"host": 1,}',
    '{"host": "h0',
    'x {"host": 1}',
    '{"host": "\n"}',
)
NOES: tuple[Any, ...] = (False, None, 1, "yes", [True], {}, "raise")


def draw(chance: Random) -> dict[str, Any]:
    """Return a conversation so far, replies, a limit, and what the tools and `confirm` do."""
    replies: list[dict[str, Any]] = []
    for _ in range(chance.choice([0, 1, 2, 3, 4, 15])):
        calls = [_call(chance) for _ in range(chance.choice([1, 1, 2, 3]))]
        text = chance.choice([None, "", "Let me look."])
        replies.append({"role": "assistant", "content": text, "tool_calls": calls, **_more(chance)})
    nothing: list[dict[str, Any]] = [{}, {"tool_calls": None}, {"tool_calls": []}]
    end = chance.choice(nothing)
    replies.append(
        {"role": "assistant", "content": chance.choice(["Done.", "", None]), **end, **_more(chance)}
    )
    opening: list[dict[str, Any]] = [{"role": "user", "content": "How is it?"}]
    if chance.random() < 0.3:
        opening[:0] = [{"role": "system", "content": "Be brief."}]
    return {
        "messages": opening,
        "replies": replies,
        "limit": chance.choice([1, 2, 3, 14, 20]),
        "tools": chance.sample(TOOLS, chance.choice([0, 2, 3, 3, 3])),
        "gives": {tool: chance.choice([*VALUES, "raise"]) for tool in TOOLS},
        "raises": {tool: chance.randrange(len(KINDS)) for tool in TOOLS},
        "critical": chance.choice(["", "delete", "delete", "ping"]),
        "says": {f"h{number}": chance.choice([True, True, *NOES]) for number in range(3)},
    }


def _more(chance: Random) -> dict[str, Any]:
    return {"reasoning": "I think.", "refusal": None} if chance.random() < 0.3 else {}


def _call(chance: Random) -> dict[str, Any]:
    arguments: dict[str, Any] = {"host": f"h{chance.randrange(3)}"}
    if chance.random() < 0.3:
        odd: dict[str, Any] = {"name": 1, "self": 2.0, "Host": True, "a-b": "7"}
        arguments = chance.choice([{}, {"host": None}, odd, {**arguments, "deep": {"a": [1.5, True]}}])
    written = json.dumps(arguments, indent=chance.choice([None, 2]))
    name = chance.choice([*TOOLS, *TOOLS, "Ping", "nothing"])
    if name in TOOLS and chance.random() < 0.15:
        written = chance.choice(BROKEN)
    function = {"name": name, "arguments": written}
    return {"id": f"call_{chance.randrange(3)}", "type": "function", "function": function}


class _Walk:
    """What the student's loop did with one input."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.requests: list[Any] = []
        self.ran: list[list[Any]] = []

    def model(self, messages: Any, schemas: Any = None, tools: Any = None) -> Any:
        self.requests.append([messages, tools if schemas is None else schemas])
        replies = self.given["replies"]
        if len(self.requests) > len(replies):
            raise RuntimeError("the model was asked again after its last reply")
        return replies[len(self.requests) - 1]

    def run(self, tool: str, /, **arguments: Any) -> Any:
        self._note(tool, arguments)
        if tool == self.given["critical"] and self.says(arguments) is not True:
            self.ran.append(["not confirmed", tool, arguments])
        value = self.given["gives"][tool]
        if value == "raise":
            raise KINDS[self.given["raises"][tool]](f"{tool} is down")
        return value

    def says(self, arguments: dict[str, Any]) -> Any:
        return self.given["says"].get(str(arguments.get("host")), True)

    def confirm(self, **arguments: Any) -> Any:
        self._note("confirm", arguments)
        said = self.says(arguments)
        if said == "raise":
            raise TimeoutError("nobody is there")
        return said

    def _note(self, what: str, arguments: dict[str, Any]) -> None:
        # The calls of the last reply that the limit allows may run, or not.
        if len(self.requests) < self.given["limit"]:
            self.ran.append([len(self.requests), what, arguments])


def play(student: Student, given: dict[str, Any]) -> Any:
    """Return what the model was sent, what ran, what came back, and the caller's list afterwards."""
    walk = _Walk(given)
    offered = {}
    for name in given["tools"]:
        offered[name] = {"schema": {"name": name}, "run": Callback(partial(walk.run, name), name)}
    if given["critical"] in offered:
        offered[given["critical"]]["confirm"] = Callback(walk.confirm, "confirm")
    model = Callback(walk.model, "model")
    answer = student.call("run_loop", given["messages"], offered, model, given["limit"], args_after=True)
    try:
        requests = [[_plain(messages), sorted(map(canonical, tools))] for messages, tools in walk.requests]
        returned = _plain(answer.value)
    except (TypeError, AttributeError, KeyError) as error:
        raise Wrong("not a list of messages") from error
    if len(walk.requests) == given["limit"] and returned[-1][0] == "tool":
        returned = [each[:2] if at >= len(requests[-1][0]) else each for at, each in enumerate(returned)]
    return [requests, sorted(walk.ran, key=canonical), returned, answer.args[0] == given["messages"]]


def _plain(messages: Any) -> list[Any]:
    return [
        ["tool", message["tool_call_id"], _content(message["content"])]
        if message["role"] == "tool"
        else [message["role"], {**message, "tool_calls": message.get("tool_calls") or []}]
        for message in messages
    ]


def _content(text: Any) -> Any:
    if isinstance(text, str) and "error" in text.lower():
        known = [*(f"{tool} is down" for tool in TOOLS), "Ping", "nothing"]
        return ["error", [each for each in known if each in text]]
    try:
        return ["value", parse_json(text)]
    except (NotStrictJSON, TypeError):
        return ["text", text]
