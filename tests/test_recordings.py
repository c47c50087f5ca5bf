"""The recordings that come with zoolab: whole, honest about who answered, and replayed offline."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

import zoolab
from zoolab import Limits, Policy, Replay, Request, Scripted, ToolCall, Trace, read_calls, walk
from zoolab.errors import LoopError, ReplayMiss
from zoolab.models.recording import Recording, shipped
from zoolab.secrets import scrub
from zoolab.toolbox.catalog import tools_named
from zoolab_course.worlds.devops import DevOps, devops_tools
from zoolab_study import datasets

RECORDINGS = Path(zoolab.__file__).parent / "models" / "recordings"


def prompts(name: str) -> list[dict[str, Any]]:
    lines = (RECORDINGS / f"{name}-prompts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def hold(asked: dict[str, Any], replay: Replay) -> Trace:
    """The conversation as `zoolab record` held it."""
    options: dict[str, Any] = {"limits": Limits(turns=3), "policy": Policy(ask=())}
    options |= {"system": asked.get("system"), "envelope": asked.get("envelope", "json")}
    trace = Trace()
    with suppress(LoopError):
        Trace.record(walk(asked["prompt"], tools_named(*asked["tools"]), replay, **options), into=trace)
    return trace


@pytest.mark.parametrize("stream", [False, True])
def test_the_starter_recording_replays_to_its_end(stream: bool) -> None:
    replay = Replay("starter", stream=stream)
    asked = prompts("starter")
    traces = [hold(each, replay) for each in asked]
    header = replay.recording.header
    assert (header.made, "Needle" in header.who, "SmolLM2" in header.who) == ("recorded", True, True)
    assert len(traces) >= 30
    assert {trace.outcome for trace in traces} <= {"answer", "loop_limit", "retries_exhausted"}
    assert len({call.tool for trace in traces for call in trace.to_frame().itertuples() if call.tool}) >= 8
    codes = {error.code for trace in traces for error in trace.errors}
    assert {"invalid_arguments", "resource_not_found"} <= codes
    needless = {"Hello!", "Who wrote Hamlet?", "Thanks, that is all for today."}
    wrong = [each["prompt"] for each, trace in zip(asked, traces, strict=True) if trace.tool_calls]
    assert needless & set(wrong)


@pytest.mark.parametrize("stream", [False, True])
def test_the_authored_recording_replays_to_an_answer(stream: bool) -> None:
    replay = Replay("authored", stream=stream)
    assert (replay.recording.header.made, replay.recording.header.who) == ("authored", Scripted.who)
    for asked in prompts("authored"):
        assert hold(asked, replay).answer == asked["replies"][-1]


@pytest.mark.parametrize("stream", [False, True])
def test_the_domains_replay_on_their_worlds_as_they_were_recorded(stream: bool) -> None:
    """The worlds are small and stand still: else a later request would not be in the recording."""
    replay = Replay("domains", stream=stream)
    asked = prompts("domains")
    traces = [hold(each, replay) for each in asked]
    assert (replay.recording.header.made, {trace.outcome for trace in traces}) == (
        "recorded",
        {"answer", "cut"},  # SmolLM2 does not always come to an end
    )
    domains = {name.partition(".")[0] for each in asked for name in each["tools"]}
    assert domains >= {"devops", "support", "analytics", "security"}
    codes = {error.code for trace in traces for error in trace.errors}
    assert {"resource_not_found", "permission_denied", "invalid_arguments"} <= codes


def test_a_changed_world_is_a_miss_that_shows_what_changed() -> None:
    world, asked = DevOps(disks={"db01": {"/": 99}}), prompts("domains")[2]
    recorded = tools_named(*asked["tools"])
    tools = [tool for tool in devops_tools(world) if tool.name in recorded]
    with pytest.raises(ReplayMiss) as caught:
        Trace.record(walk(asked["prompt"], tools, Replay("domains")))
    assert "99%" in caught.value.difference


def test_every_shipped_recording_is_whole_and_without_secrets() -> None:
    assert {"starter", "authored", "domains"} <= shipped().keys()
    for name, path in shipped().items():
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        assert len(Recording(name)) == len(text.splitlines()) - 1
        assert "[secret removed]" not in text
        assert scrub(text) == text


@pytest.mark.parametrize("size", [3, 8])
def test_a_walk_and_read_calls_find_the_same_calls(size: int) -> None:
    """Two readers gave two numbers, and one of them became a lesson."""
    replay = Replay(f"qwen-selection-{size}")
    tools = datasets.selection_tools()
    for body in replay.recording.openings[::7]:
        prompt, names = body["messages"][-1]["content"], [each["function"]["name"] for each in body["tools"]]
        steps = walk(prompt, [tools[name] for name in names], replay)
        read_so_far = takewhile(lambda step: step.kind in ("define", "request", "tool_call"), steps)
        walked = [step.record for step in read_so_far if isinstance(step.record, ToolCall)]
        reply = replay(Request(body["messages"], tuple(body["tools"])))
        read = read_calls(reply.message, text=True, tools=tools)
        assert [(call.name, call.arguments) for call in read] == [
            (call.name, call.arguments) for call in walked
        ]
