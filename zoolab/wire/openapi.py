"""Gemini's own words: names in camelCase or snake_case, schemas in OpenAPI's or in JSON Schema's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import MAX_DEPTH
from zoolab.wire.notes import Notes, Path

_TYPES = frozenset(("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"))
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_PROMISED = frozenset(
    [
        *(
            "$anchor",
            "$defs",
            "$id",
            "$ref",
            "additionalProperties",
            "anyOf",
            "description",
            "enum",
            "format",
        ),
        *("items", "maxItems", "maximum", "minItems", "minimum", "oneOf", "prefixItems", "properties"),
        *("propertyOrdering", "required", "title", "type"),
    ]
)
_MOST_SCHEMAS = 10_000


def camel(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields under the names of Google's JSON, which takes snake_case as well.

    >>> camel({"system_instruction": 1, "topP": 2})
    {'systemInstruction': 1, 'topP': 2}
    """
    return {name_in_camel(key): value for key, value in fields.items()}


def name_in_camel(name: Any) -> Any:
    """A name as Google's JSON has it; what is no text stays as it is.

    >>> name_in_camel("function_declarations")
    'functionDeclarations'
    """
    return re.sub("_([a-z])", lambda match: match[1].upper(), name) if isinstance(name, str) else name


def from_openapi(schema: Any) -> Any:
    """A schema in OpenAPI's words as JSON Schema.

    >>> from_openapi({"type": "OBJECT", "properties": {"type": {"type": "STRING", "nullable": True}}})
    {'type': 'object', 'properties': {'type': {'type': ['string', 'null']}}}
    """
    return _converted(schema, 0)


def note_unpromised(schema: Any, path: Path, notes: Notes) -> None:
    """Notes the keywords of a schema that Gemini does not promise to heed.

    >>> notes = Notes()
    >>> note_unpromised({"type": "object", "minProperties": 1}, ("tools", 0), notes)
    >>> print(notes.warnings[0])
    schema_subset at /tools/0: Gemini does not promise to heed minProperties
    """
    found: dict[str, None] = {}
    waiting, seen = [schema], 0
    while waiting and seen < _MOST_SCHEMAS:
        inner, seen = waiting.pop(), seen + 1
        if isinstance(inner, dict):
            found |= dict.fromkeys(str(key) for key in inner if key not in _PROMISED)
            waiting += _inner_schemas(inner)
    if found:
        notes.add("schema_subset", path, f"Gemini does not promise to heed {', '.join(sorted(found)[:9])}")


def _inner_schemas(schema: dict[str, Any]) -> Iterator[Any]:
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            yield from value.values()
        elif key in _LISTS and isinstance(value, list):
            yield from value
        elif key in _SINGLE:
            yield value


def _converted(schema: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise InvalidInput("a schema is nested too deeply", expected=f"at most {MAX_DEPTH} levels")
    if not isinstance(schema, dict):
        return schema
    made = {key: _member(key, value, depth + 1) for key, value in schema.items() if key != "nullable"}
    if schema.get("nullable") is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made


def _member(key: str, value: Any, depth: int) -> Any:
    if key == "type" and isinstance(value, str) and value in _TYPES:
        return value.lower()
    if key in _MAPS and isinstance(value, dict):
        return {name: _converted(inner, depth) for name, inner in value.items()}
    if key in _LISTS and isinstance(value, list):
        return [_converted(inner, depth) for inner in value]
    return _converted(value, depth) if key in _SINGLE else value
