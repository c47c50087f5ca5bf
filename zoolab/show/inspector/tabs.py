"""Below the panel: how a step changed messages[], all of messages[], and what was on the wire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import Any

from zoolab.jsontext import encode
from zoolab.loop.about import about
from zoolab.records import Message, Reply, Request, Result, ToolCall
from zoolab.show.block_types import Block, Room, both_ends, messages, note, sendable
from zoolab.show.moment import Moment
from zoolab.show.wording import as_text, calls_of, content_of, count, pretty
from zoolab.tokens import counted, tokens_in
from zoolab.tools import ToolRegistry
from zoolab.trace.summary import MessagesDiff

_KEPT, _CHANGED, _WINDOW = 3, 30, 30
#: A body of more characters is not even written out.
_MAX_BODY = 4_000_000


def diff_tab(moment: Moment, room: Room) -> dict[str, Any]:
    """The change of `messages[]`: in words, in rows, as a JSON patch.

    >>> from zoolab import Scripted, run
    >>> tab = diff_tab(Moment(run("Hi", [], Scripted(["Hello"])), 2), Room(9_000))
    >>> tab["words"], tab["patch"][0]["path"]
    ('messages[] 1 -> 2, about +1 tokens (an estimate)', '/1')
    """
    change = moment.change
    patch, cut = _bounded(list_patch(change.removed, change.added, change.kept), room)
    return {
        "words": room.line(_as_text(moment, change), 400),
        "rows": _rows(moment, change, room),
        "patch": patch,
        "patch_cut": cut,
    }


def _as_text(moment: Moment, change: MessagesDiff) -> str:
    before, after = change.kept + len(change.removed), change.kept + len(change.added)
    if not change.removed and not change.added:
        return f"messages[] unchanged, {count(after, 'message')}"
    counted = _counted(moment, change)
    if counted is not None:
        return f"messages[] {before} -> {after}, {counted:+,} tokens, counted by the endpoint"
    difference = tokens_in(change.added) - tokens_in(change.removed)
    return f"messages[] {before} -> {after}, about {difference:+,} tokens (an estimate)"


def _counted(moment: Moment, change: MessagesDiff) -> int | None:
    """What the endpoint counted, if it counted just this: the message that a model wrote."""
    reply = moment.step.reply
    if reply is None or len(change.added) != 1 or change.removed:
        return None
    return counted(reply.usage, "completion_tokens")


def _rows(moment: Moment, change: MessagesDiff, room: Room) -> list[dict[str, Any]]:
    """The last messages that stay, then what went and what came."""
    first = max(0, change.kept - _KEPT)
    stay = moment.step.messages.first(change.kept).since(first)
    marked = [(" ", first + i, message) for i, message in enumerate(stay)]
    marked += [("-", change.kept + i, message) for i, message in enumerate(change.removed[:_CHANGED])]
    marked += [("+", change.kept + i, message) for i, message in enumerate(change.added[:_CHANGED])]
    return [
        {
            "op": op,
            "i": index,
            "role": room.line(message.get("role"), 40),
            "text": room.line(_said(message), 160 if op == " " else 1_000),
            "id": room.line(message.get("tool_call_id") or "", 80),
        }
        for op, index, message in marked
    ]


def _said(message: Message) -> str:
    calls = [f"{name}({arguments})" for name, _, arguments in calls_of(message)[:_WINDOW]]
    return "\n".join(part for part in (content_of(message), *calls) if part)


def _bounded(patch: list[Operation], room: Room) -> tuple[list[Operation], int]:
    """As many of the operations as there is room for, and how many are left out."""
    shown: list[Operation] = []
    for operation in patch:
        plain = sendable(operation)
        size = len(encode(plain).encode())
        if size > room.left // 2:
            break
        room.left -= size
        shown.append(plain)
    return shown, len(patch) - len(shown)


def full_tab(moment: Moment, room: Room) -> list[Block]:
    """`messages[]` after the step; of a long conversation, its end.

    >>> from zoolab import Scripted, run
    >>> full_tab(Moment(run("Hi", [], Scripted(["Hello"])), 2), Room(9_000))[0]["before"]
    0
    """
    held, appended = moment.step.messages, moment.step.appended
    before = max(0, len(held) - _WINDOW)
    known = len(held) - appended
    rows = [(message, index >= known) for index, message in enumerate(held.since(before), before)]
    share = max(200, room.left // (3 * max(1, len(rows))))
    return [{**messages(room, before, rows, share, share), "before": before}]


def raw_tab(moment: Moment, room: Room) -> list[Block]:
    """What was on the wire: the body as sent, the reply as it came.

    >>> from zoolab import Scripted, run
    >>> moment = Moment(run("Hi", [], Scripted(["Hello"])), 1)
    >>> raw_tab(moment, Room(9_000))[0]["label"]
    'the body of the request; the model adds its name and settings'
    """
    step = moment.step
    match step.record:
        case Request():
            return _request_body(moment, step.record, room)
        case ToolRegistry():
            return [both_ends(room, "tools, as each request carries them", pretty(step.record.schemas()))]
        case Result():
            return [
                both_ends(
                    room, "the tool message, as the next request carries it", pretty(step.record.message)
                )
            ]
        case ToolCall() | Reply() if step.reply is not None:
            return _reply_body(step.reply, room)
        case _:
            return [note(room, "info", "Nothing is on the wire in this step: it happens in Python.")]


def _request_body(moment: Moment, request: Request, room: Room) -> list[Block]:
    size = sum(map(len, moment.trace.journal.frozen(moment.trace.revisions[moment.seq])))
    if size > _MAX_BODY:
        return [
            note(room, "info", f"The body has {size:,} characters: too many to show. See Full for its end.")
        ]
    label, body = _body(moment, request)
    return [both_ends(room, label, pretty(body))]


def _body(moment: Moment, request: Request) -> tuple[str, dict[str, Any]]:
    """The body as the model sends it, if the model is at hand and says so; it is somebody's code."""
    make = about(moment.trace.options.get("model")).body
    try:
        if make and isinstance(body := make(request), dict):
            return "the body of the request, as sent", body
    except Exception as error:
        return (
            f"the body of the request; the model's own form failed ({type(error).__name__})",
            request.body(),
        )
    return "the body of the request; the model adds its name and settings", request.body()


def _reply_body(reply: Reply, room: Room) -> list[Block]:
    if reply.raw is not None:
        return [both_ends(room, "the response, as it came", pretty(reply.raw))]
    if reply.pieces:
        lines = "\n".join(as_text(piece) for piece in islice(reply.pieces, 2_000))
        return [both_ends(room, "the deltas of the response, as they came", lines)]
    return [
        both_ends(room, "the message of the reply; the trace has no response body", pretty(reply.message))
    ]


Operation = dict[str, Any]


def list_patch(before: Sequence[Any], after: Sequence[Any], start: int = 0) -> list[Operation]:
    """The operations that turn one list into the other, in the order in which they are applied.

    Args:
        before: The old list, or its end.
        after: The new list, or its end.
        start: How many equal items come before both.

    >>> list_patch(["a", "b"], ["a", "c", "d"])
    [{'op': 'replace', 'path': '/1', 'value': 'c'}, {'op': 'add', 'path': '/2', 'value': 'd'}]
    >>> list_patch(["a", "b", "c"], ["a", "c"])
    [{'op': 'remove', 'path': '/1'}]
    """
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    at, both = start + head, min(len(old), len(new))
    replaced = [
        {"op": "replace", "path": f"/{at + i}", "value": new[i]}
        for i in range(both)
        if not _same(old[i], new[i])
    ]
    removed = [{"op": "remove", "path": f"/{at + i}"} for i in reversed(range(both, len(old)))]
    added = [{"op": "add", "path": f"/{at + i}", "value": new[i]} for i in range(both, len(new))]
    return [*replaced, *removed, *added]


def _common(one: Sequence[Any], other: Sequence[Any]) -> int:
    return sum(1 for _ in takewhile(lambda pair: _same(*pair), zip(one, other, strict=False)))


def _same(one: Any, other: Any) -> bool:
    """Written alike in JSON: true is not 1, and 0 is not 0.0."""
    return json.dumps(one) == json.dumps(other)
