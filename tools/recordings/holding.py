"""Conversations with a model, kept in recordings; what is recorded already is not asked again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tools.recordings.planning import Conversation, FirstByHand, RecordingPlan
from zoolab import Policy, Replay, Trace
from zoolab.errors import ReplayMiss
from zoolab.records import Limits, Model
from zoolab_course.commands.record import came_of, hold


def hold_all(plan: RecordingPlan, model: Model, path: Path, say: Callable[[str], None]) -> None:
    """Hold each conversation of a plan, with every tool allowed, and say in a line what came of it."""
    replay = Replay(path, live=model)
    for number, asked in enumerate(plan.conversations, 1):
        say(f"{plan.name} {came_of(number, asked.prompt, hold_one(asked, replay))}")


def left_of(plan: RecordingPlan, path: Path) -> int:
    """How many conversations of a plan a recording does not hold to their end."""
    if not path.exists():
        return len(plan.conversations)
    replay, missing = Replay(path), 0
    for asked in plan.conversations:
        try:
            hold_one(asked, replay)
        except ReplayMiss:
            missing += 1
    return missing


def hold_one(asked: Conversation, model: Model) -> Trace:
    """One conversation of a plan, as far as its limits let it go."""
    return hold(
        asked.prompt,
        asked.tools,
        model if asked.first is None else FirstByHand(asked.first, model),
        system=asked.system,
        policy=Policy(ask=()),
        limits=Limits(turns=asked.turns),
        calls="auto",
        envelope=asked.envelope,
    )
