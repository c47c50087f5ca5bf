"""Berkeley's tools as JSON Schema: other names for types, names with dots, values of Java and JavaScript."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

#: A type of Berkeley's and what JSON Schema calls it. `any` takes every value, and so has no type.
TYPES: Mapping[str, str] = MappingProxyType(
    {
        "dict": "object",
        "HashMap": "object",
        "float": "number",
        "double": "number",
        "tuple": "array",
        "Array": "array",
        "ArrayList": "array",
        "long": "integer",
        "String": "string",
        "char": "string",
        "Boolean": "boolean",
    }
)
_UNTYPED = ("any", "")
#: Their values are code of the language, written as text.
_AS_TEXT = {"simple_java": "Java", "simple_javascript": "JavaScript"}
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")


def as_tool(function: Mapping[str, Any], category: str = "") -> dict[str, Any]:
    """A function of Berkeley's as a tool that OpenAI takes; in Java and JavaScript all values are texts.

    >>> written = {"name": "math.add", "parameters": {"type": "dict", "properties": {"a": {"type": "float"}}}}
    >>> made = as_tool({**written, "description": "Add."})["function"]
    >>> made["name"], made["parameters"]["properties"]
    ('math_add', {'a': {'type': 'number'}})
    """
    parameters = as_schema(function["parameters"])
    language = _AS_TEXT.get(category)
    if language:
        parameters["properties"] = {
            name: _as_text(written, language)
            for name, written in function["parameters"]["properties"].items()
        }
    made = {
        "name": tool_name(function["name"]),
        "description": function["description"],
        "parameters": parameters,
    }
    return {"type": "function", "function": made}


def is_code(category: str) -> bool:
    """Whether the values of a category are code, written as text.

    >>> is_code("simple_java"), is_code("simple_python")
    (True, False)
    """
    return category in _AS_TEXT


def tool_name(name: str) -> str:
    """A name that every API takes.

    >>> tool_name("triangle_properties.get")
    'triangle_properties_get'
    """
    return _NO_NAME.sub("_", name)[:64]


def as_schema(written: Mapping[str, Any]) -> dict[str, Any]:
    """A schema in Berkeley's words as JSON Schema.

    >>> as_schema({"type": "tuple", "items": {"type": "any", "description": "Whatever."}})
    {'type': 'array', 'items': {'description': 'Whatever.'}}
    """
    made: dict[str, Any] = {}
    for key, value in written.items():
        if key == "type" and isinstance(value, str):
            made |= {} if value in _UNTYPED else {"type": TYPES.get(value, value)}
        elif key == "properties":
            made[key] = {name: as_schema(child) for name, child in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            made[key] = as_schema(value)
        else:
            made[key] = value
    return made


def _as_text(written: Mapping[str, Any], language: str) -> dict[str, Any]:
    said = f"{written.get('description', '')} Written as {language}, of type {written['type']}.".strip()
    return {"type": "string", "description": said}
