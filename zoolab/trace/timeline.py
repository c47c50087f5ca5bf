"""The steps of a trace by turn and by call, and when each of them was."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from zoolab.records import Decision, Outcome, Reply, Request, Result, ToolCall, Verdict

if TYPE_CHECKING:
    from zoolab.trace.trace import Trace

#: Some 120 years: twice that, in nanoseconds, still fits into 63 bits.
_MAX_SECONDS = 4_000_000_000
#: What says of a call that it may not run, where no tool says so.
_REFUSALS = ("invalid_arguments", "invalid_json", "loop_limit", "permission_denied", "unknown_tool")


class Window(NamedTuple):
    """From when to when, nanoseconds since 1970."""

    start: int
    end: int

    def part(self, start: int, end: int) -> Window:
        """What of it lies between the two.

        >>> Window(10, 20).part(5, 15), Window(10, 20).part(30, 40)
        (Window(start=10, end=15), Window(start=20, end=20))
        """
        start = min(max(start, self.start), self.end)
        return Window(start, min(max(end, start), self.end))

    def latest(self, start: int, length: int) -> Window:
        """A part of this length from `start` on, or from earlier, where there is no room for it.

        >>> Window(10, 20).latest(12, 5), Window(10, 20).latest(18, 5)
        (Window(start=12, end=17), Window(start=15, end=20))
        """
        start = min(start, self.end - length)
        return self.part(start, start + length)


@dataclass(slots=True)
class Call:
    """One call of a reply: the numbers of its steps, and the last record of each kind."""

    call: ToolCall
    slot: int
    seqs: list[int] = field(default_factory=list)
    attempt: int = 1
    verdict: Verdict | None = None
    #: What was decided, and what was asked before.
    decision: Decision | None = None
    asked: Decision | None = None
    outcome: Outcome | None = None
    result: Result | None = None
    #: The steps at which it was judged, decided on, and had run.
    judged: int | None = None
    decided: int | None = None
    ran: int | None = None

    @property
    def fate(self) -> Literal["ran", "failed", "stopped"] | None:
        """Whether it ran, failed validation, or was not allowed; None where nothing has come of it yet."""
        if self.verdict is not None and not self.verdict.ok:
            return "failed"
        if self.outcome is not None and not _refused(self.outcome):
            return "ran"
        return None if self.outcome is None and self.asked is None else "stopped"


@dataclass(slots=True)
class Turn:
    """One turn: its request, the numbers of the steps that concern no call, the reply, and the calls."""

    seq: int
    number: int
    request: Request
    own: list[int]
    reply: Reply | None = None
    calls: dict[int, Call] = field(default_factory=dict)


def turns_of(trace: Trace) -> list[Turn]:
    """The turns of a trace.

    >>> from zoolab import Scripted, run
    >>> [(turn.number, turn.own, turn.reply.text) for turn in turns_of(run("Hi", [], Scripted(["Hello"])))]
    [(1, [1, 2], 'Hello')]
    """
    turns: list[Turn] = []
    for seq, step in enumerate(trace.steps):
        if isinstance(step.record, Request):
            turns.append(Turn(seq, step.turn, step.record, [seq]))
        elif turns:
            turns[-1].reply = turns[-1].reply or step.reply
            if step.slot is None or step.call is None:
                turns[-1].own.append(seq)
            else:
                _add(turns[-1].calls.setdefault(step.slot, Call(step.call, step.slot)), trace, seq)
    return turns


def _refused(outcome: Outcome) -> bool:
    """Whether no tool has seen the call."""
    error = outcome.error
    if error is None or error.exception is not None or outcome.duration_ms:
        return False
    return error.code in _REFUSALS


def _add(call: Call, trace: Trace, seq: int) -> None:
    step, original = trace.steps[seq], trace.originals.get(seq)
    call.seqs.append(seq)
    call.call = step.call or call.call
    call.attempt = max(call.attempt, step.attempt)
    if isinstance(original, Decision):
        call.asked, call.decided = original, seq
    match step.record:
        case Verdict():
            call.verdict, call.judged = step.record, seq
        case Decision():
            call.asked, call.decision, call.decided = call.asked or step.record, step.record, seq
        case Outcome():
            call.outcome = step.record
            call.ran = None if isinstance(original, Decision) else seq
        case Result():
            call.result = step.record


class Timeline:
    """When the steps of a trace were, in a window of time; no two steps change places.

    A fork counts from its own beginning again: its times follow on those that it shares with its parent.
    """

    def __init__(self, trace: Trace, window: Window) -> None:
        self.window = window
        self._moments = moments_of(trace)

    def between(self, first: int, last: int) -> Window:
        """From one step to another; one more than there are is the end."""
        zero = self.window.start - self._moments[0]
        return self.window.part(zero + self._moments[max(first, 0)], zero + self._moments[last])

    def of(self, call: Call, turn: Turn) -> Window:
        """When a call ran, or else when it was judged or decided on."""
        if call.fate == "failed" and call.judged is not None:
            return self._until(call.judged)
        if call.fate == "stopped" and call.decided is not None:
            return self._until(call.decided)
        return self._running(call, turn)

    def _until(self, seq: int) -> Window:
        return self.between(seq - 1, seq)

    def _running(self, call: Call, turn: Turn) -> Window:
        """All calls of a turn have run before the first of their outcomes is shown."""
        calls = turn.calls.values()
        outcomes = {each.ran: each.outcome for each in calls if each.ran is not None and each.outcome}
        if call.outcome is None or not outcomes:
            return self._until(call.seqs[-1])
        together = self._until(min(outcomes))
        first = min((each.started_ms for each in outcomes.values() if each.started_ms > 0), default=0)
        late = max(0, call.outcome.started_ms - first) * 1_000_000
        return together.latest(together.start + late, nanoseconds(call.outcome.duration_ms / 1000))


def window_of(trace: Trace) -> Window:
    """From the first step of a trace to its end; one that does not know when it began has just ended.

    >>> from zoolab import Trace
    >>> window = window_of(Trace())
    >>> window.start == window.end
    True
    """
    moments = moments_of(trace)
    now = max(0, time.time_ns() - moments[-1])
    began = now if trace.began is None else nanoseconds(trace.began)
    return Window(began + moments[0], began + moments[-1])


def window_within(outer: Window, outcome: Outcome) -> Window:
    """When the walk inside a call was, of the time that the call took.

    >>> from zoolab import Trace
    >>> window_within(Window(10, 20), Outcome(trace=Trace()))
    Window(start=20, end=20)
    """
    inner, late = outcome.trace, 0
    moments = moments_of(inner)
    if inner.began is not None:
        late = nanoseconds(inner.began) + moments[0] - outcome.started_ms * 1_000_000
    return outer.latest(outer.start + max(0, late), moments[-1] - moments[0])


def moments_of(trace: Trace) -> list[int]:
    """When each step came, and when the trace ended: nanoseconds since it began.

    >>> from zoolab import Trace
    >>> moments_of(Trace())
    [0]
    """
    last = trace.started[-1] if trace.started else 0.0
    times = [nanoseconds(time) for time in (*trace.started, last if trace.ended is None else trace.ended)]
    moments = times[:1]
    for before, after in pairwise(times):
        moments.append(min(moments[-1] + max(0, after - before), nanoseconds(_MAX_SECONDS)))
    return moments


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, of a time that may come from a stranger.

    >>> nanoseconds(0.25), nanoseconds(-1), nanoseconds(float("nan"))
    (250000000, 0, 0)
    """
    return round(min(seconds, _MAX_SECONDS) * 1e9) if seconds > 0 else 0
