"""A function's schema, beside a generator written by hand; every function is a fresh one."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any, Literal

from pairs import Effort, Row, compare

from zoolab import tool

SOURCE = '''
def search(query: str, limit: int = 10, order: Literal["new", "old"] = "new") -> list:
    """Search the notes for words.

    Args:
        query: What to look for.
        limit: At most so many notes.
        order: Which notes come first.
    """
    return []
'''
CODE = compile(SOURCE, "search", "exec")
TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def fresh() -> Callable[..., Any]:
    """A new function each time, so that nothing is cached."""
    namespace: dict[str, Any] = {"Literal": Literal}
    exec(CODE, namespace)
    return namespace["search"]


def by_hand(function: Callable[..., Any]) -> dict[str, Any]:
    """What one would write for this one docstring style and these types."""
    described = dict(_described(inspect.getdoc(function) or ""))
    hints = typing.get_type_hints(function)
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if typing.get_origin(hint) is Literal:
            schema: dict[str, Any] = {"type": "string", "enum": list(typing.get_args(hint))}
        else:
            schema = {"type": TYPES[hint]}
        schema["description"] = described[name]
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        else:
            schema["default"] = parameter.default
        properties[name] = schema
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _described(text: str) -> Iterator[tuple[str, str]]:
    for line in text.partition("Args:")[2].splitlines():
        name, colon, description = line.strip().partition(": ")
        if colon:
            yield name, description


def rows(effort: Effort) -> Iterator[Row]:
    """A function with three parameters; both make the same schema."""
    assert tool(fresh()).parameters == by_hand(fresh()), tool(fresh()).parameters
    yield compare(
        "definition",
        "a function's schema, three parameters",
        lambda: tool(fresh()),
        lambda: by_hand(fresh()),
        "a generator by hand for that one docstring",
        effort,
        times=100,
    )
