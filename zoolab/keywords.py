"""Keyword arguments that one function hands on to another: both show them, and an unknown one is refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

from zoolab.errors import UnknownOption

P = ParamSpec("P")
R = TypeVar("R")


def passes_on(
    inner: Callable[..., Any], without: Collection[str] = ()
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that hands its `**options` to another one: its signature shows them all, and it
    names an unknown one as its own.

    >>> def outer(**options): ...
    >>> passes_on(lambda a=1: a)(outer)(b=2)
    Traceback (most recent call last):
    zoolab.errors.UnknownOption: outer() has no option 'b'; there are a
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = signature(function)
        shown = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        taken = {*without, *own.parameters}
        passed = [one for one in signature(inner).parameters.values() if one.name not in taken]
        with_default = [one for one in passed if one.default is not Parameter.empty]
        shown += [one.replace(kind=Parameter.KEYWORD_ONLY) for one in with_default]
        known = {one.name for one in shown if one.name != "self"}

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            refuse_unknown(function.__name__, kwargs, known, left_out=without)
            return function(*args, **kwargs)

        checked.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]
        return checked

    return decorate


def refuse_unknown(
    function: str,
    given: Iterable[str],
    known: Collection[str],
    advice: str = "",
    left_out: Collection[str] = (),
) -> None:
    """Raise `UnknownOption` for a name that is not known, and name the one that was meant.

    A name of `left_out` is meant as it is.

    >>> refuse_unknown("walk", ["sistem"], ["system", "limits"])
    Traceback (most recent call last):
    zoolab.errors.UnknownOption: walk() has no option 'sistem'; did you mean 'system'?
    """
    for name in given:
        if name not in known:
            from difflib import get_close_matches

            near = [] if name in left_out else get_close_matches(name, known, 1)
            meant = (
                f"did you mean {near[0]!r}?" if near else advice or f"there are {', '.join(sorted(known))}"
            )
            raise UnknownOption(f"{function}() has no option {name!r}", advice=meant)
