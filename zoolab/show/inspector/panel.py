"""The panel of a step: its blocks, what may be edited, and the tabs below: the change of messages[], all of
them, the wire, the step as Python, and what the reader noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import encode, encode_line, is_utf8
from zoolab.messages import calls_of
from zoolab.records import Decision, Outcome, Record, Reply, Request, Result, ToolCall, Verdict
from zoolab.show.block_types import MAX_ROWS, Block, Room, browser_json
from zoolab.show.blocks import GATES, blocks
from zoolab.show.inspector.edits import fields_of
from zoolab.show.inspector.overview import MARK_WORDS, marks_of
from zoolab.show.moment import Moment, kind_after
from zoolab.show.wording import WORDS, content_of, headline, pretty, readable
from zoolab.steps.result import METADATA, make_result
from zoolab.text.wording import common_ends, count
from zoolab.tokens import Tokens, tokens_in
from zoolab.tools import ToolRegistry
from zoolab.trace.codec import Shown
from zoolab.trace.log import TraceLog
from zoolab.trace.summary import MessagesDiff

#: Bytes of JSON; all in all a panel stays under 200 kB.
_EDIT = 40_000
_DIFF = 16_000
_FULL = 24_000
_RAW = 40_000
_KEPT = 3
_CHANGED = 30
_WINDOW = 30
#: A body of more characters is not even written out.
_MAX_BODY = 4_000_000
#: Characters of all the notes of a trace.
MAX_NOTES = 100_000
_STEP = """\
# trace: the one that is shown; read a saved one with Trace.load("trace.jsonl")
step = trace.steps[{seq}]
"""
_READ = "read_calls(step.reply.message, turn={turn}, text={text})[{slot}]"

Operation = dict[str, Any]


def panel_of(moment: Moment) -> dict[str, Any]:
    """Return everything about one step, as plain data under 200 kB."""
    step = moment.step
    told = headline(moment.step)
    marks = marks_of(moment)
    line = Room(4_000)
    edit, left_out = _editable(step.record, Room(_EDIT))
    told_blocks = blocks(moment)
    if left_out:
        told_of = f"{count(left_out, 'text')} too long to be edited here: use steps.answer(...) in Python."
        told_blocks.append(line.note("info", told_of))
    return {
        "seq": moment.seq,
        "kind": step.kind,
        "turn": step.turn,
        "slot": -1 if step.slot is None else step.slot,
        "headline": line.line(told),
        "marks": [word for bit, word in MARK_WORDS.items() if marks & bit],
        "ran": line.line(f"{step.kind}: {told}", 300),
        "next": None if (comes := _what_next(moment)) is None else line.line(comes, 300),
        "blocks": browser_json(told_blocks),
        "edit": edit,
        "tabs": {
            "diff": _diff_tab(moment, Room(_DIFF)),
            "full": _full_tab(moment, Room(_FULL)),
            "raw": [_raw_tab(moment, Room(_RAW))],
            "python": browser_json(_code_of(moment)),
            "note": browser_json(reader_notes(moment.trace).get(str(moment.seq), "")),
        },
    }


def _editable(record: Record, room: Room) -> tuple[list[dict[str, str]], int]:
    """Return the fields that may be edited, and how many are left out, since they cannot be sent whole."""
    shown: list[dict[str, str]] = []
    fields = fields_of(record)
    for field in fields:
        size = len(encode_line(field).encode())
        if size <= room.left and len(shown) < 2 * MAX_ROWS and is_utf8(field["text"]):
            room.left -= size
            shown.append(field)
    return shown, len(fields) - len(shown)


def _what_next(moment: Moment) -> str | None:
    """Return what runs after a step: the next one of the trace, or the one that a walk would go on with."""
    trace = moment.trace
    if moment.seq + 1 < len(trace.steps):
        after = trace.steps[moment.seq + 1]
        kind = after.kind
        call = after.call
    else:
        coming = kind_after(moment) if trace.outcome == "open" else None
        if coming is None:
            return None
        kind = coming
        call = moment.step.call if coming != "request" else None
    return f"{kind}: {WORDS['steps'][kind].format('the call' if call is None else call.name)}"


def _diff_tab(moment: Moment, room: Room) -> dict[str, Any]:
    change = moment.change
    patch: list[Operation] = []
    whole = list_patch(change.removed, change.added, change.kept)
    for operation in map(browser_json, whole):  # as many as there is room for
        size = len(encode(operation).encode())
        if size > room.left // 2:
            break
        room.left -= size
        patch.append(operation)
    # The last messages that stay, then what went and what came.
    first = max(0, change.kept - _KEPT)
    kept = change.kept
    marked = [(" ", i, m) for i, m in enumerate(moment.step.messages.first(kept).since(first), first)]
    marked += [("-", i, m) for i, m in enumerate(change.removed[:_CHANGED], kept)]
    marked += [("+", i, m) for i, m in enumerate(change.added[:_CHANGED], kept)]
    rows = []
    told = room.line(_change_in_tokens(moment, change), 400)
    for op, index, message in marked:
        calls = [f"{name}({arguments})" for name, _, arguments in calls_of(message)[:_WINDOW]]
        said = "\n".join(part for part in (content_of(message), *calls) if part)
        rows.append(
            {
                "op": op,
                "i": index,
                "role": room.line(message.get("role"), 40),
                "text": room.line(said, 160 if op == " " else 1_000),
                "id": room.line(message.get("tool_call_id") or "", 80),
            }
        )
    return {"words": told, "rows": rows, "patch": patch, "patch_cut": len(whole) - len(patch)}


def _change_in_tokens(moment: Moment, change: MessagesDiff) -> str:
    before = change.kept + len(change.removed)
    after = change.kept + len(change.added)
    if not change.removed and not change.added:
        return f"messages[] unchanged, {count(after, 'message')}"
    reply = moment.step.reply
    if reply is not None and len(change.added) == 1 and not change.removed:  # the model wrote just this
        received = Tokens.of(reply.usage).output
        if received is not None:
            return f"messages[] {before} -> {after}, {received:+,} tokens, counted by the endpoint"
    difference = tokens_in(change.added) - tokens_in(change.removed)
    return f"messages[] {before} -> {after}, about {difference:+,} tokens (an estimate)"


def list_patch(before: Sequence[Any], after: Sequence[Any], start: int = 0) -> list[Operation]:
    """Return the operations that turn one list into the other, in the order in which they are applied.

    `start` equal items come before both.
    """
    # As they are written in JSON: true is not 1, and 0 is not 0.0.
    old = list(map(encode, before))
    new = list(map(encode, after))
    head, tail = common_ends(old, new)
    old_end = len(old) - tail
    new_end = len(new) - tail
    both = min(old_end, new_end)
    changed = [i for i in range(head, both) if old[i] != new[i]]
    replaced = [{"op": "replace", "path": f"/{start + i}", "value": after[i]} for i in changed]
    removed = [{"op": "remove", "path": f"/{start + i}"} for i in reversed(range(both, old_end))]
    added = [{"op": "add", "path": f"/{start + i}", "value": after[i]} for i in range(both, new_end)]
    return [*replaced, *removed, *added]


def _full_tab(moment: Moment, room: Room) -> list[Block]:
    held = moment.step.messages
    appended = moment.step.appended
    before = max(0, len(held) - _WINDOW)
    known = len(held) - appended
    rows = [(message, index >= known) for index, message in enumerate(held.since(before), before)]
    share = max(200, room.left // (3 * max(1, len(rows))))
    return [{**room.messages(before, rows, share, share), "before": before}]


def _raw_tab(moment: Moment, room: Room) -> Block:
    step = moment.step
    match step.record:
        case Request() as request:
            size = sum(map(len, moment.trace.journal.frozen(step.messages)))
            if size > _MAX_BODY:
                told = f"The body has {size:,} characters: too many to show. See Full for its end."
                return room.note("info", told)
            reply = moment.reply
            if reply is None or reply.sent is None:
                told = "the body of the request; the model adds its name and settings"
                return room.both_ends(told, pretty(request.body()))
            return room.both_ends("the body of the request, as sent", pretty(reply.body_sent(request)))
        case ToolRegistry() as tools:
            return room.both_ends("tools, as each request carries them", pretty(tools.schemas()))
        case Result() as result:
            label = "the tool message, as the next request carries it"
            return room.both_ends(label, pretty(result.message))
        case ToolCall() | Reply() if step.reply is not None:
            reply = step.reply
            if reply.raw is not None:
                return room.both_ends("the response, as it came", pretty(reply.raw))
            if reply.pieces:
                lines = "\n".join(readable(piece) for piece in islice(reply.pieces, 2_000))
                return room.both_ends("the deltas of the response, as they came", lines)
            label = "the message of the reply; the trace has no response body"
            return room.both_ends(label, pretty(reply.message))
        case _:
            return room.note("info", "Nothing is on the wire in this step: it happens in Python.")


def _code_of(moment: Moment) -> str:
    """Return code that does what a step did; what somebody answered by hand, it reads from the trace."""
    imported = ""
    lines = ["record = step.record"]
    by_hand = moment.seq in moment.trace.originals
    match moment.step.record:
        case ToolRegistry():
            lines = ["tools = step.record", "schemas = tools.schemas()"]
        case Request():
            lines = ["request = step.record", "body = request.body()", "# reply = model(request)"]
        case ToolCall() as call if moment.step.reply is not None and not by_hand:
            read = _READ.format(turn=call.turn, text=call.origin == "text", slot=call.slot)
            imported = "from zoolab import read_calls"
            lines = [f"call = {read}"]
        case Reply():
            lines = ["reply = step.record", "assert read_calls(reply.message) == []  # so this is the answer"]
            imported = "from zoolab import read_calls"
        case Verdict() as verdict if not by_hand and _is_checked_by_schema(moment, verdict):
            imported = "from zoolab import check_call"
            checked = "step.call"
            if verdict.repair is not None and verdict.repair.accepted:
                imported = f"from dataclasses import replace\n\n{imported}"
                checked = "replace(step.call, arguments=step.record.repair.proposed)"
            lines = [f"call = {checked}", "verdict = check_call(call, trace.steps[0].record)"]
        case Decision() as decision:
            choice = "once" if decision.choice == "pending" else decision.choice
            answer = f"steps.answer(Decision({choice!r}))  # steps: the walk, which waits at this step"
            imported = "from zoolab import Decision"
            lines = [answer]
        case Outcome() if moment.call.validated is not None:
            lines = [f"arguments = trace.steps[{moment.call.validated}].record.arguments"]
            lines.append("value = tools.execute(step.call.name, arguments)  # tools: with their functions")
        case Result() as result if made := _make_result(moment, result):
            imported = "from zoolab.steps.result import make_result"
            lines = made
    begin = f"{imported}\n\n" if imported else ""
    return begin + _STEP.format(seq=moment.seq) + "\n".join(lines) + "\n"


def _is_checked_by_schema(moment: Moment, verdict: Verdict) -> bool:
    """Return whether the call alone decides, and no person, limit or type of a function gave the verdict."""
    tool = moment.tool
    error = verdict.error_code
    known = error == "unknown_tool" if tool is None else verdict.ok or tool.bind is None
    return known and error in (None, *GATES) and isinstance(moment.trace.steps[0].record, ToolRegistry)


def _make_result(moment: Moment, result: Result) -> list[str]:
    """Return `make_result` of the outcome, unless that gives another result, as for an edited one."""
    outcome = moment.call.outcome
    untrusted = moment.tool.untrusted if moment.tool is not None else ""
    if outcome is None or isinstance(outcome.value, Shown):
        return []
    envelope: Any = "json" if METADATA in result.content else "plain"
    if make_result(outcome, result.tool_call_id, envelope, untrusted) != result:
        return []
    made = f"make_result(outcome, step.record.tool_call_id, {envelope!r}, {untrusted!r})"
    return [f"outcome = trace.steps[{moment.call.ran}].record", f"result = {made}"]


def reader_notes(trace: TraceLog) -> dict[str, str]:
    """Return what readers noted, by step number; kept in the trace's meta, so that it is saved with it."""
    kept = trace.meta.get("notes")
    room = MAX_NOTES
    notes: dict[str, str] = {}
    for seq, text in kept.items() if isinstance(kept, dict) else ():
        if isinstance(seq, str) and isinstance(text, str) and len(seq) + len(text) <= room:
            room -= len(seq) + len(text)
            notes[seq] = text
    return notes


def add_note(trace: TraceLog, seq: int, text: str) -> None:
    """Note something about a step; an empty text takes the note away.

    Raises `InvalidInput` if the notes of a trace grow beyond 100,000 characters.
    """
    notes = {key: kept for key, kept in reader_notes(trace).items() if key != str(seq)}
    if sum(map(len, notes.values())) + len(text) > MAX_NOTES - 10 * len(notes):
        raise InvalidInput("too many notes", expected=f"at most {MAX_NOTES:,} characters in a trace")
    trace.meta["notes"] = {**notes, str(seq): text} if text else notes
