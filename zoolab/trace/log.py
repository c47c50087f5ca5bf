"""The trace: the record of a walk, step by step, with every change of `messages[]`."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, TypeVar

from zoolab.errors import InvalidInput, LoopError, TraceBase, ZoolabError
from zoolab.jsontext import excerpt, visible
from zoolab.jsontext.values import encode_any, is_strict
from zoolab.loop import Steps, Walk
from zoolab.messages import Condensed
from zoolab.records import (
    Decision,
    Fault,
    Message,
    Messages,
    Record,
    Reply,
    Request,
    Result,
    Step,
    ToolCall,
    Verdict,
)
from zoolab.running.interrupts import Hold, interruptible
from zoolab.steps.define import as_registry
from zoolab.steps.execute import INTERRUPTED, said
from zoolab.steps.result import Envelope, make_result
from zoolab.tools import ToolRegistry
from zoolab.trace.summary import LoggedError, MessagesDiff, errors_of, outcome_of_walk

if TYPE_CHECKING:
    from pathlib import Path

    from zoolab.trace.calls import Turn

T = TypeVar("T", bound="TraceLog")


class MessageJournal:
    """The messages of a conversation as JSON.

    A step keeps `messages[]` as a moment of a list that only grows, so that recording one costs the same
    however long the conversation is. Messages are read-only: the JSON of each one is written when it is first
    asked for. A message that JSON cannot express is written at once, because what is in it may change.
    """

    def __init__(self) -> None:
        #: The JSON that is written already, by the id of its message; the message is kept, and so its id.
        self._written: dict[int, tuple[Message, str]] = {}
        #: What was committed last.
        self.latest = Messages()

    def commit(self, messages: Messages) -> None:
        """Record `messages[]` as it is now.

        What is not JSON in a message gets the form that `zoolab.jsontext.values` documents.
        """
        known = len(self.latest) if messages.shares(self.latest) else 0
        for message in messages.since(known):
            if not is_strict(message):
                self._json(message)
        self.latest = messages

    def rebuild(self, messages: Messages, start: int = 0) -> list[Message]:
        """Return the messages from `start` on, exactly as they were recorded."""
        return [json.loads(text) for text in self.frozen(messages, start)]

    def frozen(self, messages: Messages, start: int = 0) -> list[str]:
        """Return the same messages as the JSON that they were frozen to."""
        return [self._json(message) for message in messages.since(start)]

    def common(self, old: Messages, new: Messages) -> int:
        """Count the messages that both begin with."""
        shorter = min(len(old), len(new))
        if old.shares(new):
            return shorter
        for index, (a, b) in enumerate(zip(old.since(0), new.since(0), strict=False)):
            if a is not b and self._json(a) != self._json(b):
                return index
        return shorter

    def _json(self, message: Message) -> str:
        kept = self._written.get(id(message))
        if kept is None or kept[0] is not message:
            kept = self._written[id(message)] = message, encode_any(message)
        return kept[1]


class TraceLog(TraceBase):
    """The record of a walk: its steps, and every change of `messages[]`. `zoolab.Trace` adds files and views.

    Args:
        run_id: A name for the run; a random one by default.
        meta: What else is known of the run, as a dict.
    """

    def __init__(self, *, run_id: str | None = None, meta: Mapping[str, Any] | None = None) -> None:
        if run_id is not None and not isinstance(run_id, str):
            raise InvalidInput(f"run_id is {excerpt(run_id)}", expected="text")
        if meta is not None and not isinstance(meta, Mapping):
            raise InvalidInput(f"meta is {excerpt(meta)}", expected="a dict, as in meta={'case_id': 'a'}")
        self.run_id = run_id or os.urandom(6).hex()
        self.meta = dict(meta or {})
        self.steps: list[Step] = []
        self.journal = MessageJournal()
        #: What a step held before it was answered with something else, by the step's number.
        self.originals: dict[int, Record] = {}
        #: When each step came: seconds since the trace began, the time between steps by hand left out.
        self.started = array("d")
        #: `answer`, the code of the error that ended the run, `interrupted`, or `open`; `cut`, `filtered`,
        #: `failed` or `empty` if the last reply was not whole; `no_tool_call` or `wrong_tool` when the model
        #: answered and had ignored a forced `tool_choice`.
        self.outcome = "open"
        #: The error that ended the run, or what its last reply lacks; None if it came to an answer.
        self.error: str | None = None
        #: What was broken on purpose, if the error that ended the run came of that.
        self.fault: Fault | None = None
        #: What a fork continues with; of it a file keeps what is plain data, such as the limits.
        self.options: dict[str, Any] = {}
        #: When the trace began, seconds since 1970 (None: its file does not say), and when the run ended,
        #: seconds since then (None: it has not).
        self.began: float | None = time()
        self.ended: float | None = None
        self._zero = perf_counter()
        #: The `EventStream` that follows the trace while it grows.
        self._stream: Any = None

    def record_all(self, walk: Iterable[Step]) -> None:
        """Record a walk to its end."""
        try:
            with Hold():
                try:
                    add = self.add
                    for step in walk.rest() if isinstance(walk, Walk) else walk:
                        add(step)
                    self._end_with_answer()
                except BaseException as error:
                    self._broken(error, walk)
                    raise
        except KeyboardInterrupt as error:
            _attach(error, self)
            raise

    def follow(self, walk: Iterable[Step]) -> Walk:
        """Record a walk while somebody else steps through it, answers included.

        >>> from zoolab import Scripted, Trace, walk
        >>> trace = Trace()
        >>> steps = trace.follow(walk("Hi", [], Scripted(["Hello"])))
        >>> next(steps).kind, next(steps).kind, len(trace.steps)
        ('define', 'request', 2)
        """
        options = getattr(walk, "options", None)
        if options:  # so that a fork of the trace goes on with the same
            self.options = dict(options)
        return Walk(self._follow(walk), options)

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
                    self._settle(answer, _before(step))
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
            self._write("end")
            raise
        except BaseException as error:
            if answer is not None and isinstance(error, LoopError):  # the last step was answered
                self._settle(answer, _answered(self.steps[-1], answer))
            self._broken(error, walk)
            raise

    def _end_with_answer(self) -> None:
        last = self.steps[-1] if self.steps else None
        if last is not None and (last.call is not None or isinstance(last.record, Request | Result)):
            self._write("end")  # a conversation that another program recorded, and that is not over
            return
        if last is not None and isinstance(last.record, Reply):
            self.error = last.record.shortfall or None
        self._end(outcome_of_walk(self.steps))

    def _end(self, outcome: str) -> None:
        self.outcome = outcome
        self.ended = perf_counter() - self._zero
        self._write("end")

    def _broken(self, error: BaseException, walk: Any) -> None:
        """Say that an error ended the walk, and answer the calls that it left without an answer."""
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
        turn = self.turns[-1]
        if not any(step.kind == "tool_call" and step.appended for step in self.steps[turn.seq :]):
            return  # the reply is no part of messages[] yet
        for call in turn.calls.values():
            if call.result is None:
                result = make_result(call.outcome or INTERRUPTED, call.call.id, envelope)
                messages = self.steps[-1].messages.with_next(result.message)
                self.add(Step("result", turn.number, call.slot, result, messages, 1, call.call))

    def add(self, step: Step, came: float | None = None) -> None:
        """Append a step: all of it, or nothing if an error is raised.

        `came` is when it came, by `time.perf_counter`; by default now.
        """
        count = len(self.steps)
        try:
            if step.messages is not self.journal.latest:
                self.journal.commit(step.messages)
            since = (perf_counter() if came is None else came) - self._zero
            self.started.append(since if since > 0.0 else 0.0)
            self.steps.append(step)
        except BaseException:
            del self.started[count:], self.steps[count:]
            raise
        if self._stream is not None:
            self._write("change", count, "step")

    def keep(self, trace: TraceLog, until: int) -> None:
        """Take the first `until` steps of another trace as they are; time goes on from the last of them."""
        self._zero = came = 0.0
        for seq in range(until):
            if seq in trace.originals:
                self.originals[seq] = trace.originals[seq]
            came = trace.started[seq]
            self.add(trace.steps[seq], came)
        self._zero = perf_counter() - came

    def _write(self, call: str, *given: Any) -> None:
        """Write to the live file; if that fails, the trace goes on in memory alone."""
        stream = self._stream
        if stream is None:
            return
        try:
            getattr(stream, call)(*given)
        except Exception as error:
            self._stream = None
            stream.drop()
            raise cannot_write(stream.path, error) from error

    @property
    def messages(self) -> list[Message]:
        """`messages[]` as it stands at the end."""
        return self.messages_at(len(self.steps) - 1) if self.steps else []

    def messages_at(self, step: int | Step) -> list[Message]:
        """Return `messages[]` as it stood after a step, rebuilt from the journal.

        >>> from zoolab import Scripted, Trace, walk
        >>> trace = Trace.record(walk("Hi", [], Scripted(["Hello"])))
        >>> [len(trace.messages_at(seq)) for seq in range(3)]
        [0, 1, 2]
        """
        return self.journal.rebuild(self.steps[self.index(step)].messages)

    def diff(self, a: int | Step, b: int | Step) -> MessagesDiff:
        """Return how `messages[]` changed from step `a` to step `b`.

        >>> from zoolab import Scripted, Trace, walk
        >>> trace = Trace.record(walk("Hi", [], Scripted(["Hello"])))
        >>> print(trace.diff(1, 2))
        1 -> 2 messages: + assistant "Hello"
        """
        old, new = (self.steps[self.index(step)].messages for step in (a, b))
        kept = self.journal.common(old, new)
        removed, added = (tuple(self.journal.rebuild(messages, kept)) for messages in (old, new))
        return MessagesDiff(kept, removed, added)

    def index(self, step: int | Step) -> int:
        """Return the number of a step of this trace; negative numbers count from the end."""
        if isinstance(step, Step):
            found = next((i for i, own in enumerate(self.steps) if own is step), None)
        else:
            fits = hasattr(step, "__index__") and -len(self.steps) <= step < len(self.steps)
            found = range(len(self.steps))[step] if fits else None
        if found is None:
            raise InvalidInput(
                f"there is no step {excerpt(step)}",
                expected=f"a number below {len(self.steps)} or a step of this trace",
            )
        return found

    @property
    def answer(self) -> str | None:
        """The model's final text; None if the run did not come to one."""
        last = self.steps[-1:] if self.value is None else self.steps[-2:-1]
        return next((step.record.text for step in last if isinstance(step.record, Reply)), None)

    @property
    def value(self) -> dict[str, Any] | None:
        """The final answer as JSON values, if the walk had an `answer_schema`; None if there is none.

        >>> from zoolab import Scripted, run
        >>> schema = {"type": "object", "properties": {"sum": {"type": "integer"}}}
        >>> run("1 + 2?", [], Scripted(['{"sum": 3}']), answer_schema=schema).value["sum"]
        3
        """
        step = self.steps[-1] if self.steps else None
        verdict = step.record if step is not None and step.call is None else None
        return verdict.arguments if isinstance(verdict, Verdict) and verdict.ok else None

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
        from zoolab.trace.calls import turns_of

        return turns_of(self.steps, self.originals)

    @property
    def errors(self) -> list[LoggedError]:
        """All that went wrong, in order, the error that ended the run last."""
        found = list(errors_of(self.steps))
        said = found[-1].code if found and found[-1].seq == len(self.steps) - 1 else None
        if self.error is not None and said != self.outcome:
            found.append(LoggedError(None, None, None, self.outcome, self.error))
        return found

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        turns = self.steps[-1].turn if self.steps else 0
        return visible(f"<Trace {self.run_id}: {len(self.steps)} steps, {turns} turns, {self.outcome}>")

    def _settle(self, answer: Record | Step, before_next: Messages) -> None:
        """Show in an answered step, once the walk has gone on, what it was answered with."""
        self.journal.commit(before_next)
        seq = len(self.steps) - 1
        step = self.steps[-1]
        given = answer.record if isinstance(answer, Step) else answer
        if step.kind == "define":
            given = as_registry(given).fixed()  # type: ignore[arg-type]
        if isinstance(given, Decision) and isinstance(step.record, Decision):
            given = given.within(step.record.lasts)
        self.originals.setdefault(seq, step.record)
        call = given if isinstance(given, ToolCall) else step.call
        self.steps[seq] = step._replace(record=given, call=call, messages=before_next)
        self._write("change", seq, "edit")


def _before(step: Step) -> Messages:
    """Return `messages[]` before a step, and before it was condensed for it."""
    if isinstance(step.messages, Condensed):
        return step.messages.before
    return step.messages.first(len(step.messages) - step.appended)


def _answered(step: Step, answer: Record | Step) -> Messages:
    """Return `messages[]` after a last step that was answered: its result may be another one."""
    given = answer.record if isinstance(answer, Step) else answer
    if not isinstance(given, Result) or step.call is None:
        return step.messages
    return step.messages.first(len(step.messages) - 1).with_next(
        {**given.message, "tool_call_id": step.call.id}
    )


def _thrown(steps: Walk, interrupt: KeyboardInterrupt, _answer: object) -> Step:
    return steps.throw(interrupt)


def _close(walk: Any) -> None:
    if hasattr(walk, "close"):
        with suppress(Exception):
            walk.close()


def _attach(error: BaseException, trace: TraceLog) -> None:
    with suppress(Exception):  # some exceptions take no attributes
        error.trace = trace  # type: ignore[attr-defined]


def cannot_write(path: str | Path, error: Exception) -> InvalidInput:
    """Return the error for a file that cannot be written."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else said(error)
    return InvalidInput(
        f"cannot write {path}: {why}", advice="the trace in memory is whole: save it elsewhere"
    )


def drive(
    trace: T,
    steps: Walk,
    answer: Callable[[Step], Record | None],
    waits: Callable[[Step], bool] = lambda _step: False,
) -> T:
    """Record a walk to its end, with an answer to each step, or None to let it be.

    At a step of which `waits` is true the walk is left as it is: its trace stays open.
    """
    following = trace.follow(steps)
    try:
        with Hold():
            step = following.send(None)
            while not waits(step):
                try:
                    given = interruptible(partial(answer, step))
                except BaseException as error:
                    step = following.throw(error)
                else:
                    step = following.send(given)
            following.close()
    except StopIteration:
        pass
    return trace


def tools_of(trace: TraceLog, last: int = 2_000) -> ToolRegistry:
    """Return the tools of a run, of its steps until `last`; none if the trace does not say."""
    records = (step.record for step in islice(trace.steps, min(last, 2_000) + 1))
    return next((record for record in records if isinstance(record, ToolRegistry)), ToolRegistry())
