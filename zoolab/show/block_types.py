"""The kinds of blocks: plain dicts, `b` names the kind. Every text is bounded by a `Room`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from zoolab.errors import Problem
from zoolab.records import Fault, Message
from zoolab.show.bounds import MAX_ROWS, TEXT, Room, pretty
from zoolab.show.wording import calls_of, content_of, count, differences, headline, other_fields
from zoolab.trace.frame import fault_line
from zoolab.trace.log import TraceLog

Block = dict[str, Any]

_MAX_PIECES = 400


def facts(room: Room, *rows: tuple[str, Any]) -> list[Block]:
    """Names and values; a value of None is left out, and so is a block of nothing.

    >>> facts(Room(900), ("id", "call_1"), ("origin", None))
    [{'b': 'facts', 'rows': [['id', 'call_1']]}]
    """
    shown = [[label, room.line(value)] for label, value in rows if value is not None]
    return [{"b": "facts", "rows": shown}] if shown else []


def code(room: Room, label: str, text: str, limit: int = TEXT) -> Block:
    """A text as it is.

    >>> code(Room(900), "the answer", "100")
    {'b': 'code', 'label': 'the answer', 'text': '100', 'cut': 0}
    """
    return {"b": "code", "label": label, **room.text(text, limit)}


def folded(block: Block) -> Block:
    """The same block, marked as one that says in more detail what others say already.

    The page folds it, and the terminal leaves it out.

    >>> folded(code(Room(900), "body", "{}"))["fold"]
    True
    """
    return {**block, "fold": True}


def both_ends(room: Room, label: str, text: str) -> Block:
    """A text that is cut in its middle, if it must be.

    >>> both_ends(Room(60), "body", "a" * 100)["cut"]
    50
    """
    return {"b": "code", "label": label, **room.ends(text, 1 << 20)}


def note(room: Room, tone: str, text: str) -> Block:
    """A remark: info, warn, error or fault.

    >>> note(Room(900), "info", "Nothing is on the wire.")["tone"]
    'info'
    """
    return {"b": "note", "tone": tone, "text": room.line(text, 2_000)}


def remaining(room: Room, number: int, noun: str) -> list[Block]:
    """How much of a list is left out; nothing if nothing is left out.

    >>> remaining(Room(900), 2, "tool")[0]["text"], remaining(Room(900), 0, "tool")
    ('2 more tools are left out here.', [])
    """
    if number <= 0:
        return []
    return [
        note(room, "info", f"{count(number, f'more {noun}')} {'is' if number == 1 else 'are'} left out here.")
    ]


def message_row(room: Room, index: int, message: Message, new: bool, limit: int = 4_000) -> dict[str, Any]:
    """One message of `messages[]`: who says it, what it says, what it asks for.

    >>> message_row(Room(900), 0, {"role": "user", "content": "Hi"}, True)["text"]
    'Hi'
    """
    calls, others = calls_of(message), other_fields(message)
    return {
        "i": index,
        "role": room.line(message.get("role"), 40),
        "id": room.line(message.get("tool_call_id") or "", 80),
        "new": new,
        **room.text(content_of(message), limit),
        "calls": [
            {
                "name": room.line(name, 80),
                "id": room.line(call_id, 80),
                "arguments": room.line(arguments, 1_000),
            }
            for name, call_id, arguments in calls[:MAX_ROWS]
        ],
        "others": room.line(pretty(others), 1_000) if others else "",
    }


def messages(
    room: Room, first: int, rows: Iterable[tuple[Message, bool]], limit: int = 4_000, old_limit: int = 4_000
) -> Block:
    """Messages from index `first` on, each with whether it is new. The last ones get their room first.

    >>> messages(Room(900), 4, [({"role": "user", "content": "Hi"}, True)])["rows"][0]["i"]
    4
    """
    shown = list(enumerate(islice(rows, MAX_ROWS), first))
    made = [message_row(room, i, m, new, limit if new else old_limit) for i, (m, new) in reversed(shown)]
    return {"b": "messages", "rows": made[::-1]}


def check(room: Room, state: str, text: str, problem: Problem | None = None) -> dict[str, Any]:
    """A row of a checklist: ok, bad, or none if it never came to that.

    >>> check(Room(900), "ok", "the tool exists")["pointer"]
    ''
    """
    return {
        "state": state,
        "text": room.line(text),
        "pointer": "" if problem is None else room.line(problem.pointer),
        "expected": "" if problem is None else room.line(problem.expected, 1_000),
        "received": "" if problem is None else room.line(problem.received, 1_000),
    }


def difference(room: Room, label: str, before: str, after: str) -> Block:
    """Two texts, character by character.

    >>> difference(Room(900), "what the repair changed", "{a", '{"a')["pieces"][1]
    ['ins', '"']
    """
    pieces = differences(before, after)
    if len(pieces) > _MAX_PIECES:
        pieces = [("del", before), ("ins", after)]
    return {
        "b": "diff",
        "label": label,
        "pieces": [[kind, room.text(text, 4_000)["text"]] for kind, text in pieces],
    }


def stream(room: Room, label: str, pieces: Sequence[str]) -> list[Block]:
    """The pieces in which a text came; past 400 the rest is one piece. Nothing if it came whole.

    >>> stream(Room(900), "arguments", ["{", "}"])[0]["pieces"]
    ['{', '}']
    """
    if not pieces:
        return []
    shown = list(pieces[:_MAX_PIECES])
    rest = "".join(pieces[_MAX_PIECES:])
    cut = [room.text(piece, 4_000)["text"] for piece in [*shown, *([rest] if rest else [])]]
    return [folded({"b": "stream", "label": label, "pieces": cut})]


def fault_note(room: Room, fault: Fault) -> list[Block]:
    """A fault that was injected, and what it changed.

    >>> fault_note(Room(900), Fault("slow", "add"))[0]["text"]
    'fault injected: slow in add'
    """
    told = [note(room, "fault", fault_line(fault))]
    if fault.before or fault.after:
        told.append(difference(room, "before and after the fault", fault.before, fault.after))
    return told


def nested(room: Room, trace: TraceLog, title: str) -> Block:
    """The trace of a sub-agent, and its steps in a line each.

    >>> nested(Room(900), TraceLog(), "Find it.")["steps"]
    0
    """
    return {
        "b": "nested",
        "label": "a sub-agent did this",
        "title": room.line(title),
        "steps": len(trace.steps),
        "outcome": room.line(trace.outcome, 80),
        "rows": [room.line(f"{step.kind}: {headline(step)}") for step in trace.steps[:MAX_ROWS]],
        "cut": max(0, len(trace.steps) - MAX_ROWS),
    }
