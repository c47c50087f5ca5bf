"""The tools that a request offered, in the words of several programs, as schemas in OpenAI's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoolab.jsontext import NotStrictJSON, excerpt, parse_json
from zoolab_connect.readers.found import Unread

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "json_schema")


def parsed(value: Any) -> Any:
    """Return a value that may be JSON text; the text itself if it is none.

    >>> parsed('[1]'), parsed('[1')
    ([1], '[1')
    """
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{", '"')):
        return value
    try:
        return parse_json(value)
    except NotStrictJSON:
        return value


def tools_in(given: Any, place: str, unread: Unread) -> list[dict[str, Any]]:
    """Return the functions among the tools of a request; what is no function is noted.

    >>> tools_in('[{"name": "now", "input_schema": {}}]', "tools", Unread())
    [{'type': 'function', 'function': {'name': 'now', 'description': '', 'parameters': {}}}]
    """
    listed = parsed(given)
    if isinstance(listed, Mapping):
        listed = [{"name": k, **v} if isinstance(v, Mapping) else v for k, v in listed.items()]
    if listed not in (None, "") and not isinstance(listed, list):
        unread.add(place, f"it is {excerpt(listed, 60)}; expected a list of tools")
    found = []
    for number, told in enumerate(_one_by_one(listed if isinstance(listed, list) else [])):
        inner = told.get("function") if isinstance(told, Mapping) else None
        function = inner if isinstance(inner, Mapping) else told
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            unread.add(f"{place}[{number}]", f"it is {excerpt(told, 60)}; expected a function with a name")
            continue
        schema: Any = next((parsed(function[k]) for k in _SCHEMAS if function.get(k)), {})
        about = {
            "name": function["name"],
            "description": str(function.get("description") or ""),
            "parameters": schema if isinstance(schema, Mapping) else {},
        }
        found.append({"type": "function", "function": about})
    return found


def _one_by_one(listed: list[Any]) -> Iterator[Any]:
    """Yield each tool; Gemini has several in one."""
    for each in map(parsed, listed):
        names = ("functionDeclarations", "function_declarations")
        held = (each.get(name) for name in names) if isinstance(each, Mapping) else ()
        yield from next((found for found in held if isinstance(found, list)), [each])


def tools_beside(value: Any, place: str, unread: Unread) -> list[dict[str, Any]]:
    """Return the tools in an object that holds messages, too, such as a request."""
    held = parsed(value)
    if isinstance(held, list) and len(held) == 1:
        [held] = held
    if not isinstance(held, Mapping):
        return []
    return tools_in(
        next((held[k] for k in ("tools", "functions") if held.get(k)), None), f"{place}.tools", unread
    )
