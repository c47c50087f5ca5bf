"""A trace as events, one a line of a JSONL file, readable while it is being written; and events as a trace.

    {"event": "trace", "format": "zoolab-trace", "version": 1, "run_id": ..., "meta": {...}}
    {"event": "message", "id": "9f..", "message": {...}}          each message once
    {"event": "step", "kind": ..., "keep": 2, "append": ["9f.."], "record": {...}, ...}
    {"event": "edit", "seq": 3, "keep": ..., "append": [...], "record": {...}}
    {"event": "end", "outcome": "answer", "error": null, "options": {"limits": {...}}}

`keep` and `append` say how `messages[]` changed: so many of the earlier ones stay, these follow.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

from zoolab.errors import InvalidInput, InvalidTrace, ZoolabError
from zoolab.files import privately, system_errors, write_whole
from zoolab.jsontext import decode_line, excerpt
from zoolab.jsontext.values import any_json, encode_any, text_or_json
from zoolab.messages import Condensed
from zoolab.records import KINDS, Fault, Message, Messages, Outcome, Record, Reply, Step, ToolCall
from zoolab.secrets import scrub_json
from zoolab.trace.codec import (
    decode_options,
    decode_plain,
    decode_record,
    encode_options,
    encode_plain,
    encode_record,
)
from zoolab.trace.log import TraceLog

FORMAT = "zoolab-trace"
VERSION = 1
#: Characters of a line. A longer event is neither written nor read.
MAX_LINE = 64 << 20
#: Levels of nesting in an event: a value has up to 64, and the trace of a sub-agent adds some.
MAX_NESTING = 200

_SHORT_ENOUGH = f"lines of at most {MAX_LINE:,} characters"

Event = dict[str, Any]
T = TypeVar("T", bound=TraceLog)


def events_of(trace: TraceLog) -> Iterator[Event]:
    """Yield all events of a trace, in the order of its file."""
    yield _header(trace)
    changes = _Changes(trace)
    for seq in range(len(trace.steps)):
        yield from changes.of(seq, "step")
    yield _end(trace)


def without_secrets(trace: T) -> T:
    """Return the trace itself if it has no secrets; else a copy without them."""
    told = [as_read(event) for event in events_of(trace)]
    clean = scrub_json(told)
    return trace if clean == told else read_events(type(trace)(), clean)


def as_read(event: Event) -> Event:
    """Return an event as it will be once it was written and read."""
    return cast("Event", json.loads(encode_any(event, MAX_NESTING)))


class EventStream:
    """Appends the events of a trace to a file while the trace grows; each line is whole once it is there.

    What the file held before is kept until the trace has its first step.
    """

    def __init__(self, trace: TraceLog, path: str | Path) -> None:
        self._trace = trace
        self._changes = _Changes(trace)
        self.path = Path(path)
        self._replaces = self.path.is_file() and self.path.stat().st_size > 0
        with system_errors(f"cannot write {path}"):
            self._file = _appending(self.path)
        if not self._replaces:
            self._write(_header(trace))

    def change(self, seq: int, event: str) -> None:
        """Write a step that was just appended, or what an answered one has become ("edit")."""
        self._write(*self._changes.of(seq, event))

    def end(self) -> None:
        """Write how the run ended, sync the file and close it."""
        self._write(_end(self._trace))
        os.fsync(self._file.fileno())
        self._file.close()

    def drop(self) -> None:
        """Close the file as it is, since it cannot be written any more."""
        with suppress(OSError):
            self._file.close()

    def _write(self, *events: Event) -> None:
        lines = map(line_of, events)
        if self._replaces:
            self._file.close()
            write_whole(self.path.resolve(), [line_of(_header(self._trace)), *lines])
            self._file = _appending(self.path)
            self._replaces = False
        else:
            self._file.writelines(lines)
            self._file.flush()


def line_of(event: Event) -> str:
    """Return an event as a line of a file; raises `InvalidInput` if it is too long to be read back."""
    line = encode_any(event, MAX_NESTING) + "\n"
    if len(line) > MAX_LINE:
        named = {"trace": "the trace's meta", "end": "the error of the run"}
        what = named.get(event["event"]) or f"step {event.get('seq')}"
        if event["event"] == "message":
            what = f"a message with the role {excerpt(event['message']['role'], 40)}"
        raise InvalidInput(
            f"{what} takes {len(line):,} characters in the file",
            expected=_SHORT_ENOUGH,
            advice="shorten the texts in it",
        )
    return line


class _Changes:
    """Says of each step how `messages[]` changed, and of each message what it is, once."""

    def __init__(self, trace: TraceLog) -> None:
        self._trace = trace
        self._known: dict[str, str] = {}
        self._before = Messages()

    def of(self, seq: int, event: str) -> Iterator[Event]:
        """Yield the new messages that a step needs, then the step."""
        trace = self._trace
        step = self._trace.steps[seq]
        kept = trace.journal.common(self._before, step.messages)
        self._before = step.messages
        names: list[str] = []
        for text in trace.journal.frozen(step.messages, kept):
            if text not in self._known:
                self._known[text] = str(len(self._known))
                yield {"event": "message", "id": self._known[text], "message": json.loads(text)}
            names.append(self._known[text])
        record = _encode(step.record)
        original = trace.originals.get(seq)
        if original is not None:
            _check_answer(record, seq, step)
        yield {
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
            "original": None if original is None else _encode(original),
        }


def _encode(record: Record) -> Event:
    """Encode a record as JSON values; within an outcome, the events of its sub-agent."""
    inner = record.trace if isinstance(record, Outcome) else None
    plain = encode_record(record)
    # A tool's exception may have an attribute `trace` that is something else.
    return {**plain, "trace": list(events_of(inner))} if isinstance(inner, TraceLog) else plain


def _check_answer(record: Event, seq: int, step: Step) -> None:
    """Check the record that a step was answered with: its fields may have other types than declared."""
    try:
        plain = as_read(record)
        plain.pop("trace", None)
        decode_record(plain, Messages())
    except InvalidTrace as error:
        raise InvalidInput(
            f"step {seq}, {step.kind}, was answered with a value that a file cannot contain: {error.what}",
            expected=f"a {type(step.record).__name__} with the types that its class declares",
        ) from None


def _appending(path: Path) -> TextIO:
    return open(path, "a", encoding="utf-8", opener=privately)


def _header(trace: TraceLog) -> Event:
    known = {"run_id": trace.run_id, "began": trace.began, "meta": any_json(trace.meta)}
    return {"event": "trace", "format": FORMAT, "version": VERSION, **known}


def _end(trace: TraceLog) -> Event:
    end: Event = {"event": "end", "t": trace.ended, "outcome": text_or_json(trace.outcome)}
    end["error"] = None if trace.error is None else text_or_json(trace.error)
    if options := encode_options(trace.options):
        end["options"] = options
    return end if trace.fault is None else {**end, "fault": encode_plain(trace.fault)}


def read_into(trace: TraceLog, path: str | Path) -> None:
    """Fill an empty trace from a file; a last line that is still being written is left out."""
    path = Path(path)
    number = 0
    reader = _Reader(trace)
    try:
        with path.open(encoding="utf-8") as file:
            while line := file.readline(MAX_LINE + 1):
                number += 1
                where = f"{path.name}, line {number}"
                ours = number > 1 or FORMAT in line
                if len(line) > MAX_LINE:
                    raise InvalidTrace(f"{where} is too long", expected=_SHORT_ENOUGH)
                try:
                    event = decode_line(line, MAX_NESTING)
                except (ValueError, RecursionError) as error:
                    if number > 1 and not line.endswith("\n"):
                        return
                    what = f"{where} is not JSON: {error}"
                    raise InvalidTrace(what, expected="one event a line", advice=_advice(ours)) from None
                with reading_as_written(where, "a trace as zoolab writes it"):
                    try:
                        reader.read(event, first=number == 1)
                    except ZoolabError as error:
                        raise InvalidTrace(f"{where}: {error}", advice=_advice(ours)) from None
    except OSError as error:
        what = f"cannot read {path}: {error.strerror}"
        raise InvalidInput(what, expected="a trace saved as JSONL") from None
    except UnicodeDecodeError:
        what = f"{path.name}, line {number + 1} is not UTF-8 text"
        advice = _advice(number > 0)
        raise InvalidTrace(what, expected="a trace as zoolab writes it", advice=advice) from None
    if number == 0:
        raise InvalidTrace(f"{path.name} is empty", expected="a trace saved as JSONL")


def _advice(ours: bool) -> str:
    """Return what to do about a file that cannot be read, by whether it begins like a trace of
    zoolab's own.
    """
    return "save the trace again" if ours else "zoolab inspect reads what other programs write"


@contextmanager
def reading_as_written(where: str, expected: str) -> Generator[None]:
    """Turn each error here into an `InvalidTrace`: zoolab did not write what is being read."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InvalidTrace(f"{where}: {type(error).__name__}: {error}", expected=expected) from None


def read_events(trace: T, events: list[object]) -> T:
    """Fill an empty trace from events, those of a sub-agent within an event of its parent."""
    reader = _Reader(trace)
    for number, event in enumerate(events):
        reader.read(event, first=number == 0)
    return trace


class _Reader:
    def __init__(self, trace: TraceLog) -> None:
        self._trace = trace
        self._messages: dict[str, Message] = {}
        self._log = Messages()

    def read(self, event: object, first: bool) -> None:
        if not isinstance(event, dict) or "event" not in event:
            raise InvalidTrace(f"found {excerpt(event)}", expected="an object with an event")
        trace = self._trace
        kind = event["event"]
        if first != (kind == "trace"):
            raise InvalidTrace(f"an event is {excerpt(kind)}", expected="a trace event first, and once")
        match kind:
            case "trace":
                self._header(event)
            case "message":
                message = event["message"]
                if not isinstance(message, dict) or not isinstance(message.get("role"), str):
                    raise InvalidTrace(f"a message is {excerpt(message)}", expected="an object with a role")
                self._messages[str(event["id"])] = message
            case "step":
                trace.add(self._step(event, condensed=event["kind"] == "request"))
                trace.started[-1] = _seconds(event["t"])
                self._original(len(trace.steps) - 1, event)
            case "edit":
                seq = trace.index(_whole(event["seq"]))
                trace.steps[seq] = step = self._step(event)
                trace.journal.commit(step.messages)
                self._original(seq, event)
            case "end":
                self._end(event)
            case _:
                raise InvalidTrace(
                    f"an event is {excerpt(kind)}", expected="trace, message, step, edit or end"
                )

    def _header(self, event: Event) -> None:
        if event.get("format") != FORMAT or event.get("version") != VERSION:
            found = f"{excerpt(event.get('format'))} version {excerpt(event.get('version'))}"
            raise InvalidTrace(f"the format is {found}", expected=f"{FORMAT} version {VERSION}")
        began = event.get("began")
        self._trace.run_id = str(event["run_id"])
        self._trace.meta = dict(event["meta"])
        self._trace.began = None if began is None else _seconds(began)

    def _end(self, event: Event) -> None:
        trace = self._trace
        error = event["error"]
        fault = event.get("fault")
        ended = event.get("t")
        trace.outcome = str(event["outcome"])
        trace.error = None if error is None else str(error)
        trace.fault = None if fault is None else decode_plain(Fault, fault)
        trace.ended = None if ended is None else _seconds(ended)
        trace.options = decode_options(event.get("options", {}))

    def _original(self, seq: int, event: Event) -> None:
        if event.get("original") is not None:
            self._trace.originals[seq] = self._record(event["original"], Messages())

    def _step(self, event: Event, condensed: bool = False) -> Step:
        """Return a step; messages that go before a request were left out of it by `condense`."""
        kind = event["kind"]
        slot = event.get("slot")
        turn = _whole(event["turn"])
        if kind not in KINDS:
            raise InvalidTrace(f"a step has the kind {excerpt(kind)}", expected=", ".join(KINDS))
        keep = _whole(event["keep"])
        if keep > len(self._log):
            raise InvalidTrace(f"keep is {keep}", expected=f"0 to {len(self._log)}")
        messages = self._log.first(keep)
        for name in event["append"]:
            messages = messages.with_next(self._messages[name])
        if condensed and keep < len(self._log):
            messages = Condensed(messages, self._log)
        self._log = messages
        record = self._record(event["record"], messages)
        call = record if isinstance(record, ToolCall) else None
        reply = record if isinstance(record, Reply) else None
        if event.get("call") is not None:
            call = decode_plain(ToolCall, event["call"])
        if event.get("reply") is not None:
            reply = decode_plain(Reply, event["reply"])
        slot = None if slot is None else _whole(slot)
        appended = min(_whole(event.get("appended", 0)), len(messages))
        return Step(
            kind, turn, slot, record, messages, appended, call, reply, _whole(event.get("attempt", 1))
        )

    def _record(self, data: object, messages: Messages) -> Record:
        """Return a record; the trace of a sub-agent is of the same class as this one."""
        inner = data.get("trace") if isinstance(data, dict) else None
        if inner is None or not isinstance(data, dict) or data.get("type") != "outcome":
            return decode_record(data, messages)
        if not isinstance(inner, list):
            raise InvalidTrace(f"found {excerpt(inner)}", expected="a list")
        plain = {name: value for name, value in data.items() if name != "trace"}
        outcome = cast("Outcome", decode_record(plain, messages))
        return replace(outcome, trace=read_events(type(self._trace)(), inner))


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 31:
        raise InvalidTrace(f"found {excerpt(value)}", expected="a whole number")
    return value


def _seconds(value: object) -> float:
    if type(value) not in (int, float) or not math.isfinite(seconds := float(cast("float", value))):
        raise InvalidTrace(f"found {excerpt(value)}", expected="seconds")
    return seconds
