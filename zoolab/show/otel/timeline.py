"""When the steps of a trace and its calls were."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import NamedTuple

from zoolab.records import Outcome
from zoolab.trace.calls import Call, Turn
from zoolab.trace.log import TraceLog

#: Some 120 years: twice that, in nanoseconds, still fits into 63 bits.
_MAX_SECONDS = 4_000_000_000


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
        """A part of this length from `start` on, or from earlier, if there is no room for it.

        >>> Window(10, 20).latest(12, 5), Window(10, 20).latest(18, 5)
        (Window(start=12, end=17), Window(start=15, end=20))
        """
        start = min(start, self.end - length)
        return self.part(start, start + length)


class Timeline:
    """When the steps of a trace were, in a window of time; no two steps change places.

    A fork counts from its own beginning again: its times follow on those that it shares with its parent.
    """

    def __init__(self, trace: TraceLog, window: Window) -> None:
        self.window = window
        self._moments = moments_of(trace)

    def between(self, first: int, last: int) -> Window:
        """From one step to another; one more than there are is the end."""
        zero = self.window.start - self._moments[0]
        return self.window.part(zero + self._moments[max(first, 0)], zero + self._moments[last])

    def of(self, call: Call, turn: Turn) -> Window:
        """When a call ran, or else when it was validated or decided on."""
        if call.fate == "failed" and call.validated is not None:
            return self._until(call.validated)
        if call.fate == "stopped" and call.decided is not None:
            return self._until(call.decided)
        # All calls of a turn have run before the first of their outcomes is shown.
        calls = turn.calls.values()
        ran = [each for each in calls if each.outcome is not each.answer]  # the others were given by hand
        outcomes = {each.ran: each.outcome for each in ran if each.ran is not None and each.outcome}
        if call.outcome is None or not outcomes:
            return self._until(call.steps[-1])
        together = self._until(min(outcomes))
        first = min((each.started_ms for each in outcomes.values() if each.started_ms > 0), default=0)
        late = max(0, call.outcome.started_ms - first) * 1_000_000
        return together.latest(together.start + late, nanoseconds(call.outcome.duration_ms / 1000))

    def _until(self, seq: int) -> Window:
        return self.between(seq - 1, seq)


def window_of(trace: TraceLog) -> Window:
    """From the first step of a trace to its end; one that does not know when it began has just ended."""
    moments = moments_of(trace)
    now = max(0, time.time_ns() - moments[-1])
    began = now if trace.began is None else nanoseconds(trace.began)
    return Window(began + moments[0], began + moments[-1])


def window_within(outer: Window, outcome: Outcome) -> Window:
    """When the walk inside a call was, of the time that the call took."""
    inner, late = outcome.trace, 0
    moments = moments_of(inner)
    if inner.began is not None:
        late = nanoseconds(inner.began) + moments[0] - outcome.started_ms * 1_000_000
    return outer.latest(outer.start + max(0, late), moments[-1] - moments[0])


def moments_of(trace: TraceLog) -> list[int]:
    """When each step came, and when the trace ended: nanoseconds since it began."""
    last = trace.started[-1] if trace.started else 0.0
    times = [nanoseconds(time) for time in (*trace.started, last if trace.ended is None else trace.ended)]
    moments = times[:1]
    for before, after in pairwise(times):
        moments.append(min(moments[-1] + max(0, after - before), nanoseconds(_MAX_SECONDS)))
    return moments


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, of a time that may come from a stranger: negative, infinite or NaN."""
    return round(min(seconds, _MAX_SECONDS) * 1e9) if seconds > 0 else 0
