"""What the card of a step has to know of the steps around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zoolab.records import Decision, Request, Verdict
from zoolab.trace.journal import Revision
from zoolab.trace.trace import MessagesDiff, Trace

_NOTHING = MessagesDiff(0, (), ())


@dataclass(frozen=True)
class Scene:
    """A trace, and what a card has to know of the steps around its own."""

    trace: Trace
    verdicts: dict[tuple[int, int | None], Verdict] = field(default_factory=dict[Any, Verdict])
    decisions: dict[tuple[int, int | None], Decision] = field(default_factory=dict[Any, Decision])
    #: The request before a request, by their numbers.
    previous: dict[int, int] = field(default_factory=dict[int, int])

    @classmethod
    def of(cls, trace: Trace) -> Scene:
        """The scene of a trace."""
        scene, before = cls(trace), None
        for seq, step in enumerate(trace.steps):
            if isinstance(step.record, Verdict):
                scene.verdicts[step.turn, step.slot] = step.record
            elif isinstance(step.record, Decision):
                scene.decisions[step.turn, step.slot] = step.record
            elif isinstance(step.record, Request):
                if before is not None:
                    scene.previous[seq] = before
                before = seq
        return scene

    def change(self, seq: int) -> MessagesDiff:
        """How `messages[]` changed with a step."""
        if seq > 0:
            return self.trace.diff(seq - 1, seq)
        journal, revision = self.trace.journal, self.trace.revisions[seq]
        return (
            MessagesDiff(0, (), tuple(journal.rebuild(revision))) if revision != Revision(0, 0) else _NOTHING
        )

    def known(self, seq: int) -> int:
        """How many messages of a request the request before it had sent already."""
        before = self.previous.get(seq)
        revisions = self.trace.revisions
        return 0 if before is None else self.trace.journal.common(revisions[before], revisions[seq])
