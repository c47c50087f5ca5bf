"""The widget: it answers what the browser asks, with plain data, which the modules beside it draw."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anywidget
import traitlets

from zoolab.errors import InvalidInput, ReplayMiss, ZoolabError
from zoolab.files import read_shipped
from zoolab.jsontext import excerpt
from zoolab.models.assembly import assemble
from zoolab.models.deltas import listening
from zoolab.plugins import TRACES
from zoolab.records import KINDS, Model, Outcome, Record
from zoolab.show.block_types import Block, Room, browser_json
from zoolab.show.blocks import arriving_blocks
from zoolab.show.frontend import alone, show_widget
from zoolab.show.inspector.driver import Driver
from zoolab.show.inspector.edits import edited
from zoolab.show.inspector.modules import inspector_script
from zoolab.show.inspector.overview import first_error, overview_of, packed
from zoolab.show.inspector.panel import add_note, panel_of, reader_notes
from zoolab.show.inspector.static_page import story_of
from zoolab.show.moment import Moment
from zoolab.trace.calls import Turn
from zoolab.trace.log import TraceLog, tools_of

_MAX_PANELS = 24
_MAX_DEPTH = 40
_MAX_TOOLS = 40
_MESSAGES = "get, step, run, until, answer, decide, fork, ask, open, back, note, compare with parent or none"
#: Seconds between two reports of a walk that runs.
_REPORT = 0.25
#: Bytes of a reply that arrives, as it is shown.
_ARRIVING = 16_000


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
    #: What other models would do, by the step whose request they were sent.
    asked: dict[int, Block] = field(default_factory=dict[int, Block])

    @property
    def other(self) -> TraceLog | None:
        """The trace that it is being compared with."""
        return self.beside if self.comparing else None

    def overview(self) -> dict[str, Any]:
        """Return the overview of the trace, as it is sent."""
        return packed(overview_of(self.trace, prompt=self.driver.prompt if self.driver else ""))

    def live(self, verbs: dict[str, Any], back: bool) -> dict[str, Any]:
        """Return what can be done, and what the walk waits for; `verbs` are the ways to fork the trace."""
        driver = self.driver
        trace = self.trace
        going = driver is not None and driver.state == "paused"
        waits = driver is not None and driver.waits
        can = (["decide", "answer"] if waits else ["step", "run", "until", "answer"]) if going else []
        can += ["fork"] if trace.steps and verbs.get("look") else []
        can += ["note", "open", "ask"] if trace.steps else []
        can += ["compare"] if self.beside is not None else []
        can += ["back"] if back else []
        breakpoints: list[dict[str, Any]] = []
        if going:  # as the messages that ask for them say it
            names = tools_of(trace).names()[:_MAX_TOOLS]
            breakpoints = [*({"kind": kind} for kind in KINDS[1:]), *({"tool": name} for name in names)]
            breakpoints.append({"error": True})
        return {
            "state": "paused" if going else "done",
            "waits": "permission" if waits else None,
            "choices": driver.choices if driver is not None else [],
            "held": driver is not None and driver.holds,
            "next": driver.coming if driver is not None else None,
            "can": can,
            "breakpoints": breakpoints,
            "error": driver.trace.error if driver is not None else None,
            "verbs": verbs,
        }

    def compared(self) -> tuple[dict[str, Any] | None, list[list[int]] | None]:
        """Return the overview of the other trace, and the pairs of steps; nothing if nothing is compared."""
        if self.other is None:
            return None, None
        comparison = TRACES.needed("compare", "compares traces")(self.trace, self.other)
        overview = packed(overview_of(self.other, self.stale_from)) | {"words": comparison.words}
        overview["diverges"] = comparison.diverges and list(comparison.diverges)
        return overview, [list(pair) for pair in comparison.pairs]

    def panel(self, trace: TraceLog, seq: int, turns: list[Turn]) -> dict[str, Any]:
        """Return the panel of a step of one of the two traces, with what the view knows of it."""
        panel = panel_of(Moment(trace, trace.index(seq), turns))
        if trace is self.other and self.stale_from is not None and seq >= self.stale_from:
            panel["marks"].append("stale")
        held = self.driver is not None and self.driver.holds
        if trace is self.trace and held and seq == len(trace) - 1:
            kept = Room(400).note("info", "Your edit is kept: it goes on with the next step.")
            panel["blocks"].insert(0, kept)
        if trace is self.trace and seq in self.asked:
            panel["blocks"].insert(0, browser_json(self.asked[seq]))
        return panel


def partner(pairs: list[list[int]] | None, step: int) -> int:
    """Return the step of the other trace beside a step of this one; the nearest before it, if it has none."""
    if pairs is None:
        return step
    return max((b for a, b in pairs if b >= 0 and 0 <= a <= step), default=0)


def _number(value: object) -> int:
    if type(value) is not int or value < 0:
        raise InvalidInput(f"a step number is {excerpt(value)}", expected="a whole number")
    return value


class Inspector(anywidget.AnyWidget):
    """A trace to step through, as a widget; made by `inspect`. `trace` is the one on show."""

    _esm = inspector_script()
    _css = read_shipped("zoolab.show.inspector", "inspector.css")
    #: What an output of the story alone begins with: styles that hide it beside a widget that lives.
    _opening = read_shipped("zoolab.show.inspector", "kept.html")

    overview = traitlets.Dict().tag(sync=True)
    # No echo: it would come late, and take a reader who moves fast back to where they were.
    step = traitlets.Int(0).tag(sync=True, echo_update=False)
    tab = traitlets.Unicode("diff").tag(sync=True, echo_update=False)
    live = traitlets.Dict(None, allow_none=True).tag(sync=True)
    other = traitlets.Dict(None, allow_none=True).tag(sync=True)
    other_step = traitlets.Int(0).tag(sync=True, echo_update=False)
    pairs: Any = traitlets.List(None, allow_none=True).tag(sync=True)
    notes = traitlets.Dict().tag(sync=True)

    def __init__(self, view: View, model: Model | None = None, tools: Any = None, others: Any = None) -> None:
        self._views = [view]
        forks = TRACES.usable("fork_verbs")
        self._forks = None if forks is None else forks(model, tools)
        self._others = others
        self._reported = 0.0
        #: The deltas of the reply that is arriving, and after how many steps it does.
        self._deltas: list[dict[str, Any]] = []
        self._arriving = 0
        self._kept: Any = None
        super().__init__(**self._state(first_error(view.trace) or 0))
        self.on_msg(self._received)

    @traitlets.validate("step")
    def _clamped(self, proposal: Any) -> int:
        return max(0, min(int(proposal["value"]), len(self.trace) - 1))

    @property
    def view(self) -> View:
        """What is on show."""
        return self._views[-1]

    @property
    def trace(self) -> TraceLog:
        """The trace on show; a fork's, once you forked."""
        return self.view.trace

    def __repr__(self) -> str:
        """Return the trace, and what to do in a terminal, which cannot show a widget."""
        save = f"inspector.trace.save({'trace.jsonl'!r}), then in a shell: zoolab inspect trace.jsonl"
        return f"<Inspector of {self.trace!r}; show it in a notebook, or as a page: {save}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle: Any = super()._repr_mimebundle_()
        data = {**bundle[0], "text/plain": repr(self), "text/html": story_of(self.trace)}
        wanted = kwargs.get("include") or data
        exclude = kwargs.get("exclude") or ()
        return {name: data[name] for name in data if name in wanted and name not in exclude}, bundle[1]

    def _ipython_display_(self) -> None:
        """Show the widget or the story; if the story has an output of its own, it is kept up to date."""
        self._kept = show_widget(*self._repr_mimebundle_(), self._opening)

    def _state(self, step: int | None) -> dict[str, Any]:
        other, pairs = self.view.compared()
        verbs: dict[str, Any] = {} if self._forks is None else self._forks.of(self.trace)
        verbs["others"] = [] if self._others is None else self._others.names
        state = {
            "overview": self.view.overview(),
            "live": browser_json(self.view.live(verbs, back=len(self._views) > 1)),
            "other": other,
            "pairs": pairs,
            "notes": browser_json(reader_notes(self.trace)),
        }
        return state if step is None else state | {"step": step, "other_step": partner(pairs, step)}

    def _show(self, forget: int, step: int | None = None) -> None:
        """Send what has changed; the panels from step `forget` on are out of date."""
        self.send({"type": "forget", "from": forget})
        with self.hold_sync():  # in one message: what comes late would undo what a fast reader does
            for name, value in self._state(step).items():
                setattr(self, name, value)
        if self._kept is not None:
            self._kept.update(alone(story_of(self.trace), self._opening), raw=True)
        self._reported = time.monotonic()

    def grown(self) -> None:
        """Show what has come to the trace since; somebody else lets it grow."""
        self._show(max(0, self.overview["n"] - 1))

    def _received(self, _widget: object, message: Any, _buffers: object) -> None:
        """Handle what comes. The kernel goes on: what cannot be done is said in one line."""
        try:
            self._handle(message)
        except ZoolabError as error:
            self._failed(str(error), getattr(error, "difference", ""))
        except Exception as error:
            self._failed(f"{type(error).__name__}: {error}")

    def _failed(self, text: str, difference: str = "", **more: Any) -> None:
        line = next(iter(text.splitlines()), "")[:500]
        self.send(browser_json({"type": "failed", "message": line, "difference": difference, **more}))

    def _handle(self, message: Any) -> None:
        match message:
            case {"type": "get", "which": "main" | "other" as which, "steps": list() as steps}:
                self._get(which, steps)
            case {"type": "step"}:
                self._drive(Driver.step)
            case {"type": "run"}:
                self._drive(lambda driver: driver.run(self._report))
            case {"type": "until"}:
                kind, tool, error = (message.get(name) or "" for name in ("kind", "tool", "error"))
                self._drive(lambda driver: driver.until(kind, tool, bool(error), self._report))
            case {"type": "answer"}:
                self._answer(message.get("then"), *self._edited(message))
            case {"type": "decide"}:
                self._drive(lambda driver: driver.decide(message.get("choice")))
            case {"type": "fork"}:
                self._fork(message.get("verb"), *self._edited(message))
            case {"type": "ask", "models": list(places)}:
                self._ask(self.trace.index(_number(message.get("seq"))), places, message.get("repeats"))
            case {"type": "open", "seq": int(seq)}:
                self._open(self.trace.index(seq))
            case {"type": "back"} if len(self._views) == 1:
                advice = "there is no trace to go back to"
                raise InvalidInput("this is the first trace", advice=advice)
            case {"type": "back"}:
                self._views.pop()
                self._show(0, self.view.step)
            case {"type": "note", "seq": int(seq), "text": str(text)}:
                add_note(self.trace, self.trace.index(seq), text)
                self.notes = browser_json(reader_notes(self.trace))
            case {"type": "compare", "with": "parent"} if self.view.beside is None:
                advice = "fork first, or inspect(trace, other)"
                raise InvalidInput("there is nothing to compare with", advice=advice)
            case {"type": "compare", "with": "parent" | "none" as other}:
                self.view.comparing = other == "parent"
                self._show(0)
            case _:
                what = f"the widget sent the unknown message {excerpt(message)}"
                raise InvalidInput(what, expected=_MESSAGES)

    def _get(self, which: str, steps: list[Any]) -> None:
        panels: dict[str, Any] = {}
        shown = self.view.other if which == "other" and self.view.other is not None else self.trace
        turns = shown.turns
        for seq in steps[:_MAX_PANELS]:
            try:
                panels[str(seq)] = self.view.panel(shown, _number(seq), turns)
            except (ZoolabError, ValueError, TypeError, RecursionError) as error:
                self._failed(str(error), which=which, seq=seq)
        self.send({"type": "panels", "which": which, "panels": panels})

    def _edited(self, message: dict[str, Any]) -> tuple[int, Record]:
        seq = self.trace.index(_number(message.get("seq")))
        return seq, edited(self.trace.steps[seq].record, message.get("edits") or [])

    def _drive(self, go: Callable[[Driver], None]) -> None:
        driver = self.view.driver
        if driver is None:
            advice = "fork from a step to continue from there"
            raise InvalidInput("this trace has no running walk", advice=advice)
        last = len(self.trace) - 1
        try:
            with listening(self._heard):
                go(driver)
        finally:
            self._show(max(0, last), len(self.trace) - 1)

    def _report(self) -> None:
        """Show now and then, while a walk runs, how far it has come."""
        if time.monotonic() - self._reported > _REPORT:
            self._reported = time.monotonic()
            self.live = {**(self.live or {}), "state": "running"}
            self.overview = self.view.overview()

    def _heard(self, delta: dict[str, Any]) -> None:
        """Show now and then, while a reply arrives, what there is of it."""
        driven = self.view.driver
        if driven is None or driven.trace.steps[-1].kind != "request":
            return  # it is a sub-agent's
        if self._arriving != len(driven.trace):
            self._deltas = []
            self._arriving = len(driven.trace)
        self._deltas.append(delta)
        if time.monotonic() - self._reported > _REPORT:
            self._reported = time.monotonic()
            reply = assemble({"choices": [{"delta": each}]} for each in self._deltas)
            arriving = browser_json(arriving_blocks(Room(_ARRIVING), reply))
            self.live = {**(self.live or {}), "state": "running", "arriving": arriving}

    def _answer(self, then: object, seq: int, record: Record) -> None:
        if then not in ("step", "run", None):
            raise InvalidInput(f"then is {excerpt(then)}", expected="step, run or null")

        def go(driver: Driver) -> None:
            driver.answer(seq, record)
            if then == "step":
                driver.step()
            elif then == "run":
                driver.run(self._report)

        self._drive(go)

    def _fork(self, verb: object, seq: int, record: Record) -> None:
        parent = self.trace
        if self._forks is None:
            raise InvalidInput("nothing that is installed forks traces", advice="install all of zoolab")
        try:
            child = self._forks.fork(verb, parent, seq, record)
        except ReplayMiss as error:  # how far it came is worth a look
            if isinstance(error.trace, TraceLog):
                self._show_fork(error.trace, parent, seq)
            raise
        self._show_fork(child, parent, seq)

    def _show_fork(self, child: TraceLog, parent: TraceLog, seq: int) -> None:
        view = View(child, beside=parent, stale_from=seq + 1, comparing=True)
        self._push(view, min(seq, len(child) - 1))

    def _ask(self, seq: int, places: list[Any], repeats: object) -> None:
        if self._others is None:
            raise InvalidInput("there are no models to ask", advice="use inspect(trace, models=...)")
        try:
            for table in self._others.ask(self.trace, seq, places, repeats):
                self.view.asked[seq] = table
        finally:
            self._show(seq)

    def _open(self, seq: int) -> None:
        record = self.trace.steps[seq].record
        inner = record.trace if isinstance(record, Outcome) else None
        if not isinstance(inner, TraceLog):
            advice = "open a step that is marked as a sub-agent"
            raise InvalidInput(f"step {seq + 1} has no trace of a sub-agent", advice=advice)
        self._push(View(inner), first_error(inner) or 0)

    def _push(self, view: View, step: int) -> None:
        if len(self._views) >= _MAX_DEPTH:
            raise InvalidInput(f"more than {_MAX_DEPTH} traces are open", advice="go back first")
        self.view.step = self.step
        self._views.append(view)
        self._show(0, max(0, step))
