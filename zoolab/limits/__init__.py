"""The limits of a walk, as they are given; `budget.py` counts what is left of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.tokens import Price, is_number

__all__ = ["REQUESTS_A_TURN", "RESULT_BYTES", "Limits"]

RESULT_BYTES = 16 * 1024
#: Requests that a walk and the walks inside it may make together, for each of its turns.
REQUESTS_A_TURN = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a walk, and of the walks that its tools start: these share what is left to it.

    Args:
        turns: Requests to the model.
        calls_per_turn: Calls of one reply that are run; the others are answered with an error.
        retries: Turns in which calls of one tool may fail validation; several in one reply count once, and
            unknown names share one budget. So many replies that fail at the endpoint are asked for again.
        seconds: Time for the whole walk, with the walks inside it; None for no limit.
        repeats: The same call with the same result, in a row, ends the walk; None for no limit.
        depth: Levels of walks inside this one: 1 allows sub-agents without sub-agents of their own,
            0 allows none.
        tokens: Tokens sent and received, with those of the walks inside it; None for no limit. The
            last reply may go over, because its tokens are known only when it is there.
        cost: Money, with that of the walks inside it; needs `prices`. None for no limit.
        prices: What models cost, by name: `{"gpt-x": Price(input=2.5, output=10.0)}`.
        result_bytes: The longest result that is sent to the model; what is longer is cut.
        requests: Requests of this walk and of the walks inside it together; by default 16 for each turn.

    >>> Limits(turns=0)
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: Limits(turns=0); expected a whole number of at least 1
    """

    turns: int = 5
    calls_per_turn: int = 15
    retries: int = 2
    seconds: float | None = None
    repeats: int | None = None
    depth: int = 3
    tokens: int | None = None
    cost: float | None = None
    prices: Mapping[str, Price] | None = None
    result_bytes: int = RESULT_BYTES
    requests: int | None = None

    def __post_init__(self) -> None:
        for name, (least, optional) in _WHOLE.items():
            value = getattr(self, name)
            missing = optional and value is None
            if not missing and not (hasattr(value, "__index__") and is_number(value, least)):
                raise _refused(name, value, f"a whole number of at least {least}", optional)
        for name in ("seconds", "cost"):
            value = getattr(self, name)
            if value is not None and not (is_number(value, 0) and value > 0):
                raise _refused(name, value, "a number above 0", optional=True)
        named = self.prices.items() if isinstance(self.prices, Mapping) else [(None, self.prices)]
        priced = all(isinstance(name, str) and isinstance(price, Price) for name, price in named)
        if self.prices is not None and not priced:
            raise _refused("prices", self.prices, "a dict of Price by model", optional=True)
        if self.cost is not None and not self.prices:
            raise InvalidInput(
                f"Limits(cost={self.cost}) needs prices",
                advice='give prices={"name of the model": Price(input=2.5, output=10.0)}',
            )


#: The least of each whole number, and whether None stands for no limit.
_WHOLE: Mapping[str, tuple[int, bool]] = {
    "turns": (1, False),
    "calls_per_turn": (1, False),
    "retries": (0, False),
    "repeats": (2, True),
    "depth": (0, False),
    "tokens": (1, True),
    "result_bytes": (1, False),
    "requests": (1, True),
}


def _refused(name: str, value: object, expected: str, optional: bool) -> InvalidInput:
    allowed = f"{expected}, or None for no limit" if optional else expected
    return InvalidInput(f"Limits({name}={excerpt(value)})", expected=allowed)
