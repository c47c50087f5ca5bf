"""Schemas that are checked without a library: plain types and enums of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_ANNOTATIONS = {"title", "description", "default", "examples"}


def plain_test(schema: Mapping[str, Any]) -> Callable[[Any], bool] | None:
    """Return a test for an object whose properties have plain types or enums of text; None for other
    schemas.
    """
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    known = _ANNOTATIONS | {"$schema", "type", "properties", "required", "additionalProperties"}
    closed = schema.get("additionalProperties", False)
    if schema.get("type") != "object" or not _is_plain(schema, known) or not isinstance(closed, bool):
        return None
    if not isinstance(properties, dict) or not _are_different_texts(required):
        return None
    types = {name: _plain_types(subschema) for name, subschema in properties.items()}
    if None in types.values() or not _are_different_texts(list(types)):
        return None
    enums = {name: frozenset(sub["enum"]) for name, sub in properties.items() if "enum" in sub}

    def meets(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name in required:
            if name not in value:
                return False
        for name, item in value.items():
            allowed = types.get(name)
            if allowed is None:
                return False
            if type(item) not in allowed or (name in enums and item not in enums[name]):
                return False
        return True

    return meets


def _plain_types(schema: Any) -> tuple[type, ...] | None:
    if not isinstance(schema, dict) or not _is_plain(schema, _ANNOTATIONS | {"type", "enum"}):
        return None
    names = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type")
    if not names or not _are_different_texts(names) or not set(names) <= _PYTHON_TYPES.keys():
        return None
    if not _are_different_texts(schema.get("enum", [])):
        return None
    return tuple(kind for name in names for kind in _PYTHON_TYPES[name])


def _is_plain(schema: Mapping[str, Any], known: set[str]) -> bool:
    texts = (schema.get("title", ""), schema.get("description", ""))
    examples = schema.get("examples", [])
    return (
        schema.keys() <= known and all(isinstance(text, str) for text in texts) and isinstance(examples, list)
    )


def _are_different_texts(values: Any) -> bool:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return False
    return len(set(values)) == len(values)
