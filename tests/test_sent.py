"""What a model class really sends is in the trace, and every view shows it beside the request."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import openai
import pytest
from server import completion, serving
from walks import TOOLS

from zoolab import Replay, Scripted, Trace, run
from zoolab.models.openai import OpenAIModel
from zoolab.records import Reply, Request
from zoolab.show.inspector.panel import panel_of
from zoolab.show.moment import Moment, moments_of
from zoolab.show.text import details

OTHER = [{"role": "system", "content": "Only the result."}, {"role": "user", "content": "WORKED EXAMPLE"}]


class Wrapping:
    """A model class that sends another conversation than zoolab made."""

    model, calls = "wrapped", "native"

    def __call__(self, request: Request) -> Reply:
        reply = Scripted(["Fine."])(request)
        return replace(reply, sent={"model": "small", "seed": 7, "messages": OTHER})


def shown(trace: Trace, first: int = 1) -> dict[str, str]:
    """What each view shows of a request, by its step, and of the reply to it."""
    views = {"html": trace.to_html(), "markdown": trace.to_markdown()}
    views["lines"] = "\n".join(line for moment in moments_of(trace) for line in details(moment))
    for step in (first, first + 1):
        views[f"panel {trace.steps[step].kind}"] = json.dumps(panel_of(Moment(trace, step)))
    return views


def test_another_conversation_is_shown_beside_the_request(tmp_path: Path) -> None:
    trace = run("THE QUESTION", TOOLS, Wrapping())
    for each in (trace, Trace.load(trace.save(tmp_path / "t.jsonl"))):
        assert each.steps[2].reply is not None
        assert each.steps[2].reply.sent == {"model": "small", "seed": 7, "messages": OTHER}
        for name, text in shown(each).items():
            assert "WORKED EXAMPLE" in text, name
            assert "sent instead" in text, name
        assert "THE QUESTION" in shown(each)["panel request"]


def test_nothing_but_other_messages_is_no_empty_block() -> None:
    class OnlyMessages(Wrapping):
        def __call__(self, request: Request) -> Reply:
            return replace(super().__call__(request), sent={"messages": OTHER})

    for name, text in shown(run("THE QUESTION", TOOLS, OnlyMessages())).items():
        assert "WORKED EXAMPLE" in text, name
        assert "but for the messages: {}" not in text, name


def test_the_settings_that_a_model_class_adds_are_shown() -> None:
    with serving(completion({"role": "assistant", "content": "Hello"})) as server:
        client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)
        trace = run("Hi", TOOLS, OpenAIModel("tiny", client=client, seed=5))
    reply, request = trace.steps[2].reply, trace.steps[1].record
    assert isinstance(request, Request)
    assert reply is not None
    assert reply.sent == {"model": "tiny", "temperature": 0, "seed": 5}
    assert reply.body_sent(request) == server.bodies[0]
    for name, text in shown(trace).items():
        assert "seed" in text, name
        assert "sent instead" not in text, name


@pytest.mark.parametrize("stream", [False, True])
def test_a_recording_keeps_what_was_sent_instead(tmp_path: Path, stream: bool) -> None:
    path = tmp_path / "r.jsonl"
    run("Hi", TOOLS, Replay(path, live=Wrapping()))
    reply = run("Hi", TOOLS, Replay(path, stream=stream)).steps[2].reply
    assert reply is not None
    assert reply.sent == {"model": "small", "seed": 7, "messages": OTHER}
