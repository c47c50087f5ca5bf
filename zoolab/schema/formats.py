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


def from_openapi(schema: Any, depth: int = 0) -> Any:
    """A schema in OpenAPI's words as JSON Schema; `depth` is how deep it stands in another.

    >>> from_openapi({"type": "OBJECT", "properties": {"type": {"type": "STRING", "nullable": True}}})
    {'type': 'object', 'properties': {'type': {'type': ['string', 'null']}}}
    """
    if depth > MAX_DEPTH:
        raise InvalidSchema("a schema is nested too deeply", expected=f"at most {MAX_DEPTH} levels")
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str) and value in _TYPES:
            made[key] = value.lower()
        elif key in MAPS and isinstance(value, dict):
            made[key] = {name: from_openapi(inner, depth + 1) for name, inner in value.items()}
        elif key in LISTS and isinstance(value, list):
            made[key] = [from_openapi(inner, depth + 1) for inner in value]
        elif key != "nullable":
            made[key] = from_openapi(value, depth + 1) if key in SINGLE else value
    if schema.get("nullable") is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made
