"""The trace: the record of a walk, step by step, with every change of `messages[]`."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from pathlib import Path
from time import perf_counter, time
from typing import Any, Never, Unpack

from zoolab.errors import InvalidInput, Recording, ZoolabError
from zoolab.interrupts import Hold
from zoolab.jsontext import excerpt
from zoolab.loop import Steps, Walk, walk
from zoolab.options import WalkOptions, passes_on
from zoolab.records import Fault, Message, Messages, Outcome, Record, Reply, Step, ToolCall
from zoolab.steps.define import as_registry
from zoolab.steps.execute import INTERRUPTED, said
from zoolab.steps.result import Envelope, make_result
from zoolab.trace.events import EventStream, events_of, read_into
from zoolab.trace.journal import Journal, Revision
from zoolab.trace.storage import EventWriter, alike, write_events
from zoolab.trace.summary import LoggedError, MessagesDiff, errors_of, ignored_choices
from zoolab.trace.views import TraceViews


class Trace(TraceViews, Recording):
    """The record of a walk. It exists before the first step, so that an interrupted run loses nothing.

    Args:
        path: A JSONL file that receives each step as it happens; none by default.
        run_id: A name for the run; a random one by default.
        meta: What else is known of the run, as a dict: case_id, variant, model, seed, expected_tool.

    Raises:
        TypeError: There is no argument of this name; the message names the right one.

    >>> from zoolab import Scripted, tool, walk
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> model = Scripted([[("add", {"a": 42, "b": 58})], "It is 100."])
    >>> trace = Trace.record(walk("What is 42 + 58?", [add], model))
    >>> trace.answer, [call.name for call in trace.tool_calls]
    ('It is 100.', ['add'])
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        run_id: str | None = None,
        meta: Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> None:
        _refuse("Trace", unknown, ("path", "run_id", "meta"))
        if run_id is not None and not isinstance(run_id, str):
            raise InvalidInput(f"run_id is {excerpt(run_id)}", expected="text")
        if meta is not None and not isinstance(meta, Mapping):
            raise InvalidInput(f"meta is {excerpt(meta)}", expected="a dict, as in meta={'case_id': 'a'}")
        self.run_id = run_id or os.urandom(6).hex()
        self.meta = dict(meta or {})
        self.steps: list[Step] = []
        self.journal = Journal()
        self.revisions: list[Revision] = []
        #: What a step held before it was answered with something else, by the step's number.
        self.originals: dict[int, Record] = {}
        #: When each step came: seconds since the trace began, the time between steps by hand left out.
        self.started = array("d")
        #: `answer`, the code of the error that ended the run, `interrupted`, or `open`; `no_tool_call` or
        #: `wrong_tool` when the model answered and had ignored a forced `tool_choice`.
        self.outcome = "open"
        self.error: str | None = None
        #: What was broken on purpose, where the error that ended the run came of that.
        self.fault: Fault | None = None
        #: What a fork continues with; not saved.
        self.options: dict[str, Any] = {}
        #: When the trace began, seconds since 1970 (None: its file does not say), and when the run ended,
        #: seconds since then (None: it has not).
        self.began: float | None = time()
        self.ended: float | None = None
        self._zero = perf_counter()
        self._stream: EventStream | None = None
        if path is not None:
            try:
                self._stream = EventStream(self, EventWriter(Path(path)))
            except InvalidInput:
                raise
            except (OSError, TypeError, ValueError) as error:
                raise _cannot_write(Path(path), error) from error

    @classmethod
    def record(
        cls,
        walk: Iterable[Step],
        into: Trace | None = None,
        *,
        path: str | Path | None = None,
        meta: Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> Trace:
        """Run a walk to its end and return its trace.

        Args:
            walk: The walk.
            into: A trace that exists already, to look at while the walk runs or after an interrupt.
            path: As for `Trace`. A trace that exists already has its own, so not together with `into`.
            meta: As for `Trace`; not together with `into` either.

        Raises:
            ZoolabError: What ended the walk; its `trace` is the trace so far.
            InvalidInput: `path` or `meta` is given together with `into`.

        >>> from zoolab import Scripted, walk
        >>> Trace.record(walk("Hi", [], Scripted(["Hello"]))).outcome
        'answer'
        """
        _refuse("Trace.record", unknown, ("into", "path", "meta"))
        if into is not None and (path is not None or meta is not None):
            given = "path" if path is not None else "meta"
            raise InvalidInput(f"both into= and {given}= are given", advice=f"use Trace({given}=...) instead")
        trace = cls(path, meta=meta) if into is None else into
        try:
            with Hold():
                trace._record(walk)
        except KeyboardInterrupt as error:
            _attach(error, trace)
            raise
        return trace

    def _record(self, walk: Iterable[Step]) -> None:
        try:
            add = self.add
            for step in walk:
                add(step)
            self._end_with_answer()
        except BaseException as error:
            self._broken(error, walk)
            raise

    def follow(self, walk: Iterable[Step]) -> Walk:
        """Record a walk while somebody else steps through it, answers included.

        >>> from zoolab import Scripted, walk
        >>> trace = Trace()
        >>> steps = trace.follow(walk("Hi", [], Scripted(["Hello"])))
        >>> next(steps).kind, next(steps).kind, len(trace.steps)
        ('define', 'request', 2)
        """
        return Walk(self._follow(walk), getattr(walk, "options", None))

    def _follow(self, walk: Iterable[Step]) -> Steps:
        steps = iter(walk)
        send: Callable[[Any], Step] = getattr(steps, "send", lambda _answer: next(steps))
        answer: Record | Step | None = None
        try:
            while True:
                try:
                    step = send(answer)
                except StopIteration as end:
                    if answer is not None:
                        self._settle(answer, end.value)
                    self._end_with_answer()
                    return Messages(self.messages)
                if answer is not None:
                    self._settle(answer, step.messages.first(len(step.messages) - step.appended))
                    answer = None
                self.add(step)
                send = getattr(steps, "send", send)
                paused = perf_counter()
                try:
                    answer = yield step
                except KeyboardInterrupt as interrupt:  # `Walk.throw`: the walk knows what to do
                    if not isinstance(steps, Walk):
                        raise
                    send = partial(_thrown, steps, interrupt)
                self._zero += perf_counter() - paused
        except GeneratorExit:  # given up in the middle: the trace stays open
            _close(walk)
            self._write(EventStream.end)
            raise
        except BaseException as error:
            self._broken(error, walk)
            raise

    def _end_with_answer(self) -> None:
        ignored = next(ignored_choices(self.steps), None)
        self._end("answer" if ignored is None else ignored.code)

    def _end(self, outcome: str) -> None:
        self.outcome, self.ended = outcome, perf_counter() - self._zero
        self._write(EventStream.end)

    def _broken(self, error: BaseException, walk: Any) -> None:
        """The walk was ended by an error: say so, and answer the calls that it left without an answer."""
        fault = getattr(error, "fault", None) if isinstance(error, Exception) else None
        self.fault = fault if isinstance(fault, Fault) else None
        self.error = str(error) if isinstance(error, ZoolabError) else said(error)
        if isinstance(error, Exception):
            outcome = error.code if isinstance(error, ZoolabError) else "failed"
        else:
            outcome = "interrupted"
        _attach(error, self)
        _close(walk)
        with suppress(Exception):  # the error itself matters more
            self._answer_the_rest(getattr(walk, "options", {}).get("envelope", "json"))
        with suppress(ZoolabError):
            self._end(outcome)

    def _answer_the_rest(self, envelope: Envelope) -> None:
        last = self.steps[-1]
        turn = [step for step in self.steps if step.turn == last.turn and step.call is not None]
        if not any(step.kind == "tool_call" and step.appended for step in turn):
            return
        answered = {step.slot for step in turn if step.kind == "result"}
        calls = {step.slot: step.record for step in turn if isinstance(step.record, ToolCall)}
        outcomes = {step.slot: step.record for step in turn if isinstance(step.record, Outcome)}
        for slot in sorted(calls.keys() - answered, key=str):
            call = calls[slot]
            result = make_result(outcomes.get(slot, INTERRUPTED), call.id, envelope)
            messages = self.steps[-1].messages.with_next(result.message)
            self.add(Step("result", last.turn, slot, result, messages, 1, call))

    def add(self, step: Step) -> None:
        """Append a step: all of it, or nothing if an error is raised."""
        journal, count = self.journal, len(self.steps)
        try:
            unchanged = step.messages is journal.latest
            self.revisions.append(journal.revision if unchanged else journal.commit(step.messages))
            self.started.append(perf_counter() - self._zero)
            self.steps.append(step)
        except BaseException:
            del self.revisions[count:], self.started[count:], self.steps[count:]
            raise
        if self._stream is not None:
            self._write(EventStream.step, count)

    def _write(self, write: Callable[..., None], *given: Any) -> None:
        """Write to the live file; if that fails, the trace goes on in memory alone."""
        stream = self._stream
        if stream is None:
            return
        try:
            write(stream, *given)
        except Exception as error:
            self._stream = None
            stream.drop()
            raise _cannot_write(stream.path, error) from error

    @property
    def messages(self) -> list[Message]:
        """`messages[]` as it stands at the end."""
        return self.messages_at(len(self.steps) - 1) if self.steps else []

    def messages_at(self, step: int | Step) -> list[Message]:
        """`messages[]` as it stood after a step, rebuilt from the journal.

        >>> from zoolab import Scripted, walk
        >>> trace = Trace.record(walk("Hi", [], Scripted(["Hello"])))
        >>> [len(trace.messages_at(seq)) for seq in range(3)]
        [0, 1, 2]
        """
        return self.journal.rebuild(self.revisions[self.index(step)])

    def diff(self, a: int | Step, b: int | Step) -> MessagesDiff:
        """How `messages[]` changed from step `a` to step `b`.

        >>> from zoolab import Scripted, walk
        >>> trace = Trace.record(walk("Hi", [], Scripted(["Hello"])))
        >>> print(trace.diff(1, 2))
        1 -> 2 messages: + assistant "Hello"
        """
        old, new = (self.revisions[self.index(step)] for step in (a, b))
        kept = self.journal.common(old, new)
        removed, added = (tuple(self.journal.rebuild(revision, kept)) for revision in (old, new))
        return MessagesDiff(kept, removed, added)

    def index(self, step: int | Step) -> int:
        """The number of a step of this trace; negative numbers count from the end."""
        if isinstance(step, Step):
            found = next((i for i, own in enumerate(self.steps) if own is step), None)
        else:
            found = range(len(self.steps))[step] if -len(self.steps) <= step < len(self.steps) else None
        if found is None:
            raise InvalidInput(
                f"no such step: {excerpt(step)}", expected=f"one of the {len(self.steps)} steps"
            )
        return found

    @property
    def answer(self) -> str | None:
        """The model's final text; None where the run did not come to one."""
        last = self.steps[-1] if self.steps else None
        return last.record.text if last is not None and isinstance(last.record, Reply) else None

    @property
    def tool_calls(self) -> list[ToolCall]:
        """All calls that the model asked for, in order."""
        return [step.record for step in self.steps if isinstance(step.record, ToolCall)]

    @property
    def errors(self) -> list[LoggedError]:
        """All that went wrong, in order, the error that ended the run last."""
        found = list(errors_of(self.steps))
        if self.error is not None:
            found.append(LoggedError(None, None, None, self.outcome, self.error))
        return found

    def save(self, path: str | Path) -> Path:
        """Write the trace to a JSONL file, one event a line; returns its path.

        >>> import tempfile
        >>> path = Trace().save(Path(tempfile.mkdtemp()) / "trace.jsonl")
        >>> len(path.read_text().splitlines())
        2
        """
        target = Path(path)
        write_events(target, events_of(self))
        return target

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace that was saved, or that is still being written. Safe for files from strangers.

        Raises:
            InvalidInput: There is no such file.
            InvalidTrace: It is no trace; the message names the line.

        >>> import tempfile
        >>> trace = Trace()
        >>> Trace.load(trace.save(Path(tempfile.mkdtemp()) / "trace.jsonl")) == trace
        True
        """
        trace = cls()
        read_into(trace, Path(path))
        return trace

    @passes_on(walk, without=("messages", "system", "first_turn"))
    def fork(
        self,
        step: int | Step,
        edit: Record | None = None,
        *,
        model: Any = None,
        tools: Any = None,
        **options: Unpack[WalkOptions],
    ) -> Trace:
        """Go on from a step with an edited record; returns a new trace, this one stays as it is.

        What came before the step is kept and not run again.

        Args:
            step: The step, or its number.
            edit: The record that goes on in its place; None repeats it.
            model: Answers from there on; by default the model of this run.
            tools: The tools with their functions; needed for a trace that was loaded from a file.
            options: As for `walk`; by default those of this run, which also began the conversation.

        >>> from zoolab import Outcome, Scripted, run, tool
        >>> @tool
        ... def add(a: int, b: int) -> int:
        ...     "Add two integers."
        ...     return a + b
        >>> echo = lambda request: request.messages[-1]["content"]
        >>> model = Scripted([[("add", {"a": 1, "b": 2})], echo, echo])
        >>> trace = run("1 + 2?", [add], model, envelope="plain")
        >>> trace.fork(4, Outcome(7)).answer, trace.answer
        ('7', '3')
        """
        from zoolab.trace.fork import fork

        return fork(self, self.index(step), edit, model, tools, {**options})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        nothing: dict[str, Any] = {}
        pairs = zip_longest(events_of(self), events_of(other), fillvalue=nothing)
        return all(alike(ours, theirs) for ours, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        turns = self.steps[-1].turn if self.steps else 0
        return f"<Trace {self.run_id}: {len(self.steps)} steps, {turns} turns, {self.outcome}>"

    def _settle(self, answer: Record | Step, before_next: Messages) -> None:
        """Once the walk has gone on, an answered step shows what it was answered with."""
        seq, revision = len(self.steps) - 1, self.journal.commit(before_next)
        given = answer.record if isinstance(answer, Step) else answer
        step = self.steps[seq]
        if step.kind == "define":
            given = as_registry(given).fixed()  # type: ignore[arg-type]
        self.originals.setdefault(seq, step.record)
        call = given if isinstance(given, ToolCall) else step.call
        self.steps[seq] = step._replace(record=given, call=call, messages=before_next)
        self.revisions[seq] = revision
        self._write(EventStream.edit, seq)


def _refuse(function: str, unknown: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise a `TypeError` that names the argument that was meant."""
    for name, value in unknown.items():
        from difflib import get_close_matches

        meant = get_close_matches(name, known, 1)
        advice = f"did you mean {meant[0]}=?" if meant else f"write meta={{{name!r}: {excerpt(value, 40)}}}"
        raise TypeError(f"{function}() has no argument {name}=; {advice}")


def _thrown(steps: Walk, interrupt: KeyboardInterrupt, _answer: object) -> Step:
    return steps.throw(interrupt)


def _close(walk: Any) -> None:
    if hasattr(walk, "close"):
        with suppress(Exception):
            walk.close()


def _attach(error: BaseException, trace: Trace) -> None:
    with suppress(Exception):  # some exceptions take no attributes
        error.trace = trace  # type: ignore[attr-defined]


def _cannot_write(path: Path, error: Exception) -> InvalidInput:
    why = error.strerror if isinstance(error, OSError) and error.strerror else said(error)
    return InvalidInput(
        f"cannot write {path}: {why}", advice="the trace in memory is whole: save it elsewhere"
    )
