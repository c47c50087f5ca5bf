"""The table of faults, and the plan that decides by seed which of them happen.

Chance depends on the seed and on what is decided, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from zoolab import plugins
from zoolab.errors import InvalidInput
from zoolab.files import read_table
from zoolab.jsontext import canonical, digest, excerpt
from zoolab.jsontext.values import to_json_value

Stage = Literal["define", "request", "tool_call", "execute"]

#: A key that opens nothing, as the text of an error would show it.
SECRET = "sk-proj-zoolab0000example0000opens0000nothing"


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One row of the table of faults."""

    name: str
    #: The step in which it happens.
    stage: Stage
    #: What is broken, in a few words.
    does: str
    #: The error code that a walk meets it with; None if the walk mends it, or cannot see it.
    code: str | None = None
    #: Its number in the list of pitfalls of tool-calling loops, if it is one of them.
    pitfall: int | None = None
    #: Breaks the arguments of a call, or the value of a tool; for a fault that is registered (see
    #: `zoolab.plugins.FAULTS`). zoolab's own faults are broken by what is in `replies.py` and `tools.py`.
    breaks: Callable[[Any], Any] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.name}: {self.does} -> {self.code or 'no error'}"


#: Every fault, by name, as `faults.toml` lists them.
FAULTS: Mapping[str, FaultKind] = {
    name: FaultKind(name, **row) for name, row in read_table("zoolab_connect.faulty", "faults.toml").items()
}


def fault_named(name: str) -> FaultKind | None:
    """Return zoolab's own fault of that name, or the one that is registered, or None."""
    found: FaultKind | None = FAULTS.get(name) or plugins.FAULTS.find(name)
    return found


def broken_by(kind: FaultKind, value: Any) -> Any:
    """Return what a registered fault makes of arguments or of a value; None if it breaks nothing.

    If its function fails, or makes arguments that are no JSON, a warning names it.
    """
    return plugins.FAULTS.attempt(kind.name, _broken, kind, value)


def _broken(kind: FaultKind, value: Any) -> Any:
    made = None if kind.breaks is None else kind.breaks(value)
    return to_json_value(made) if kind.stage == "tool_call" else made


def check_table(names: Iterable[str], broken: Iterable[str]) -> None:
    """Check that each of these faults of the table is broken somewhere.

    Raises:
        InvalidInput: A fault has no function; it would never happen, and nothing would say so.

    >>> check_table(["cut", "shouted"], ["cut"])
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: faults.toml has shouted, and no function breaks it; ...
    """
    known = set(broken)
    lacking = [name for name in names if name not in known]
    if lacking:
        what = f"faults.toml has {', '.join(lacking)}, and no function breaks it"
        advice = "write a FaultKind with breaks, and name it in the entry points zoolab.faults"
        raise InvalidInput(what, expected="a function for each row", advice=advice)


def draw(*what: Any) -> float:
    """Return a number from 0 up to 1 that belongs to `what`, which is JSON."""
    return int(digest(canonical(what))[:13], 16) / 16**13


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which faults are wanted, how often each, and the seed."""

    rates: Mapping[str, float]
    seed: int | str = 0
    #: How often the same fault may happen; None sets no limit.
    times: int | None = None

    def registered(self, stage: str) -> dict[str, FaultKind]:
        """Return the wanted faults of a stage that are not zoolab's own."""
        others = ((name, fault_named(name)) for name in self.rates if name not in FAULTS)
        return {name: kind for name, kind in others if kind is not None and kind.stage == stage}

    def ranked(self, among: Iterable[str], *what: Any) -> list[str]:
        """Return the faults `among` these that are to happen here, in the order in which they are tried."""
        rates = {name: self.rates[name] for name in among if self.rates.get(name)}
        wanted = {name: draw(self.seed, name, *what) / rate for name, rate in rates.items()}
        return sorted((name for name, drawn in wanted.items() if drawn < 1), key=wanted.__getitem__)

    def allows(self, before: int) -> bool:
        """Return whether a fault may happen that had its chance so many times before."""
        return self.times is None or before < self.times


def make_plan(faults: Iterable[str] | Mapping[str, float], seed: int | str, times: int | None) -> FaultPlan:
    """Return the plan for names of faults, or for a mapping from names to rates; `InvalidInput` if one is
    wrong.
    """
    named = [faults] if isinstance(faults, str) else faults
    rates = dict(named) if isinstance(named, Mapping) else dict.fromkeys(named, 1.0)
    for name, rate in rates.items():
        if not isinstance(name, str) or fault_named(name) is None:
            known = "some of " + ", ".join((*FAULTS, *plugins.FAULTS.entries()))
            raise InvalidInput(f"no fault is named {excerpt(name)}", expected=known)
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            raise InvalidInput(f"the rate of {name} is {excerpt(rate)}", expected="a number from 0 to 1")
    if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 1):
        raise InvalidInput(f"times={excerpt(times)}", expected="a number of at least 1")
    return FaultPlan(rates, seed, times)
