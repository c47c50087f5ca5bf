"""The tools of a walk: a registry holds them in order, finds them by name, forbids and renders them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from types import CoroutineType
from typing import Any

from zoolab.callables import CallableTool, from_callable_tool, is_callable_tool
from zoolab.errors import InvalidArguments, InvalidInput, PermissionDenied, ReadOnlyRecord, UnknownTool
from zoolab.jsontext import excerpt
from zoolab.tools import Context, Format, Tool, ToolReturn


class ToolRegistry:
    """The tools of a walk, in order, by name.

    >>> tools = ToolRegistry([Tool("now", "The time.", {"type": "object"}, lambda: "noon")])
    >>> len(tools), "now" in tools, [tool.name for tool in tools], tools.execute("now", {})
    (1, True, ['now'], 'noon')
    """

    def __init__(self, tools: Iterable[Tool | CallableTool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._denied: set[str] = set()
        self._fixed = False
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool | CallableTool) -> Tool:
        """Add a tool and return it; a second tool of the same name is an error.

        A walk has the tools that its define step showed. To the registry of that step none can be added:
        answer the step with others instead.

        >>> ToolRegistry().add(Tool("now", "The time.", {"type": "object"})).name
        'now'
        """
        if self._fixed:
            raise ReadOnlyRecord(
                "no tool can be added to the registry of a walk",
                advice="answer the define step with others: steps.answer([*step.record, tool])",
            )
        if is_callable_tool(tool):
            tool = from_callable_tool(tool)
        if not isinstance(tool, Tool):
            raise InvalidInput(f"{excerpt(tool)} is no tool", advice="make it one with zoolab.tool(...)")
        if tool.name in self._tools:
            raise InvalidInput(f"two tools are named {tool.name!r}", advice="give one of them another name")
        self._tools[tool.name] = tool
        return tool

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __getitem__(self, name: str) -> Tool:
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownTool(f"no tool is named {name!r}", expected=self.names_as_text()) from None

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, ToolRegistry) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ToolRegistry({', '.join(self._tools)})"

    def fixed(self) -> ToolRegistry:
        """A registry of the same tools, to which none can be added. `deny` and `allow` act on both.

        >>> len(ToolRegistry().fixed())
        0
        """
        if self._fixed:
            return self
        made = copy.copy(self)
        made._tools, made._fixed = dict(self._tools), True
        return made

    def deny(self, name: str) -> None:
        """Forbid a tool from now on, in the middle of a walk, too: the model is told, nothing runs.

        >>> tools = ToolRegistry([Tool("rm", "Remove.", {"type": "object"}, print)])
        >>> tools.deny("rm")
        >>> tools.execute("rm", {})
        Traceback (most recent call last):
        zoolab.errors.PermissionDenied: 'rm' is denied; allow it with registry.allow('rm')
        """
        self._denied.add(self[name].name)

    def allow(self, name: str) -> None:
        """Take back a `deny`.

        >>> tools = ToolRegistry([Tool("now", "The time.", {"type": "object"})])
        >>> tools.deny("now"), tools.allow("now"), tools.denies("now")
        (None, None, False)
        """
        self._denied.discard(self[name].name)

    def denies(self, name: str) -> bool:
        """Whether a tool is forbidden.

        >>> ToolRegistry().denies("rm")
        False
        """
        return name in self._denied

    def has(self, name: str) -> bool:
        """Whether there is such a tool; the same as `name in registry`.

        >>> ToolRegistry().has("now")
        False
        """
        return name in self._tools

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or None.

        >>> ToolRegistry().get("now") is None
        True
        """
        return self._tools.get(name)

    def names(self) -> list[str]:
        """The names of the tools, in order.

        >>> ToolRegistry().names()
        []
        """
        return list(self._tools)

    def names_as_text(self) -> str:
        """The names, for an error message.

        >>> ToolRegistry().names_as_text()
        'no tools at all'
        """
        return "one of " + ", ".join(self._tools) if self._tools else "no tools at all"

    def schemas(self, format: Format = "openai") -> list[dict[str, Any]]:
        """All tools as an API expects them: openai, anthropic, gemini, ollama or mcp.

        >>> ToolRegistry([Tool("now", "The time.", {"type": "object"})]).schemas()[0]["type"]
        'function'
        """
        return [tool.schema(format) for tool in self]

    def execute(self, name: str, arguments: Mapping[str, Any], context: Context | None = None) -> Any:
        """Check the arguments, call the tool, return its value; raises what is wrong.

        A value that has to be awaited is awaited, on an event loop of its own.

        >>> ToolRegistry().execute("now", {})
        Traceback (most recent call last):
        zoolab.errors.UnknownTool: no tool is named 'now'; expected no tools at all
        """
        tool = self[name]
        if self.denies(name):
            raise PermissionDenied(f"{name!r} is denied", advice=f"allow it with registry.allow({name!r})")
        if not isinstance(arguments, Mapping):
            raise InvalidInput(f"the arguments of {name!r} are {excerpt(arguments)}", expected="a dict")
        problems = tool.checker.problems(dict(arguments))
        if problems:
            found = "; ".join(problem.message for problem in problems)
            raise InvalidArguments(f"{name}: {found}", advice="give what the schema asks for")
        value = _awaited(tool.invoke(arguments, context))
        return value.value if isinstance(value, ToolReturn) else value


def _awaited(value: Any) -> Any:
    if not isinstance(value, CoroutineType):
        return value
    import asyncio
    from concurrent.futures import ThreadPoolExecutor
    from contextvars import copy_context

    with ThreadPoolExecutor(1) as own_thread:  # this one may have a loop that runs, as in a notebook
        return own_thread.submit(copy_context().run, asyncio.run, value).result()
