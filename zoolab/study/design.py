"""The plan of an experiment: its runs (cases x variants x models x repeats), their order and their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, excerpt
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.study.cases import Case, digest_of
from zoolab.study.variants import Changes, Variant

#: Hexadecimal digits in the name of a run: so many that no two are alike by chance.
_OF_A_CASE, _OF_A_CELL = 16, 12


class Place(NamedTuple):
    """Where a run stands in the plan: the number of its case, and what is done with it."""

    case: int
    variant: str
    model: str
    repeat: int


class Task(NamedTuple):
    """One run, as it is handed out."""

    number: int
    place: Place
    seed: int
    run_id: str


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment, numbered: those of one case stand side by side."""

    cases: Sequence[Case]
    variants: Mapping[str, Variant]
    models: Mapping[str, Any]
    repeats: int = 1
    seed: int = 0
    _digests: dict[int, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.repeats) is not int or self.repeats < 1:
            raise InvalidInput(f"repeats is {excerpt(self.repeats)}", expected="1 or more")
        if type(self.seed) is not int:
            raise InvalidInput(f"seed is {excerpt(self.seed)}", expected="a whole number")

    def __len__(self) -> int:
        return len(self.cases) * len(self._cells)

    def place(self, number: int) -> Place:
        """Where a run stands."""
        case, cell = divmod(number, len(self._cells))
        return Place(case, *self._cells[cell][:3])

    def task(self, number: int) -> Task:
        """A run. Its seed is the same whatever runs beside it, in whatever order."""
        place = self.place(number)
        told = f"{self.seed}\0{self.cases[place.case].id}\0{place.variant}\0{place.model}\0{place.repeat}"
        seed = int.from_bytes(_hash(told)[:8], "big") >> 11
        return Task(number, place, seed, self.run_id(number))

    def run_id(self, number: int) -> str:
        """The name of a run: one that asks or expects something else has another name.

        Those of one case begin with the same letters.
        """
        case, cell = divmod(number, len(self._cells))
        digest = self._digests.get(case)
        if digest is None:
            digest = self._digests[case] = digest_of(self.cases[case])[:_OF_A_CASE]
        return digest + self._cells[cell][3]

    @cached_property
    def _cells(self) -> list[tuple[str, str, int, str]]:
        """What a case is done with: variant, model and repeat, with the second part of the run's name."""
        return [
            (
                name,
                model,
                repeat,
                _hash(f"{self.seed}\0{name}\0{model}\0{repeat}\0{changes}").hex()[:_OF_A_CELL],
            )
            for name, changes in {name: _plain(variant) for name, variant in self.variants.items()}.items()
            for model in self.models
            for repeat in range(self.repeats)
        ]


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
