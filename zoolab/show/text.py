"""A step as lines of plain text, for a terminal: its blocks, without those that are folded."""

from __future__ import annotations

from collections.abc import Iterator

from zoolab.jsontext import excerpt, visible
from zoolab.show.block_types import Block
from zoolab.show.blocks import blocks
from zoolab.show.moment import Moment
from zoolab.trace.log import TraceLog

WIDTH = 2_000


def details(moment: Moment) -> list[str]:
    """Return what a terminal shows of a step below its headline."""
    lines = [line for block in blocks(moment) if not block.get("fold") for line in _lines(block)]
    return [line if len(line) <= WIDTH else f"{line[:WIDTH]}… ({len(line):,} characters)" for line in lines]


def display_lines(trace: TraceLog) -> list[str]:
    """Return one line for people about each result: the tool, whether it worked, how long it took, its
    value.
    """
    lines = []
    for call in (call for turn in trace.turns for call in turn.calls.values() if call.result is not None):
        outcome = call.outcome
        error = call.error
        told = "" if error is None else f"{error.code}: {excerpt(error.message, 200)}"
        if error is None and outcome is not None:
            told = f"ok in {outcome.duration_ms:.1f} ms: {excerpt(outcome.value, 200)}"
        lines.append(visible(f"[{call.call.name}] {told}"))
    return lines


def _lines(block: Block) -> Iterator[str]:
    """Yield the lines of one block. The headline sums up the facts, but for what describes a tool."""
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
