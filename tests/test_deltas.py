"""What a model streams is told while it arrives: to a callback, in the inspector, on a terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from counting import ends
from inspected import streamed
from server import Answer, serving, sse
from test_inspector import Browser

from zoolab import (
    OpenAIModel,
    Reply,
    Request,
    Scripted,
    Trace,
    arun,
    as_tool,
    inspect,
    run,
    tool,
    walk,
    with_tools,
)
from zoolab.errors import InvalidInput, ModelError, ReadOnlyRecord
from zoolab.models.assembly import assemble
from zoolab.models.deltas import listening


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def chunk(delta: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


def test_a_delta_is_told_before_the_next_one_comes() -> None:
    heard: list[Any] = []

    def arriving() -> Iterator[dict[str, Any]]:
        for number, word in enumerate(["It", " is", " 3."]):
            yield chunk({"content": word})
            assert len(heard) == number + 1

    trace = run("1 + 2?", [], lambda _: assemble(arriving()), on_delta=heard.append)
    assert trace.answer == "It is 3."
    assert tuple(heard) == trace.steps[-1].reply.pieces


def test_deltas_of_an_endpoint_come_while_it_still_sends() -> None:
    """The server sends no end until both deltas are heard."""
    heard: list[Any] = []
    text = sse([chunk({"content": "Hi"}), chunk({"content": "."})], done=False)
    with serving(Answer(text, hang=3_600, drop=True)) as server:

        def hear(delta: Any) -> None:
            heard.append(delta)
            if len(heard) == 2:
                server.ending.set()

        client = openai.OpenAI(api_key="none", base_url=server.url, max_retries=0)
        # The connection ends without the end of the reply.
        with ends(), pytest.raises(ModelError):
            run("Hi", [], OpenAIModel("m", client=client, stream=True), on_delta=hear)
    assert len(heard) == 2


def test_every_turn_is_heard_and_the_pieces_stay_as_they_came() -> None:
    heard: list[dict[str, Any]] = []
    trace = run("42 + 58?", [add], streamed, on_delta=heard.append)
    assert tuple(heard) == sum((turn.reply.pieces for turn in trace.turns), ())
    assert trace.answer == "It is 100."
    with pytest.raises(ReadOnlyRecord):
        heard[0]["content"] = "changed"
    assert run("42 + 58?", [add], streamed).steps[-1].reply == trace.steps[-1].reply


def test_a_reply_that_is_not_streamed_is_one_delta() -> None:
    heard: list[dict[str, Any]] = []
    trace = run("Hi", [], Scripted(["Hello"]), on_delta=heard.append)
    assert heard == [trace.messages[-1]]


def test_an_async_model_is_heard_too() -> None:
    async def model(request: Request) -> Reply:
        await asyncio.sleep(0)
        return streamed(request)

    for go in (
        lambda **more: run("?", [add], model, **more),
        lambda **more: asyncio.run(arun("?", [add], model, **more)),
    ):
        heard: list[Any] = []
        trace = go(on_delta=heard.append)
        assert tuple(heard) == sum((turn.reply.pieces for turn in trace.turns), ())


def test_a_sub_agent_is_not_heard_but_a_model_with_tools_is() -> None:
    heard: list[Any] = []
    helper = as_tool("helper", "Helps.", [add], streamed)
    run("Go.", [helper], Scripted([[("helper", {"task": "42 + 58?"})], "Done."]), on_delta=heard.append)
    assert len(heard) == 2, "the message of each reply of the script"
    heard.clear()
    run("42 + 58?", [], with_tools(streamed, [add]), on_delta=heard.append)
    assert heard[-2:] == [{"content": "It is"}, {"content": " 100."}]


def test_an_error_of_the_callback_is_one_line_and_the_reply_is_read_whole() -> None:
    heard: list[Any] = []

    def fails(delta: dict[str, Any]) -> None:
        heard.append(delta)
        raise ValueError("no more\nlines")

    trace = Trace()
    with pytest.raises(InvalidInput, match=r"^on_delta raised ValueError: no more") as caught:
        run("42 + 58?", [add], streamed, on_delta=fails, trace=trace)
    assert (len(heard), type(caught.value.__cause__), trace.outcome) == (1, ValueError, "invalid_input")
    with pytest.raises(InvalidInput, match="on_delta is"):
        run("Hi", [], streamed, on_delta="print")


def test_a_delta_that_is_nested_too_deeply_is_refused_with_the_reply() -> None:
    deep: Any = "x"
    for _ in range(3_000):
        deep = [deep]
    heard: list[Any] = []
    with pytest.raises(ModelError, match="nested"):
        run(
            "Hi",
            [],
            lambda _: assemble([chunk({"content": "Hi"}), chunk({"x": deep})]),
            on_delta=heard.append,
        )
    assert heard == [{"content": "Hi"}]


def test_a_listener_that_asks_a_model_does_not_hear_itself() -> None:
    heard: list[Any] = []

    def asks(delta: dict[str, Any]) -> None:
        heard.append(delta)
        streamed(Request([{"role": "user", "content": "Hi"}]))

    with listening(asks):
        assemble([chunk({"content": "Hi"})])
    assert heard == [{"content": "Hi"}]


def test_the_inspector_fills_in_the_arguments_of_a_call_as_they_arrive() -> None:
    shown: list[Any] = []

    def slowly() -> Iterator[dict[str, Any]]:
        yield chunk({"content": "Let me add."})
        yield chunk(
            {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "add", "arguments": '{"a": 4'}}]}
        )
        time.sleep(0.3)
        yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": "2, "}}]})
        shown.append(browser.inspector.live)
        yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"b": 58}'}}]})

    browser = Browser(inspect(walk("42 + 58?", [add], lambda _: assemble(slowly()))))
    browser.say({"type": "until", "kind": "tool_call"})
    text, arguments = shown[0]["arriving"]
    assert (shown[0]["state"], text["text"], arguments["text"]) == ("running", "Let me add.", '{"a": 42, ')
    assert "add" in arguments["label"]
    assert "arriving" not in browser.inspector.live
    assert browser.inspector.trace.tool_calls[0].arguments == '{"a": 42, "b": 58}'


def test_the_inspector_does_not_show_what_a_sub_agent_streams() -> None:
    shown: list[Any] = []

    def slow(request: Request) -> Reply:
        time.sleep(0.3)
        reply = streamed(request)
        shown.append("arriving" in browser.inspector.live)
        return reply

    helper = as_tool("helper", "Helps.", [add], slow)
    script = Scripted([[("helper", {"task": "42 + 58?"})], "Done."])
    browser = Browser(inspect(walk("Go.", [helper], script)))
    browser.say({"type": "run"})
    assert (shown, browser.inspector.trace.answer) == ([False, False], "Done.")


def test_a_terminal_shows_a_streamed_reply_as_it_comes() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "zoolab", "walk", "--recording", "starter", "--stream"]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        said = b""
        while piece := _read(ours):
            said += piece
    assert process.returncode == 0
    before, _, _ = said.decode().partition("tool_call")
    assert "\nadd " in before.replace("\r", "")
    assert "42" in before.partition("\nadd ".replace("\n", "\r\n"))[2]


def _read(end: int) -> bytes:
    try:
        return os.read(end, 4096)
    except OSError:  # the other end is closed
        return b""
