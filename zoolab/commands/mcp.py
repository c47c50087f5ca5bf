"""`zoolab mcp`: the tools of an MCP server, what has changed in them, and accepting it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from zoolab.mcp import Change, MCPTools
from zoolab.mcp.listing import one_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("tools", help="start a server: its tools, and what has changed")
    accepting = actions.add_parser("accept", help="trust what has changed or is new, from now on")
    accepting.add_argument("--tool", action="append", default=[], metavar="NAME", help="by default all")
    for each in (listing, accepting):
        each.add_argument("server", metavar="SERVER", help="what you call the server")
        each.add_argument("argv", nargs="+", metavar="COMMAND", help="-- and then what starts the server")
        each.add_argument("--pins", metavar="FILE", help="where its tools are pinned")


def run(options: argparse.Namespace) -> int:
    """Show the tools of a server, or accept what has changed; 1 if tools wait to be accepted."""
    with MCPTools(options.argv, options.server, pins=options.pins) as tools:
        if options.action == "accept":
            _accept(tools, options.server, options.tool)
            return 0
        if tools.first_time:
            print(f"{options.server}: seen for the first time; its tools are trusted as they are now")
        for tool in tools:
            print(f"{tool.name}  {one_line(tool.description, 160)}")
        for name, reason in tools.left_out.items():
            print(f"{name}  left out: {reason}")
        _show(tools.changed, "has changed: refused until accepted")
        _show(tools.new, "is new: refused until accepted")
        return 1 if tools.changed or tools.new else 0


def _accept(tools: MCPTools, server: str, names: Sequence[str]) -> None:
    waiting = [change for change in (*tools.changed, *tools.new) if not names or change.name in names]
    tools.accept(*names)
    _show(waiting, "is accepted")
    if not waiting:
        print(f"{server}: nothing has changed")


def _show(changes: Sequence[Change], what: str) -> None:
    for change in changes:
        print(f"{change.name} {what}\n{change.diff}")
