"""The toolbox by name: a domain's tools, on a fresh world, or single starter tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from zoolab.errors import InvalidInput
from zoolab_course.worlds.analytics import analytics_tools
from zoolab_course.worlds.devops import devops_tools
from zoolab_course.worlds.security import security_tools
from zoolab.toolbox.starter import TOOLS, clock_tools, starter_tools
from zoolab_course.worlds.support import support_tools
from zoolab_course.worlds.tasks import task_tools
from zoolab.tools import ToolRegistry

DOMAINS: Mapping[str, Callable[[], ToolRegistry]] = MappingProxyType(
    {
        "starter": starter_tools,
        "devops": devops_tools,
        "support": support_tools,
        "analytics": analytics_tools,
        "security": security_tools,
        "tasks": task_tools,
        "clock": clock_tools,
    }
)


def tools_named(*names: str) -> ToolRegistry:
    """The tools of domains and single starter tools, in the order given; worlds are new at each call.

    Raises `InvalidInput` if a name is neither, or two of the tools share a name.
    """
    singles = {tool.name: tool for tool in TOOLS}
    registry = ToolRegistry()
    for name in names:
        if name not in DOMAINS and name not in singles:
            known = f"{', '.join(DOMAINS)}, or some of {', '.join(singles)}"
            raise InvalidInput(f"no tools are named {name!r}", expected=known)
        for tool in DOMAINS[name]() if name in DOMAINS else [singles[name]]:
            registry.add(tool)
    return registry


def tools_defined(definitions: Iterable[Any]) -> ToolRegistry:
    """The tools with these definitions, as a recorded request holds them; what is unknown is left out."""
    every = [tool for tools_of in DOMAINS.values() for tool in tools_of()]
    return ToolRegistry(tool for wanted in definitions for tool in every if tool.schema() == wanted)
