"""A step of a trace, and what a panel must know of the steps around it: those of its turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from zoolab.records import Decision, Kind, Outcome, Reply, Request, Step, ToolCall, Verdict
from zoolab.registry import ToolRegistry
from zoolab.tools import Tool
from zoolab.trace.log import TraceLog

_R = TypeVar("_R")
#: A turn of a stranger's trace may have any number of steps.
_FAR = 2_000


@dataclass(frozen=True, slots=True)
class Moment:
    """A trace at one of its steps.

    >>> from zoolab import Scripted, run
    >>> moment = Moment(run("Hi", [], Scripted(["Hello"])), 2)
    >>> moment.step.kind, moment.request.tool_choice, moment.is_last
    ('tool_call', 'auto', True)
    """

    trace: TraceLog
    seq: int

    @property
    def step(self) -> Step:
        """The step itself."""
        return self.trace.steps[self.seq]

    @property
    def is_last(self) -> bool:
        """Whether no step comes after it, so far."""
        return self.seq == len(self.trace.steps) - 1

    @property
    def tools(self) -> ToolRegistry:
        """The tools of the run; none where the trace does not say."""
        first = self.trace.steps[0].record
        if isinstance(first, ToolRegistry):
            return first
        return next((s.record for s in self._before() if isinstance(s.record, ToolRegistry)), ToolRegistry())

    @property
    def tool(self) -> Tool | None:
        """The tool that the step's call names, if there is one."""
        return None if self.step.call is None else self.tools.get(self.step.call.name)

    @property
    def request(self) -> Request | None:
        """The request of the turn."""
        return next((s.record for s in self._before() if isinstance(s.record, Request)), None)

    @property
    def reply(self) -> Reply | None:
        """The reply of the turn."""
        return next((s.reply for s in self.turn() if s.reply is not None), None)

    @property
    def verdict(self) -> Verdict | None:
        """What validation said of the call."""
        return self._of_the_call(Verdict)

    @property
    def decision(self) -> Decision | None:
        """Whether the call had permission; None where nobody was asked."""
        return self._of_the_call(Decision)

    @property
    def outcome(self) -> Outcome | None:
        """What running the call gave; None where it was refused."""
        return self._of_the_call(Outcome)

    @property
    def asked(self) -> Decision | None:
        """What was asked before the call ran, with all that it was asked about; None where nobody was."""
        steps, originals, slot = self.trace.steps, self.trace.originals, self.step.slot
        held = (originals.get(i, steps[i].record) for i in self.numbers() if steps[i].slot == slot)
        return next((record for record in held if isinstance(record, Decision)), None)

    def turn(self) -> list[Step]:
        """The steps of the same turn, in order."""
        numbers = self.numbers()
        return self.trace.steps[numbers.start : numbers.stop]

    def numbers(self) -> range:
        """The numbers of the steps of the same turn."""
        steps, turn = self.trace.steps, self.step.turn
        start = end = self.seq
        while start > 0 and steps[start - 1].turn == turn and self.seq - start < _FAR:
            start -= 1
        while end < len(steps) and steps[end].turn == turn and end - self.seq < _FAR:
            end += 1
        return range(start, end)

    def _before(self) -> Iterator[Step]:
        """The step and those before it, the nearest first."""
        steps = self.trace.steps
        return (steps[seq] for seq in range(self.seq, max(-1, self.seq - _FAR), -1))

    def _of_the_call(self, kind: type[_R]) -> _R | None:
        slot = self.step.slot
        found = (s.record for s in self.turn() if s.slot == slot and s.call is not None)
        return next((record for record in found if isinstance(record, kind)), None)


def calls_of_turn(moment: Moment) -> list[ToolCall]:
    """The calls of a moment's turn, by slot.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted([[("fly", {})], "I cannot."]))
    >>> [call.name for call in calls_of_turn(Moment(trace, 3))]
    ['fly']
    """
    return [s.record for s in moment.turn() if isinstance(s.record, ToolCall)]


def kind_after(moment: Moment) -> Kind | None:
    """The kind of step that a walk goes on with after its last one; None at its end.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted([[("fly", {})], "I cannot."]))
    >>> [kind_after(Moment(trace, seq)) for seq in (0, 2, 3, 4, 6)]
    ['request', 'validate', 'result', 'request', None]
    """
    step, calls = moment.step, calls_of_turn(moment)
    more = step.slot is not None and step.slot + 1 < len(calls)
    match step.record:
        case ToolRegistry():
            return "request"
        case Request():
            return "tool_call"
        case Reply():
            return None
        case ToolCall():
            return "validate" if step.appended else "tool_call"
        case Verdict() if more:
            return "validate"
        case Verdict():
            return "execute" if _runs_later(moment, -1) else "result"
        case Decision():
            return "execute"
        case Outcome():
            return "execute" if _runs_later(moment, step.slot or 0) else "result"
        case _:
            return "result" if more else "request"


def _runs_later(moment: Moment, slot: int) -> bool:
    """Whether a call after this slot passed validation."""
    verdicts = (s for s in moment.turn() if isinstance(s.record, Verdict) and s.slot is not None)
    return any(s.record.ok and (s.slot or 0) > slot for s in verdicts if isinstance(s.record, Verdict))
