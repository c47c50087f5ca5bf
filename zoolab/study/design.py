"""Which runs there are, in which order, and what each is called: cases x variants x models x repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, excerpt
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.study.cases import Case, digest_of
from zoolab.study.variants import Changes, Variant

__all__ = ["Card", "Grid", "Place", "Plan", "derive_seed"]

#: Hexadecimal digits in the name of a run: so many that no two are alike by chance.
_OF_A_CASE, _OF_A_CELL = 16, 12


class Place(NamedTuple):
    """Where a run stands in the plan, by names and numbers."""

    case: int
    variant: str
    model: str
    repeat: int


class Card(NamedTuple):
    """A case as it is handed out."""

    case: Case
    digest: str
    #: Where its tools stand among those that cases share; None where it brings its own.
    shelf: int | None = None


@dataclass(frozen=True)
class Grid:
    """What each case is done with: numbers of runs to places, and to the names of runs."""

    variants: tuple[str, ...]
    models: tuple[str, ...]
    repeats: int = 1
    seed: int = 0
    #: What the variants change, as far as it can be told.
    changes: tuple[str, ...] = ()

    @cached_property
    def _cells(self) -> list[tuple[str, str, int, str]]:
        """What a case is done with, each with its name."""
        changes = self.changes or ("",) * len(self.variants)
        return [
            (variant, model, repeat, _hash(f"{self.seed}\0{variant}\0{model}\0{repeat}\0{changed}").hex())
            for variant, changed in zip(self.variants, changes, strict=True)
            for model in self.models
            for repeat in range(self.repeats)
        ]

    def __len__(self) -> int:
        return len(self._cells)

    def place(self, number: int) -> Place:
        """Where a run stands."""
        case, cell = divmod(number, len(self._cells))
        variant, model, repeat, _ = self._cells[cell]
        return Place(case, variant, model, repeat)

    def run_id(self, number: int, digest: str) -> str:
        """The name of a run of the case with this digest: runs of one case begin with the same letters.

        >>> Grid(("plain",), ("tiny",), repeats=2).run_id(1, "5e0c" * 8)
        '5e0c5e0c5e0c5e0c573b79d12f8e'
        """
        return digest[:_OF_A_CASE] + self._cells[number % len(self._cells)][3][:_OF_A_CELL]


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment, numbered: those of one case stand side by side.

    >>> plan = Plan([Case("a", "Hi"), Case("b", "Ho")], {"plain": Changes({})}, {"m": None}, repeats=2)
    >>> len(plan), plan.grid.place(3)
    (4, Place(case=1, variant='plain', model='m', repeat=1))
    """

    cases: Sequence[Case]
    variants: Mapping[str, Variant]
    models: Mapping[str, Any]
    repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if type(self.repeats) is not int or self.repeats < 1:
            raise InvalidInput(f"repeats is {excerpt(self.repeats)}", expected="1 or more")
        if type(self.seed) is not int:
            raise InvalidInput(f"seed is {excerpt(self.seed)}", expected="a whole number")

    def __len__(self) -> int:
        return len(self.cases) * len(self.grid)

    @cached_property
    def grid(self) -> Grid:
        """Variants, models and repeats."""
        changes = tuple(_plain(variant) for variant in self.variants.values())
        return Grid(tuple(self.variants), tuple(self.models), self.repeats, self.seed, changes)

    def digest(self, case: int) -> str:
        """The name of what a case asks and expects."""
        known = self._digests.get(case)
        if known is None:
            known = self._digests[case] = digest_of(self.cases[case])
        return known

    def run_id(self, number: int) -> str:
        """The name of a run. One that asks or expects something else has another name."""
        return self.grid.run_id(number, self.digest(number // len(self.grid)))

    @cached_property
    def _digests(self) -> dict[int, str]:
        return {}


def derive_seed(seed: int, case: str, variant: str, model: str, repeat: int) -> int:
    """The seed of a run: whatever runs beside it, in whatever order, it is the same.

    >>> derive_seed(0, "sum-1", "plain", "tiny", 0)
    7743392737888883
    """
    return int.from_bytes(_hash(f"{seed}\0{case}\0{variant}\0{model}\0{repeat}")[:8], "big") >> 11


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _plain(variant: Variant) -> str:
    """What a dict changes, as far as it can be told; of a function there is the name alone."""
    if not isinstance(variant, Changes) or not variant.plain:
        return ""
    try:
        return canonical(to_json_value(variant.plain))
    except (NotJSON, RecursionError):
        return ""
