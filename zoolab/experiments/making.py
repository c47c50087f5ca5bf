"""The model of a run: the one that was given, or what a function makes."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from inspect import Parameter, signature
from typing import Any

from zoolab.about import about
from zoolab.experiments.asking import without_own_retries
from zoolab.experiments.records import Case
from zoolab.models.scripted import Scripted

__all__ = ["maker_of"]


def maker_of(model: Any) -> Callable[[int, Case], Any]:
    """Makes the model of a run. A factory takes `seed`, `case`, both or nothing; a script begins anew.

    >>> maker = maker_of(lambda seed: Scripted([str(seed)]))
    >>> from zoolab import Request
    >>> maker(7, Case("1", "Hi"))(Request([])).text
    '7'
    """
    if isinstance(model, Scripted):
        return lambda _seed, _case: _fresh(model)
    wanted = _wanted_by(model)
    if wanted is None:
        ready = without_own_retries(model)
        return lambda _seed, _case: ready
    return _Maker(model, wanted)


class _Maker:
    """Calls a factory for each run; a real model that it makes from nothing is made once."""

    def __init__(self, factory: Any, wanted: tuple[str, ...]) -> None:
        self._factory, self._wanted = factory, wanted
        self._kept: Any = None

    def __call__(self, seed: int, case: Case) -> Any:
        if self._kept is not None:
            return self._kept
        if self._wanted:
            given = {"seed": seed, "case": case}
            return without_own_retries(self._factory(**{name: given[name] for name in self._wanted}))
        model = without_own_retries(self._factory())
        if about(model).made == "recorded":
            self._kept = model
        return model


def _fresh(model: Scripted) -> Scripted:
    try:
        return deepcopy(model)
    except TypeError:  # a script from a generator is read once
        return model


def _wanted_by(model: Any) -> tuple[str, ...] | None:
    """What a factory takes, by name; None for a model, which takes a request."""
    try:
        known = signature(model).parameters.values()
    except (TypeError, ValueError):
        return None
    empty, named = Parameter.empty, (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    wanted = tuple(p.name for p in known if p.kind in named and p.name in ("seed", "case"))
    needed = {p.name for p in known if p.default is empty and p.kind in (*named, Parameter.POSITIONAL_ONLY)}
    return wanted if needed <= set(wanted) else None
