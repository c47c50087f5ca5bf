"""A run as one short line: what the journal of an experiment keeps of it.

    {"event": "run", "run": "4c...", "meta": {...}, "scores": {...}, "trace": {
         "began": ..., "ended": ..., "outcome": "answer", "error": null, "kind": "drtvxs...", "t": [...],
         "tools": [...], "requests": [...], "replies": {...}, "calls": [...], "verdicts": {...},
         "outcomes": [...], "results": [...]},
     "messages": [...]}

`kind` has a letter for each step, `t` its microseconds. What steps hold are lists, by kind and in their
order. Each request begins a turn; the message of a reply comes with its last call, and one with each
result. What the messages tell is not told again: a reply that is only its message, a call as that message
has it, a verdict that its arguments may be used. Those that have more to say stand under their number, and
where none has, the list is left out. Where all requests offer the same, that is named once; where replies
have one call, there is no `slot`.
A trace that somebody has edited, and whatever else does not fit, is kept as `Trace.save` does, as `events`.
Tools, which many runs share, are parts: the journal holds each once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, cast

from zoolab.errors import InvalidTrace
from zoolab.jsontext import digest, encode
from zoolab.records import KINDS, Kind, Message, Outcome, Reply, Step, ToolCall, ToolRegistry
from zoolab.runs import Trace
from zoolab.trace.codec import encode_plain
from zoolab.trace.events import encode_with_trace, events_of

__all__ = ["LETTERS", "Parts", "pack", "reading_a_line"]

LETTERS = {"define": "d", "request": "r", "tool_call": "t", "validate": "v", "execute": "x", "result": "s"}
_SHORT = 1_000
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
        self._latest_tools: tuple[Any, str] | None = None

    def name_of(self, schemas: tuple[dict[str, Any], ...]) -> str:
        """The name of the tools that a request offers."""
        latest = self._latest
        if latest is not None and latest[0] is schemas:
            return latest[1]
        for known in self._schemas:
            if known[0] == schemas:
                break
        else:
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
            known = self._tools[key] = (tools, *_named(encode_with_trace(registry)))
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


@contextmanager
def reading_a_line() -> Generator[None]:
    """Whatever goes wrong here is an `InvalidTrace`: the line is none that was packed.

    >>> with reading_a_line():
    ...     {}["trace"]
    Traceback (most recent call last):
    zoolab.errors.InvalidTrace: a packed trace: KeyError: 'trace'; expected a run as zoolab writes it
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InvalidTrace(
            f"a packed trace: {type(error).__name__}: {error}", expected="a run as zoolab writes it"
        ) from None


def pack(head: dict[str, Any], trace: Trace, parts: Parts) -> str:
    """The line of a run, without its end: `head`, then the trace.

    >>> import json
    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.unpacking import unpack
    >>> parts, trace = Parts(), run("Hi", [], Scripted(["Hello"]))
    >>> line = pack({"run": trace.run_id}, trace, parts)
    >>> known = parts.take()
    >>> unpack(json.loads(line), lambda name: json.loads(known[name])).steps == trace.steps
    True
    """
    of = _by_kind(trace.steps)
    added = [step for step in trace.steps if step.appended]
    if not _is_usual(trace, of, added):
        return encode({**head, "events": list(events_of(trace))})
    messages: list[Message] = trace.steps[-1].messages.tolist() if added else []
    told = zip(added[1:], messages[len(messages) - len(added) + 1 :], strict=True)
    data = _steps_of(trace, of, parts) | _told_beyond(told, of)
    slots = [step.slot for step in of["tool_call"]]
    if any(slots):
        data["slot"] = [step.slot for step in trace.steps]
    if trace.fault is not None:
        data["fault"] = encode_plain(trace.fault)
    frozen = trace.journal.frozen(trace.revisions[-1]) if added else ()
    return f'{encode({**head, "trace": data})[:-1]},"messages":[{",".join(frozen)}]}}'


def _by_kind(steps: list[Step]) -> dict[Kind, list[Step]]:
    found: dict[Kind, list[Step]] = {kind: [] for kind in KINDS}
    for step in steps:
        found[step.kind].append(step)
    return found


def _is_usual(trace: Trace, of: Mapping[Kind, list[Step]], added: list[Step]) -> bool:
    """Whether nobody edited anything: `messages[]` only grew, from turn 1 on, and each turn has its reply."""
    requests, calls = of["request"], of["tool_call"]
    if trace.originals or not requests:
        return not trace.originals and len(trace.steps) <= 1
    first, last = trace.revisions[0], trace.revisions[-1]
    replies = len(added) - 1 - len(of["result"])
    return (
        added[0] is requests[0]
        and last == (first.branch, added[0].appended + len(added) - 1)
        and trace.steps[-1].turn == len(requests)
        and len(requests) - 1 <= replies <= len(requests)
        and (not calls or calls[-1].appended == 1)
    )


def _steps_of(trace: Trace, of: Mapping[Kind, list[Step]], parts: Parts) -> dict[str, Any]:
    """How the run ended, its steps as columns, and what they hold that no message tells."""
    data: dict[str, Any] = {
        "began": trace.began,
        "ended": trace.ended,
        "outcome": trace.outcome,
        "error": trace.error,
        "kind": "".join([LETTERS[step.kind] for step in trace.steps]),
        "t": [int(seconds * 1e6) for seconds in trace.started],
        "tools": [parts.name_of_tools(cast("ToolRegistry", step.record)) for step in of["define"]],
        "requests": _request_rows(of["request"], parts),
        "outcomes": [_outcome_row(step.record) for step in of["execute"]],
    }
    attempts = [step.attempt for step in of["validate"]]
    if attempts.count(1) != len(attempts):
        data["attempts"] = attempts
    return data


def _told_beyond(told: Iterable[tuple[Step, Message]], of: Mapping[Kind, list[Step]]) -> dict[str, Any]:
    """What replies, calls, verdicts and results have that the messages do not tell."""
    replies: dict[int, dict[str, Any]] = {}
    results: list[Any] = []
    for step, message in told:
        if step.kind == "result":
            results.append(_result_row(step.record, message))
        elif row := _reply_row(cast("Reply", step.reply), message):
            replies[step.turn] = row
    mended = {turn for turn, row in replies.items() if "message" in row}
    calls = [call for step in of["tool_call"] if (call := step.call) is not None]
    verdicts = [step.record for step in of["validate"]]
    data: dict[str, Any] = {"results": results}
    if replies:
        data["replies"] = replies
    if odd := [_call_row(call) for call in calls if call.turn in mended or not _is_plain(call)]:
        data["calls"] = odd
    if refused := {n: encode_with_trace(it) for n, it in enumerate(verdicts) if not _has_passed(it)}:
        data["verdicts"] = refused
    return data


def _request_rows(steps: list[Step], parts: Parts) -> list[Any] | str:
    """What each offers; a name for all of them, where that is the same."""
    requests: list[Any] = [step.record for step in steps]
    odd = [one for one in requests if one.tools is not requests[0].tools or not _only_offers(one)]
    if requests and not odd:
        return parts.name_of(requests[0].tools)
    return [_request_row(request, parts) for request in requests]


def _request_row(request: Any, parts: Parts) -> Any:
    return parts.name_of(request.tools) if _only_offers(request) else encode_with_trace(request)


def _only_offers(request: Any) -> bool:
    return request.tool_choice == "auto" and not request.withheld and not request.settings


def _outcome_row(record: Any) -> Any:
    """What running a call gave; its time in whole microseconds, which is less to write than a fraction."""
    if not isinstance(record, Outcome) or record.error or record.trace is not None:
        return encode_with_trace(record)
    value = record.value
    short = value is None or type(value) in (int, bool) or (type(value) is str and len(value) < _SHORT)
    if not short or record.fault or record.still_running:
        return encode_with_trace(record)
    row = [value, int(record.duration_ms * 1e3), record.started_ms]
    return [*row, record.stdout] if record.stdout else row


def _result_row(record: Any, sent: Message) -> Any:
    if sent["content"] is not record.content or sent["tool_call_id"] != record.tool_call_id:
        return encode_with_trace(record)
    row = [record.data_bytes, record.sent_bytes]
    usual = record.error_code is None and record.repeats == 1
    return row if usual else [*row, record.error_code, record.repeats]


def _call_row(call: ToolCall) -> tuple[Any, ...]:
    row = (call.turn, call.slot, call.id, call.name, call.arguments)
    return row if _is_plain(call) else (*row, call.origin, call.original_id)


def _is_plain(call: ToolCall) -> bool:
    return call.origin == "native" and call.original_id is None


def _has_passed(verdict: Any) -> bool:
    return verdict.ok and verdict.repair is None and not verdict.problems


def _reply_row(reply: Reply, became: Message) -> dict[str, Any]:
    """What a reply says beyond the message that it became."""
    row: dict[str, Any] = {}
    if became is not reply.message and became != reply.message:
        row["message"] = reply.message
    if reply.finish_reason is not None:
        row["finish_reason"] = reply.finish_reason
    if reply.usage is not None:
        row["usage"] = dict(reply.usage)
    if reply.model is not None:
        row["model"] = reply.model
    if reply.pieces or reply.raw or reply.faults:
        row |= {"pieces": reply.pieces, "raw": reply.raw, "faults": [*map(encode_plain, reply.faults)]}
    if reply.sent is not None:
        row["sent"] = reply.sent
    return row


def _named(value: Any) -> tuple[str, str]:
    text = encode(value)
    return digest(text)[:16], text
