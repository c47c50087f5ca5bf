"""`zoolab mcp`: the tools of an MCP server, what has changed in them, and accepting it."""

from __future__ import annotations

from collections.abc import Sequence

from zoolab.mcp import Change, MCPTools
from zoolab.mcp.listing import one_line


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
