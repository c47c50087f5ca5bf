"""A trace as events, and events as a trace: what `save`, `load` and a live file share."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

from zoolab.errors import InvalidInput, InvalidTrace, ZoolabError
from zoolab.jsontext import excerpt
from zoolab.jsontext.values import any_json, as_text
from zoolab.records import KINDS, Message, Messages, Outcome, Record, Reply, Request, Step, ToolCall
from zoolab.trace.codec import (
    decode_call,
    decode_fault,
    decode_message,
    decode_record,
    decode_reply,
    encode_plain,
    encode_record,
    without_defaults,
)
from zoolab.trace.journal import Revision
from zoolab.trace.log import TraceLog
from zoolab.trace.storage import FORMAT, VERSION, Event, EventWriter, as_read, read_events

T = TypeVar("T", bound=TraceLog)


def events_of(trace: TraceLog, brief: bool = False) -> Iterator[Event]:
    """All events of a trace, in the order of its file.

    In a file each step has all its fields, so that people and pandas can read it. With `brief` a step leaves
    out defaults and what an earlier event said, as the journal of an experiment holds it.

    >>> from zoolab import Trace
    >>> [event["event"] for event in events_of(Trace())]
    ['trace', 'end']
    """
    yield _header(trace)
    changes = _Changes(trace, brief)
    for seq in range(len(trace.steps)):
        yield from changes.of(seq)
    yield _end(trace)


class EventStream:
    """Writes the events of a trace while the trace grows."""

    def __init__(self, trace: TraceLog, writer: EventWriter) -> None:
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


def read_into(trace: TraceLog, path: Path) -> None:
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


def read_all(trace: T, events: list[object]) -> T:
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


class _Shared:
    """What earlier events have said, so that later ones need not repeat it: calls, replies and tools.

    Writer and reader keep the same account. A step leaves out the call of its slot and the reply of its turn
    if an earlier step had the same one, a request its tools if they are those of the request before, and a
    reply or a result what the message says that the step appends.
    """

    def __init__(self) -> None:
        self.calls: dict[tuple[int, int | None], ToolCall] = {}
        self.reply: Reply | None = None
        self.tools: Any = None

    def remember(self, step: Step) -> None:
        """Take in a step that was written or read."""
        if step.call is not None:
            self.calls[step.turn, step.slot] = step.call
        if step.reply is not None:
            self.reply = step.reply
        if isinstance(step.record, Request):
            self.tools = step.record.tools


_NEVER = object()
#: What a short step leaves out.
_USUAL: Event = {"slot": None, "attempt": 1, "append": [], "appended": 0, "original": None}


class _Changes:
    """Says of each step how `messages[]` changed, and of each message what it is, once."""

    def __init__(self, trace: TraceLog, brief: bool = False) -> None:
        self._trace, self._is_brief = trace, brief
        self._known: dict[str, str] = {}
        self._shared = _Shared()
        self._before = Revision(0, 0)

    def of(self, seq: int, event: str = "step") -> Iterator[Event]:
        """The new messages that a step needs, then the step."""
        journal, revision = self._trace.journal, self._trace.revisions[seq]
        kept = journal.common(self._before, revision)
        self._before = revision
        names: list[str] = []
        message: Message = {}
        for text in journal.frozen(revision, kept):
            message = json.loads(text)
            if text not in self._known:
                self._known[text] = str(len(self._known))
                yield {"event": "message", "id": self._known[text], "message": message}
            names.append(self._known[text])
        yield self._step(seq, event, kept, names, message)

    def _step(self, seq: int, event: str, kept: int, names: list[str], last: Message) -> Event:
        trace, step = self._trace, self._trace.steps[seq]
        original = trace.originals.get(seq)
        record = encode_with_trace(step.record, self._is_brief)
        if original is not None:
            _check_answer(record, seq, step)
        found: Event = {
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
        }
        after = {"original": None if original is None else encode_with_trace(original, self._is_brief)}
        if self._is_brief:
            shown = {**found, **after}
            short = {name: value for name, value in shown.items() if value != _USUAL.get(name, _NEVER)}
            return {**short, **self._unsaid(step, record, last)}
        call = None if step.call is None or step.call is step.record else encode_plain(step.call)
        reply = None if step.reply is None or step.reply is step.record else encode_plain(step.reply)
        return {**found, "call": call, "reply": reply, "record": record, **after}

    def _unsaid(self, step: Step, record: Event, last: Message) -> Event:
        """The call, the reply and the record of a step, without defaults and without what was said before."""
        found: Event = {}
        shared = self._shared
        said_call = (
            step.record if isinstance(step.record, ToolCall) else shared.calls.get((step.turn, step.slot))
        )
        if step.call is not said_call:
            found["call"] = None if step.call is None else encode_plain(step.call)
        said_reply = step.record if isinstance(step.record, Reply) else shared.reply
        if step.kind == "tool_call" and step.reply is not said_reply:
            reply = None if step.reply is None else without_defaults(encode_plain(step.reply), Reply)
            found["reply"] = None if reply is None else _brief(reply, last)
        if not isinstance(step.record, Request):
            record = without_defaults(record, type(step.record))
        elif step.record.tools == shared.tools:
            del record["tools"]
        found["record"] = _brief(record, last)
        shared.remember(step)
        return found


class _Reader:
    """Takes events one by one; knows what the ones before them have defined."""

    def __init__(self, trace: TraceLog) -> None:
        self._trace = trace
        self._messages: dict[str, Message] = {}
        self._shared = _Shared()
        self._log = Messages()

    def read(self, event: Event, first: bool) -> None:
        kind = event["event"]
        if first != (kind == "trace"):
            raise InvalidTrace(f"an event is {excerpt(kind)}", expected="a trace event first, and once")
        handler = {
            "trace": self._header,
            "message": self._message,
            "step": self._step,
            "edit": self._edit,
            "end": self._end,
        }.get(kind)
        if handler is None:
            raise InvalidTrace(f"an event is {excerpt(kind)}", expected="trace, message, step, edit or end")
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
        if event.get("original") is not None:
            self._trace.originals[seq] = self._record(event["original"], Messages())

    def _decoded(self, event: Event) -> Step:
        kind, slot, turn = event["kind"], event.get("slot"), _whole(event["turn"])
        slot = None if slot is None else _whole(slot)
        if kind not in KINDS:
            raise InvalidTrace(f"a step has the kind {excerpt(kind)}", expected=", ".join(KINDS))
        messages = self._revision(_whole(event["keep"]), event.get("append", []))
        last: Message = messages[-1] if len(messages) else {}
        data = _whole_again(event["record"], last)
        if data.get("type") == "request" and "tools" not in data:
            data["tools"] = list(self._shared.tools or ())
        record = self._record(data, messages)
        call, reply = decode_call(event.get("call")), decode_reply(_whole_again(event.get("reply"), last))
        if call is None:
            known = None if "call" in event else self._shared.calls.get((turn, slot))
            call = record if isinstance(record, ToolCall) else known
        if reply is None and kind == "tool_call":
            said = None if "reply" in event else self._shared.reply
            reply = record if isinstance(record, Reply) else said
        appended = min(_whole(event.get("appended", 0)), len(messages))
        attempt = _whole(event.get("attempt", 1))
        step = Step(kind, turn, slot, record, messages, appended, call, reply, attempt)
        self._shared.remember(step)
        return step

    def _record(self, data: object, messages: Messages) -> Record:
        """A record; the trace of a sub-agent is of the same class as this one."""
        inner = data.get("trace") if isinstance(data, dict) else None
        if inner is None or not isinstance(data, dict) or data.get("type") != "outcome":
            return decode_record(data, messages)
        if not isinstance(inner, list):
            raise InvalidTrace(f"found {excerpt(inner)}", expected="a list")
        plain = {name: value for name, value in data.items() if name != "trace"}
        outcome = cast("Outcome", decode_record(plain, messages))
        return replace(outcome, trace=read_all(type(self._trace)(), inner))

    def _revision(self, keep: int, append: list[str]) -> Messages:
        if not 0 <= keep <= len(self._log):
            raise InvalidTrace(f"keep is {keep}", expected=f"0 to {len(self._log)}")
        self._log = self._log.first(keep)
        for name in append:
            self._log = self._log.with_next(self._messages[name])
        return self._log


def _brief(data: Event, last: Message) -> Event:
    """A reply or a result without what the last message says, too."""
    if "message" in data and (data["message"] == last or as_read(data["message"]) == last):
        del data["message"]
    elif data.get("type") == "result" and (data["content"], data["tool_call_id"]) == _content_of(last):
        del data["content"], data["tool_call_id"]
    return data


def _whole_again(data: Any, last: Message) -> Any:
    """The reply or the result that `_brief` made shorter; anything else as it is."""
    if not isinstance(data, dict):
        return data
    kind = data.get("type", "reply")
    if kind == "reply" and "message" not in data:
        return {**data, "message": last}
    if kind == "result" and "content" not in data:
        content, call = _content_of(last)
        return {**data, "content": content, "tool_call_id": call}
    return dict(data)


def _content_of(message: Message) -> tuple[Any, Any]:
    return message.get("content"), message.get("tool_call_id")


def encode_with_trace(record: Record, brief: bool = False) -> Event:
    """A record as JSON values; within an outcome, the events of its sub-agent.

    >>> encode_with_trace(Outcome(3, trace=TraceLog()))["trace"][0]["event"]
    'trace'
    """
    inner = record.trace if isinstance(record, Outcome) else None
    plain = encode_record(record)
    # A tool's exception may have an attribute `trace` that is something else.
    return {**plain, "trace": list(events_of(inner, brief))} if isinstance(inner, TraceLog) else plain


def _check_answer(record: Event, seq: int, step: Step) -> None:
    """A step may be answered with a record whose fields have other types than they are declared with."""
    try:
        plain = as_read(record)
        decode_record({name: plain[name] for name in plain if name != "trace"}, Messages())
    except InvalidTrace as error:
        raise InvalidInput(
            f"step {seq}, {step.kind}, was answered with what no file can hold: {error.what}",
            expected=f"a {type(step.record).__name__} as its class declares it",
        ) from None


def _header(trace: TraceLog) -> Event:
    known = {"run_id": trace.run_id, "began": trace.began, "meta": any_json(trace.meta)}
    return {"event": "trace", "format": FORMAT, "version": VERSION, **known}


def _end(trace: TraceLog) -> Event:
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
