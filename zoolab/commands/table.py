"""Commands from a table: `commands.toml` beside the modules whose functions run them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

from zoolab.files import read_table
from zoolab.plugins import Command

CORE = "zoolab.commands"


def commands_in(package: str) -> dict[str, Command]:
    """Return the commands of a package by their names; the functions are imported when they run.

    >>> commands_in("zoolab.commands")["inspect"].does
    'make a saved trace a page to step through'
    """
    table = read_table(package, "commands.toml")
    shared = {**read_table(CORE, "commands.toml")["shared"], **table.pop("shared", {})}
    return {name: _command(package, told, shared) for name, told in table.items()}


def _command(package: str, told: Mapping[str, Any], shared: Mapping[str, Any]) -> Command:
    module, _, function = told["run"].partition(".")
    entry = EntryPoint(function, f"{package}.{module}:{function}", "zoolab.commands")

    def run(options: Any) -> int:
        code: int = entry.load()(options)
        return code

    return Command(told["does"], run, _complete(told, shared))


def _complete(told: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is told of a command or an action, with the options of the groups that it names."""
    options = dict(told.get("options", {}))
    for group in told.get("with", ()):
        options |= shared[group]
    actions = {name: _complete(action, shared) for name, action in told.get("actions", {}).items()}
    return {**told, "options": options, **({"actions": actions} if actions else {})}
