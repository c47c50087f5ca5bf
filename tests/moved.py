"""A clock that stands still until a test moves it: what is measured with it is known beforehand."""

from __future__ import annotations

from datetime import datetime, tzinfo


class Moved:
    """Stands in for the module `time`, where a module looks its clocks up. Who sleeps moves it."""

    def __init__(self, seconds: int = 1_900_000_000) -> None:
        self.ns = seconds * 1_000_000_000
        #: How long each sleep was, in order.
        self.slept: list[float] = []

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.ns += round(seconds * 1e9)

    def sleep(self, seconds: float) -> None:
        """Let time pass, and write down how much."""
        self.slept.append(seconds)
        self.move(seconds)

    def time_ns(self) -> int:
        """Nanoseconds since 1970."""
        return self.ns

    def time(self) -> float:
        """Seconds since 1970; the other clocks show the same."""
        return self.ns / 1e9

    perf_counter = monotonic = time


class AtNoon(datetime):
    """A `datetime` by whose clock it is noon of the second of January 2030, wherever it is asked."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> AtNoon:
        """Noon."""
        return cls(2030, 1, 2, 12, tzinfo=tz)
