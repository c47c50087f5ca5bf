"""`zoolab.mini` beside `zoolab.walk`: the same steps, and the same `messages[]` to the letter."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labs.l9.right import own_loop
from zoolab import Limits, Policy, Replay, Reply, Request, Tool, mini, tool, walk
from zoolab.errors import ReplayMiss, ToolLoopLimitReached, ToolRetriesExhausted, ZoolabError
from zoolab.files import course_folder
from zoolab.models.recording import shipped
from zoolab.records import Step
from zoolab.steps.tool_call import message_with_calls, read_calls
from zoolab.toolbox.catalog import tools_defined

Message = dict[str, Any]
Said = tuple[Message, str | None]
#: Makes the tools anew, because they may change a world.
Kit = Callable[[], Sequence[Tool]]
QUESTION = [{"role": "user", "content": "What is the sum?"}]


class ScriptEnded(ZoolabError):
    """The model of a test has nothing more to say."""


class Seen:
    """What a loop did: its steps with `messages[]`, what it sent, and how it ended."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int, int | None, str]] = []
        self.sent: list[str] = []
        self.end = ""

    def step(self, step: Any) -> None:
        self.steps.append((step.kind, step.turn, step.slot, json.dumps(list(step.messages))))

    def facts(self) -> tuple[Any, ...]:
        return self.steps, self.sent, self.end


def scripted(script: Sequence[Said], reply: Callable[..., Any]) -> Callable[[Any], Any]:
    left = iter(script)

    def model(_request: Any) -> Any:
        said = next(left, None)
        if said is None:
            raise ScriptEnded("the script has ended")
        return reply(*said)

    return model


def by_walk(messages: list[Message], kit: Kit, script: Sequence[Said], **limits: int) -> Seen:
    seen = Seen()
    steps = walk(
        None,
        kit(),
        scripted(script, Reply),
        messages=messages,
        envelope="plain",
        parallel=False,
        policy=Policy(ask=()),
        limits=Limits(**limits),
        calls="native",
    )
    try:
        for step in steps:
            seen.step(step)
            if isinstance(step.record, Request):
                seen.sent.append(json.dumps(step.record.body()["messages"]))
        seen.end = json.dumps(list(steps.messages or ()))
    except (ToolLoopLimitReached, ToolRetriesExhausted, ScriptEnded) as error:
        seen.end = error.what
    return seen


def by_mini(
    messages: list[Message],
    kit: Kit,
    script: Sequence[Said],
    loop: ModuleType = mini,
    **limits: int,
) -> Seen:
    seen = Seen()
    tools = [
        loop.Tool(each.name, each.description, each.parameters, each.function) for each in kit()
    ]
    steps = loop.walk(messages, tools, scripted(script, loop.Reply), **limits)
    try:
        while True:
            step = next(steps)
            seen.step(step)
            if isinstance(step.record, loop.Request):
                seen.sent.append(json.dumps(list(step.record.messages)))
    except StopIteration as end:
        seen.end = json.dumps(end.value)
    except (RuntimeError, ScriptEnded) as error:
        seen.end = getattr(error, "what", str(error))
    return seen


def agree(messages: list[Message], kit: Kit, script: Sequence[Said], **limits: int) -> Seen:
    wanted = by_walk(messages, kit, script, **limits)
    assert by_mini(messages, kit, script, **limits).facts() == wanted.facts()
    return wanted


# The recordings


def plain(tool: Tool) -> Tool:
    """The tool without risk, types of its own and zoolab's errors, which mini does not know."""

    def run(**arguments: Any) -> Any:
        try:
            return tool.invoke(arguments)
        except ZoolabError as error:
            raise LookupError(str(error)) from None

    return Tool(tool.name, tool.description, tool.parameters, run)


def kit_of(body: dict[str, Any]) -> Kit:
    """The tools that a recorded request offers; those that the toolbox does not have do nothing."""
    asked = body.get("tools", [])

    def kit() -> list[Tool]:
        known = {each.name: plain(each) for each in tools_defined(asked)}
        functions = [each["function"] for each in asked]
        return [known.get(each["name"]) or idle(**each) for each in functions]

    return kit


def idle(name: str, description: str, parameters: dict[str, Any], **_: Any) -> Tool:
    return Tool(name, description, parameters, lambda **_: "done")


def replies(replay: Replay, body: dict[str, Any], kit: Kit) -> list[Said]:
    """What the model said in a recorded conversation, as far as it goes; calls in text as others."""
    said: list[Said] = []
    as_text = replay.recording.header.calls != "native"

    def model(request: Request) -> Reply:
        reply = replay(request)
        calls = read_calls(reply.message, text=as_text, tools=replay_tools)
        message = reply.message
        if calls and not message.get("tool_calls"):
            message = message_with_calls(message, calls, sent_natively=True)
        said.append((json.loads(json.dumps(message)), reply.finish_reason))
        return reply

    replay_tools = {each.name: each.parameters for each in kit()}
    try:
        options: dict[str, Any] = {"policy": Policy(ask=()), "calls": replay.recording.header.calls}
        list(walk(None, kit(), model, messages=body["messages"], **options))
    except (ReplayMiss, ToolLoopLimitReached, ToolRetriesExhausted):
        pass
    return said


def recorded(name: str, part: slice) -> Iterator[Seen]:
    replay = Replay(name)
    for body in replay.recording.openings[part]:
        kit = kit_of(body)
        yield agree(body["messages"], kit, replies(replay, body, kit))


@pytest.mark.parametrize("name", shipped())
def test_a_sample_of_every_recording(name: str) -> None:
    assert list(recorded(name, slice(None, None, 12)))


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_every_conversation_of_every_recording(name: str) -> None:
    assert list(recorded(name, slice(None)))
