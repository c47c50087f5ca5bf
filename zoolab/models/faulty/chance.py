"""Chance that is the same each time: it depends on the seed and on what is decided, and on nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, digest, excerpt
from zoolab.models.faulty.table import FAULTS


def draw(*what: Any) -> float:
    """A number from 0 up to 1 that belongs to `what`, which is JSON.

    >>> draw(0, "slow") == draw(0, "slow") != draw(1, "slow")
    True
    """
    return int(digest(canonical(what))[:13], 16) / 16**13


@dataclass(frozen=True, slots=True)
class Plan:
    """Which faults are wanted, how often each, and the seed."""

    rates: Mapping[str, float]
    seed: int | str = 0
    #: How often the same fault may happen; None for as often as it likes.
    times: int | None = None

    def ranked(self, stage: Iterable[str], *what: Any) -> list[str]:
        """The faults among `stage` that are to happen here, in the order in which they are tried."""
        wanted = {name: draw(self.seed, name, *what) / self.rates[name] for name in stage if name in self}
        return sorted((name for name, drawn in wanted.items() if drawn < 1), key=wanted.__getitem__)

    def allows(self, before: int) -> bool:
        """Whether a fault may happen that had its chance so many times before."""
        return self.times is None or before < self.times

    def __contains__(self, name: object) -> bool:
        return bool(self.rates.get(str(name)))


def make_plan(faults: Iterable[str] | Mapping[str, float], seed: int | str, times: int | None) -> Plan:
    """The plan for names of faults, or for a mapping from names to rates.

    >>> make_plan(["slow"], 0, None).ranked(["slow", "hang"], "add")
    ['slow']
    >>> make_plan({"slow": 2}, 0, None)
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: the rate of slow is 2; expected a number from 0 to 1
    """
    named = [faults] if isinstance(faults, str) else faults
    rates = dict(named) if isinstance(named, Mapping) else dict.fromkeys(named, 1.0)
    for name, rate in rates.items():
        if name not in FAULTS:
            raise InvalidInput(f"no fault is named {excerpt(name)}", expected="some of " + ", ".join(FAULTS))
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            raise InvalidInput(f"the rate of {name} is {excerpt(rate)}", expected="a number from 0 to 1")
    return Plan(rates, seed, None if times is None else check_count("times", times))


def check_count(name: str, value: int) -> int:
    """A number of times, or `InvalidInput`.

    >>> check_count("times", 0)
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: times=0; expected a number of at least 1
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"{name}={excerpt(value)}", expected="a number of at least 1")
    return value
