"""The protocol of a run, as a learner reads it and as a program can."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab import Limits, Replay, Scripted, Trace, run
from zoolab.errors import LoopError
from zoolab.toolbox.starter import starter_tools


def blocks(markdown: str) -> list[object]:
    """The JSON in the fences of a protocol."""
    found = re.findall(r"^(`{3,})json\n(.*?)\n\1$", markdown, re.DOTALL | re.MULTILINE)
    return [json.loads(text) for _, text in found]


def test_it_holds_every_request_and_reply_and_the_messages_around_them():
    trace = run("What is 42 + 58?", starter_tools("add"), Replay("starter"))
    request, reply, before, after = blocks(trace.to_markdown())[:4]
    settings = {"model": "needle+smollm2", "temperature": 0, "seed": 42, "max_tokens": 160}
    assert request == {**settings, **trace.steps[1].record.body()}
    assert reply == trace.steps[2].reply.message
    assert (len(before), len(after)) == (1, 3)
    assert len(blocks(trace.to_markdown())) == 9
    assert "### Request that zoolab made" in trace.to_markdown()
    assert "### What was sent instead" in trace.to_markdown()


def test_it_says_what_ended_a_run():
    trace = Trace()
    with pytest.raises(LoopError):
        run("Hi", [], Scripted([[("fly", {})]] * 9), trace=trace, limits=Limits(retries=1))
    assert "The run ended with: retries_exhausted" in trace.to_markdown()


@given(st.text(alphabet="`~#<>\n ab", max_size=40))
def test_no_text_closes_its_fence(text):
    trace = run(text, [], Scripted([text]))
    assert blocks(trace.to_markdown())[1]["content"] == text


def test_it_can_be_written_as_utf8_when_a_text_holds_half_a_character():
    markdown = run("Hi", [], Scripted(["\ud800"])).to_markdown()
    assert blocks(markdown.encode("utf-8").decode())[1]["content"] == "\ud800"
