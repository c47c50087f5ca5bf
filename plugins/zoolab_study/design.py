"""The design of an experiment: its variants, and its runs: cases x variants x models x repeats.

A variant is a plain function, or a dict of changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, excerpt
from zoolab.records import Limits
from zoolab.steps.define import as_registry
from zoolab.tools import ToolRegistry
from zoolab_connect.faulty.kinds import make_plan
from zoolab_study.cases import Case, Setup, digest_of, json_form

#: Changes the setup that it is given, or returns another.
Variant = Callable[[Setup], Setup | None]

_KEYS = {each.name for each in fields(Setup)} - {"case", "seed", "first_turn", "on_delta"} | {"descriptions"}


def variants_in(given: Any) -> dict[str, Variant]:
    """Return the variants by name; without any there is one, `plain`, that changes nothing.

    Raises `InvalidInput` if one is neither a function nor a dict, or changes what is not there.
    """
    if given is None:
        return {"plain": Changes({})}
    if not isinstance(given, Mapping) or not given:
        raise InvalidInput(f"variants are {excerpt(given)}", expected="a dict of functions or of changes")
    return {str(name): _variant(str(name), variant) for name, variant in given.items()}


def _variant(name: str, given: Any) -> Variant:
    said = f"the variant {excerpt(name)}"
    if callable(given):
        return cast("Variant", given)
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{said} is {excerpt(given)}", expected="a function or a dict")
    for key in given:
        if key not in _KEYS:
            raise InvalidInput(f"{said} changes {excerpt(key)}", expected=", ".join(sorted(_KEYS)))
    try:
        return Changes(given)
    except InvalidInput as error:
        what = f"{said}: {error.what}"
        raise InvalidInput(what, expected=error.expected, advice=error.advice) from None


def check_described(variants: Mapping[str, Variant], tools: Iterable[ToolRegistry]) -> None:
    """Raise `InvalidInput` where a variant describes a tool that no case has."""
    told = {name: one for name, one in variants.items() if isinstance(one, Changes) and one.descriptions}
    offered = list(dict.fromkeys(tool.name for registry in tools for tool in registry)) if told else []
    for name, variant in told.items():
        known = [tool.name for tool in variant.changes.get("tools", ())] or offered
        for each in variant.descriptions:
            if each not in known:
                what = f"the variant {excerpt(name)} describes {excerpt(each)}"
                raise InvalidInput(what, expected=f"one of {', '.join(known) or 'none'}")


class Changes:
    """A variant that replaces fields of the setup; `descriptions` are those of tools, by name.

    Tools that a case does not have are left out: cases may offer different tools.
    """

    def __init__(self, changes: Mapping[str, Any]) -> None:
        #: The changes as they were given.
        self.plain = dict(changes)
        #: The fields of the setup that are replaced.
        self.changes = told = dict(changes)
        #: What is said of tools, by name.
        self.descriptions = _checked_descriptions(told.pop("descriptions", None) or {})
        if isinstance(told.get("limits"), Mapping):
            names = {field.name for field in fields(Limits)}
            if strange := [name for name in told["limits"] if name not in names]:
                what = f"limits contain the unknown name {excerpt(strange[0])}"
                raise InvalidInput(what, expected=f"some of {', '.join(sorted(names))}")
            told["limits"] = Limits(**told["limits"])
        if "faults" in told:
            faults = told["faults"]
            told["faults"] = faults if isinstance(faults, str | Mapping) else tuple(faults)
            make_plan(told["faults"], 0, None)  # which refuses faults that there are not
        if "tools" in told:
            told["tools"] = as_registry(told["tools"])
        if "messages" in told:
            told["messages"] = tuple(told["messages"])

    def __call__(self, setup: Setup) -> Setup:
        for name, value in self.changes.items():
            setattr(setup, name, value)
        if self.descriptions:
            told = self.descriptions
            setup.tools = setup.tools.changed(
                lambda tool: replace(tool, description=told[tool.name]) if tool.name in told else tool
            )
        return setup


def _checked_descriptions(told: Any) -> Mapping[str, str]:
    if not isinstance(told, Mapping):
        what = f"descriptions are {excerpt(told)}"
        raise InvalidInput(what, expected="a dict of texts, by the tool's name")
    for name, text in told.items():
        if not isinstance(text, str):
            raise InvalidInput(f"the description of {excerpt(name)} is {excerpt(text)}", expected="a text")
    return cast("Mapping[str, str]", told)


#: Hexadecimal digits in the name of a run: so many that no two are alike by chance.
_OF_A_CASE = 16
_OF_A_CELL = 12


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

    def __post_init__(self) -> None:
        if type(self.repeats) is not int or self.repeats < 1:
            raise InvalidInput(f"repeats is {excerpt(self.repeats)}", expected="1 or more")
        if type(self.seed) is not int:
            raise InvalidInput(f"seed is {excerpt(self.seed)}", expected="a whole number")

    def __len__(self) -> int:
        return len(self.cases) * len(self._cells)

    def place(self, number: int) -> Place:
        """Return where a run stands."""
        case, cell = divmod(number, len(self._cells))
        return Place(case, *self._cells[cell][:3])

    def task(self, number: int) -> Task:
        """Return a run. Its seed is the same whatever runs beside it, in whatever order."""
        place = self.place(number)
        told = f"{self.seed}\0{self.cases[place.case].id}\0{place.variant}\0{place.model}\0{place.repeat}"
        seed = int.from_bytes(_hash(told)[:8], "big") >> 11
        return Task(number, place, seed, self.run_id(number))

    def run_id(self, number: int) -> str:
        """Return the name of a run: one that asks or expects something else has another name.

        Those of one case begin with the same letters.
        """
        case, cell = divmod(number, len(self._cells))
        return self._digests[case] + self._cells[cell][3]

    @cached_property
    def _digests(self) -> list[str]:
        return [digest_of(case)[:_OF_A_CASE] for case in self.cases]

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
    """Return what a dict changes, as far as it can be told; of a function there is the name alone."""
    told = json_form(lambda _: None, variant.plain) if isinstance(variant, Changes) else None
    return canonical(told) if told else ""
