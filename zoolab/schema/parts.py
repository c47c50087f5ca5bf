"""The parts of a JSON Schema: those that are made for tools, and those that lie in any schema."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from enum import Enum
from types import NoneType
from typing import Any

Schema = dict[str, Any]
#: In place of a default: there is none.
REQUIRED: Any = inspect.Parameter.empty


def object_schema(properties: Schema, required: list[str]) -> Schema:
    """Return an object with these properties and no others."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def with_default(schema: Schema, default: Any) -> Schema:
    """Return the schema with its default, if there is one, it is JSON and the schema allows it."""
    if isinstance(default, Enum):
        default = default.value
    if default is REQUIRED or (default is None and not allows_null(schema)):
        return schema
    if type(default) not in (str, int, bool, NoneType):
        try:
            default = json.loads(json.dumps(default, allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            return schema
    return {**schema, "default": default}


def allows_null(schema: Schema, definitions: Mapping[str, Schema] | None = None) -> bool:
    """Return whether a schema takes null; what an unknown reference points to does not."""
    if "$ref" in schema:
        target = resolved(schema, definitions or {})
        return bool(target) and allows_null(target, definitions)
    choices = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    if choices:
        return any(allows_null(choice, definitions) for choice in choices)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [None])
    kinds = schema.get("type", "null")
    return None in values and "null" in ([kinds] if isinstance(kinds, str) else kinds)


def resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return what a reference to a definition points to; any other schema as it is."""
    return definitions.get(schema["$ref"].rpartition("/")[2], {}) if "$ref" in schema else schema


def pointed_at(schema: Any, pointer: str) -> Any:
    """Return what a JSON Pointer points to in a schema; None if that is nothing.

    >>> pointed_at({"$defs": {"a/b": [{"type": "string"}]}}, "/$defs/a~1b/0")
    {'type': 'string'}
    """
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict):
            schema = schema.get(key)
        elif isinstance(schema, list) and key.isdecimal() and len(key) < 9 and int(key) < len(schema):
            schema = schema[int(key)]
        else:
            return None
    return schema


#: The types of JSON Schema.
TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)


def subschemas(schema: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the schemas directly within a schema, each with its path; data such as defaults is left out."""
    for keyword, value in schema.items() if isinstance(schema, Mapping) else ():
        if keyword in MAPS and isinstance(value, Mapping):
            yield from (((keyword, name), child) for name, child in value.items())
        elif keyword in LISTS and isinstance(value, list):
            yield from (((keyword, index), child) for index, child in enumerate(value))
        elif keyword in SINGLE:
            yield (keyword,), value
