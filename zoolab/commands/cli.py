"""The command line: `zoolab COMMAND`. There are the core's commands, and those that are registered.

Exit codes: 0 done, 1 done and something fell short, 2 could not run.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from zoolab import __version__, plugins
from zoolab.commands.table import CORE, commands_in
from zoolab.errors import InvalidInput, LoopError, ZoolabError
from zoolab.jsontext import excerpt, visible
from zoolab.plugins import Command, PluginWarning

_TYPES: dict[str, Callable[[str], object]] = {
    "int": int,
    "number": float,
    "path": Path,
    "names": lambda text: text.split(","),
}
#: Where the parser keeps the command; no option has this name.
_CHOSEN = "zoolab COMMAND"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # whoever started it has closed the stream
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a character shows its number, rather than ending the walk.
            stream.reconfigure(errors="backslashreplace")
    try:
        raise SystemExit(run_command(sys.argv[1:] if arguments is None else arguments))
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:  # nobody reads any more: what is left goes nowhere when Python flushes
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_command(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; whatever is wrong is one line on standard error."""
    try:
        commands = commands_for(arguments[0] if arguments else "")
        words, behind = _divided(arguments, commands)
        options, more = parser(commands).parse_known_args(words)
        name = getattr(options, _CHOSEN)
        command = commands[name]
        if command.told.get("passes_on"):
            options.more = more
        elif more:
            raise InvalidInput(f"unknown: {' '.join(more)}", advice=f"see zoolab {name} --help")
        if command.told.get("takes_command"):
            options.command = behind
        return command.run(options)
    except LoopError as error:
        return _fail(str(error), 1)
    except ZoolabError as error:
        return _fail(str(error))
    except BrokenPipeError:
        return 1
    except OSError as error:
        return _fail(f"{error.filename2 or error.filename or 'the system'}: {error.strerror or error}")
    except KeyboardInterrupt as error:
        return _fail("; ".join(["interrupted", *getattr(error, "__notes__", ())]), 130)


def commands_for(name: str) -> dict[str, Command]:
    """Return the command of that name; every command if there is none, as for `--help`.

    What cannot be used is left out, and said on standard error.
    """
    own = commands_in(CORE)
    found = own.get(name) or (usable_commands().find(name) if name.isprintable() else None)
    if found is not None:
        return {name: found}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PluginWarning)
        every = {**dict(usable_commands().everything()), **own}
    for each in caught:
        _fail(str(each.message))
    return {name: every[name] for name in sorted(every)}


def _divided(arguments: Sequence[str], commands: Mapping[str, Command]) -> tuple[list[str], list[str]]:
    """Return the words for zoolab, and those behind `--` that start a program, if the command takes one.

    >>> taking = {"endpoint": Command("judges", lambda options: 0, {"takes_command": True})}
    >>> _divided(["endpoint", "chat", "--", "python", "agent.py", "--", "x"], taking)
    (['endpoint', 'chat'], ['python', 'agent.py', '--', 'x'])
    """
    words = list(arguments)
    told = commands[words[0]].told if words and words[0] in commands else {}
    if "--" not in words or not told.get("takes_command"):
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


def parser(known: Mapping[str, Command]) -> argparse.ArgumentParser:
    """Return the parser of a command line with these commands."""
    made = _Parser(prog="zoolab", description="Learn LLM tool calling by stepping through it.")
    made.add_argument("--version", action="version", version=f"zoolab {__version__}")
    commands = made.add_subparsers(dest=_CHOSEN, required=True, metavar="COMMAND")
    for name, command in known.items():
        added = commands.add_parser(name, help=command.does, usage=command.told.get("usage"))
        _add_options(added, command.told)
    return made


def _add_options(parser: argparse.ArgumentParser, told: Mapping[str, Any]) -> None:
    for names, option in told.get("options", {}).items():
        kind = option.get("type")
        known = {"type": kind if callable(kind) else _TYPES[kind]} if kind is not None else {}
        parser.add_argument(*names.split(), **{**option, **known})
    if "actions" in told:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for name, action in told["actions"].items():
            _add_options(actions.add_parser(name, help=action["does"]), action)


def usable_commands() -> plugins.Group:
    """Return the group of commands, with the check that a command can stand on a command line."""
    return plugins.COMMANDS.also(untellable)


def untellable(command: Command) -> str:
    """Return why a command cannot stand on a command line, in words; empty if it can.

    >>> untellable(Command("greet", lambda options: 0, {"options": ["who"]}))
    'argparse cannot read what it tells: "AttributeError: ... has no attribute ..."'
    """
    try:
        parser({"it": command}).format_help()
        _try_help(command.told)
    except Exception as error:
        return f"argparse cannot read what it tells: {excerpt(f'{type(error).__name__}: {error}', 200)}"
    return ""


def _try_help(told: Mapping[str, Any]) -> None:
    """Make the help of a command and of its actions."""
    trial = _Parser(prog="it", usage=told.get("usage"))
    _add_options(trial, {"options": told.get("options", {})})
    trial.format_help()
    for action in told.get("actions", {}).values():
        _try_help(action)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(message, advice=f"see {self.prog} --help")


def _fail(text: str, code: int = 2) -> int:
    print(f"zoolab: {visible(next(iter(text.splitlines()), ''))}", file=sys.stderr)
    return code
