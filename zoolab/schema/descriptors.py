"""Tools as classes that describe themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeGuard

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt


class CallableTool(Protocol):
    """A tool as a class: it describes itself, and takes the parsed arguments, now or awaited."""

    def descriptor(self) -> Any:
        """Return a `Tool`, or its description in OpenAI's form."""
        ...

    def call(self, arguments: dict[str, Any], /) -> Any:
        """Return the value for these arguments; may be `async def`."""
        ...


def is_callable_tool(member: object) -> TypeGuard[CallableTool]:
    """Tell whether an object describes itself as a tool.

    >>> is_callable_tool(print)
    False
    """
    return hasattr(member, "descriptor") and hasattr(member, "call") and not isinstance(member, type)


def parts_of(described: object) -> tuple[str, str, dict[str, Any]]:
    """Return the name, the description and the schema of a tool that is described in OpenAI's form.

    >>> parts_of({"name": "now", "description": "The time.", "parameters": {"type": "object"}})
    ('now', 'The time.', {'type': 'object'})
    """
    body = described.get("function", described) if isinstance(described, Mapping) else {}
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        expected = "name, description and parameters"
        raise InvalidInput(f"a descriptor is {excerpt(described)}", expected=expected)
    schema = body.get("parameters") or {"type": "object", "properties": {}}
    return body["name"], str(body.get("description") or ""), schema
