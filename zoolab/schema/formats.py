"""A tool as each API expects it: the same name, description and schema under other names.

Each function takes what OpenAI calls a tool's `function`. `Tool.schema` and the formats of `zoolab.wire`
call the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from zoolab.errors import InvalidSchema
from zoolab.jsontext import MAX_DEPTH
from zoolab.schema.fragments import LISTS, MAPS, SINGLE

Function = Mapping[str, Any]

#: The schema of a tool without parameters, for an API that requires one.
NO_PARAMETERS: Mapping[str, Any] = MappingProxyType({"type": "object", "properties": {}})


def _openai(function: Function) -> dict[str, Any]:
    return {"type": "function", "function": dict(function)}


def _responses(function: Function) -> dict[str, Any]:
    others = _without(function, "type", "parameters", "strict")
    # Strict unless it is switched off; None leaves the choice to the API.
    strict = function.get("strict", False)
    sent = {} if strict is None else {"strict": strict}
    return {"type": "function", **others, "parameters": function.get("parameters"), **sent}


def _anthropic(function: Function) -> dict[str, Any]:
    schema = function.get("parameters")
    described = {key: function[key] for key in ("name", "description") if key in function}
    others = _without(function, *described, "parameters", "input_schema", "type")
    return {**described, "input_schema": dict(NO_PARAMETERS) if schema is None else schema, **others}


def _gemini(function: Function) -> dict[str, Any]:
    schema = function.get("parameters")
    described = {} if schema is None else {"parametersJsonSchema": schema}
    return {"name": function["name"], **_without(function, "name", "parameters", "strict"), **described}


def _ollama(function: Function) -> dict[str, Any]:
    return _openai(_without(function, "strict"))


def _mcp(function: Function) -> dict[str, Any]:
    others = _without(function, "parameters", "strict")
    return {**others, "inputSchema": function.get("parameters", dict(NO_PARAMETERS))}


def _without(function: Function, *keys: str) -> dict[str, Any]:
    return {key: value for key, value in function.items() if key not in keys}


#: What makes a tool of OpenAI's `function`, by the name of the format.
TOOL_FORMATS: Mapping[str, Callable[[Function], dict[str, Any]]] = MappingProxyType(
    {
        "openai": _openai,
        "responses": _responses,
        "anthropic": _anthropic,
        "gemini": _gemini,
        "ollama": _ollama,
        "mcp": _mcp,
    }
)


_TYPES = frozenset(("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"))


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
