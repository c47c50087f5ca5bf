"""Recordings hold what follows if a person, or nobody, denies the calls of a listed prompt."""

from contextlib import suppress

import pytest

from zoolab import Decision, Replay, run
from zoolab.commands.walk import ANSWERING, ASKED_FIRST
from zoolab.errors import ReplayMiss, ToolLoopLimitReached, ToolRetriesExhausted
from zoolab.policy.prompt import NOBODY
from zoolab.toolbox.catalog import tools_defined


@pytest.mark.slow
@pytest.mark.parametrize("reason", [NOBODY.reason, "answered when asked"])
def test_no_listed_prompt_ends_in_a_miss_if_its_calls_are_denied(reason):
    answered, missed = dict[str, str](ASKED_FIRST), list[str]()
    for name in ANSWERING:
        model = Replay(name)
        for body in model.recording.openings:
            first, last = body["messages"][0], body["messages"][-1]
            if answered.setdefault(last["content"], name) != name:
                continue  # `zoolab walk` asks another recording
            system = None if first is last else first["content"]
            tools = tools_defined(body.get("tools", []))
            try:
                with suppress(ToolLoopLimitReached, ToolRetriesExhausted):  # Qwen may go on calling
                    run(last["content"], tools, model, system=system, ask=lambda _: Decision("deny", reason))
            except ReplayMiss as miss:
                missed.append(f"{last['content']}: {miss.what}")
    assert len(answered) > 100
    assert missed == []
