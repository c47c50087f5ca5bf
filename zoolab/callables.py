"""Tools as classes: an object that describes itself and takes the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeGuard

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.tools import Tool


class CallableTool(Protocol):
    """A tool as a class: it describes itself, and takes the parsed arguments, now or awaited."""

    def descriptor(self) -> Tool | Mapping[str, Any]:
        """The tool, or its description in OpenAI's form."""
        ...

    def call(self, arguments: dict[str, Any], /) -> Any:
        """The value for these arguments; may be `async def`."""
        ...


def is_callable_tool(member: object) -> TypeGuard[CallableTool]:
    """Whether an object describes itself as a tool.

    >>> is_callable_tool(print)
    False
    """
    described = hasattr(member, "descriptor") and hasattr(member, "call")
    return described and not isinstance(member, Tool | type)


def from_callable_tool(member: CallableTool) -> Tool:
    """The tool that a `CallableTool` describes.

    >>> class Now:
    ...     def descriptor(self):
    ...         return {"name": "now", "description": "The time.", "parameters": {"type": "object"}}
    ...     def call(self, arguments):
    ...         return "noon"
    >>> from_callable_tool(Now()).invoke({})
    'noon'
    """
    described: Any = member.descriptor()
    call = member.call
    if isinstance(described, Tool):
        return replace(described, function=lambda **arguments: call(arguments), bind=None)
    body = described.get("function", described) if isinstance(described, Mapping) else {}
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise InvalidInput(
            f"a descriptor is {excerpt(described)}", expected="name, description and parameters"
        )
    schema = body.get("parameters") or {"type": "object", "properties": {}}
    described_as = str(body.get("description") or "")
    return Tool.from_schema(body["name"], described_as, schema, lambda **arguments: call(arguments))
