"""`zoolab walk`, `inspect` and `policy`: a walk, a saved one as a page, and the rules that outlast a walk."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from zoolab.commands.asking import DEFAULT_RECORDING, DEFAULT_TOOLS, is_live, named_model
from zoolab.commands.listing import print_json
from zoolab.errors import InvalidInput, ReplayMiss
from zoolab.jsontext import encode, visible
from zoolab.loop import Walk, walk
from zoolab.messages import calls_of
from zoolab.models.about import about
from zoolab.models.recording import Recording, shipped
from zoolab.plugins import NAMES
from zoolab.policy import Permissions, ask_user
from zoolab.policy.permissions import PolicyFile, policies_path
from zoolab.policy.prompt import NOBODY
from zoolab.records import KINDS, Decision, Message, Step
from zoolab.runs import Trace
from zoolab.secrets import scrub
from zoolab.show.moment import Moment, moments_of
from zoolab.show.text import details
from zoolab.show.wording import change_as_text, content_of, headline
from zoolab.toolbox.catalog import tools_defined, tools_named
from zoolab.tools import ToolRegistry
from zoolab.trace.events import FORMAT, as_read, events_of
from zoolab.trace.log import drive

#: Which recordings are looked through for a prompt: the small models' first, whose walks are short. Qwen goes
#: on calling when it should answer; its chains of calls answer what only it was asked.
ANSWERING = (
    *(DEFAULT_RECORDING, "domains", "qwen-walk", "qwen-tasks", "qwen-starter", "qwen-tasks-system"),
    "qwen-course-06",
)
#: By a prompt, the recording that is asked before the others: there Qwen ends with the answer.
ASKED_FIRST = {"What is 42 + 58?": "qwen-course-06"}
_COLOURS = dict(zip(KINDS, ("cyan", "blue", "magenta", "yellow", "green", "cyan"), strict=True))


def show_walk(options: argparse.Namespace) -> int:
    """Walk, or show a saved trace, or list a recording."""
    if options.list:
        _list([options.recording] if options.recording else ANSWERING, options.json)
        return 0
    return _show_saved(options) if options.load else _walk(options)


def _walk(options: argparse.Namespace) -> int:
    """Walk, showing each step as it comes; the trace is kept whatever happens."""
    trace = Trace()
    named = tools_named(*options.tools) if options.tools else None
    name, tools, system = opening_of(options, named, ASKED_FIRST.get(options.prompt, ""))
    model = named_model(options, name)
    permissions = Permissions.of_user()
    given = {"system": system, "policy": permissions, "calls": options.calls}
    try:
        if not options.json:
            print(visible(who_answers(model, options)))
        drive_on_screen(trace, partial(walk, options.prompt, tools, model, **given), options)
    except ReplayMiss as miss:
        advice = "see zoolab walk --list, or ask a model with --local or --live"
        raise ReplayMiss(miss.what, advice=advice) from miss
    finally:
        _keep(trace, options)
    _tell_error(trace)
    with suppress(InvalidInput):  # a plugin diagnoses; without it a walk ends all the same
        for found in trace.diagnose():
            if found.code == "no_tool_call":
                print(visible(f"zoolab: {found.what}: {found.evidence[-1]}; {found.advice}"), file=sys.stderr)
    return 1 if trace.error is not None else 0


def drive_on_screen(trace: Trace, begin: Callable[..., Walk], options: argparse.Namespace) -> None:
    """Walk to the end, showing each step as it comes; whoever sits at the terminal is asked for permission.

    `begin` makes the walk; it gets `on_delta`.
    """
    screen = sys.stdout
    show = None if options.json else _printer(screen)
    live = options.stream and show is not None and screen.isatty()

    def answer(step: Step) -> Decision | None:
        if live and step.kind == "tool_call" and not step.slot:
            print(file=screen)
        if show is not None:
            show(Moment(trace, len(trace.steps) - 1))
        return _decide(step, options.yes) if step.status == "pending" else None

    def type_out(delta: Message) -> None:
        parts = [content_of(delta)]
        for name, _, arguments in calls_of(delta):
            parts += [f"\n{name} " if name else "", arguments]
        print(visible("".join(parts)), end="", flush=True, file=screen)

    # What a tool prints must not mix with the steps: standard output is the walk's.
    with redirect_stdout(sys.stderr):
        drive(trace, begin(on_delta=type_out if live else None), answer)


def opening_of(
    options: argparse.Namespace, registry: ToolRegistry | None, asked_first: str = ""
) -> tuple[str, ToolRegistry, str | None]:
    """Return the first recording that has the prompt, and its tools and system prompt: whoever answers gets
    them.

    With a registry, only what was recorded with its tools counts.
    """
    chosen: str = options.recording or asked_first
    here = shipped().keys() & ANSWERING
    in_order = sorted(here, key=lambda name: (name != chosen, ANSWERING.index(name)))
    names = [chosen] if options.recording else in_order
    tools = None if registry is None else registry.schemas()
    for name in names:
        for body in Recording(name).openings:
            first = body["messages"][0]
            asked = body["messages"][-1]
            system = None if first is asked else first.get("content")
            offered = body.get("tools", [])
            wanted = tools in (None, offered) and options.system in (None, system)
            if asked.get("content") == options.prompt and wanted:
                return name, tools_defined(offered) if registry is None else registry, system
    name = options.recording or DEFAULT_RECORDING
    return name, tools_named(*DEFAULT_TOOLS) if registry is None else registry, options.system


def _show_saved(options: argparse.Namespace) -> int:
    trace = Trace.load(options.load)
    _check_not_replaced(Path(options.load), [Path(options.html)] if options.html else [])
    if not options.json:
        show = _printer(sys.stdout)
        for moment in moments_of(trace):
            show(moment)
    _tell_error(trace)
    _keep(trace, options)
    return 0 if trace.outcome == "answer" else 1


def _tell_error(trace: Trace) -> None:
    if trace.error is not None:
        print(f"zoolab: the run ended with {trace.outcome}: {visible(trace.error)}", file=sys.stderr)


def _list(names: Sequence[str], as_json: bool) -> None:
    """Print what recordings can answer, who answered, and the command that shows it."""
    known = set[str]()
    found = list[dict[str, Any]]()
    for name in names:
        recording = Recording(name)
        commands = dict[str, str]()
        for body in recording.openings:
            asked = body["messages"][-1].get("content")
            prompt = encode(asked)
            answers = ASKED_FIRST.get(str(asked), name if prompt not in known else "")
            choice = "" if len(names) > 1 and answers == name else f" --recording {name}"
            commands[prompt] = f"zoolab walk {prompt}{choice}"
        known |= commands.keys()
        made = recording.header.made
        who = recording.header.who
        found.append({"recording": name, "made": made, "who": who, "commands": [*commands.values()]})
        if not as_json:
            print("\n".join(map(visible, (f"{recording.path.name}: {made}, {who}", *commands.values()))))
    if as_json:
        print_json(found)


def who_answers(model: Any, options: argparse.Namespace) -> str:
    recording: Recording | None = about(model).recording
    if recording is not None:
        cut = "; the pieces are cut by zoolab" if options.stream else ""
        return f"{recording.header.made}: {recording.header.who} ({recording.path.name}{cut})"
    if is_live(options):
        client = about(model).client
        address = getattr(model, "base_url", None) or getattr(client, "base_url", None)
        where = "" if address is None else f" at {scrub(str(address))}"
        return f"live: {about(model).model or options.provider}{where}"
    return f"live: {model.name} on this machine"


def _decide(step: Step, yes: bool) -> Decision:
    """Ask whoever sits at the terminal; without one, nothing is allowed."""
    if yes:
        return Decision("once", "allowed by --yes")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        name = visible(step.call.name) if step.call else "the call"
        print(f"zoolab: nobody is there to allow {name}; with --yes it runs", file=sys.stderr)
        return NOBODY
    return ask_user(step)


def _keep(trace: Trace, options: argparse.Namespace) -> None:
    if options.save:
        trace.save(options.save)
    if options.html:
        trace.to_html(options.html)
    if options.json:
        for event in events_of(trace):
            # ASCII: nothing in it commands a terminal.
            print(json.dumps(as_read(event), separators=(",", ":")))


def _printer(screen: TextIO) -> Callable[[Moment], None]:
    console = Console(file=screen, highlight=False, markup=False, emoji=False, soft_wrap=True)
    indent = " " * 23

    def show(moment: Moment) -> None:
        step = moment.step
        mark = {"error": "✗ ", "pending": "? "}.get(step.status, "")
        line = Text(f"{moment.seq + 1:>3}  ")
        line.append(f"{step.kind:<10}", style=f"bold {_COLOURS[step.kind]}")
        line.append(f"turn {step.turn}  " if step.turn else " " * 8, style="dim")
        line.append(mark + visible(headline(step)), style="bold red" if step.status == "error" else "bold")
        console.print(line)
        for detail in details(moment):
            for part in visible(detail).splitlines() or [""]:
                console.print(Text(indent + part))
        console.print(Text(indent + visible(change_as_text(moment.change)), style="dim"))

    return show


def inspect_file(options: argparse.Namespace) -> int:
    """Write a page for each conversation of the file, and print where they are."""
    file = options.trace
    target = options.output or options.trace.with_suffix(".html")
    traces = [Trace.load(file)] if _is_trace(file) else _read_foreign(file)
    pages = [target]
    if len(traces) != 1:
        pages = [target.with_stem(f"{target.stem}-{number}") for number, _ in enumerate(traces, 1)]
    _check_not_replaced(file, pages)
    for trace, page in zip(traces, pages, strict=True):
        trace.to_html(page, interactive=True)
        print(page)
        for line in trace.meta.get("not_read", ()):
            print(f"zoolab: {page.name}: not read: {visible(scrub(line))}", file=sys.stderr)
    return 0


def _check_not_replaced(file: Path, pages: Sequence[Path]) -> None:
    """Raise `InvalidInput` if one of the pages is the file that is read, by whatever path."""
    for page in pages:
        if page.exists() and page.samefile(file):
            what = f"the page {page} would replace the file that is read"
            raise InvalidInput(what, advice="name another file for the page")


def _read_foreign(file: Path) -> list[Trace]:
    read = NAMES.needed("read_conversations", "reads files of other programs")
    traces: list[Trace] = read(file)
    return traces


def _is_trace(file: Path) -> bool:
    """Return whether a file is a trace of zoolab's own, by its first bytes, or may be one that was
    damaged.
    """
    try:
        with file.open("rb") as opened:
            begin = opened.read(400)
    except OSError:
        begin = b""
    other = begin.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[", b"\x1f\x8b"))
    return FORMAT.encode() in begin or (file.suffix == ".jsonl" and not other)


def policy(options: argparse.Namespace) -> int:
    """Change the user's policies.json, unless the action is to list it; then show it, its path first."""
    kept = PolicyFile(policies_path())
    if options.action == "remove":
        kept.remove(options.rule)
    elif options.action != "list":
        kept.add(options.action, options.rule)
    known = kept.read()
    if options.action == "list" and options.json:
        print_json({"file": str(kept.path), "deny": [*known.deny], "allow": [*known.allow]})
        return 0
    print(visible(str(kept.path)))
    for word, rules in (("deny", known.deny), ("allow", known.allow)):
        for rule in rules:
            print(f"  {word:<6} {visible(rule)}")
    return 0
