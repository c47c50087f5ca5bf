"""The command line: `zoolab COMMAND`. A command is a function that adds its arguments and says what runs it.

Exit codes: 0 done, 1 done and something fell short, 2 could not run.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import NoReturn

from zoolab import __version__
from zoolab.errors import InvalidInput, LoopError, ZoolabError
from zoolab.jsontext import visible

#: Each command: the module of `zoolab.commands` that has its `add_COMMAND(parser)`, and what it does.
COMMANDS = {
    "walk": ("walk", "walk through a tool call, step by step"),
    "inspect": ("walk", "make a saved trace a page to step through"),
    "policy": ("walk", "what tools may do for good, and what they never may"),
    "proxy": ("proxy", "watch a program of your own: its requests, as traces"),
    "stress": ("proxy", "run a program of your own under each fault, and score it"),
    "record": ("record", "record conversations with a model"),
    "local": ("models", "the models that run on this machine"),
    "doctor": ("models", "can this model call tools? seven probes"),
    "mcp": ("mcp", "the tools of an MCP server, and what has changed in them"),
    "serve-tools": ("mcp", "offer tools to others, as an MCP server"),
    "course": ("course", "copy the course to a folder, and open it in JupyterLab"),
    "lab": ("course", "open the notebooks in JupyterLab"),
    "labs": ("course", "the graded labs: list, handout, build, export, cases, verify"),
    "datasets": ("course", "the data sets: list, fetch"),
    "grade": ("grade", "grade submissions of a lab"),
    "progress": ("course", "how many exercises and labs of the course are right"),
    "experiment": ("experiment", "run an experiment from a configuration"),
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
        options, more = parser(arguments).parse_known_args(arguments)
        if more and options.name not in ("lab", "course"):  # their further options are JupyterLab's
            raise InvalidInput(f"unknown: {' '.join(more)}", advice=f"see zoolab {options.name} --help")
        options.more = more
        code: int = options.run(options)
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


def parser(named: Collection[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of the command line; only the commands that are named have their arguments in it."""
    made = _Parser(prog="zoolab", description="Learn LLM tool calling by stepping through it.")
    made.add_argument("--version", action="version", version=f"zoolab {__version__}")
    commands = made.add_subparsers(dest="name", required=True, metavar="COMMAND")
    for name, (module, what) in COMMANDS.items():
        command = commands.add_parser(name, help=what)
        if name in named:
            add = getattr(import_module(f"zoolab.commands.{module}"), f"add_{name.replace('-', '_')}")
            add(command)
    return made


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(message, advice=f"see {self.prog} --help")


def _fail(text: str, code: int = 2) -> int:
    print(f"zoolab: {visible(next(iter(text.splitlines()), ''))}", file=sys.stderr)
    return code
