"""How much work a check may do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

#: How many schemas a check may hold against a value, and how many characters of the value add one. A clock
#: would also count what else the process does meanwhile.
MAX_STEPS = 10_000
CHARS_PER_STEP = 3
#: Seconds of the processor that the search for patterns may take, and what each character adds.
MAX_SECONDS = 0.25
SECONDS_PER_CHAR = 3e-6


class TooMuchWork(Exception):
    """A check that does more work than it may."""


@dataclass(slots=True)
class _Left:
    """What is left to a check."""

    steps: int
    seconds: float


LEFT: ContextVar[_Left] = ContextVar("zoolab_schema_left")


def step() -> None:
    """Count a step; raises `TooMuchWork` if there were too many."""
    left = LEFT.get()
    left.steps -= 1
    if left.steps < 0:
        raise TooMuchWork


@contextmanager
def bounded(chars: int = 0) -> Iterator[None]:
    """End a check with `TooMuchWork` if it does too much for a value of `chars` characters as JSON."""
    token = LEFT.set(_Left(MAX_STEPS + chars // CHARS_PER_STEP, MAX_SECONDS + chars * SECONDS_PER_CHAR))
    try:
        yield
    finally:
        LEFT.reset(token)
