"""The trace of a line that `pack` has made. Lines may come from strangers: all is checked on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from zoolab.errors import InvalidTrace
from zoolab.experiments.packing import LETTERS
from zoolab.trace import Trace
from zoolab.trace.events import read_all
from zoolab.trace.storage import FORMAT, VERSION

__all__ = ["unpack"]

_KINDS = {letter: kind for kind, letter in LETTERS.items()}
_CALL = ("turn", "slot", "id", "name", "arguments", "origin", "original_id")
_OUTCOME = ("value", "duration_ms", "started_ms", "stdout")
_RESULT = ("data_bytes", "sent_bytes", "error_code", "repeats")


def unpack(data: Any, run_id: str, meta: Mapping[str, Any], part: Callable[[str], Any]) -> Trace:
    """The trace of a packed one; `part` gives the parts by name. Safe for lines from strangers.

    Raises:
        InvalidTrace: It is no trace that was packed.

    >>> unpack({}, "", {}, dict().get)
    Traceback (most recent call last):
    zoolab.errors.InvalidTrace: a packed trace: KeyError: 'messages'; expected a run as zoolab writes it
    """
    try:
        events = data["events"] if "events" in data else list(_events(data, run_id, meta, part))
        return read_all(Trace(), events)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InvalidTrace(
            f"a packed trace: {type(error).__name__}: {error}", expected="a run as zoolab writes it"
        ) from None


def _events(
    data: Any, run_id: str, meta: Mapping[str, Any], part: Callable[[str], Any]
) -> Iterator[dict[str, Any]]:
    """The packed trace as the events that `Trace.save` writes."""
    messages, reader = data["messages"], _Unpacker(data, part)
    known = {"run_id": run_id, "began": data["began"], "meta": dict(meta)}
    yield {"event": "trace", "format": FORMAT, "version": VERSION, **known}
    for number, message in enumerate(messages):
        yield {"event": "message", "id": str(number), "message": message}
    columns = [data[name] for name in ("kind", "t", "length", "call", "record")]
    before = turn = 0
    for seq, (letter, began, length, call, record) in enumerate(zip(*columns, strict=True)):
        turn += letter == "r"
        kind, slot = _KINDS[letter], None if call is None else data["calls"][call][1]
        event = {"event": "step", "seq": seq, "kind": kind, "turn": turn, "slot": slot, "t": began / 1e6}
        event |= {"attempt": data.get("attempts", {}).get(str(seq), 1), "original": None}
        event |= {"keep": before, "append": list(map(str, range(before, length)))}
        last = messages[length - 1] if length else {}
        yield {**event, "appended": length - before, **reader.contents(kind, record, call, last)}
        before = length
    end = {"t": data["ended"], "outcome": data["outcome"], "error": data["error"]}
    yield {"event": "end", **end, "fault": data.get("fault")}


def _reply(row: Mapping[str, Any], messages: list[Any]) -> dict[str, Any]:
    message = row["message"]
    return {**row, "message": messages[message] if isinstance(message, int) else message}


class _Unpacker:
    """Finds what steps name by position."""

    def __init__(self, data: Any, part: Callable[[str], Any]) -> None:
        self._calls = [dict(zip(_CALL, call, strict=False)) for call in data["calls"]]
        self._replies = [_reply(row, data["messages"]) for row in data["replies"]]
        self._part = part
        self._requests = 0

    def contents(self, kind: str, row: Any, at: int | None, last: Mapping[str, Any]) -> dict[str, Any]:
        """The record of a step, with its call and reply."""
        self._requests += kind == "request"
        call = None if at is None else self._calls[at]
        reply = self._replies[self._requests - 1] if kind == "tool_call" else None
        return {"call": call, "reply": reply, "record": self._record(kind, row, call, reply, last)}

    def _record(self, kind: str, row: Any, call: Any, reply: Any, last: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(row, dict):
            return row
        match kind:
            case "define":
                return dict(self._part(row))
            case "request":
                rest: dict[str, Any] = {"tool_choice": "auto", "settings": {}, "withheld": []}
                return {"type": "request", "tools": self._part(row), **rest}
            case "tool_call":
                return {"type": "tool_call", **call} if call else {"type": "reply", **reply}
            case "validate":
                return {"type": "verdict", "ok": True, "arguments": row[0]}
            case "execute":
                return {"type": "outcome", **dict(zip(_OUTCOME, row, strict=False))}
            case _:
                sent = {"content": last["content"], "tool_call_id": last["tool_call_id"]}
                return {"type": "result", **sent, **dict(zip(_RESULT, row, strict=False))}
