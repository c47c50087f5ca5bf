"""A quick yes: by hand for the plainest schemas, and by jsonschema-rs for sweeps of a hundred thousand calls.

Only the yes counts: what is not accepted here is judged by jsonschema, which also says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from zoolab.errors import InvalidSchema, needs
from zoolab.jsontext import MAX_DEPTH, excerpt
from zoolab.schema.drafts import LATEST, draft_of
from zoolab.schema.fragments import subschemas

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_ANNOTATIONS = {"title", "description", "default", "examples"}


def plain_test(schema: Mapping[str, Any]) -> Callable[[Any], bool] | None:
    """A test for an object whose properties have plain types or enums of text; None for other schemas."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
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
    """Whether it has these keywords only, and annotations of the right types."""
    texts = (schema.get("title", ""), schema.get("description", ""))
    examples = schema.get("examples", [])
    return (
        schema.keys() <= known and all(isinstance(text, str) for text in texts) and isinstance(examples, list)
    )


def _are_different_texts(values: Any) -> bool:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return False
    return len(set(values)) == len(values)


#: Schemas times parts of a value: beyond, jsonschema judges, which counts its steps.
MAX_WORK = 20_000
_EXACT = 2**53
_COMPARED = {
    *("enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
}
#: The keywords that both validators understand alike.
_JUDGED = _COMPARED | {
    *("$schema", "$comment", "title", "description", "default", "examples", "deprecated", "format"),
    *("type", "required", "properties", "additionalProperties", "items", "prefixItems", "uniqueItems"),
    *("allOf", "anyOf", "oneOf", "not"),
}


def rs_test(schema: Mapping[str, Any]) -> Callable[[Any], bool]:
    """A test by jsonschema-rs that is true only for what jsonschema accepts, too.

    Values that the two read differently (1.0, NaN, whole numbers beyond 2**53) go to jsonschema at once.

    Raises:
        InvalidSchema: The two may differ on this schema; names what it is.
        InvalidInput: jsonschema-rs is not installed.
    """
    needs("jsonschema_rs")
    import jsonschema_rs

    if (draft := draft_of(schema)) != LATEST:
        raise _refusal(f"schemas of {draft}", f"draft {LATEST}")
    most = MAX_WORK // sum(1 for _ in _nodes(schema))
    rs: Any = jsonschema_rs
    try:
        is_valid = rs.Draft202012Validator(schema, validate_formats=False, offline=True).is_valid
    except ValueError as error:
        raise _refusal(excerpt(str(error)), "a schema that it can compile") from None

    def meets(value: Any) -> bool:
        try:
            return _size(value, MAX_DEPTH) <= most and bool(is_valid(value))
        except ValueError:  # half a character
            return False

    return meets


def _nodes(schema: Any) -> Iterator[Any]:
    """The schema and those within it; raises `InvalidSchema` for what may be judged differently."""
    yield schema
    for keyword, value in schema.items() if isinstance(schema, Mapping) else ():
        if keyword not in _JUDGED and not keyword.startswith("x-"):
            raise _refusal(f"{excerpt(keyword)}: {excerpt(value)}", "the commonest keywords")
        if keyword in _COMPARED and _size(value, MAX_DEPTH) > MAX_WORK:
            raise _refusal(
                f"{excerpt(keyword)}: {excerpt(value)}", "numbers below 2**53 that are not written as 1.0"
            )
    for _path, child in subschemas(schema):
        yield from _nodes(child)


def _size(value: Any, depth: int) -> float:
    """How many parts a value has; infinite if the validators read it differently, or if it is too deep."""
    kind = type(value)
    if kind in (str, bool) or value is None:
        return 1
    if kind is int:
        return 1 if -_EXACT < value < _EXACT else math.inf
    if kind is float:
        return 1 if math.isfinite(value) and not value.is_integer() else math.inf
    if depth > 0 and kind is list:
        return 1 + sum(_size(item, depth - 1) for item in value)
    if depth > 0 and kind is dict and all(type(key) is str for key in value):
        return 1 + len(value) + sum(_size(item, depth - 1) for item in value.values())
    return math.inf


def _refusal(what: str, expected: str) -> InvalidSchema:
    return InvalidSchema(
        f'validator="rs" does not support {what}', expected=expected, advice='use validator="jsonschema"'
    )
