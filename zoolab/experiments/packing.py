"""A trace as one short line: what the journal of an experiment keeps of each run.

    {"began": ..., "ended": ..., "outcome": "answer", "error": null, "messages": [...], "kind": "drtvxs...",
     "t": [...], "slot": [...], "replies": [...], "calls": [[turn, slot, id, name, arguments], ...],
     "tools": ..., "requests": [...], "verdicts": [...], "outcomes": [...], "results": [...]}

Steps are columns, one entry a step: `kind`, its letter; `t`, microseconds; `slot`. What they hold are lists
of their own, in the order of the steps; where all requests offer the same, that is named once. Each request
begins a turn; the message of a reply comes with its last call, and one with each result. A reply that is
only a message, which went into `messages[]` as it came, is the position there, and its calls are read there.
A trace that somebody has edited, and whatever else does not fit, is kept as `Trace.save` does, as `events`.
Tools, which many runs share, are parts: the journal holds each once.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, cast

from zoolab.jsontext import digest, encode
from zoolab.records import Kind, Outcome, Reply, Step, ToolCall, ToolRegistry
from zoolab.trace import Trace
from zoolab.trace.codec import encode_plain, encode_record
from zoolab.trace.events import events_of

__all__ = ["LETTERS", "Parts", "pack"]

LETTERS = {"define": "d", "request": "r", "tool_call": "t", "validate": "v", "execute": "x", "result": "s"}
_SHORT = 1_000
_UNMARKED = (None, None, None, False)
_REMEMBERED = 64
_FIRST = 1
# A run has many steps, and an experiment many runs: these pass over them without a line of Python.
_KIND, _SLOT, _ATTEMPT = itemgetter(0), itemgetter(2), itemgetter(8)
_MICROSECONDS = (1e6).__mul__


class Parts:
    """What many runs have in common, each under the digest of its JSON.

    >>> parts = Parts()
    >>> parts.name_of(({"type": "function"},)) == parts.name_of(({"type": "function"},))
    True
    >>> list(parts.take().values()), parts.take()
    (['[{"type":"function"}]'], {})
    """

    def __init__(self) -> None:
        self._schemas: list[tuple[Any, str, str]] = []
        self._tools: dict[tuple[int, ...], tuple[Any, str, str]] = {}
        self._named: dict[str, str] = {}
        self._latest: tuple[Any, str] | None = None
        self._latest_tools: tuple[Any, str] | None = None

    def name_of(self, schemas: tuple[dict[str, Any], ...]) -> str:
        """The name of the tools that a request offers."""
        latest = self._latest
        if latest is not None and latest[0] is schemas:
            return latest[1]
        known = next((part for part in self._schemas if part[0] == schemas), None)
        if known is None:
            known = (schemas, *_named(list(schemas)))
            self._schemas = [known, *self._schemas[: _REMEMBERED // 8]]
        self._latest = schemas, self._use(known)
        return known[1]

    def name_of_tools(self, registry: ToolRegistry) -> str:
        """The name of the tools of a walk."""
        tools = tuple(registry)
        latest = self._latest_tools
        if latest is not None and latest[0] == tools:
            return latest[1]
        key = tuple(map(id, tools))
        known = self._tools.get(key)
        if known is None:
            if len(self._tools) >= _REMEMBERED:
                self._tools.clear()
            known = self._tools[key] = (tools, *_named(encode_record(registry)))
        self._latest_tools = tools, self._use(known)
        return known[1]

    def take(self) -> dict[str, str]:
        """The JSON of what was named since the last time, by name."""
        named, self._named = self._named, {}
        self._latest = self._latest_tools = None
        return named

    def _use(self, part: tuple[Any, str, str]) -> str:
        _, name, text = part
        self._named[name] = text
        return name


def pack(trace: Trace, of: Mapping[Kind, list[Step]], parts: Parts) -> str:
    """The trace, with its steps by their kind, as JSON on one line; times are kept to the microsecond.

    >>> import json
    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.summary import by_kind
    >>> from zoolab.experiments.unpacking import unpack
    >>> parts, trace = Parts(), run("Hi", [], Scripted(["Hello"]))
    >>> packed, known = json.loads(pack(trace, by_kind(trace.steps), parts)), parts.take()
    >>> same = unpack(packed, trace.run_id, trace.meta, lambda name: json.loads(known[name]))
    >>> same.steps == trace.steps
    True
    """
    steps = trace.steps
    last_calls = {step.turn: step for step in of["tool_call"]}
    if not _is_usual(trace, of, len(last_calls)):
        return encode({"events": list(events_of(trace))})
    replies = list(map(_reply_row, last_calls.values()))
    as_they_came = {turn for turn, row in zip(last_calls, replies, strict=True) if type(row) is int}
    data: dict[str, Any] = {
        "began": trace.began,
        "ended": trace.ended,
        "outcome": trace.outcome,
        "error": trace.error,
        "kind": "".join(map(LETTERS.__getitem__, map(_KIND, steps))),
        "t": list(map(int, map(_MICROSECONDS, trace.started))),
        "slot": list(map(_SLOT, steps)),
        "replies": replies,
        "calls": [_call_row(call) for step in of["tool_call"] if (call := _odd(step.call, as_they_came))],
        "tools": [parts.name_of_tools(cast("ToolRegistry", step.record)) for step in of["define"]],
        "requests": _request_rows(of["request"], parts),
        "verdicts": [_verdict_row(step.record) for step in of["validate"]],
        "outcomes": [_outcome_row(step.record) for step in of["execute"]],
        "results": [_result_row(step) for step in of["result"]],
    }
    if any(map(_FIRST.__ne__, map(_ATTEMPT, steps))):
        data["attempts"] = {seq: step.attempt for seq, step in enumerate(steps) if step.attempt != _FIRST}
    if trace.fault is not None:
        data["fault"] = encode_plain(trace.fault)
    messages = trace.journal.frozen(trace.revisions[-1]) if steps else ()
    return f'{encode(data)[:-1]},"messages":[{",".join(messages)}]}}'


def _is_usual(trace: Trace, of: Mapping[Kind, list[Step]], replies: int) -> bool:
    """Whether nobody edited anything: `messages[]` only grew, from turn 1 on, and each turn has its reply."""
    steps, requests = trace.steps, of["request"]
    if trace.originals or not len(requests) - 1 <= replies <= len(requests):
        return False
    if not requests:
        return len(steps) <= 1
    first, last = trace.revisions[0], trace.revisions[-1]
    grown = requests[0].appended + replies + len(of["result"])
    return steps[-1].turn == len(requests) and last.branch == first.branch and last.length == grown


def _request_rows(steps: list[Step], parts: Parts) -> list[Any] | str:
    """What each offers; a name for all of them, where that is the same."""
    requests: list[Any] = [step.record for step in steps]
    rows = [_request_row(request, parts) for request in requests]
    return rows[0] if rows and type(rows[0]) is str and rows.count(rows[0]) == len(rows) else rows


def _request_row(request: Any, parts: Parts) -> Any:
    if request.settings or request.withheld or request.tool_choice != "auto":
        return encode_record(request)
    return parts.name_of(request.tools)


def _verdict_row(record: Any) -> Any:
    usual = record.ok and not record.problems and record.repair is None
    return [record.arguments] if usual else encode_record(record)


def _outcome_row(record: Any) -> Any:
    if not isinstance(record, Outcome):
        return encode_record(record)
    value = record.value
    short = value is None or type(value) in (int, bool) or (type(value) is str and len(value) < _SHORT)
    if not short or (record.error, record.trace, record.fault, record.still_running) != _UNMARKED:
        return encode_record(record)
    row = [value, round(record.duration_ms, 3), record.started_ms]
    return [*row, record.stdout] if record.stdout else row


def _result_row(step: Step) -> Any:
    record: Any = step.record
    sent = step.messages[-1]
    if sent["content"] is not record.content or sent["tool_call_id"] != record.tool_call_id:
        return encode_record(record)
    row: list[Any] = [record.data_bytes, record.sent_bytes]
    usual = record.error_code is None and record.repeats == 1
    return row if usual else [*row, record.error_code, record.repeats]


def _call_row(call: ToolCall) -> tuple[Any, ...]:
    usual = (call.turn, call.slot, call.id, call.name, call.arguments)
    if call.origin == "native" and call.original_id is None:
        return usual
    return (*usual, call.origin, call.original_id)


def _odd(call: ToolCall | None, as_they_came: set[int]) -> ToolCall | None:
    """A call that the message of its reply does not tell whole."""
    if call is None or (call.turn in as_they_came and call.origin == "native" and call.original_id is None):
        return None
    return call


def _reply_row(step: Step) -> dict[str, Any] | int:
    """A reply names its message by position, where that went into `messages[]` as it came."""
    reply, at = cast("Reply", step.reply), len(step.messages) - 1
    became = step.messages[at]
    as_it_came = became is reply.message or became == reply.message
    row: dict[str, Any] = {"message": at if as_it_came else reply.message}
    if reply.finish_reason is not None:
        row["finish_reason"] = reply.finish_reason
    if reply.usage is not None:
        row["usage"] = dict(reply.usage)
    if reply.model is not None:
        row["model"] = reply.model
    if reply.pieces or reply.raw or reply.faults:
        row |= {"pieces": reply.pieces, "raw": reply.raw, "faults": [*map(encode_plain, reply.faults)]}
    return at if as_it_came and len(row) == 1 else row


def _named(value: Any) -> tuple[str, str]:
    text = encode(value)
    return digest(text)[:16], text
