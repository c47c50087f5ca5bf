"""Timing two things side by side, since a noisy machine is noisy for both."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

Work = Callable[[], object]
Clock = Callable[[Work], float]


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure: so many pairs of runs at least, and more of them until the seconds are over."""

    pairs: int = 5
    seconds: float = 4.0
    most: int = 40
    #: The part of the whole size that the large ones have.
    part: float = 1.0

    def sizes(self, wanted: tuple[int, ...]) -> tuple[int, ...]:
        """Those of a series of sizes that are not too large."""
        return tuple(size for size in wanted if size <= max(wanted) * self.part)


QUICK = Effort(pairs=3, seconds=0.2, part=0.1)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: medians of what was measured in turns, and the median of the pairs' ratios."""

    benchmark: str
    what: str
    ours: float
    baseline: float
    ratio: float
    #: What the baseline is.
    beside: str
    #: What `ours` and `baseline` are: seconds or bytes.
    unit: str = "s"


def cpu_seconds(work: Work, times: int = 1) -> float:
    """CPU seconds of one run of `work`, over `times` runs."""
    gc.collect()
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def clock_seconds(work: Work) -> float:
    """Seconds on the clock, for what other processes do."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def children_cpu_seconds(work: Work) -> float:
    """CPU seconds of the processes that `work` starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def interleaved(ours: Work, theirs: Work, effort: Effort, clock: Clock) -> list[tuple[float, float]]:
    """What ours and theirs took, in turns, after one run of each that does not count."""
    ours(), theirs()
    pairs: list[tuple[float, float]] = []
    end = time.monotonic() + effort.seconds
    while len(pairs) < effort.pairs or (time.monotonic() < end and len(pairs) < effort.most):
        pairs.append((clock(ours), clock(theirs)))
    return pairs


def compare(
    benchmark: str,
    what: str,
    ours: Work,
    theirs: Work,
    beside: str,
    effort: Effort,
    *,
    clock: Clock = cpu_seconds,
    times: int = 1,
    units: int = 1,
) -> Row:
    """Time two things; each measurement is of `times` runs, and a run does `units` of what is told."""

    def measured(work: Work) -> float:
        return clock(work) if times == 1 else cpu_seconds(work, times)

    pairs = interleaved(ours, theirs, effort, measured)
    our, their = (median(column) / units for column in zip(*pairs, strict=True))
    return Row(benchmark, what, our, their, median(a / b for a, b in pairs), beside)
