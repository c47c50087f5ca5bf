"""JSON arguments as a function's type hints want them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidArguments, Problem
from zoolab.jsontext import encode, excerpt, pointer_to

if TYPE_CHECKING:
    pass

Bind = Callable[[dict[str, Any]], dict[str, Any]]


class BindingError(InvalidArguments):
    """Arguments meet the schema and are still not what the function's hints say."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        #: All that could not be converted.
        self.problems = tuple(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))


def binder(hints: Mapping[str, Any]) -> Bind | None:
    """Return what turns JSON arguments into what these hints say; None if there are no hints.

    Give it only the hints whose `Shape.binds`. Raises `BindingError` when called.
    """
    if not hints:
        return None
    adapters: dict[str, Any] = {}

    def bind(arguments: dict[str, Any]) -> dict[str, Any]:
        from pydantic import TypeAdapter, ValidationError

        bound = dict(arguments)
        problems = list[Problem]()
        for name in [name for name in hints if name in arguments]:
            value = arguments[name]
            if name not in adapters:
                adapters[name] = TypeAdapter(hints[name])
            try:
                # Strict JSON takes a string for a date and a list for a tuple, yet no "1" for 1.
                bound[name] = adapters[name].validate_json(encode(value), strict=True)
            except ValidationError as error:
                problems += (_problem(name, value, found) for found in error.errors(include_url=False))
        if problems:
            raise BindingError(problems)
        return bound

    return bind


def _problem(name: str, value: Any, found: Any) -> Problem:
    path = [name]
    for part in found["loc"]:  # pydantic also names the branch of a union, which is nowhere in the value
        try:
            value = value[part]
        except (LookupError, TypeError):
            continue
        path.append(part)
    if found["type"] == "missing":
        return Problem("invalid_arguments", pointer_to([*path, found["loc"][-1]]), "a value", "nothing")
    expected = found["msg"].removeprefix("Input should be ")
    return Problem("invalid_arguments", pointer_to(path), expected, excerpt(found["input"]))
