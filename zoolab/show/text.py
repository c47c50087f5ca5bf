"""A step as lines of plain text, for a terminal: its blocks, without those that are folded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from zoolab.jsontext import excerpt, is_utf8, visible
from zoolab.jsontext.values import any_json
from zoolab.records import Outcome, Reply, Request, Step, Verdict
from zoolab.show.block_types import Block
from zoolab.show.blocks import blocks
from zoolab.show.moment import Moment
from zoolab.show.wording import change_as_text, headline
from zoolab.trace.events import MAX_NESTING
from zoolab.trace.log import TraceLog

if TYPE_CHECKING:
    from zoolab.trace.log import TraceLog

WIDTH = 2_000


def details(moment: Moment) -> list[str]:
    """What a terminal shows of a step below its headline.

    >>> from zoolab import Scripted, run
    >>> details(Moment(run("Hi", [], Scripted(["Hello"])), 2))
    ['the answer: Hello']
    """
    lines = [line for block in blocks(moment) if not block.get("fold") for line in _lines(block)]
    return [line if len(line) <= WIDTH else f"{line[:WIDTH]}… ({len(line):,} characters)" for line in lines]


def change(moment: Moment) -> str:
    """How the step changed `messages[]`.

    >>> from zoolab import Scripted, run
    >>> change(Moment(run("Hi", [], Scripted(["Hello"])), 1))
    'messages[]: 0 -> 1 messages: + user "Hi"'
    """
    return change_as_text(moment.change)


def display_lines(trace: TraceLog) -> list[str]:
    """One line for people about each result: the tool, whether it worked, how long it took, its value.

    >>> from zoolab import Scripted, run
    >>> display_lines(run("Hi", [], Scripted([[("fly", {})], "I cannot."])))
    ['[fly] unknown_tool: "arguments: expected no tools at all, received ...]
    """
    calls = (call for turn in trace.turns for call in turn.calls.values() if call.result is not None)
    return [f"[{visible(call.call.name)}] {_in_short(call.outcome or call.verdict)}" for call in calls]


def _in_short(record: Verdict | Outcome | None) -> str:
    if isinstance(record, Outcome) and record.error is None:
        return f"ok in {record.duration_ms:.1f} ms: {excerpt(record.value, 200)}"
    if isinstance(record, Outcome) and record.error is not None:
        return f"{record.error.code}: {excerpt(record.error.message, 200)}"
    problems = record.problems if isinstance(record, Verdict) else ()
    return "; ".join(f"{problem.code}: {excerpt(problem.message, 200)}" for problem in problems)


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
        case _:
            return


MAX_BLOCK = 20_000


def to_markdown(trace: TraceLog) -> str:
    """The protocol of a run; see `Trace.to_markdown`.

    >>> from zoolab import Scripted, run
    >>> print(to_markdown(run("Hi", [], Scripted(["Hello"]))).splitlines()[2])
    ## Turn 1
    """
    blocks = [f"# Protocol of run {trace.run_id}"]
    for turn, steps in groupby(enumerate(trace.steps), key=lambda pair: pair[1].turn):
        if turn:
            blocks += _turn(trace, turn, list(steps))
    blocks.append(f"The run ended with: {trace.outcome}" + (f" ({trace.error})" if trace.error else ""))
    text = "\n\n".join(blocks) + "\n"
    return text if is_utf8(text) else text.encode("utf-8", "backslashreplace").decode()


def _turn(trace: TraceLog, turn: int, steps: list[tuple[int, Step]]) -> Iterator[str]:
    first, last = steps[0][0], steps[-1][0]
    reply = next((step.reply for _, step in steps if step.reply is not None), None)
    yield f"## Turn {turn}"
    request = steps[0][1].record
    if isinstance(request, Request):
        yield from _sent(request, reply)
    if reply is not None:
        yield f"### Reply\n\n{_block(reply.message)}"
    said = [f"- `{step.kind}` {_inline(headline(step))}" for _, step in steps[1:]]
    if said:
        yield "### Steps\n\n" + "\n".join(said)
    yield f"### messages[] before\n\n{_block(trace.messages_at(first))}"
    yield f"### messages[] after\n\n{_block(trace.messages_at(last))}"


def _sent(request: Request, reply: Reply | None) -> Iterator[str]:
    """The request as it was sent, and first what zoolab made, if the model class sent something else."""
    if reply is None:
        yield f"### Request\n\n{_block(request.body())}"
        return
    if reply.sent_instead is None:
        yield f"### Request\n\n{_block(reply.body_sent(request))}"
        return
    yield f"### Request that zoolab made\n\n{_block(request.body())}"
    yield f"### What was sent instead\n\n{_block(reply.body_sent(request))}"


def _block(value: Any) -> str:
    """JSON in a fence that nothing in it can close."""
    text = json.dumps(any_json(value, MAX_NESTING), indent=2, ensure_ascii=False)
    if len(text) > MAX_BLOCK:
        text = text[:MAX_BLOCK] + f"\n... {len(text) - MAX_BLOCK:,} more characters"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}json\n{text}\n{fence}"


def _inline(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]#|&])", r"\\\1", " ".join(text.split()))
