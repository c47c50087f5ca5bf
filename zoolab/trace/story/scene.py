"""What the card of a step has to know of the steps around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zoolab.records import Decision, Record, Reply, Request, ToolCall, Verdict
from zoolab.trace.codec import encode_record
from zoolab.trace.summary import MessagesDiff
from zoolab.trace.log import TraceLog


@dataclass(frozen=True)
class Scene:
    """A trace, and what a card has to know of the steps around its own."""

    trace: TraceLog
    verdicts: dict[tuple[int, int | None], Verdict] = field(default_factory=dict[Any, Verdict])
    decisions: dict[tuple[int, int | None], Decision] = field(default_factory=dict[Any, Decision])
    #: The request before a request, by their numbers.
    previous: dict[int, int] = field(default_factory=dict[int, int])
    #: The tools that the model asked for, by turn; none where it answered.
    asked: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    #: The reply to each request, by turn.
    replies: dict[int, Reply] = field(default_factory=dict[int, Reply])
    #: What the trace is called in Python, and how many walks it is within.
    name: str = "trace"
    depth: int = 0

    @classmethod
    def of(cls, trace: TraceLog) -> Scene:
        """The scene of a trace."""
        return cls(trace)._filled()

    def within(self, seq: int, trace: TraceLog) -> Scene:
        """The scene of the trace of a sub-agent, which a step of this one ran."""
        name = f"{self.name}.steps[{seq}].record.trace"
        return Scene(trace, name=name, depth=self.depth + 1)._filled()

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

    def asked_about(self, seq: int, decision: Decision) -> Decision:
        """What somebody was asked to allow: once answered, only the original of the step says it."""
        original = self.trace.originals.get(seq)
        return original if isinstance(original, Decision) else decision

    def _filled(self) -> Scene:
        before = None
        for seq, step in enumerate(self.trace.steps):
            place = step.turn, step.slot
            if step.reply is not None:
                self.replies.setdefault(step.turn, step.reply)
            match step.record:
                case Request():
                    if before is not None:
                        self.previous[seq] = before
                    before = seq
                case Reply():
                    self.asked.setdefault(step.turn, [])
                case ToolCall():
                    self.asked.setdefault(step.turn, []).append(step.record.name)
                case Verdict():
                    self.verdicts[place] = step.record
                case Decision():
                    self.decisions[place] = step.record
                case _:
                    pass
        return self
