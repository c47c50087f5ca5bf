"""What the tests of walks share: three tools, a model that remembers, and somebody who answers steps."""

import asyncio
from typing import Any

from zoolab.models.scripted import Scripted
from zoolab.steps.define import tool
from zoolab.tools import ToolRegistry

CALL = [("add", {"a": 1, "b": 2})]


@tool
def add(a: int, b: int = 0) -> int:
    """Add two integers."""
    return a + b


@tool
def fail(a: int = 0) -> int:
    """Fail."""
    raise FileNotFoundError(f"no {a}")


@tool(risk="high")
def wipe(disk: str = "x") -> str:
    """Wipe a disk."""
    return f"wiped {disk}"


TOOLS = ToolRegistry([add, fail, wipe])


class Watched:
    """A scripted model that keeps the requests that it was sent."""

    def __init__(self, *replies):
        self.model, self.requests = Scripted(replies), []

    def __call__(self, request):
        self.requests.append(request)
        return self.model(request)

    @property
    def last(self):
        return self.requests[-1].messages


def drive(steps, **answers):
    """Run a walk; the first step of each named kind is answered so."""
    seen, answer = [], None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return seen
        seen.append(step)
        answer = answers.pop(step.kind, None)
        if callable(answer):
            answer = answer(step)


def check_paired(messages):
    """Each assistant message with calls is followed by one tool message a call, in order, ids unique."""
    used = []
    for at, message in enumerate(messages):
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        results = messages[at + 1 : at + 1 + len(ids)]
        assert [(m["role"], m["tool_call_id"]) for m in results] == [("tool", i) for i in ids]
        used += ids
    assert len(set(used)) == len(used)
    assert sum(m["role"] == "tool" for m in messages) == len(used)


def invoke(tools: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Call a tool of an MCP server without a walk: only the server checks the arguments."""
    return asyncio.run(tools.registry[name].invoke(arguments))
