"""The command line: `zoolab COMMAND`. `commands.toml` lists the commands with their options.

Exit codes: 0 done, 1 done and something fell short, 2 could not run.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from zoolab import __version__
from zoolab.errors import InvalidInput, LoopError, ZoolabError
from zoolab.files import read_table
from zoolab.jsontext import visible

_TABLE = read_table("zoolab.commands", "commands.toml")
_SHARED = _TABLE.pop("shared")
#: Each command, as `commands.toml` has it.
COMMANDS: Mapping[str, Any] = _TABLE
_TYPES: dict[str, Callable[[str], object]] = {
    "int": int,
    "number": float,
    "path": Path,
    "names": lambda text: text.split(","),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a character shows its number, rather than ending the walk.
            stream.reconfigure(errors="backslashreplace")
    try:
        raise SystemExit(run(sys.argv[1:] if arguments is None else arguments))
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:  # nobody reads any more: what is left goes nowhere when Python flushes
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; whatever is wrong is one line on standard error."""
    try:
        words, command = _divided(arguments)
        options, more = parser().parse_known_args(words)
        if more and options.name not in ("lab", "course"):  # their further options are JupyterLab's
            raise InvalidInput(f"unknown: {' '.join(more)}", advice=f"see zoolab {options.name} --help")
        options.more, options.command = more, command
        module, _, function = COMMANDS[options.name]["run"].partition(".")
        code: int = getattr(import_module(f"zoolab.commands.{module}"), function)(options)
        return code
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


def _divided(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words for zoolab, and those behind `--` that start a program, if the command takes one.

    >>> _divided(["endpoint", "chat", "--", "python", "agent.py", "--", "x"])
    (['endpoint', 'chat'], ['python', 'agent.py', '--', 'x'])
    """
    words = list(arguments)
    if "--" not in words or not COMMANDS.get(words[0], {}).get("takes_command"):
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    made = _Parser(prog="zoolab", description="Learn LLM tool calling by stepping through it.")
    made.add_argument("--version", action="version", version=f"zoolab {__version__}")
    commands = made.add_subparsers(dest="name", required=True, metavar="COMMAND")
    for name, told in COMMANDS.items():
        _add_options(commands.add_parser(name, help=told["does"], usage=told.get("usage")), told)
    return made


def _add_options(parser: argparse.ArgumentParser, told: Mapping[str, Any]) -> None:
    for options in (told.get("options", {}), *(_SHARED[group] for group in told.get("with", ()))):
        for names, option in options.items():
            kind = {"type": _TYPES[option["type"]]} if "type" in option else {}
            parser.add_argument(*names.split(), **{**option, **kind})
    if "actions" in told:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for name, action in told["actions"].items():
            _add_options(actions.add_parser(name, help=action["does"]), action)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(message, advice=f"see {self.prog} --help")


def _fail(text: str, code: int = 2) -> int:
    print(f"zoolab: {visible(next(iter(text.splitlines()), ''))}", file=sys.stderr)
    return code
