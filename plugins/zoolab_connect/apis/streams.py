"""Streams of the APIs beside Chat Completions: the events in their bytes, and what these add to a message."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from zoolab.apis.events import DONE, NOT_JSON, without_error
from zoolab.apis.interface import Body
from zoolab.jsontext import encode
from zoolab.messages import Message


def events_in(parts: Iterable[bytes]) -> Iterator[Body]:
    """Yield the events in the bytes of a stream: server-sent events, or one JSON object a line; `DONE` for
    [DONE].

    Only line feeds end a line: U+0085 and U+2028 may stand in JSON. A last line that was cut is left out.
    """
    waiting: list[bytes] = []
    for part in parts:
        first, *others = part.split(b"\n")
        waiting.append(first)
        for begun in others:
            yield from _event_in(b"".join(waiting))
            waiting = [begun]
    with suppress(*NOT_JSON):
        yield from _event_in(b"".join(waiting))


def _event_in(line: bytes) -> Iterator[Body]:
    data = line.removeprefix(b"data:").strip()
    if data.startswith(b"{"):
        yield without_error(json.loads(data))
    elif data == b"[DONE]":
        yield DONE


def text_delta(text: Any, hidden: Any = False) -> Message:
    """Return what a piece of text adds to a message; nothing if it is hidden."""
    return {"content": text} if isinstance(text, str) and text and not hidden else {}


class CallDeltas:
    """The calls of a stream, as deltas: APIs number all their blocks, Chat Completions the calls alone."""

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}

    def begin(self, place: str, call: Body, arguments: str = "") -> Message:
        """Return the first delta of a call."""
        slot = self._slots[place] = len(self._slots)
        own = {"id": call["id"]} if call.get("id") else {}
        function = {"name": call.get("name"), "arguments": arguments}
        return {"tool_calls": [{"index": slot, **own, "type": "function", "function": function}]}

    def whole(self, call: Body, field: str) -> Message:
        """Return the only delta of a call whose arguments are an object in this field, or the text of one."""
        given = call.get(field) or {}
        return self.begin(str(len(self._slots)), call, given if isinstance(given, str) else encode(given))

    def more(self, place: str, arguments: Any) -> Message:
        """Return a further delta of a call; empty if the block is not a call."""
        if place not in self._slots or not arguments:
            return {}
        return {"tool_calls": [{"index": self._slots[place], "function": {"arguments": arguments}}]}
