"""The plan of the recordings, the recorder that follows it, and what a model answered."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

import tools.recordings
from tools.recordings.holding import hold_all
from tools.recordings.planning import Conversation, RecordingPlan, plan
from zoolab import Scripted
from zoolab.errors import InvalidInput
from zoolab.models.recording import Recording
from zoolab.toolbox.catalog import tools_named

KEPT = sorted((Path(tools.recordings.__file__).parent / "qwen").glob("*.jsonl.gz"))


def test_the_plan_has_conversations_of_all_kinds():
    counts = {each.name: len(each.conversations) for each in plan()}
    assert counts["tasks"] >= 60
    assert counts["selection-3"] == counts["selection-8"] > 400
    assert {f"sampled-seed{seed}" for seed in range(1, 6)} <= counts.keys()
    assert all(counts.values())
    with pytest.raises(InvalidInput, match="no set is named 'cats'"):
        list(plan(["cats"]))


def test_eight_tools_are_offered_with_the_case_s_own_three_among_them():
    [three], [eight] = plan(["selection-3"]), plan(["selection-8"])
    for few, many in zip(three.conversations, eight.conversations, strict=True):
        assert len(few.tools) == 3
        assert len(many.tools) == 8
        assert set(few.tools.names()) <= set(many.tools.names())


def test_a_recorder_that_is_stopped_goes_on(tmp_path):
    path = tmp_path / "r.jsonl"
    first = {"name": "add", "arguments": "{"}
    asked = [
        Conversation("What is 1 + 2?", tools_named("add")),
        Conversation("What is 3 + 4?", tools_named("add"), first=first),
    ]
    told: list[str] = []
    hold_all(RecordingPlan("sums", {}, asked[:1]), Scripted(["3"]), path, told.append)
    hold_all(RecordingPlan("sums", {}, asked), Scripted(["7"]), path, told.append)
    assert len(Recording(path)) == 2
    assert told[0] == told[1] == "sums   1  What is 1 + 2? | no call | 3"
    assert told[2] == "sums   2  What is 3 + 4? | add({) | 7"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_what_is_kept_was_recorded_and_says_of_whom(path, tmp_path):
    plain = tmp_path / path.stem
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    recording = Recording(plain)
    assert (recording.header.made, recording.header.model) == ("recorded", "qwen")
    assert "cc324af070c2" in recording.header.who
    rounds = Counter[str]()
    for body in recording.requests:
        question = next(message["content"] for message in body["messages"] if message["role"] == "user")
        rounds[question] = max(
            rounds[question], sum(message["role"] == "assistant" for message in body["messages"])
        )
    if path.name == "tasks.jsonl.gz":
        assert len(rounds) == 60
        assert sum(number >= 2 for number in rounds.values()) >= 25
