"""The toolbox by name: a domain's tools, on a fresh world, or single starter tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.plugins import TOOLBOXES
from zoolab.toolbox.starter import TOOLS, clock_tools, starter_tools
from zoolab.tools import Tool, ToolRegistry

#: The domains that the core has; others are registered in the group `zoolab.toolboxes`.
OWN: Mapping[str, Callable[[], ToolRegistry]] = MappingProxyType(
    {"starter": starter_tools, "clock": clock_tools}
)


def tools_named(*names: str) -> ToolRegistry:
    """Return the tools of domains and single starter tools, in the order given; worlds are new at each call.

    Raises:
        InvalidInput: A name is neither, or two of the tools share a name.
    """
    registry = ToolRegistry()
    for name in names:
        for tool in _tools_of(name):
            registry.add(tool)
    return registry


def _tools_of(name: str) -> Iterable[Tool]:
    singles = {tool.name: tool for tool in TOOLS}
    if name in singles:
        return [singles[name]]
    make: Callable[[], ToolRegistry] | None = OWN.get(name) or TOOLBOXES.find(name)
    if make is None:
        known = f"{', '.join([*OWN, *TOOLBOXES.entries()])}, or some of {', '.join(singles)}"
        raise InvalidInput(f"no tools are named {name!r}", expected=known)
    return make()


def tools_defined(definitions: Iterable[Any]) -> ToolRegistry:
    """Return the tools with these definitions, as a recorded request holds them; others are left out."""
    wanted, found = list(definitions), ToolRegistry()
    for make in _makers():
        missing = [each for each in wanted if each not in found.schemas()]
        if not missing:
            break
        for tool in make():
            if tool.schema() in missing:
                found.add(tool)
    return ToolRegistry(tool for each in wanted for tool in found if tool.schema() == each)


def _makers() -> Iterator[Callable[[], ToolRegistry]]:
    yield from OWN.values()
    yield from (make for _, make in TOOLBOXES.everything())
