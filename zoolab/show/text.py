"""A step as lines of plain text, for a terminal: its blocks, without those that are folded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from zoolab.jsontext import excerpt, visible
from zoolab.jsontext.values import any_json
from zoolab.show.block_types import Block
from zoolab.show.blocks import blocks
from zoolab.show.moment import Moment
from zoolab.show.wording import headline, not_read
from zoolab.trace.events import MAX_NESTING
from zoolab.trace.log import TraceLog

WIDTH = 2_000


def details(moment: Moment) -> list[str]:
    """What a terminal shows of a step below its headline."""
    lines = [line for block in blocks(moment) if not block.get("fold") for line in _lines(block)]
    return [line if len(line) <= WIDTH else f"{line[:WIDTH]}… ({len(line):,} characters)" for line in lines]


def display_lines(trace: TraceLog) -> list[str]:
    """One line for people about each result: the tool, whether it worked, how long it took, its value."""
    lines = []
    for call in (call for turn in trace.turns for call in turn.calls.values() if call.result is not None):
        outcome, error = call.outcome, call.error
        told = "" if error is None else f"{error.code}: {excerpt(error.message, 200)}"
        if error is None and outcome is not None:
            told = f"ok in {outcome.duration_ms:.1f} ms: {excerpt(outcome.value, 200)}"
        lines.append(visible(f"[{call.call.name}] {told}"))
    return lines


def _lines(block: Block) -> Iterator[str]:
    """The lines of one block. The headline sums up the facts, but for what describes a tool."""
    match block["b"]:
        case "note":
            yield block["text"]
        case "code":
            yield f"{block['label']}: {block['text'].rstrip()}"
        case "messages":
            for row in block["rows"]:
                if row["new"]:
                    asks = ", ".join(f"{call['name']}({call['arguments']})" for call in row["calls"])
                    yield f"{row['role']}: {row['text'] or asks}"
        case "checks":
            for row in block["rows"]:
                if row["state"] == "bad":
                    yield f"{row['text']}: expected {row['expected']}, received {row['received']}"
        case "diff":
            old = "".join(text for kind, text in block["pieces"] if kind != "ins")
            new = "".join(text for kind, text in block["pieces"] if kind != "del")
            yield f"{block['label']}: {old} -> {new}"
        case "fields":
            fields = ", ".join(
                f"{r['name']}{'' if r['required'] else '?'}: {r['schema']}" for r in block["rows"]
            )
            yield f"{block['label'].partition('(')[0]}({fields})"
        case "facts":
            yield from (f"  {value}" for name, value in block["rows"] if name == "description")
        case "permission":
            yield f"{block['tool']}: risk {block['risk']}, {block['arguments']} {block['reason']}".rstrip()
        case "nested":
            yield f"{block['label']}: {block['steps']} steps, {block['outcome']}"


MAX_BLOCK = 20_000


def to_markdown(trace: TraceLog) -> str:
    """The protocol of a run; see `Trace.to_markdown`."""
    told = [f"# Protocol of run {trace.run_id}"]
    if lines := not_read(trace):
        told.append("Not read of the file:\n\n" + "\n".join(f"- {_inline(line)}" for line in lines))
    for turn in trace.turns:
        told.append(f"## Turn {turn.number}")
        request, reply = turn.request, turn.reply
        if reply is not None and reply.sent_instead is not None:
            told.append(f"### Request that zoolab made\n\n{_block(request.body())}")
            told.append(f"### What was sent instead\n\n{_block(reply.body_sent(request))}")
        else:
            sent = request.body() if reply is None else reply.body_sent(request)
            told.append(f"### Request\n\n{_block(sent)}")
        if reply is not None:
            told += [_inline(line) for line in reply.omissions]
            told.append(f"### Reply\n\n{_block(reply.message)}")
        steps = trace.steps[turn.seq + 1 : turn.end]
        if steps:
            told.append("### Steps\n\n" + "\n".join(f"- `{s.kind}` {_inline(headline(s))}" for s in steps))
        told.append(f"### messages[] before\n\n{_block(trace.messages_at(turn.seq))}")
        told.append(f"### messages[] after\n\n{_block(trace.messages_at(turn.end - 1))}")
    told.append(f"The run ended with: {trace.outcome}" + (f" ({trace.error})" if trace.error else ""))
    return visible("\n\n".join(told)) + "\n"


def _inline(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]#|&])", r"\\\1", " ".join(text.split()))


def _block(value: Any) -> str:
    """JSON in a fence that nothing in it can close."""
    text = json.dumps(any_json(value, MAX_NESTING), indent=2, ensure_ascii=False)
    if len(text) > MAX_BLOCK:
        text = text[:MAX_BLOCK] + f"\n... {len(text) - MAX_BLOCK:,} more characters"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}json\n{text}\n{fence}"
