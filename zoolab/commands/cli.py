"""The command line: `zoolab walk`, `record`, `inspect`, `doctor`, `policy`, `local`, `serve-tools`, `mcp`,
`lab`, `labs`, `grade`, `datasets` and `experiment`.

Exit codes: 0 done, 1 done and something fell short, 2 could not run.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from zoolab import __version__
from zoolab.errors import LoopError, ZoolabError

DONE, FELL_SHORT, COULD_NOT_RUN = 0, 1, 2

# Commands whose arguments stand in a module of their own, imported when the command is called.
LATE = {
    "labs": "the graded labs: list, status, build, export",
    "grade": "grade submissions of a lab",
    "datasets": "the data sets: list, fetch",
    "experiment": "run an experiment from a configuration",
}

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a character shows its number, rather than ending the walk.
            stream.reconfigure(errors="backslashreplace")
    try:
        raise SystemExit(run(sys.argv[1:] if arguments is None else arguments))
    finally:
        _flush()


def _flush() -> None:
    """Whoever read may have gone: what is left then goes nowhere, so that Python's own flush succeeds."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; whatever is wrong is one line on standard error.

    >>> run(["local", "list", "--no-such-option"])
    2
    """
    try:
        known, extra = _parser(arguments[:1]).parse_known_args(arguments)
        if extra and not hasattr(known, "passed_on"):
            raise _UsageError(f"unknown: {' '.join(extra)}", _prog(known))
        known.extra = extra
        command: Command = known.command
        return command(known)
    except _UsageError as error:
        return _fail(f"{error}; see {error.prog} --help")
    except LoopError as error:
        return _fail(str(error), FELL_SHORT)
    except ZoolabError as error:
        return _fail(str(error))
    except BrokenPipeError:
        return FELL_SHORT
    except OSError as error:
        return _fail(f"{error.filename2 or error.filename or 'the system'}: {error.strerror or error}")
    except KeyboardInterrupt:
        return _fail("interrupted", 130)


def _fail(text: str, code: int = COULD_NOT_RUN) -> int:
    from zoolab.jsontext import visible

    line = next(iter(text.splitlines()), "")
    print(f"zoolab: {visible(line)}", file=sys.stderr)
    return code


class _UsageError(Exception):
    def __init__(self, message: str, prog: str) -> None:
        super().__init__(message)
        self.prog = prog


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise _UsageError(message, self.prog)


def _prog(known: argparse.Namespace) -> str:
    return f"zoolab {known.name}" if getattr(known, "name", None) else "zoolab"


def _parser(called: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="zoolab", description="Learn LLM tool calling by stepping through it.")
    parser.add_argument("--version", action="version", version=f"zoolab {__version__}")
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")
    _add_walk(commands.add_parser("walk", help="walk through a tool call, step by step"))
    _add_record(commands.add_parser("record", help="record conversations with a model"))
    _add_policy(commands.add_parser("policy", help="what tools may do for good, and what they never may"))
    _add_local(commands.add_parser("local", help="the models that run on this machine"))
    _add_doctor(commands.add_parser("doctor", help="can this model call tools? seven probes"))
    _add_serve_tools(commands.add_parser("serve-tools", help="offer tools to others, as an MCP server"))
    _add_mcp(commands.add_parser("mcp", help="the tools of an MCP server, and what has changed in them"))
    _add_inspect(commands.add_parser("inspect", help="make a saved trace a page to step through"))
    _add_lab(commands.add_parser("lab", help="open the notebooks in JupyterLab"))
    for name, help_line in LATE.items():
        late = commands.add_parser(name, help=help_line)
        if name in called:
            _add_late(late, name)
    return parser


def _add_late(parser: argparse.ArgumentParser, name: str) -> None:
    module = import_module(f"zoolab.commands.{name}")
    module.add_arguments(parser)
    parser.set_defaults(command=module.run)


def _add_who_answers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--live", action="store_true", help="ask the endpoint of OPENAI_BASE_URL")
    parser.add_argument("--model", help="its model, by default ZOOLAB_MODEL")
    parser.add_argument("--base-url", help="another endpoint")
    parser.add_argument("--local", nargs="?", const="", metavar="NAME", help="ask a model on this machine")


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tools", metavar="A,B", help="which of the starter tools to offer")
    parser.add_argument("--system", help="the system prompt")
    _add_who_answers(parser)
    parser.add_argument("--stream", action="store_true", help="have the replies in pieces")
    parser.add_argument("--yes", action="store_true", help="allow tools that ask for permission")


def _add_walk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", help="what to ask; by default: What is 42 + 58?")
    _add_model_options(parser)
    parser.add_argument("--recording", help="answer from this recording")
    parser.add_argument("--list", action="store_true", help="list what the recording can answer")
    parser.add_argument("--load", metavar="FILE", help="show a saved trace instead of walking")
    parser.add_argument("--save", metavar="FILE", help="save the trace as JSONL")
    parser.add_argument("--html", metavar="FILE", help="save the story as a page")
    parser.add_argument("--json", action="store_true", help="print the trace as JSONL")
    parser.set_defaults(command=_walk)


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="a trace that was saved as JSONL")
    parser.add_argument("-o", "--output", metavar="FILE", help="the page; by default beside the trace")
    parser.set_defaults(command=_inspect)


def _add_lab(parser: argparse.ArgumentParser) -> None:
    parser.usage = "zoolab lab [NOTEBOOK.ipynb] [--no-browser] [--port N] [any option of jupyter lab]"
    parser.add_argument("--no-browser", action="store_true", help="only serve")
    parser.add_argument("--port", type=int, help="where to serve")
    parser.set_defaults(command=_lab, passed_on=True)


def _add_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("into", metavar="recording", help="the recording to begin or to add to")
    parser.add_argument("prompt", nargs="*", help="what to ask")
    parser.add_argument("--prompts", metavar="FILE", help="JSONL with prompt, tools, system and replies")
    parser.add_argument(
        "--scripted", action="store_true", help="take the replies of --prompts: an authored recording"
    )
    _add_model_options(parser)
    parser.set_defaults(command=_record)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    _add_who_answers(parser)
    parser.add_argument("--recording", help="show what a recorded model said")
    parser.add_argument("--record", metavar="FILE", help="keep what comes in a recording")
    parser.add_argument("--json", action="store_true", help="print the findings as JSONL")
    parser.set_defaults(command=_doctor, stream=False)


def _add_local(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="what there is, and what is here")
    listing.set_defaults(command=_local_list)
    fetch = actions.add_parser("fetch", help="fetch and check the weights")
    fetch.add_argument("models", nargs="*", metavar="NAME", help="by default all")
    fetch.set_defaults(command=_local_fetch)


def _add_serve_tools(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TOOLS", help="a domain, such as devops, or MODULE:REGISTRY")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="NAME", help="run this tool whatever its risk"
    )
    parser.set_defaults(command=_serve_tools)


def _add_mcp(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("tools", help="start a server: its tools, and what has changed")
    accepting = actions.add_parser("accept", help="trust what has changed or is new, from now on")
    accepting.add_argument("--tool", action="append", default=[], metavar="NAME", help="by default all")
    for each, command in ((listing, _mcp_tools), (accepting, _mcp_accept)):
        each.add_argument("server", metavar="SERVER", help="what you call the server")
        each.add_argument("argv", nargs="+", metavar="COMMAND", help="-- and then what starts the server")
        each.add_argument("--pins", metavar="FILE", help="where its tools are pinned")
        each.set_defaults(command=command)


def _add_policy(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="show the rules, and the file that keeps them")
    for action, does in (
        ("allow", "let calls run without asking"),
        ("deny", "let calls never run, whoever allows them"),
        ("remove", "forget a rule"),
    ):
        chosen = actions.add_parser(action, help=does)
        chosen.add_argument(
            "rule", metavar="RULE", help="a tool's name, or for instance 'read_file(/srv/**)'"
        )
    parser.set_defaults(command=_policy)


def _walk(options: argparse.Namespace) -> int:
    from zoolab.commands.walk import list_recording, show_saved, walk_and_show

    if options.list:
        return list_recording(options)
    return show_saved(options) if options.load else walk_and_show(options)


def _record(options: argparse.Namespace) -> int:
    from zoolab.commands.record import record

    return record(options)


def _doctor(options: argparse.Namespace) -> int:
    from zoolab.commands.doctor import examine_and_show

    return examine_and_show(options)


def _policy(options: argparse.Namespace) -> int:
    from zoolab.commands.policy import show_or_change

    return show_or_change(options.action, getattr(options, "rule", ""))


def _inspect(options: argparse.Namespace) -> int:
    from zoolab.commands.inspect import inspect_saved

    return inspect_saved(options.trace, options.output)


def _lab(options: argparse.Namespace) -> int:
    from zoolab.commands.lab import open_lab

    return open_lab(options.no_browser, options.port, options.extra)


def _serve_tools(options: argparse.Namespace) -> int:
    from zoolab.commands.mcp import serve_tools

    return serve_tools(options.target, options.allow)


def _mcp_tools(options: argparse.Namespace) -> int:
    from zoolab.commands.mcp import show_tools

    return show_tools(options.argv, options.server, options.pins)


def _mcp_accept(options: argparse.Namespace) -> int:
    from zoolab.commands.mcp import accept

    return accept(options.argv, options.server, options.pins, options.tool)


def _local_list(_options: argparse.Namespace) -> int:
    from zoolab.commands.models import show_table

    return show_table()


def _local_fetch(options: argparse.Namespace) -> int:
    from zoolab.commands.models import fetch_all

    return fetch_all(options.models)


if __name__ == "__main__":
    main()
