"""The protocol of a run as Markdown: what was sent, what came, and `messages[]` before and after."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from zoolab.jsontext import is_utf8
from zoolab.jsontext.values import any_json
from zoolab.records import Reply, Request, Step
from zoolab.show.headlines import headline
from zoolab.trace.storage import MAX_NESTING

if TYPE_CHECKING:
    from zoolab.trace.log import TraceLog

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
