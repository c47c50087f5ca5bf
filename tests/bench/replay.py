"""A replayed request, beside the plain client on the same transport."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pairs import Effort, Row, compare

from zoolab import Replay, Request, Scripted

SIZES = (2, 100, 1000)


def conversation(length: int) -> list[dict[str, Any]]:
    """Rounds of a call and its result, as long as wanted."""
    messages: list[dict[str, Any]] = []
    for number in range(length // 2):
        function = {"name": "add", "arguments": '{"a": 1, "b": 2}'}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": "3"})
    return messages


def rows(effort: Effort) -> Iterator[Row]:
    """`create` transforms every message in each request, which `post` does not."""
    with tempfile.TemporaryDirectory() as folder:
        recorded = Replay(Path(folder) / "bench.jsonl", live=Scripted(lambda _request: "3"))
        for size in effort.sizes(SIZES):
            request = Request(conversation(size))
            recorded(request)
            yield compare(
                "replay",
                f"a replayed request of {size:,} messages",
                partial(recorded, request),
                partial(recorded.client.chat.completions.create, **recorded.body(request)),
                "the openai client's own create, on the same transport",
                effort,
                times=max(1, 50 // size),
            )
