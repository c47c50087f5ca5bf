"""A trace as events, and events as a trace: what `save`, `load` and a live file share."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from zoolab.anyjson import any_json, as_text
from zoolab.errors import InvalidInput, InvalidTrace, ZoolabError
from zoolab.jsontext import digest, excerpt
from zoolab.records import KINDS, Message, Messages, Step
from zoolab.trace.codec import (
    decode_call,
    decode_fault,
    decode_message,
    decode_record,
    decode_reply,
    encode_plain,
    encode_record,
)
from zoolab.trace.journal import Revision
from zoolab.trace.storage import FORMAT, VERSION, Event, EventWriter, as_read, read_events

if TYPE_CHECKING:
    from zoolab.trace.trace import Trace


def events_of(trace: Trace) -> Iterator[Event]:
    """All events of a trace, in the order of its file.

    >>> from zoolab import Trace
    >>> [event["event"] for event in events_of(Trace())]
    ['trace', 'end']
    """
    yield _header(trace)
    changes = _Changes(trace)
    for seq in range(len(trace.steps)):
        yield from changes.of(seq)
    yield _end(trace)


class EventStream:
    """Writes the events of a trace while the trace grows."""

    def __init__(self, trace: Trace, writer: EventWriter) -> None:
        self._trace, self._writer, self._changes = trace, writer, _Changes(trace)
        self.path = writer.path
        writer.write(_header(trace))

    def step(self, seq: int) -> None:
        """Write a step that was just appended."""
        self._write(seq, "step")

    def edit(self, seq: int) -> None:
        """Write what an answered step has become."""
        self._write(seq, "edit")

    def end(self) -> None:
        """Write how the run ended, and close the file."""
        self._writer.write(_end(self._trace))
        self._writer.close()

    def drop(self) -> None:
        """Close the file as it is, since it cannot be written any more."""
        self._writer.drop()

    def _write(self, seq: int, event: str) -> None:
        for line in self._changes.of(seq, event):
            self._writer.write(line)


def read_into(trace: Trace, path: Path) -> None:
    """Fill an empty trace from a file.

    >>> from zoolab import Trace
    >>> read_into(Trace(), Path("no-such-file.jsonl"))
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: cannot read no-such-file.jsonl: ...
    """
    reader = _Reader(trace)
    for number, event in read_events(path):
        try:
            reader.read(event, first=number == 1)
        except ZoolabError as error:
            raise InvalidTrace(
                f"{path.name}, line {number}: {error}", advice="save the trace again"
            ) from None
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            raise InvalidTrace(
                f"{path.name}, line {number}: {type(error).__name__}: {error}",
                expected="a trace as zoolab writes it",
            ) from None


def read_all(trace: Trace, events: list[object]) -> Trace:
    """Fill an empty trace from events, those of a sub-agent within an event of its parent.

    >>> from zoolab import Trace
    >>> read_all(Trace(), list(events_of(Trace()))).steps
    []
    """
    reader = _Reader(trace)
    for number, event in enumerate(events):
        if not isinstance(event, dict) or "event" not in event:
            raise InvalidTrace(f"an inner event is {excerpt(event)}", expected="an object with an event")
        reader.read(event, first=number == 0)
    return trace


class _Changes:
    """Says of each step how `messages[]` changed, and of each message what it is, once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: set[str] = set()
        self._before = Revision(0, 0)

    def of(self, seq: int, event: str = "step") -> Iterator[Event]:
        """The new messages that a step needs, then the step."""
        journal, revision = self._trace.journal, self._trace.revisions[seq]
        kept = journal.common(self._before, revision)
        self._before = revision
        names: list[str] = []
        for text in journal.frozen(revision, kept):
            names.append(digest(text))
            if names[-1] not in self._known:
                self._known.add(names[-1])
                yield {"event": "message", "id": names[-1], "message": json.loads(text)}
        yield self._step(seq, event, kept, names)

    def _step(self, seq: int, event: str, kept: int, names: list[str]) -> Event:
        trace, step = self._trace, self._trace.steps[seq]
        original = trace.originals.get(seq)
        record = encode_record(step.record)
        if original is not None:
            _check_answer(record, seq, step)
        return {
            "event": event,
            "seq": seq,
            "kind": step.kind,
            "turn": step.turn,
            "slot": step.slot,
            "attempt": step.attempt,
            "t": trace.started[seq],
            "keep": kept,
            "append": names,
            "appended": step.appended,
            "call": None if step.call is None or step.call is step.record else encode_plain(step.call),
            "reply": None if step.reply is None or step.reply is step.record else encode_plain(step.reply),
            "record": record,
            "original": None if original is None else encode_record(original),
        }


class _Reader:
    """Takes events one by one; knows what the ones before them have defined."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._messages: dict[str, Message] = {}
        self._log = Messages()

    def read(self, event: Event, first: bool) -> None:
        kind = event["event"]
        if first != (kind == "trace"):
            raise InvalidTrace(f"an event {excerpt(kind)}", expected="a trace event first, and once")
        handler = {
            "trace": self._header,
            "message": self._message,
            "step": self._step,
            "edit": self._edit,
            "end": self._end,
        }.get(kind)
        if handler is None:
            raise InvalidTrace(f"an event {excerpt(kind)}", expected="trace, message, step, edit or end")
        handler(event)

    def _header(self, event: Event) -> None:
        if event.get("format") != FORMAT or event.get("version") != VERSION:
            found = f"{excerpt(event.get('format'))} version {excerpt(event.get('version'))}"
            raise InvalidTrace(f"the format is {found}", expected=f"{FORMAT} version {VERSION}")
        self._trace.run_id = str(event["run_id"])
        self._trace.meta = dict(event["meta"])
        self._trace.began = _optional_seconds(event.get("began"))

    def _message(self, event: Event) -> None:
        self._messages[str(event["id"])] = decode_message(event["message"])

    def _step(self, event: Event) -> None:
        trace, step = self._trace, self._decoded(event)
        trace.add(step)
        trace.started[-1] = _seconds(event["t"])
        self._original(len(trace.steps) - 1, event)

    def _edit(self, event: Event) -> None:
        seq = self._trace.index(_whole(event["seq"]))
        self._trace.steps[seq] = step = self._decoded(event)
        self._trace.revisions[seq] = self._trace.journal.commit(step.messages)
        self._original(seq, event)

    def _end(self, event: Event) -> None:
        error = event["error"]
        self._trace.outcome = str(event["outcome"])
        self._trace.error = None if error is None else str(error)
        self._trace.fault = decode_fault(event.get("fault"))
        self._trace.ended = _optional_seconds(event.get("t"))

    def _original(self, seq: int, event: Event) -> None:
        if event["original"] is not None:
            self._trace.originals[seq] = decode_record(event["original"], Messages())

    def _decoded(self, event: Event) -> Step:
        kind, slot = event["kind"], event["slot"]
        if kind not in KINDS:
            raise InvalidTrace(f"a step of kind {excerpt(kind)}", expected=", ".join(KINDS))
        messages = self._revision(_whole(event["keep"]), event["append"])
        record = decode_record(event["record"], messages)
        call, reply = decode_call(event["call"]), decode_reply(event["reply"])
        if call is None and event["record"]["type"] == "tool_call":
            call = cast("Any", record)
        if reply is None and event["record"]["type"] == "reply":
            reply = cast("Any", record)
        return Step(
            kind,
            _whole(event["turn"]),
            None if slot is None else _whole(slot),
            record,
            messages,
            min(_whole(event["appended"]), len(messages)),
            call,
            reply,
            _whole(event["attempt"]),
        )

    def _revision(self, keep: int, append: list[str]) -> Messages:
        if not 0 <= keep <= len(self._log):
            raise InvalidTrace(f"keep is {keep}", expected=f"0 to {len(self._log)}")
        self._log = self._log.first(keep)
        for name in append:
            self._log = self._log.with_next(self._messages[name])
        return self._log


def _check_answer(record: Event, seq: int, step: Step) -> None:
    """A step may be answered with a record whose fields have other types than they are declared with."""
    try:
        decode_record(as_read(record), Messages())
    except InvalidTrace as error:
        raise InvalidInput(
            f"step {seq}, {step.kind}, was answered with what no file can hold: {error.what}",
            expected=f"a {type(step.record).__name__} as its class declares it",
        ) from None


def _header(trace: Trace) -> Event:
    known = {"run_id": trace.run_id, "began": trace.began, "meta": any_json(trace.meta)}
    return {"event": "trace", "format": FORMAT, "version": VERSION, **known}


def _end(trace: Trace) -> Event:
    end: Event = {"event": "end", "t": trace.ended, "outcome": as_text(trace.outcome)}
    end["error"] = None if trace.error is None else as_text(trace.error)
    return end if trace.fault is None else {**end, "fault": encode_plain(trace.fault)}


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 31:
        raise InvalidTrace(f"found {excerpt(value)}", expected="a whole number")
    return value


def _seconds(value: object) -> float:
    if type(value) not in (int, float) or not math.isfinite(seconds := float(cast("float", value))):
        raise InvalidTrace(f"found {excerpt(value)}", expected="seconds")
    return seconds


def _optional_seconds(value: object) -> float | None:
    return None if value is None else _seconds(value)
