"""What the card of a step has to know of the steps around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zoolab.records import Decision, Record, Reply, Request, ToolCall, Verdict
from zoolab.trace.codec import encode_record
from zoolab.trace.summary import MessagesDiff
from zoolab.trace.trace import Trace


@dataclass(frozen=True)
class Scene:
    """A trace, and what a card has to know of the steps around its own."""

    trace: Trace
    verdicts: dict[tuple[int, int | None], Verdict] = field(default_factory=dict[Any, Verdict])
    decisions: dict[tuple[int, int | None], Decision] = field(default_factory=dict[Any, Decision])
    #: The request before a request, by their numbers.
    previous: dict[int, int] = field(default_factory=dict[int, int])
    #: The tools that the model asked for, by turn; none where it answered.
    asked: dict[int, list[str]] = field(default_factory=dict[int, list[str]])

    @classmethod
    def of(cls, trace: Trace) -> Scene:
        """The scene of a trace."""
        scene, before = cls(trace), None
        for seq, step in enumerate(trace.steps):
            place = step.turn, step.slot
            match step.record:
                case Request():
                    if before is not None:
                        scene.previous[seq] = before
                    before = seq
                case Reply():
                    scene.asked.setdefault(step.turn, [])
                case ToolCall():
                    scene.asked.setdefault(step.turn, []).append(step.record.name)
                case Verdict():
                    scene.verdicts[place] = step.record
                case Decision():
                    scene.decisions[place] = step.record
                case _:
                    pass
        return scene

    def original(self, seq: int) -> Record | None:
        """What a step held before it was answered with something else; None where it was not."""
        original, record = self.trace.originals.get(seq), self.trace.steps[seq].record
        if original is None or original is record:
            return None
        if isinstance(record, Request):  # its messages are no part of what is encoded
            return original
        return None if encode_record(original) == encode_record(record) else original

    def change(self, seq: int) -> MessagesDiff:
        """How `messages[]` changed with a step."""
        if seq > 0:
            return self.trace.diff(seq - 1, seq)
        journal, revision = self.trace.journal, self.trace.revisions[seq]
        return MessagesDiff(0, (), tuple(journal.rebuild(revision)))

    def known(self, seq: int) -> int:
        """How many messages of a request the request before it had sent already."""
        before = self.previous.get(seq)
        revisions = self.trace.revisions
        return 0 if before is None else self.trace.journal.common(revisions[before], revisions[seq])
