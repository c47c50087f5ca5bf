"""Schemas in OpenAPI's words, as Gemini writes them: types in capitals, `nullable` beside the type."""

from __future__ import annotations

from typing import Any

from zoolab.errors import InvalidSchema
from zoolab.jsontext import MAX_DEPTH

_TYPES = frozenset(("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"))
MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)


def from_openapi(schema: Any) -> Any:
    """A schema in OpenAPI's words as JSON Schema.

    >>> from_openapi({"type": "OBJECT", "properties": {"type": {"type": "STRING", "nullable": True}}})
    {'type': 'object', 'properties': {'type': {'type': ['string', 'null']}}}
    """
    return _converted(schema, 0)


def _converted(schema: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise InvalidSchema("a schema is nested too deeply", expected=f"at most {MAX_DEPTH} levels")
    if not isinstance(schema, dict):
        return schema
    made = {key: _member(key, value, depth + 1) for key, value in schema.items() if key != "nullable"}
    if schema.get("nullable") is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made


def _member(key: str, value: Any, depth: int) -> Any:
    if key == "type" and isinstance(value, str) and value in _TYPES:
        return value.lower()
    if key in MAPS and isinstance(value, dict):
        return {name: _converted(inner, depth) for name, inner in value.items()}
    if key in LISTS and isinstance(value, list):
        return [_converted(inner, depth) for inner in value]
    return _converted(value, depth) if key in SINGLE else value
