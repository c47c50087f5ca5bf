"""Tool call: what the model asked for, as it wrote it, piece by piece; or its answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zoolab.show.bounds import Room
from zoolab.show.moment import Moment
from zoolab.show.inspector.overview import tokens_counted
from zoolab.show.block_types import Block, code, facts, fault_note, note, stream
from zoolab.show.blocks import note_on_choice, sent_blocks, tool_rows
from zoolab.records import Reply, ToolCall
from zoolab.show.wording import as_text, content_of, count

_ORIGINS = {
    "native": "tool_calls of the reply",
    "text": "found in the text of the reply",
    "repaired": "changed by a repair",
}


def tool_call_blocks(moment: Moment, room: Room, call: ToolCall) -> list[Block]:
    """What the model asked for: the raw arguments, how they came, the tool against those offered.

    >>> from zoolab import Scripted, run
    >>> moment = Moment(run("Hi", [], Scripted([[("fly", "{to: 'Oslo'}")], "I cannot."])), 2)
    >>> tool_call_blocks(moment, Room(60_000), moment.step.record)[0]["text"]
    "{to: 'Oslo'}"
    """
    reply = moment.step.reply
    came = "as they came (a fault changed them)" if changed_by_fault(moment) else "as the model wrote them"
    blocks = call_faults(moment, room)
    blocks.append(code(room, f"arguments, {came}", call.arguments))
    if not call.arguments:
        blocks.append(note(room, "info", "There are no arguments; that stands for {}."))
    blocks += stream(room, "the arguments as they came", list(_argument_pieces(reply, call.slot)))
    blocks += tool_rows(moment, room, moment.request, chosen=call.name)
    blocks += note_on_choice(room, moment.request)
    blocks += facts(
        room,
        ("id", call.id),
        ("id as the model gave it", None if call.original_id is None else call.original_id or "none"),
        ("read from", _ORIGINS.get(call.origin, call.origin)),
        *_reply_facts(reply),
    )
    if not call.slot and reply is not None:
        blocks += _said_beside(room, reply)
        blocks += sent_blocks(room, reply)
    return blocks


def call_faults(moment: Moment, room: Room) -> list[Block]:
    """What was broken on purpose in a moment's call, or in the reply that it is the first call of.

    >>> from zoolab import Scripted, run
    >>> call_faults(Moment(run("Hi", [], Scripted([[("fly", {})], "I cannot."])), 2), Room(900))
    []
    """
    slot, reply = moment.step.slot, moment.reply
    faults = () if reply is None else reply.faults
    own = [fault for fault in faults if fault.slot == slot or (fault.slot is None and not slot)]
    return [block for fault in own[:10] for block in fault_note(room, fault)]


def changed_by_fault(moment: Moment) -> bool:
    """Whether the arguments of a moment's call are other than the model wrote them, on purpose.

    >>> from zoolab import Scripted, run
    >>> changed_by_fault(Moment(run("Hi", [], Scripted([[("fly", {})], "I cannot."])), 2))
    False
    """
    reply, slot = moment.reply, moment.step.slot
    faults = () if reply is None else reply.faults
    return any(fault.slot == slot and fault.where.startswith("arguments") for fault in faults)


def reply_blocks(moment: Moment, room: Room, reply: Reply) -> list[Block]:
    """What the model answered, where it asked for no tool.

    >>> from zoolab import Scripted, run
    >>> moment = Moment(run("Hi", [], Scripted(["Hello"])), 2)
    >>> reply_blocks(moment, Room(60_000), moment.step.record)[0]["text"]
    'Hello'
    """
    said = content_of(reply.message)
    blocks = call_faults(moment, room)
    blocks.append(code(room, "the answer", said) if said else note(room, "warn", "The answer is empty."))
    blocks += stream(room, "the answer as it came", list(_text_pieces(reply)))
    blocks += tool_rows(moment, room, moment.request)
    blocks += note_on_choice(room, moment.request)
    return blocks + facts(room, *_reply_facts(reply)) + sent_blocks(room, reply)


def _reply_facts(reply: Reply | None) -> list[tuple[str, Any]]:
    if reply is None:
        return []
    sent, received = (tokens_counted(reply, f"{name}_tokens") for name in ("prompt", "completion"))
    told = f"{sent or 0:,} sent, {received or 0:,} received, counted by the endpoint"
    return [
        ("finish_reason", reply.finish_reason),
        ("model", reply.model),
        ("note", "; ".join(reply.notes) or None),
        ("streamed", f"in {count(len(reply.pieces), 'piece')}" if reply.pieces else None),
        ("tokens", None if sent is None and received is None else told),
    ]


def _said_beside(room: Room, reply: Reply) -> list[Block]:
    said = content_of(reply.message)
    return [code(room, "the text of the reply", said, 4_000)] if said else []


def _text_pieces(reply: Reply) -> Iterator[str]:
    for delta in reply.pieces:
        content = delta.get("content")
        if isinstance(content, str) and content:
            yield content


def _argument_pieces(reply: Reply | None, slot: int) -> Iterator[str]:
    """The pieces of one call's arguments; a piece without an index goes on with the call before it."""
    index = -1
    for delta in reply.pieces if reply is not None else ():
        parts = delta.get("tool_calls")
        for part in parts if isinstance(parts, list) else []:
            function = part.get("function") if isinstance(part, dict) else None
            if not isinstance(function, dict):
                continue
            index = part.get("index", index if not function.get("name") else index + 1)
            if index == slot and function.get("arguments"):
                yield as_text(function["arguments"])
