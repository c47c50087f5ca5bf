"""The toolbox by name: a domain's tools, on a fresh world, or single starter tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.plugins import TOOLBOXES
from zoolab.toolbox.starter import starter_tools
from zoolab.tools import Tool, ToolRegistry

#: The domains that the core has; others are registered in the group `zoolab.toolboxes`.
OWN: Mapping[str, Callable[[], ToolRegistry]] = MappingProxyType({"starter": starter_tools})


def tools_named(*names: str) -> ToolRegistry:
    """Return the tools of domains and single tools, in the order given; worlds are new at each call.

    A single tool is one of the starter, or one of a domain with a dot between. A recording names its tools
    one by one, because a domain may get more of them.

    Raises:
        InvalidInput: A name is neither, or two of the tools share a name.

    >>> tools_named("add", "starter.ping", "clock").names()
    ['add', 'ping', 'get_current_time']
    """
    registry = ToolRegistry()
    worlds = dict[str, ToolRegistry]()
    for name in names:
        for tool in _tools_of(name, worlds):
            registry.add(tool)
    return registry


def _tools_of(name: str, worlds: dict[str, ToolRegistry]) -> Iterable[Tool]:
    """Return the tools of a name; single tools of a domain share the world of their domain."""
    singles = starter_tools()
    if name in singles:
        return [singles[name]]
    domain, dot, single = name.partition(".")
    make = OWN.get(domain) or TOOLBOXES.find(domain)
    if make is None:
        known = f"{', '.join([*OWN, *TOOLBOXES.entries()])}, or some of {', '.join(singles.names())}"
        raise InvalidInput(f"no tools are named {name!r}", expected=known)
    if domain not in worlds:
        worlds[domain] = TOOLBOXES.call(domain, _registry, make)
    tools = worlds[domain]
    if dot and single not in tools:
        raise InvalidInput(f"{domain} has no tool {single!r}", expected=tools.names_as_text())
    return [tools[single]] if dot else tools


def tools_defined(definitions: Iterable[Any]) -> ToolRegistry:
    """Return the tools with these definitions, as a recorded request holds them; others are left out."""
    wanted = list(definitions)
    found = ToolRegistry()
    for domain, make in _makers():
        missing = [each for each in wanted if each not in found.schemas()]
        if not missing:
            break
        for tool in TOOLBOXES.attempt(domain, _registry, make) or ():
            if tool.schema() in missing:
                found.add(tool)
    return ToolRegistry(tool for each in wanted for tool in found if tool.schema() == each)


def _makers() -> Iterator[tuple[str, Callable[[], Iterable[Tool]]]]:
    yield from OWN.items()
    yield from TOOLBOXES.everything()


def _registry(make: Callable[[], Iterable[Tool]]) -> ToolRegistry:
    tools = make()
    return tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
