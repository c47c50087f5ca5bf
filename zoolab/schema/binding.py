"""JSON arguments become what a function's hints say, by pydantic, which is imported only when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from zoolab.errors import InvalidArguments, Problem
from zoolab.jsontext import encode, excerpt, pointer_to

Bind = Callable[[dict[str, Any]], dict[str, Any]]


class BindingError(InvalidArguments):
    """Arguments meet the schema and are still not what the function's hints say.

    >>> str(BindingError([Problem("invalid_arguments", "/day", "a date", '"noon"')]))
    '/day: expected a date, received "noon"'
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        #: All that could not be converted.
        self.problems = tuple(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))


def binder(hints: Mapping[str, Any]) -> Bind | None:
    """What turns JSON arguments into what these hints say; None if there are no hints.

    Give it only the hints whose `Shape.binds`. Raises `BindingError` when called.

    >>> from datetime import date
    >>> binder({"day": date})({"day": "2024-02-29", "city": "Oslo"})
    {'day': datetime.date(2024, 2, 29), 'city': 'Oslo'}
    """
    if not hints:
        return None
    adapters: dict[str, Any] = {}

    def bind(arguments: dict[str, Any]) -> dict[str, Any]:
        bound, problems = dict(arguments), list[Problem]()
        for name in hints:
            if name in arguments:
                if name not in adapters:
                    adapters[name] = _adapter(hints[name])
                bound[name] = _converted(adapters[name], name, arguments[name], problems)
        if problems:
            raise BindingError(problems)
        return bound

    return bind


def _adapter(hint: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(hint)


def _converted(adapter: Any, name: str, value: Any, problems: list[Problem]) -> Any:
    from pydantic import ValidationError

    try:
        # Strict JSON takes a string for a date and a list for a tuple, yet no "1" for 1.
        return adapter.validate_json(encode(value), strict=True)
    except ValidationError as error:
        problems += (_problem(name, value, found) for found in error.errors(include_url=False))


def _problem(name: str, value: Any, found: Any) -> Problem:
    pointer = pointer_to([name, *_path(value, found["loc"])])
    if found["type"] == "missing":
        return Problem("invalid_arguments", pointer + pointer_to(found["loc"][-1:]), "a value", "nothing")
    expected = found["msg"].removeprefix("Input should be ")
    return Problem("invalid_arguments", pointer, expected, excerpt(found["input"]))


def _path(value: Any, location: tuple[Any, ...]) -> Iterable[Any]:
    """Where in the value; pydantic also names the branch of a union, which is nowhere in it."""
    for part in location:
        try:
            value = value[part]
        except (LookupError, TypeError):
            continue
        yield part
