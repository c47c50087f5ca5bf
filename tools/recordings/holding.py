"""Conversations with a model, kept in recordings; what is recorded already is not asked again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tools.recordings.planning import FirstByHand, RecordingPlan
from zoolab import Policy, Replay
from zoolab.commands.record import came_of, hold
from zoolab.records import Limits, Model


def hold_all(plan: RecordingPlan, model: Model, path: Path, say: Callable[[str], None]) -> None:
    """Hold each conversation of a plan, with every tool allowed, and say in a line what came of it."""
    replay = Replay(path, live=model)
    for number, asked in enumerate(plan.conversations, 1):
        trace = hold(
            asked.prompt,
            asked.tools,
            replay if asked.first is None else FirstByHand(asked.first, replay),
            system=asked.system,
            policy=Policy(ask=()),
            limits=Limits(turns=asked.turns),
            calls="auto",
            envelope=asked.envelope,
        )
        say(f"{plan.name} {came_of(number, asked.prompt, trace)}")
