"""`zoolab mcp` and `serve-tools`: the tools of an MCP server, and a registry as such a server."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from zoolab.commands.listing import print_json
from zoolab.errors import InvalidInput
from zoolab.policy import Permissions, Policy
from zoolab.steps.define import as_registry
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import ToolRegistry
from zoolab_connect.mcp import MCPTools, PinChange
from zoolab_connect.mcp.listing import safe_line
from zoolab_connect.mcp.serve import serve

_RESOURCES: Mapping[Literal["resources", "resource_templates"], str] = {
    "resources": "resource",
    "resource_templates": "resource template",
}


def mcp(options: argparse.Namespace) -> int:
    """Show the tools of a server, or accept what has changed; 1 if tools wait to be accepted."""
    by_address = len(options.argv) == 1 and "://" in options.argv[0]
    command = options.argv[0] if by_address else options.argv
    key = os.environ.get(options.key or "", "")
    if options.key and not key:
        raise InvalidInput(f"--key {options.key}: that variable is not set", advice="set it to the key")
    headers = {"Authorization": f"Bearer {key}"} if key else None
    with MCPTools(command, options.server, headers=headers, pins=options.pins) as tools:
        if options.action == "accept":
            _accept(tools, options.server, options.tool)
            return 0
        if options.json:
            print_json(_as_dict(tools, options.server))
            return int(bool(tools.changed or tools.new))
        if tools.first_time:
            print(f"{options.server}: seen for the first time; its tools are trusted as they are now")
        for tool in tools:
            print(f"{tool.name}  {safe_line(tool.description, 160)}")
        for name, reason in tools.left_out.items():
            print(f"{name}  left out: {reason}")
        for kind in _RESOURCES:
            for resource in tools.offers(kind):
                print(f"{_RESOURCES[kind]} {resource.uri}  {resource.description or resource.name}")
        for prompt in tools.offers("prompts"):
            print(f"prompt {prompt.name}({', '.join(prompt.arguments)})  {prompt.description}")
        if tools.instructions:
            print(f"instructions: {safe_line(tools.instructions)}")
        for note in tools.notes:
            print(f"note: {note}")
        _show(tools.changed, "has changed: refused until accepted")
        _show(tools.new, "is new: refused until accepted")
        return 1 if tools.changed or tools.new else 0


def _as_dict(tools: MCPTools, server: str) -> dict[str, Any]:
    return {
        "server": server,
        "first_time": tools.first_time,
        "tools": [tool.schema("mcp") for tool in tools],
        "left_out": dict(tools.left_out),
        "resources": [each._asdict() for each in tools.offers("resources")],
        "resource_templates": [each._asdict() for each in tools.offers("resource_templates")],
        "prompts": [each._asdict() for each in tools.offers("prompts")],
        "instructions": safe_line(tools.instructions, 8_000),
        "notes": [*tools.notes],
        "changed": [asdict(change) for change in tools.changed],
        "new": [asdict(change) for change in tools.new],
    }


def _accept(tools: MCPTools, server: str, names: Sequence[str]) -> None:
    waiting = [change for change in (*tools.changed, *tools.new) if not names or change.name in names]
    tools.accept(*names)
    _show(waiting, "is accepted")
    if not waiting:
        print(f"{server}: nothing has changed")


def _show(changes: Sequence[PinChange], what: str) -> None:
    for change in changes:
        print(f"{change.name} {what}\n{change.diff}")


def serve_tools(options: argparse.Namespace) -> int:
    """Serve the tools; those of `--allow` run whatever their risk."""
    # The protocol owns standard output from the start; a module may print while it is imported.
    with redirect_stdout(sys.stderr):
        registry = _registry(options.target)
    unknown = [name for name in options.allow if name not in registry]
    if unknown:
        raise InvalidInput(f"--allow {unknown[0]}: no such tool", expected=registry.names_as_text())
    serve(registry, Permissions(Policy(allow=frozenset(options.allow))), options.target, options.http)
    return 0


def _registry(target: str) -> ToolRegistry:
    """Return the registry behind names of the toolbox, or behind MODULE:NAME; a function makes it anew."""
    module, _, name = target.partition(":")
    if not name:
        return tools_named(*target.split(","))
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        advice = "name a registry as MODULE:REGISTRY"
        raise InvalidInput(f"cannot take {name} from {module}: {error}", advice=advice) from error
    makes_them = inspect.isfunction(found) and not inspect.signature(found).parameters
    return as_registry(found() if makes_them else found)
