"""Programs that zoolab did not write: `zoolab proxy` watches one, replays it, edits a reply, breaks the
traffic; `zoolab stress` runs one under each fault."""

from __future__ import annotations

import argparse
import shlex
import sys
import webbrowser
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import NotStrictJSON, one_line, parse_json, visible
from zoolab.models.replay import local_model
from zoolab.records import Model
from zoolab.text.wording import count as counted
from zoolab_connect.processes import wait_for_interrupt
from zoolab_connect.proxy.addresses import variables
from zoolab_connect.proxy.recorded import RecordedFor, example
from zoolab_connect.proxy.seen import Seen
from zoolab_connect.proxy.stress import Attempt, stress
from zoolab_connect.proxy.watch import TRAFFIC_FAULTS, Edit, watch

#: Paths that are named of those that were not understood.
_MOST_PASSED = 10


def proxy(options: argparse.Namespace) -> int:
    """Run a program and watch it; returns the program's own exit code."""
    if options.example:
        print(example(), end="")
        return 0
    if bool(options.argv) == options.serve:
        raise InvalidInput("nothing to watch", expected="-- COMMAND ..., or --serve without a command")
    free = (place for number in count(1) if not (place := Path(f"watched-{number}")).exists())
    folder = Path(options.folder) if options.folder else next(free)
    with watch(
        answers(options.to),
        folder=folder,
        replay=options.replay,
        live=options.live,
        edit=_edit(options.edit) if options.edit else None,
        faults=dict(map(_fault, options.fault)),
        seed=options.seed,
        port=options.port,
    ) as seen:
        print(f"zoolab: the traces grow at {seen.page}", file=sys.stderr)
        if options.open:
            webbrowser.open(seen.page)
        if options.replay and options.argv:
            _warn_of_tools(seen)
        code = seen.run(options.argv) if options.argv else _serve(seen)
    _tell(seen, folder, options.report)
    return code


def stress_program(options: argparse.Namespace) -> int:
    """Run a program under each fault; returns 1 if it failed or was wrong under any of them."""

    def tell(row: Attempt) -> None:
        if not options.quiet:
            print(f"zoolab: {row.fault or 'no fault'}: {row.ended}", file=sys.stderr)

    check = shlex.split(options.check) if options.check else None
    faults = options.fault or TRAFFIC_FAULTS
    to = answers(options.to)
    runs = counted(1 + len(set(faults)), "time")
    _warn(f"the program runs {runs}, and its own tools run each time, for real")
    limits = {"times": options.times, "seconds": options.seconds}
    card = stress(options.argv, check, faults, to=to, seed=options.seed, told=tell, **limits)
    print(card)
    return int(not all(row.stood for row in card.rows))


def _warn_of_tools(seen: Seen) -> None:
    if seen.tape is None:
        _warn("what the program does besides asking is done again: its tools run for real")
    else:
        told = "tools that are marked with zoolab.taped give what they gave; others run for real"
        print(f"zoolab: {told}", file=sys.stderr, flush=True)


def _warn(said: str) -> None:
    print(f"zoolab: {said}; a payment is made again", file=sys.stderr, flush=True)


def _serve(seen: Seen) -> int:
    """Say what a program must be told, and serve until Ctrl-C."""
    with suppress(KeyboardInterrupt):  # which may come as soon as an address is printed
        for name, text in seen.environment.items():
            if "://" in text:
                print(f"{name}={text}", flush=True)
        print("zoolab: Ctrl-C ends it", file=sys.stderr, flush=True)
        wait_for_interrupt()
    return 0


def answers(where: str | None) -> Model | str | None:
    """Return who answers: a model of zoolab, an address, or None for what the environment says."""
    kind, _, name = (where or "").partition(":")
    if kind == "recording" and name:
        return RecordedFor(name)
    if kind == "local":
        return local_model()(name or None)
    if where is not None and "://" not in where:
        raise InvalidInput(f"--to {where}", expected="recording:NAME, local, local:NAME or an address")
    return where


def _fault(text: str) -> tuple[str, float]:
    name, _, rate = text.partition(":")
    try:
        return name, float(rate or 1)
    except ValueError:
        raise InvalidInput(f"--fault {text}", expected="NAME or NAME:RATE, such as nan:0.1") from None


def _edit(text: str) -> Edit:
    place, _, name = text.partition("=")
    conversation, _, turn = place.partition(".")
    if not (conversation.isdecimal() and turn.isdecimal() and name):
        raise InvalidInput(f"--edit {text}", expected="CONVERSATION.TURN=FILE, such as 1.2=reply.json")
    try:
        message: Any = parse_json(Path(name).read_text(encoding="utf-8"))
    except (NotStrictJSON, UnicodeDecodeError) as error:
        raise InvalidInput(f"{name} is not JSON: {error}", expected="an assistant message") from None
    if not isinstance(message, dict) or message.get("role") != "assistant":
        raise InvalidInput(
            f"{name} is no reply", expected="an assistant message in the form of Chat Completions"
        )
    return Edit(int(conversation), int(turn), message)


def _tell(seen: Seen, folder: Path, report: bool) -> None:
    def tell(text: str) -> None:
        print(f"zoolab: {visible(text)}", file=sys.stderr)

    for number, (trace, failures) in enumerate(zip(seen.traces, seen.failures, strict=True), 1):
        calls = counted(len(trace.tool_calls), "call")
        tell(f"conversation {number}: {counted(len(trace.turns), 'request')}, {calls}; {trace.outcome}")
        for turn, why in failures.items():
            tell(f"  request {turn}: {one_line(why, 500)}")
        if report:
            print(seen.what_changed(number - 1), file=sys.stderr)
    for why in seen.unread:
        tell(f"not read: {one_line(why, 500)}")
    for name, times in seen.passed.most_common(_MOST_PASSED):
        tell(f"not understood, passed on: {name}, {counted(times, 'time')}")
    if (more := len(seen.passed) - _MOST_PASSED) > 0:
        tell(f"and {counted(more, 'further path')}, passed on and not understood")
    if not (seen.traces or seen.unread or seen.passed):
        tell("nothing was asked: did the program read its address from one of these variables?")
        tell(", ".join(name for names in variables().values() for name in names))
        tell("if its address is fixed, give it that of --port N")
    elif seen.traces:
        tell(f"the traces are in {folder}; zoolab inspect {folder}/001.jsonl shows the first one")
