"""The trace of a line that `pack` has made. Lines may come from strangers: all is checked on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from typing import Any

from zoolab.errors import InvalidTrace
from zoolab.experiments.packing import LETTERS
from zoolab.trace import Trace
from zoolab.trace.events import read_all
from zoolab.trace.storage import FORMAT, VERSION

__all__ = ["unpack"]

_KINDS = {letter: kind for kind, letter in LETTERS.items()}
_LISTS = {"d": "tools", "r": "requests", "v": "verdicts", "x": "outcomes", "s": "results"}
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
    messages = data["messages"]
    known = {"run_id": run_id, "began": data["began"], "meta": dict(meta)}
    yield {"event": "trace", "format": FORMAT, "version": VERSION, **known}
    for number, message in enumerate(messages):
        yield {"event": "message", "id": str(number), "message": message}
    yield from _steps(data, part)
    end = {"t": data["ended"], "outcome": data["outcome"], "error": data["error"]}
    yield {"event": "end", **end, "fault": data.get("fault")}


def _steps(data: Any, part: Callable[[str], Any]) -> Iterator[dict[str, Any]]:
    """Step by step, with what was appended: the opening messages, each reply, each result."""
    records, attempts = _Records(data, part), data.get("attempts", {})
    kinds, messages = data["kind"], data["messages"]
    opening = len(messages) - len(data["replies"]) - len(data["results"])
    if opening < 0:
        raise ValueError("messages are missing")
    length = turn = 0
    columns = zip(kinds, f"{kinds}."[1:], data["t"], data["slot"], strict=True)
    for seq, (letter, following, began, slot) in enumerate(columns):
        turn += letter == "r"
        before = length
        if letter == "r" and turn == 1:
            length += opening
        length += letter == "s" or (letter == "t" and following != "t")
        event = {"event": "step", "seq": seq, "kind": _KINDS[letter], "turn": turn, "slot": slot}
        event |= {"t": began / 1e6, "attempt": attempts.get(str(seq), 1), "original": None}
        event |= {"keep": before, "append": list(map(str, range(before, length)))}
        last = messages[length - 1] if length else {}
        yield {**event, "appended": length - before, **records.next(letter, turn, slot, last)}


def _reply(row: Any, messages: list[Any]) -> dict[str, Any]:
    told = {"message": row} if isinstance(row, int) else row
    message = told["message"]
    return {**told, "message": messages[message] if isinstance(message, int) else message}


def _calls_in(replies: list[dict[str, Any]], rows: list[Any]) -> dict[tuple[int, int], dict[str, Any]]:
    """The calls by turn and slot: those that rows tell, and those that are whole in their messages."""
    calls: dict[tuple[int, int], dict[str, Any]] = {}
    for turn, reply in enumerate(replies, 1):
        for slot, wire in enumerate(reply["message"].get("tool_calls") or ()):
            function = wire.get("function") or {}
            whole = (turn, slot, wire.get("id"), function.get("name"), function.get("arguments"))
            calls[turn, slot] = dict(zip(_CALL, whole, strict=False))
    told: list[dict[str, Any]] = [dict(zip(_CALL, row, strict=False)) for row in rows]
    return calls | {(call["turn"], call["slot"]): call for call in told}


def _each(rows: Any) -> Iterator[Any]:
    return repeat(rows) if isinstance(rows, str) else iter(rows)


class _Records:
    """What the steps hold, handed out in their order."""

    def __init__(self, data: Any, part: Callable[[str], Any]) -> None:
        self._replies = [_reply(row, data["messages"]) for row in data["replies"]]
        self._calls = _calls_in(self._replies, data["calls"])
        self._rows = {letter: _each(data[name]) for letter, name in _LISTS.items()}
        self._part = part

    def next(self, letter: str, turn: int, slot: Any, last: Mapping[str, Any]) -> dict[str, Any]:
        """The record of a step, with its call and reply."""
        call = None if slot is None else self._calls[turn, slot]
        if letter != "t":
            return {"call": call, "reply": None, "record": self._record(letter, last)}
        reply = self._replies[turn - 1]
        record = {"type": "tool_call", **call} if call else {"type": "reply", **reply}
        return {"call": call, "reply": reply, "record": record}

    def _record(self, letter: str, last: Mapping[str, Any]) -> dict[str, Any]:
        row: Any = next(self._rows[letter], None)
        if isinstance(row, dict):
            return row
        match letter:
            case "d":
                return dict(self._part(row))
            case "r":
                rest: dict[str, Any] = {"tool_choice": "auto", "settings": {}, "withheld": []}
                return {"type": "request", "tools": self._part(row), **rest}
            case "v":
                return {"type": "verdict", "ok": True, "arguments": row[0]}
            case "x":
                return {"type": "outcome", **dict(zip(_OUTCOME, row, strict=False))}
            case _:
                sent = {"content": last["content"], "tool_call_id": last["tool_call_id"]}
                return {"type": "result", **sent, **dict(zip(_RESULT, row, strict=False))}
