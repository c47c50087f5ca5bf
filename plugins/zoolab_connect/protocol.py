"""A trace as a protocol in Markdown: each request and reply in JSON, and `messages[]` before and after."""

from __future__ import annotations

import json
import re
from typing import Any

from zoolab.jsontext import visible
from zoolab.jsontext.values import any_json
from zoolab.show.wording import headline, not_read
from zoolab.trace.events import MAX_NESTING
from zoolab.trace.log import TraceLog

#: Characters of a block of JSON that are shown.
MAX_BLOCK = 20_000


def to_markdown(trace: TraceLog) -> str:
    """Return the protocol of a run; see `Trace.to_markdown`."""
    told = [f"# Protocol of run {trace.run_id}"]
    if lines := not_read(trace):
        told.append("Not read of the file:\n\n" + "\n".join(f"- {_inline(line)}" for line in lines))
    for turn in trace.turns:
        told.append(f"## Turn {turn.number}")
        request = turn.request
        reply = turn.reply
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
    """Return JSON in a fence that nothing in it can close."""
    text = json.dumps(any_json(value, MAX_NESTING), indent=2, ensure_ascii=False)
    if len(text) > MAX_BLOCK:
        text = text[:MAX_BLOCK] + f"\n... {len(text) - MAX_BLOCK:,} more characters"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}json\n{text}\n{fence}"
