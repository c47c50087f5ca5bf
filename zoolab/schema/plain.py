"""A quick test for the plainest schemas, so that most calls are judged without jsonschema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PYTHON_TYPES = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_ANNOTATIONS = {"title", "description", "default", "examples"}
_PLAIN_PROPERTY = _ANNOTATIONS | {"type", "enum"}
_PLAIN_OBJECT = _ANNOTATIONS | {"$schema", "type", "properties", "required", "additionalProperties"}


def plain_test(schema: Mapping[str, Any]) -> Callable[[Any], bool] | None:
    """A quick test for the plainest schemas: true only for what jsonschema accepts too.

    An object whose properties have plain types or enums of text. None for any other schema; what fails
    the test is judged by jsonschema, which also says why.

    >>> test = plain_test({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    >>> test({"a": 1}), test({"a": True}), plain_test({"anyOf": []}) is None
    (True, False, True)
    """
    if schema.get("type") != "object" or not schema.keys() <= _PLAIN_OBJECT:
        return None
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not _are_texts(required) or len(set(required)) < len(required):
        return None
    if not isinstance(schema.get("additionalProperties", False), bool) or not _annotated_well(schema):
        return None
    types = {name: _plain_types(subschema) for name, subschema in properties.items()}
    if None in types.values() or not _are_texts(list(types)):
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
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN_PROPERTY or not _annotated_well(schema):
        return None
    named: Any = schema.get("type")
    names: Any = [named] if isinstance(named, str) else named
    if not _are_texts(names) or not names or len(set(names)) < len(names):
        return None
    types = [_PYTHON_TYPES.get(name) for name in names]
    if None in types or not _are_texts(schema.get("enum", [])):
        return None
    return tuple(kind for kinds in types for kind in kinds or ())


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _annotated_well(schema: Any) -> bool:
    """What is wrong here is for jsonschema to name."""
    texts = (schema.get("title", ""), schema.get("description", ""))
    return _are_texts(list(texts)) and isinstance(schema.get("examples", []), list)
