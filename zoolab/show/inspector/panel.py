"""The panel of a step as a whole: its blocks, what may be edited, and the tabs below."""

from __future__ import annotations

from typing import Any

from zoolab.jsontext import encode_line, is_utf8
from zoolab.records import Record
from zoolab.show.block_types import MAX_ROWS, Room, note, sendable
from zoolab.show.blocks import blocks
from zoolab.show.inspector.code import code_of
from zoolab.show.inspector.edits import fields_of
from zoolab.show.inspector.overview import MARK_WORDS, marks_of
from zoolab.show.inspector.tabs import diff_tab, full_tab, raw_tab
from zoolab.show.moment import Moment, kind_after
from zoolab.show.wording import count, headline

#: Bytes of JSON; all in all a panel stays under 200 kB.
_EDIT, _DIFF, _FULL, _RAW = 40_000, 16_000, 24_000, 40_000


def panel_of(moment: Moment, note_text: str = "") -> dict[str, Any]:
    """Everything about one step, as plain data under 200 kB.

    Args:
        moment: The step and its trace.
        note_text: What the reader noted about it.

    >>> from zoolab import Scripted, run
    >>> panel = panel_of(Moment(run("Hi", [], Scripted(["Hello"])), 1))
    >>> panel["kind"], panel["ran"], panel["next"]
    ('request', 'request: 1 message is sent', 'tool_call: the reply is read')
    """
    step, told = moment.step, headline(moment.step)
    line = Room(4_000)
    edit, left_out = _editable(step.record, Room(_EDIT))
    told_blocks = blocks(moment)
    if left_out:
        told_of = f"{count(left_out, 'text')} too long to be edited here: use steps.answer(...) in Python."
        told_blocks.append(note(line, "info", told_of))
    return {
        "seq": moment.seq,
        "kind": step.kind,
        "turn": step.turn,
        "slot": -1 if step.slot is None else step.slot,
        "headline": line.line(told),
        "marks": marks_as_text(marks_of(moment)),
        "ran": line.line(f"{step.kind}: {told}", 300),
        "next": None if (comes := what_next(moment)) is None else line.line(comes, 300),
        "blocks": sendable(told_blocks),
        "edit": edit,
        "tabs": {
            "diff": diff_tab(moment, Room(_DIFF)),
            "full": full_tab(moment, Room(_FULL)),
            "raw": raw_tab(moment, Room(_RAW)),
            "python": sendable(code_of(moment)),
            "note": sendable(note_text),
        },
    }


def marks_as_text(marks: int) -> list[str]:
    """The marks of a step in words.

    >>> marks_as_text(1 | 4)
    ['error', 'repair']
    """
    return [word for bit, word in MARK_WORDS.items() if marks & bit]


def _editable(record: Record, room: Room) -> tuple[list[dict[str, str]], int]:
    """The fields that may be edited, and how many are left out, since they cannot be sent whole."""
    shown: list[dict[str, str]] = []
    fields = fields_of(record)
    for field in fields:
        size = len(encode_line(field).encode())
        if size <= room.left and len(shown) < 2 * MAX_ROWS and is_utf8(field["text"]):
            room.left -= size
            shown.append(field)
    return shown, len(fields) - len(shown)


def what_next(moment: Moment) -> str | None:
    """What runs after a step: the next one of the trace, or the one that a walk would go on with.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted(["Hello"]))
    >>> what_next(Moment(trace, 0)), what_next(Moment(trace, 2))
    ('request: messages[] and tools are sent', None)
    """
    if not moment.is_last:
        after = moment.trace.steps[moment.seq + 1]
        kind: str = after.kind
        call = after.call
    elif moment.trace.outcome != "open":
        return None
    else:
        coming = kind_after(moment)
        if coming is None:
            return None
        kind, call = coming, moment.step.call if coming != "request" else None
    return f"{kind}: {_COMING[kind].format('the call' if call is None else call.name)}"


_COMING = {
    "define": "the tools are described",
    "request": "messages[] and tools are sent",
    "tool_call": "the reply is read",
    "validate": "may {} run, with these arguments?",
    "execute": "Python runs {}",
    "result": "what came of {} goes back to the model",
}
