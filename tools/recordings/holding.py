"""Conversations with a model, kept in recordings; what is recorded already is not asked again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tools.recordings.planning import Conversation, FirstByHand, RecordingPlan
from zoolab import Policy, Replay, Trace, walk
from zoolab.errors import LoopError
from zoolab.jsontext import visible
from zoolab.records import Limits, Model

Say = Callable[[str], None]


def hold_all(plan: RecordingPlan, model: Model, path: Path, say: Say) -> None:
    """Hold each conversation of a plan, and say in a line what came of it."""
    replay = Replay(path, live=model)
    for number, asked in enumerate(plan.conversations, 1):
        trace = hold(asked, replay)
        calls = "; ".join(f"{call.name}({call.arguments})" for call in trace.tool_calls) or "no call"
        say(visible(f"{plan.name} {number:>3}  {asked.prompt} | {calls} | {trace.answer or trace.error}"))


def hold(asked: Conversation, model: Model) -> Trace:
    """One conversation, as far as it goes; every tool may run."""
    trace = Trace()
    first = model if asked.first is None else FirstByHand(asked.first, model)
    steps = walk(
        asked.prompt,
        asked.tools,
        first,
        system=asked.system,
        policy=Policy(ask=()),
        limits=Limits(turns=asked.turns),
        calls="auto",
        envelope=asked.envelope,
    )
    try:
        return Trace.record(steps, into=trace)
    except LoopError:
        return trace
