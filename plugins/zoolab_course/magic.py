"""`%%walk`, a cell whose text is a question: `%load_ext zoolab` makes it known to a notebook."""

from __future__ import annotations

from argparse import ArgumentParser
from shlex import split
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.models.replay import Replay
from zoolab.runs import run
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import Tool


def load_ipython_extension(shell: Any) -> None:
    """Make `%%walk` known to a shell of IPython; `%load_ext zoolab` calls it."""

    def walk(line: str, cell: str) -> Any:
        """Ask what the cell says, and show every step. `%%walk --help` names the options."""
        try:
            given = _options().parse_args(split(line))
        except SystemExit:  # the help was printed, or what is wrong
            return None
        model = shell.user_ns.get(given.model)
        tools = [tool for name in given.tools.split(",") for tool in _tools(name.strip(), shell.user_ns)]
        trace = run(cell.strip(), tools, Replay(given.model) if model is None else model)
        shell.user_ns[given.into] = trace
        return trace if given.plain else trace.inspect()

    shell.register_magic_function(walk, "cell", "walk")


def _options() -> ArgumentParser:
    parser = ArgumentParser(prog="%%walk", description="Ask what the cell says, and show every step.")
    tools = "add,get_weather,check_status"
    recorded = "starter"
    parser.add_argument("--tools", default=tools, help="names of tools here, or of zoolab's; with commas")
    parser.add_argument("--model", default=recorded, help="the name of a model here, or of a recording")
    parser.add_argument("--into", default="trace", help="the name that the trace gets here")
    parser.add_argument("--plain", action="store_true", help="show the story in place of the inspector")
    return parser


def _tools(name: str, names: dict[str, Any]) -> list[Tool]:
    """Return a tool or a list of tools of the notebook, else those of the toolbox that have this name."""
    found = names.get(name)
    if found is None:
        return list(tools_named(name))
    if isinstance(found, Tool):
        return [found]
    if isinstance(found, list | tuple) and all(isinstance(each, Tool) for each in found):
        return list(found)
    raise InvalidInput(f"{name} is not a tool", expected="a function under @tool, or a list of them")
