"""The trace of a line that `pack` has made. Lines may come from strangers: all is checked on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count, repeat
from typing import Any

from zoolab.experiments.packing import LETTERS, reading_a_line
from zoolab.runs import Trace
from zoolab.steps.validate import parse_arguments
from zoolab.trace.events import read_all
from zoolab.trace.storage import FORMAT, VERSION

__all__ = ["unpack"]

_KINDS = {letter: kind for kind, letter in LETTERS.items()}
_CALL = ("turn", "slot", "id", "name", "arguments", "origin", "original_id")
_OUTCOME = ("value", "duration_us", "started_ms", "stdout")
_RESULT = ("data_bytes", "sent_bytes", "error_code", "repeats")


def unpack(line: Mapping[str, Any], part: Callable[[str], Any]) -> Trace:
    """The trace of a line that was packed; `part` gives the parts by name. Safe for lines from strangers.

    Raises:
        InvalidTrace: It is no trace that was packed.

    >>> unpack({}, dict().get)
    Traceback (most recent call last):
    zoolab.errors.InvalidTrace: a packed trace: KeyError: 'trace'; expected a run as zoolab writes it
    """
    with reading_a_line():
        return read_all(Trace(), line["events"] if "events" in line else list(_events(line, part)))


def _events(line: Mapping[str, Any], part: Callable[[str], Any]) -> Iterator[dict[str, Any]]:
    """The packed trace as the events that `Trace.save` writes."""
    data, messages = line["trace"], line["messages"]
    known = {"run_id": str(line.get("run")), "began": data["began"], "meta": dict(line.get("meta") or {})}
    yield {"event": "trace", "format": FORMAT, "version": VERSION, **known}
    for number, message in enumerate(messages):
        yield {"event": "message", "id": str(number), "message": message}
    yield from _steps(data, messages, part)
    end = {"t": data["ended"], "outcome": data["outcome"], "error": data["error"]}
    yield {"event": "end", **end, "fault": data.get("fault")}


def _steps(data: Any, messages: list[Any], part: Callable[[str], Any]) -> Iterator[dict[str, Any]]:
    """Step by step, with what was appended: the opening messages, each reply, each result."""
    kinds = data["kind"]
    adds = [a == "s" or (a == "t" and b != "t") for a, b in zip(kinds, f"{kinds}."[1:], strict=True)]
    opening = len(messages) - sum(adds)
    if opening < 0:
        raise ValueError("messages are missing")
    records = _Records(data, _replies(data, messages, opening, adds), part)
    slots, attempts = data.get("slot"), iter(data.get("attempts") or repeat(1))
    length = turn = 0
    for seq, (letter, began) in enumerate(zip(kinds, data["t"], strict=True)):
        turn += letter == "r"
        before = length
        length += adds[seq] + (opening if letter == "r" and turn == 1 else 0)
        slot = records.slot(letter, turn) if slots is None else slots[seq]
        event = {"event": "step", "seq": seq, "kind": _KINDS[letter], "turn": turn, "slot": slot}
        event |= {"t": began / 1e6, "attempt": next(attempts, 1) if letter == "v" else 1, "original": None}
        event |= {"keep": before, "append": list(map(str, range(before, length)))}
        last = messages[length - 1] if length else {}
        yield {**event, "appended": length - before, **records.next(letter, turn, slot, last)}


def _replies(data: Any, messages: list[Any], opening: int, adds: list[bool]) -> list[dict[str, Any]]:
    """The replies, turn by turn: what is told of each, and its message where none is told."""
    letters = [letter for letter, new in zip(data["kind"], adds, strict=True) if new]
    said = [message for letter, message in zip(letters, messages[opening:], strict=True) if letter == "t"]
    told = data.get("replies", {})
    return [{"message": message, **told.get(str(turn), {})} for turn, message in enumerate(said, 1)]


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


class _Records:
    """What the steps hold, handed out in their order."""

    def __init__(self, data: Any, replies: list[dict[str, Any]], part: Callable[[str], Any]) -> None:
        self._replies = replies
        self._calls = _calls_in(replies, data.get("calls", ()))
        requests, verdicts = data["requests"], data.get("verdicts", {})
        self._rows: dict[str, Iterator[Any]] = {
            "d": iter(data["tools"]),
            "r": repeat(requests) if isinstance(requests, str) else iter(requests),
            "v": map(verdicts.get, map(str, count())),
            "x": iter(data["outcomes"]),
            "s": iter(data["results"]),
        }
        self._part = part

    def slot(self, letter: str, turn: int) -> int | None:
        """The slot of a step, where no reply has more than one call."""
        return 0 if letter in "vxs" or (letter == "t" and (turn, 0) in self._calls) else None

    def next(self, letter: str, turn: int, slot: Any, last: Mapping[str, Any]) -> dict[str, Any]:
        """The record of a step, with its call and reply."""
        call = None if slot is None else self._calls[turn, slot]
        if letter == "t":
            reply = self._replies[turn - 1]
            record = {"type": "tool_call", **call} if call else {"type": "reply", **reply}
            return {"call": call, "reply": reply, "record": record}
        row: Any = next(self._rows[letter], None)
        if letter == "v" and row is None and call is not None:
            row = {"type": "verdict", "ok": True, "arguments": parse_arguments(call["arguments"])}
        return {"call": call, "reply": None, "record": self._record(letter, row, last)}

    def _record(self, letter: str, row: Any, last: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(row, dict):
            return row
        match letter:
            case "d":
                return dict(self._part(row))
            case "r":
                rest: dict[str, Any] = {"tool_choice": "auto", "settings": {}, "withheld": []}
                return {"type": "request", "tools": self._part(row), **rest}
            case "x":
                told = dict(zip(_OUTCOME, row, strict=False))
                return {"type": "outcome", "duration_ms": told.pop("duration_us") / 1e3, **told}
            case _:
                sent = {"content": last["content"], "tool_call_id": last["tool_call_id"]}
                return {"type": "result", **sent, **dict(zip(_RESULT, row, strict=False))}
