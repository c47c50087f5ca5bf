"""A step of a trace, together with the steps around it: its turn, its call, and how `messages[]` changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zoolab.records import Decision, Kind, Outcome, Record, Reply, Request, Result, Step, ToolCall, Verdict
from zoolab.tools import Tool, ToolRegistry
from zoolab.trace.calls import Call, Turn, turn_at
from zoolab.trace.codec import encode_record
from zoolab.trace.log import TraceLog, tools_of
from zoolab.trace.summary import MessagesDiff


class Moment:
    """A trace at one of its steps.

    `turns` are those of the trace, if they are at hand already.
    """

    def __init__(self, trace: TraceLog, seq: int, turns: Sequence[Turn] | None = None) -> None:
        self.trace = trace
        self.seq = seq
        self.turns = trace.turns if turns is None else turns
        position = turn_at(self.turns, seq)
        self.step: Step = trace.steps[seq]
        #: The turn of the step; None before the first request.
        self.turn = self.turns[position] if position >= 0 else None
        self._before = self.turns[position - 1] if position > 0 else None

    @property
    def original(self) -> Record | None:
        """What the step held before it was answered with something else; None if it was not."""
        original = self.trace.originals.get(self.seq)
        record = self.step.record
        if original is None or original is record:
            return None
        if isinstance(record, Request):  # its messages are no part of what is encoded
            return original
        return None if encode_record(original) == encode_record(record) else original

    @property
    def call(self) -> Call:
        """The call that the step belongs to, and what became of it; an empty one if it belongs to none."""
        slot = self.step.slot
        empty = Call(ToolCall(self.step.turn, 0, "", "", ""), 0)
        return empty if self.turn is None or slot is None else self.turn.calls.get(slot, empty)

    @property
    def tools(self) -> ToolRegistry:
        """The tools of the run, as far as it has come."""
        return tools_of(self.trace, self.seq)

    @property
    def tool(self) -> Tool | None:
        """The tool that the step's call names, if it exists."""
        return None if self.step.call is None else self.tools.get(self.step.call.name)

    @property
    def request(self) -> Request | None:
        """The request of the turn."""
        return None if self.turn is None else self.turn.request

    @property
    def reply(self) -> Reply | None:
        """The reply of the turn."""
        return self.step.reply if self.turn is None else self.turn.reply

    @property
    def known(self) -> int:
        """How many messages of this request the request before it sent already."""
        if self._before is None:
            return 0
        before = self.trace.steps[self._before.seq].messages
        return self.trace.journal.common(before, self.step.messages)

    @property
    def change(self) -> MessagesDiff:
        """How `messages[]` changed with the step."""
        if self.seq > 0:
            return self.trace.diff(self.seq - 1, self.seq)
        return MessagesDiff(0, (), tuple(self.trace.messages_at(0)))


def moments_of(trace: TraceLog) -> Iterator[Moment]:
    """Return all steps of a trace in order, with one index of its turns."""
    turns = trace.turns
    return (Moment(trace, seq, turns) for seq in range(len(trace.steps)))


def kind_after(moment: Moment) -> Kind | None:
    """Return the kind of step that a walk goes on with after its last one; None at its end."""
    step = moment.step
    slot = moment.step.slot
    calls = moment.turn.calls if moment.turn is not None else {}
    more = slot is not None and slot + 1 < len(calls)
    passed = [n for n, call in calls.items() if call.verdict is not None and call.verdict.ok]
    match step.record:
        case ToolRegistry():
            return "request"
        case Request():
            return "tool_call"
        case Reply():
            return None if moment.trace.options.get("answer_schema") is None else "validate"
        case ToolCall():
            return "validate" if step.appended else "tool_call"
        case Verdict() if step.call is None:  # of the final answer
            return None if step.record.ok else "request"
        case Verdict():
            return "validate" if more else "execute" if passed else "result"
        case Decision():
            return "execute"
        case Outcome():
            return "execute" if any(n > (slot or 0) for n in passed) else "result"
        case Result():
            return "result" if more else "request"
