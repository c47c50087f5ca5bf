"""Conversations with a model, kept in recordings; what is recorded already is not asked again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

from tools.recordings.planning import Conversation, FirstByHand, RecordingPlan
from zoolab import Policy, Replay, Trace
from zoolab.errors import ReplayMiss
from zoolab.files import write_whole
from zoolab.models.recording import shipped
from zoolab.models.request_keys import RequestKeys
from zoolab.records import Limits, Model
from zoolab_course.commands.record import came_of, hold


def hold_all(plan: RecordingPlan, model: Model, path: Path, say: Callable[[str], None]) -> None:
    """Hold each conversation of a plan, and say in a line what came of it."""
    replay = Replay(path, live=model)
    for number, asked in enumerate(plan.conversations, 1):
        say(f"{plan.name} {came_of(number, asked.prompt, hold_one(asked, replay))}")


def begin(path: Path) -> None:
    """Begin a recording with what comes with zoolab by its name, unpacked, if there is none yet."""
    known = shipped().get(path.stem)
    if known is None or path.exists():
        return
    data = known.read_bytes()
    path.write_bytes(gzip.decompress(data) if known.suffix == ".gz" else data)


def left_of(plan: RecordingPlan, path: Path) -> int:
    """Return how many conversations of a plan a recording does not hold to their end."""
    if not path.exists():
        return len(plan.conversations)
    replay = Replay(path)
    missing = 0
    for asked in plan.conversations:
        try:
            hold_one(asked, replay)
        except ReplayMiss:
            missing += 1
    return missing


def prune(plan: RecordingPlan, path: Path) -> int:
    """Leave out of a recording what no conversation of a plan asks for, and return how many pairs went.

    Raises `ReplayMiss` if a conversation is not held to its end: then nothing goes.
    """
    replay = Replay(path)
    wanted = {
        replay.recording.key_of(replay.body(turn.request))
        for asked in plan.conversations
        for turn in hold_one(asked, replay).turns
    }
    header, *pairs = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    names = RequestKeys()
    kept: dict[str, str] = {}
    for pair in pairs:
        name = names.of(json.loads(pair)["request"])
        if name in wanted:
            kept.setdefault(name, pair)
    write_whole(path, [f"{line}\n" for line in (header, *kept.values())])
    return len(pairs) - len(kept)


def hold_one(asked: Conversation, model: Model) -> Trace:
    """Hold one conversation of a plan, as far as its limits let it go."""
    denied = asked.denied
    return hold(
        asked.prompt,
        asked.tools,
        model if asked.first is None else FirstByHand(asked.first, model),
        system=asked.system,
        policy=Policy(ask=()) if denied is None else Policy(),
        ask=None if denied is None else lambda _: denied,
        limits=Limits(turns=asked.turns),
        calls="auto",
        envelope=asked.envelope,
    )
