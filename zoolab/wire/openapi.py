"""Gemini's own words: names in camelCase or snake_case, and the keywords that it heeds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from zoolab.schema.openapi import LISTS, MAPS, SINGLE
from zoolab.wire.notes import Notes, Path

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
        if key in MAPS and isinstance(value, dict):
            yield from value.values()
        elif key in LISTS and isinstance(value, list):
            yield from value
        elif key in SINGLE:
            yield value
