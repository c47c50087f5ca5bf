"""What an inspector shows: a trace, the walk that makes it, and the trace that it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.records import KINDS
from zoolab.show.block_types import Block, Room, note
from zoolab.show.inspector.compare import compare
from zoolab.show.inspector.driver import Driver
from zoolab.show.inspector.overview import overview_of
from zoolab.show.inspector.panel import panel_of
from zoolab.show.moment import Moment
from zoolab.tools import ToolRegistry
from zoolab.trace.calls import Turn
from zoolab.trace.log import TraceLog

#: Characters of all the notes of a trace.
MAX_NOTES = 100_000
_MAX_TOOLS = 40


@dataclass
class View:
    """A trace on show. `driver` drives its walk, if it is one that still goes on."""

    trace: TraceLog
    driver: Driver | None = None
    #: What it can be compared with: the trace that it was forked from, or one that was given.
    beside: TraceLog | None = None
    #: The steps of `beside` from here on are out of date.
    stale_from: int | None = None
    comparing: bool = False
    #: The step that was on show when another view was opened from here.
    step: int = 0

    @property
    def other(self) -> TraceLog | None:
        """The trace that it is being compared with."""
        return self.beside if self.comparing else None


def live_of(view: View, verbs: dict[str, Any]) -> dict[str, Any]:
    """What can be done with a view, and what it waits for; `verbs` are the ways to fork it.

    >>> from zoolab import Scripted, run
    >>> live_of(View(run("Hi", [], Scripted(["Hello"]))), {})["can"]
    ['fork', 'note', 'open']
    """
    driver, trace = view.driver, view.trace
    going = driver is not None and driver.state == "paused"
    waits = driver is not None and driver.waits
    can = (["decide", "answer"] if waits else ["step", "run", "until", "answer"]) if going else []
    can += ["fork", "note", "open"] if trace.steps else []
    can += ["compare"] if view.beside is not None else []
    return {
        "state": "paused" if going else "done",
        "waits": "permission" if waits else None,
        "held": driver is not None and driver.holds,
        "next": driver.coming if driver is not None else None,
        "can": can,
        "breakpoints": _breakpoints(trace) if going else [],
        "error": driver.error if driver is not None else None,
        "verbs": verbs,
    }


def _breakpoints(trace: TraceLog) -> list[dict[str, Any]]:
    """What one can run to, as the messages that ask for it say it."""
    tools = trace.steps[0].record if trace.steps else None
    names = tools.names()[:_MAX_TOOLS] if isinstance(tools, ToolRegistry) else []
    kinds: list[dict[str, Any]] = [{"kind": kind} for kind in KINDS[1:]]
    return [*kinds, *({"tool": name} for name in names), {"error": True}]


def compared(view: View) -> tuple[dict[str, Any] | None, list[list[int]] | None]:
    """The overview of the other trace, and the pairs of steps; nothing if nothing is compared.

    >>> compared(View(TraceLog()))
    (None, None)
    """
    other = view.other
    if other is None:
        return None, None
    comparison = compare(view.trace, other)
    diverges = None if comparison.diverges is None else list(comparison.diverges)
    overview = overview_of(other, view.stale_from)
    return {**overview, "diverges": diverges, "words": comparison.words}, [list(p) for p in comparison.pairs]


def partner(pairs: list[list[int]] | None, step: int) -> int:
    """The step of the other trace beside a step of this one; the nearest before it, if it has none.

    >>> partner([[0, 0], [1, -1], [2, 1]], 1), partner([[0, 0], [1, -1], [2, 1]], 2), partner(None, 5)
    (0, 1, 5)
    """
    if pairs is None:
        return step
    return max((b for a, b in pairs if b >= 0 and a <= step), default=0)


def panel_in(view: View, which: str, seq: int, turns: list[Turn] | None = None) -> dict[str, Any]:
    """The panel of a step of a view, or of the trace beside it, with what the view knows of it.

    >>> from zoolab import Scripted, run
    >>> panel_in(View(run("Hi", [], Scripted(["Hello"]))), "main", 2)["kind"]
    'tool_call'
    """
    trace = view.other if which == "other" and view.other is not None else view.trace
    panel = panel_of(Moment(trace, trace.index(seq), turns), notes_of(trace).get(str(seq), ""))
    stale = trace is view.other and view.stale_from is not None and seq >= view.stale_from
    held = trace is view.trace and view.driver is not None and view.driver.holds and seq == len(trace) - 1
    if stale:
        panel["marks"] = [*panel["marks"], "stale"]
    if held:
        panel["blocks"] = [_HELD, *panel["blocks"]]
    return panel


_HELD: Block = note(Room(400), "info", "Your edit is kept: it goes on with the next step.")


def notes_of(trace: TraceLog) -> dict[str, str]:
    """What readers noted, by step number; kept in the trace's meta, so that it is saved with it.

    >>> notes_of(TraceLog(meta={"notes": {"3": "See?", "4": 5}}))
    {'3': 'See?'}
    """
    kept, room = trace.meta.get("notes"), MAX_NOTES
    notes: dict[str, str] = {}
    for seq, text in kept.items() if isinstance(kept, dict) else ():
        if isinstance(seq, str) and isinstance(text, str) and len(seq) + len(text) <= room:
            room -= len(seq) + len(text)
            notes[seq] = text
    return notes


def add_note(trace: TraceLog, seq: int, text: str) -> None:
    """Note something about a step; an empty text takes the note away.

    Raises `InvalidInput` if the notes of a trace grow beyond 100,000 characters.

    >>> trace = TraceLog()
    >>> add_note(trace, 3, "See?")
    >>> trace.meta
    {'notes': {'3': 'See?'}}
    """
    notes = {key: kept for key, kept in notes_of(trace).items() if key != str(seq)}
    if sum(map(len, notes.values())) + len(text) > MAX_NOTES - 10 * len(notes):
        raise InvalidInput("too many notes", expected=f"at most {MAX_NOTES:,} characters in a trace")
    trace.meta["notes"] = {**notes, str(seq): text} if text else notes
