"""`zoolab mcp`: the tools of an MCP server, what has changed in them, and accepting it."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.mcp import Change, MCPTools
from zoolab.mcp.listing import one_line
from zoolab.mcp.serve import serve
from zoolab.policy import Permissions, Policy
from zoolab.steps.define import as_registry
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import ToolRegistry


def show_tools(command: Sequence[str], server: str, pins: str | None) -> int:
    """The tools of a server, and those that cannot be used; 1 where some wait to be accepted."""
    with MCPTools(command, server, pins=pins) as tools:
        if tools.first_time:
            print(f"{server}: seen for the first time; its tools are trusted as they are now")
        for tool in tools:
            print(f"{tool.name}  {one_line(tool.description, 160)}")
        for name, reason in tools.left_out.items():
            print(f"{name}  left out: {reason}")
        _show(tools.changed, "has changed: refused until accepted")
        _show(tools.new, "is new: refused until accepted")
        return 1 if tools.changed or tools.new else 0


def accept(command: Sequence[str], server: str, pins: str | None, names: Sequence[str]) -> int:
    """Accept what has changed or is new, and show what that was."""
    with MCPTools(command, server, pins=pins) as tools:
        waiting = [change for change in (*tools.changed, *tools.new) if not names or change.name in names]
        tools.accept(*names)
        _show(waiting, "is accepted")
        if not waiting:
            print(f"{server}: nothing has changed")
    return 0


def _show(changes: Sequence[Change], what: str) -> None:
    for change in changes:
        print(f"{change.name} {what}\n{change.diff}")


def serve_tools(target: str, allow: Sequence[str]) -> int:
    """Serve the tools that `target` names; those in `allow` run whatever their risk."""
    # The protocol owns standard output from the start; a module may print while it is imported.
    with redirect_stdout(sys.stderr):
        registry = registry_of(target)
    unknown = [name for name in allow if name not in registry]
    if unknown:
        raise InvalidInput(f"--allow {unknown[0]}: no such tool", expected=registry.names_as_text())
    serve(registry, Permissions(Policy(allow=frozenset(allow))), target)
    return 0


def registry_of(target: str) -> ToolRegistry:
    """The registry behind names of the toolbox, or behind MODULE:NAME; a function makes it anew."""
    module, _, name = target.partition(":")
    if not name:
        return tools_named(*target.split(","))
    found = _import(module, name)
    makes_them = inspect.isfunction(found) and not inspect.signature(found).parameters
    return as_registry(found() if makes_them else found)


def _import(module: str, name: str) -> Any:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"cannot take {name} from {module}: {error}", advice="name a registry as MODULE:REGISTRY"
        ) from error
