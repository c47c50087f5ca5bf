"""The trace: the record of a walk, step by step, with every change of `messages[]`."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from time import perf_counter, time
from typing import Any, Protocol, TypeVar

from zoolab.errors import InvalidInput, ZoolabError
from zoolab.jsontext import excerpt
from zoolab.loop import Steps, Walk
from zoolab.records import Fault, Message, Messages, Record, Reply, Step, ToolCall
from zoolab.trace.calls import Turn, turns_of
from zoolab.trace.journal import Journal, Revision
from zoolab.trace.summary import LoggedError, MessagesDiff, errors_of


T = TypeVar("T", bound="TraceLog")


class StepStream(Protocol):
    """Is told of a trace's steps as they happen, as the file that it is written to."""

    def step(self, seq: int) -> None:
        """A step was appended."""

    def edit(self, seq: int) -> None:
        """A step was answered with something else."""

    def end(self) -> None:
        """The run has ended."""


class TraceLog:
    """The record of a walk: its steps, and every change of `messages[]`. `zoolab.Trace` adds files and views.

    >>> from zoolab import Scripted, walk
    >>> log = TraceLog()
    >>> for step in log.follow(walk("Hi", [], Scripted(["Hello"]))):
    ...     pass
    >>> log.answer, len(log.steps)
    ('Hello', 3)
    """

    def __init__(self, *, run_id: str | None = None, meta: Mapping[str, Any] | None = None) -> None:
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
        #: `answer`, the code of the error that ended the run, `interrupted`, or `open`.
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
        #: Is told of each step as it happens.
        self._stream: StepStream | None = None

    def _record(self, walk: Iterable[Step]) -> None:
        """Record a walk to its end."""
        with self._until_its_end(walk):
            add = self.add
            for step in walk:
                add(step)

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
        send = getattr(steps, "send", lambda _answer: next(steps))
        answer: Record | Step | None = None
        with self._until_its_end(walk):
            while True:
                try:
                    step = send(answer)
                except StopIteration as end:
                    if answer is not None:
                        self._settle(answer, end.value)
                    return Messages(self.messages)
                if answer is not None:
                    self._settle(answer, step.messages.first(len(step.messages) - step.appended))
                self.add(step)
                paused = perf_counter()
                answer = yield step
                self._zero += perf_counter() - paused

    @contextmanager
    def _until_its_end(self, walk: Any) -> Generator[None]:
        """Whatever ends the walk, the trace knows it and is whole."""
        try:
            yield
            self.outcome, self.ended = "answer", perf_counter() - self._zero
        except (ZoolabError, KeyboardInterrupt) as error:
            self.outcome = "interrupted" if isinstance(error, KeyboardInterrupt) else error.code
            self.error, self.ended = str(error), perf_counter() - self._zero
            fault = getattr(error, "fault", None)
            self.fault = fault if isinstance(fault, Fault) else None
            error.trace = self  # type: ignore[union-attr]
            raise
        finally:
            if hasattr(walk, "close"):
                walk.close()
            if self._stream is not None:
                self._stream.end()

    def add(self, step: Step) -> None:
        """Append a step."""
        self.started.append(perf_counter() - self._zero)
        self.steps.append(step)
        journal = self.journal
        unchanged = step.messages is journal.latest
        self.revisions.append(journal.revision if unchanged else journal.commit(step.messages))
        if self._stream is not None:
            self._stream.step(len(self.steps) - 1)

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
    def turns(self) -> list[Turn]:
        """The turns, each with its calls by slot and what became of them; indexed anew at each use.

        >>> from zoolab import Scripted, run
        >>> trace = run("Hi", [], Scripted([[("fly", {})], "I cannot."]))
        >>> [call.fate for turn in trace.turns for call in turn.calls.values()]
        ['failed']
        """
        return turns_of(self.steps, self.originals)

    @property
    def errors(self) -> list[LoggedError]:
        """All that went wrong, in order, the error that ended the run last."""
        found = list(errors_of(self.steps))
        if self.error is not None:
            found.append(LoggedError(None, None, None, self.outcome, self.error))
        return found

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        turns = self.steps[-1].turn if self.steps else 0
        return f"<Trace {self.run_id}: {len(self.steps)} steps, {turns} turns, {self.outcome}>"

    def _settle(self, answer: Record | Step, before_next: Messages) -> None:
        """Once the walk has gone on, an answered step shows what it was answered with."""
        seq = len(self.steps) - 1
        given = answer.record if isinstance(answer, Step) else answer
        step = self.steps[seq]
        self.originals.setdefault(seq, step.record)
        call = given if isinstance(given, ToolCall) else step.call
        self.steps[seq] = step._replace(record=given, call=call, messages=before_next)
        self.revisions[seq] = self.journal.commit(before_next)
        if self._stream is not None:
            self._stream.edit(seq)


def drive(trace: TLog, steps: Walk, answer: Callable[[Step], Record | None]) -> TLog:
    """Record a walk to its end, with an answer to each step, or None to let it be.

    >>> from zoolab import Scripted, walk
    >>> drive(TraceLog(), walk("Hi", [], Scripted(["Hello"])), lambda step: None).answer
    'Hello'
    """
    following = trace.follow(steps)
    given: Record | None = None
    while True:
        try:
            step = following.send(given)
        except StopIteration:
            return trace
        given = answer(step)
