"""Timing two things side by side, since a noisy machine is noisy for both."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median


def cpu_seconds(work: Callable[[], object], times: int = 1) -> float:
    """CPU seconds of one run of `work`, over `times` runs."""
    gc.collect()
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def paired_ratio(
    ours: Callable[[], object], theirs: Callable[[], object], times: int = 1, rounds: int = 15
) -> tuple[float, float, float]:
    """Median seconds of `theirs` and of `ours`, and the median of the ratios of neighbouring runs."""
    ours(), theirs()
    pairs = [(cpu_seconds(theirs, times), cpu_seconds(ours, times)) for _ in range(rounds)]
    ratios = [our / their for their, our in pairs]
    return median(their for their, _ in pairs), median(our for _, our in pairs), median(ratios)


def row(
    label: str, ours: Callable[[], object], theirs: Callable[[], object], times: int = 1, rounds: int = 15
) -> None:
    """Print one line of a table."""
    their, our, ratio = paired_ratio(ours, theirs, times, rounds)
    print(f"{label:<46} {their * 1e6:>12.1f} {our * 1e6:>12.1f} {ratio:>8.2f}")


def heading(theirs: str) -> None:
    """Print the head of a table."""
    print(f"\n{'':<46} {theirs + ', us':>12} {'zoolab, us':>12} {'ratio':>8}")
