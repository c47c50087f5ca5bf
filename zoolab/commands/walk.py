"""`zoolab walk`: the six steps of a tool call, with the change of `messages[]` at each."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

from zoolab.commands.models import DEFAULT_PROMPT, DEFAULT_RECORDING, is_live, model_of, tools_of
from zoolab.errors import ReplayMiss
from zoolab.jsontext import excerpt, visible
from zoolab.jsontext.values import encode_any
from zoolab.loop import walk
from zoolab.loop.about import about
from zoolab.models.recording import Recording
from zoolab.policy import Permissions, ask_user
from zoolab.records import Decision, Step
from zoolab.runs import Trace
from zoolab.secrets import scrub
from zoolab.show.moment import Moment, moments_of
from zoolab.show.text import details
from zoolab.show.wording import change_as_text, headline
from zoolab.trace.events import events_of
from zoolab.trace.log import drive

_COLOURS = {
    "define": "cyan",
    "request": "blue",
    "tool_call": "magenta",
    "validate": "yellow",
    "execute": "green",
    "result": "cyan",
}


def walk_and_show(options: argparse.Namespace) -> int:
    """Walk, showing each step as it comes; the trace is kept whatever happens."""
    trace = Trace()
    model, tools, permissions = model_of(options), tools_of(options), Permissions.of_user()
    prompt = options.prompt or DEFAULT_PROMPT
    try:
        if not options.json:
            _say_who(model, options)
        with _tools_print_to_stderr() as screen:
            show = None if options.json else Printer(screen)
            steps = walk(prompt, tools, model, system=options.system, policy=permissions)
            _follow(trace, steps, show, options.yes)
    except ReplayMiss as miss:
        advice = "see zoolab walk --list, or ask a model with --local or --live"
        raise ReplayMiss(miss.what, advice=advice) from miss
    finally:
        _keep(trace, options)
    return 0


def show_saved(options: argparse.Namespace) -> int:
    """Show a trace that was saved."""
    trace = Trace.load(options.load)
    if not options.json:
        show = Printer(sys.stdout)
        for moment in moments_of(trace):
            show(moment)
    for error in trace.errors[-1:]:
        if error.seq is None:
            print(f"zoolab: the run ended with {error.code}: {visible(error.message)}", file=sys.stderr)
    _keep(trace, options)
    return 0 if trace.outcome == "answer" else 1


def list_recording(options: argparse.Namespace) -> int:
    """What a recording can answer, and who answered."""
    recording = Recording(options.recording or DEFAULT_RECORDING)
    print(f"{recording.path.name}: {recording.header.made}, {visible(recording.header.who)}")
    for body in recording.requests:
        messages = body["messages"]
        if messages[-1].get("role") != "user":
            continue
        tools = ",".join(tool["function"]["name"] for tool in body.get("tools", ()))
        print(visible(f"zoolab walk {excerpt(messages[-1].get('content'))} --tools {tools}"))
    return 0


def _follow(trace: Trace, steps: Any, show: Printer | None, yes: bool) -> None:
    def answer(step: Step) -> Decision | None:
        if show is not None:
            show(Moment(trace, len(trace.steps) - 1))
        return _decide(step, yes) if step.status == "pending" else None

    drive(trace, steps, answer)


def _decide(step: Step, yes: bool) -> Decision:
    """Ask whoever sits at the terminal; without one, nothing is allowed."""
    if yes:
        return Decision("once", "allowed by --yes")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return Decision("deny", "nobody was there to allow it; --yes allows")
    return ask_user(step)


def _keep(trace: Trace, options: argparse.Namespace) -> None:
    if options.save:
        trace.save(options.save)
    if options.html:
        trace.to_html(options.html)
    if options.json:
        for event in events_of(trace):
            print(encode_any(event))


def _say_who(model: Any, options: argparse.Namespace) -> None:
    recording: Recording | None = about(model).recording
    if recording is not None:
        header = recording.header
        cut = "; the pieces are cut by zoolab" if options.stream else ""
        line = f"{header.made}: {header.who} ({recording.path.name}{cut})"
    elif is_live(options):
        line = f"live: {model.model} at {scrub(str(model.client.base_url))}"
    else:
        line = f"live: {model.name} on this machine"
    print(visible(line))


@contextmanager
def _tools_print_to_stderr() -> Iterator[TextIO]:
    """What a tool prints must not mix with the steps: standard output is the walk's."""
    screen = sys.stdout
    with redirect_stdout(sys.stderr):
        yield screen


class Printer:
    """Prints steps, in colour on a terminal and plain elsewhere."""

    def __init__(self, screen: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=screen, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def __call__(self, moment: Moment) -> None:
        from rich.text import Text

        step = moment.step
        bad = step.status == "error"
        mark = {"error": "✗ ", "pending": "? "}.get(step.status, "")
        line = Text(f"{moment.seq + 1:>3}  ")
        line.append(f"{step.kind:<10}", style=f"bold {_COLOURS[step.kind]}")
        line.append(f"turn {step.turn}  " if step.turn else " " * 8, style="dim")
        line.append(mark + visible(headline(step)), style="bold red" if bad else "bold")
        self._console.print(line)
        for detail in details(moment):
            for part in visible(detail).splitlines() or [""]:
                self._console.print(Text(" " * 23 + part))
        self._console.print(Text(" " * 23 + visible(change_as_text(moment.change)), style="dim"))
