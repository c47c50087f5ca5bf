"""Where a walk ends, whatever the model wants."""

from __future__ import annotations

from dataclasses import dataclass

from zoolab.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a walk ends, whatever the model wants.

    Args:
        turns: Requests to the model.
        calls_per_turn: Calls of one reply that are run; the others are answered with an error.
        retries: Turns in which calls of one tool may fail validation; several in one reply count once, and
            unknown names share one budget.
        seconds: Time for the whole walk; None for no limit.
        repeats: The same call with the same result, in a row, ends the walk; None for no limit.

    >>> Limits(turns=0)
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: Limits(turns=0); expected a number of at least 1
    """

    turns: int = 5
    calls_per_turn: int = 15
    retries: int = 2
    seconds: float | None = None
    repeats: int | None = None

    def __post_init__(self) -> None:
        least = {"turns": 1, "calls_per_turn": 1, "retries": 0, "repeats": 2}
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None and value < bound:
                raise InvalidInput(f"Limits({name}={value})", expected=f"a number of at least {bound}")
        if self.seconds is not None and not self.seconds > 0:
            raise InvalidInput(f"Limits(seconds={self.seconds})", expected="a number above 0")
