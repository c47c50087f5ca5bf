"""A trace as one short line: what the journal of an experiment keeps of each run.

    {"began": ..., "ended": ..., "outcome": "answer", "error": null, "messages": [...], "kind": "drtvxs...",
     "t": [...], "slot": [...], "calls": [[turn, slot, id, name, arguments], ...], "replies": [...],
     "tools": ..., "requests": [...], "verdicts": [...], "outcomes": [...], "results": [...]}

Steps are columns, one entry a step: `kind`, its letter; `t`, microseconds; `slot`. What they hold are lists
of their own, in the order of the steps. Each request begins a turn; the message of a reply comes with its
last call, and one with each result. A trace that somebody has edited, and whatever else does not fit, is
kept as `Trace.save` does, as `events`. Tools, which many runs share, are parts: the journal holds each once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from zoolab.jsontext import digest, encode
from zoolab.records import Outcome, Reply, Step, ToolCall, ToolRegistry
from zoolab.trace import Trace
from zoolab.trace.codec import encode_plain, encode_record
from zoolab.trace.events import events_of

__all__ = ["LETTERS", "Parts", "pack"]

LETTERS = {"define": "d", "request": "r", "tool_call": "t", "validate": "v", "execute": "x", "result": "s"}
_SHORT = 1_000
_UNMARKED = (None, None, None, False)
_REMEMBERED = 64


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
        key = tuple(map(id, tools))
        known = self._tools.get(key)
        if known is None:
            if len(self._tools) >= _REMEMBERED:
                self._tools.clear()
            known = self._tools[key] = (tools, *_named(encode_record(registry)))
        return self._use(known)

    def take(self) -> dict[str, str]:
        """The JSON of what was named since the last time, by name."""
        named, self._named, self._latest = self._named, {}, None
        return named

    def _use(self, part: tuple[Any, str, str]) -> str:
        _, name, text = part
        self._named[name] = text
        return name


def pack(trace: Trace, parts: Parts) -> str:
    """The trace as JSON on one line; times are kept to the microsecond.

    >>> import json
    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.unpacking import unpack
    >>> parts, trace = Parts(), run("Hi", [], Scripted(["Hello"]))
    >>> packed, known = json.loads(pack(trace, parts)), parts.take()
    >>> same = unpack(packed, trace.run_id, trace.meta, lambda name: json.loads(known[name]))
    >>> same.steps == trace.steps
    True
    """
    steps = trace.steps
    of = _by_kind(steps)
    last_calls = {step.turn: step for step in of["tool_call"]}
    if not _is_usual(trace, of, len(last_calls)):
        return encode({"events": list(events_of(trace))})
    data: dict[str, Any] = {
        "began": trace.began,
        "ended": trace.ended,
        "outcome": trace.outcome,
        "error": trace.error,
        "kind": "".join([LETTERS[step.kind] for step in steps]),
        "t": [int(t * 1e6) for t in trace.started],
        "slot": [step.slot for step in steps],
        "calls": [_call_row(step.call) for step in of["tool_call"] if step.call is not None],
        "replies": [_reply_row(step) for step in last_calls.values()],
        "tools": [parts.name_of_tools(cast("ToolRegistry", step.record)) for step in of["define"]],
        "requests": [_request_row(step.record, parts) for step in of["request"]],
        "verdicts": [_verdict_row(step.record) for step in of["validate"]],
        "outcomes": [_outcome_row(step.record) for step in of["execute"]],
        "results": [_result_row(step) for step in of["result"]],
    }
    attempts = {seq: step.attempt for seq, step in enumerate(steps) if step.attempt != 1}
    if attempts:
        data["attempts"] = attempts
    if trace.fault is not None:
        data["fault"] = encode_plain(trace.fault)
    messages = trace.journal.frozen(trace.revisions[-1]) if steps else ()
    return f'{encode(data)[:-1]},"messages":[{",".join(messages)}]}}'


def _by_kind(steps: list[Step]) -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {kind: [] for kind in LETTERS}
    for step in steps:
        found[step.kind].append(step)
    return found


def _is_usual(trace: Trace, of: Mapping[str, list[Step]], replies: int) -> bool:
    """Whether nobody edited anything: `messages[]` only grew, from turn 1 on, and each turn has its reply."""
    steps, requests = trace.steps, of["request"]
    if trace.originals or not len(requests) - 1 <= replies <= len(requests):
        return False
    if not requests:
        return len(steps) <= 1
    first, last = trace.revisions[0], trace.revisions[-1]
    grown = requests[0].appended + replies + len(of["result"])
    return steps[-1].turn == len(requests) and last.branch == first.branch and last.length == grown


def _request_row(record: Any, parts: Parts) -> Any:
    usual = not record.settings and not record.withheld and record.tool_choice == "auto"
    return parts.name_of(record.tools) if usual else encode_record(record)


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


def _reply_row(step: Step) -> dict[str, Any]:
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
    return row


def _named(value: Any) -> tuple[str, str]:
    text = encode(value)
    return digest(text)[:16], text
