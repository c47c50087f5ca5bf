"""Berkeley's tools and ground truth, in JSON Schema and JSON.

Its tools have other names for types, names with dots, and values of Java and JavaScript. Its ground truth
lists for each argument the values that are accepted; "" says that the argument may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoolab.tools import sendable_name

#: What JSON Schema calls Berkeley's types. `any` takes every value, and so has no type.
TYPES = {
    **dict.fromkeys(("dict", "HashMap"), "object"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("tuple", "Array", "ArrayList"), "array"),
    **dict.fromkeys(("String", "char"), "string"),
    "long": "integer",
    "Boolean": "boolean",
}
#: Categories whose values are code of a language, written as text.
CODE = {"simple_java": "Java", "simple_javascript": "JavaScript"}


def as_tool(function: Mapping[str, Any], category: str = "") -> dict[str, Any]:
    """A function of Berkeley's as a tool that OpenAI takes; in Java and JavaScript all values are texts."""
    parameters = as_schema(function["parameters"])
    if category in CODE:
        for name, written in function["parameters"]["properties"].items():
            told = f"{written.get('description', '')} Written as {CODE[category]}, of type {written['type']}."
            parameters["properties"][name] = {"type": "string", "description": told.strip()}
    made = {
        "name": sendable_name(function["name"]),
        "description": function["description"],
        "parameters": parameters,
    }
    return {"type": "function", "function": made}


def as_schema(written: Mapping[str, Any]) -> dict[str, Any]:
    """A schema in Berkeley's words as JSON Schema."""
    made: dict[str, Any] = {}
    for key, value in written.items():
        if key == "type" and isinstance(value, str):
            made |= {} if value in ("any", "") else {"type": TYPES.get(value, value)}
        elif key == "properties":
            made[key] = {name: as_schema(child) for name, child in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            made[key] = as_schema(value)
        else:
            made[key] = value
    return made


def first_answer(
    truth: Sequence[Mapping[str, Any]], functions: Sequence[Mapping[str, Any]]
) -> tuple[str, dict[str, Any]]:
    """The tool and the arguments of the first call that is expected, of each argument the first value."""
    (written, accepted), *_ = truth[0].items()
    name = sendable_name(written)
    known = (f["function"]["parameters"] for f in functions if f["function"]["name"] == name)
    return name, _first_values(accepted, next(known, {}))


def _first_values(accepted: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object out of the first accepted value of each member; what may be left out is."""
    required, properties = schema.get("required") or (), schema.get("properties") or {}
    return {
        key: _first(values[0] if isinstance(values, list) and values else values, properties.get(key) or {})
        for key, values in accepted.items()
        if key in required or not isinstance(values, list) or "" not in values
    }


def _first(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return _first_values(value, schema)
    if isinstance(value, list):
        items = schema.get("items")
        return [_first(item, items if isinstance(items, Mapping) else {}) for item in value]
    return value


def same_arguments(meant: Mapping[str, Any], given: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Whether arguments mean the same: case, outer blanks and a last / or . make no difference.

    An argument that was not meant makes no difference if it is the schema's default.
    """
    properties = schema.get("properties", {})
    invented = [
        key
        for key, value in given.items()
        if key not in meant and properties.get(key, {}).get("default", ...) != value
    ]
    return not invented and all(key in given and _plain(given[key]) == _plain(meant[key]) for key in meant)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip().rstrip("/.").casefold()
    if isinstance(value, Mapping):
        return {key: _plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_plain(child) for child in value]
    return (type(value) is bool, value)
