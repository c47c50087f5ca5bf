"""The events of a stream, in bytes and as dicts; and what they add to a message, as deltas of Chat.

An event is a dict: the data of a server-sent event, or a line of Ollama's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from zoolab.apis.reading import as_dict
from zoolab.errors import ModelError
from zoolab.jsontext import encode, encode_line, excerpt
from zoolab.records.messages import Message

Body = dict[str, Any]
#: How many characters of a text or of arguments come in one event that is made here.
PIECE = 6


def events_in(parts: Iterable[bytes]) -> Iterator[Body]:
    """The events in the bytes of a stream: server-sent events, or one JSON object a line.

    Only line feeds end a line: U+0085 and U+2028 may stand in JSON.
    """
    waiting: list[bytes] = []
    for part in chain(parts, [b"\n"]):
        first, *others = part.split(b"\n")
        waiting.append(first)
        for begun in others:
            line = b"".join(waiting).removeprefix(b"data:").strip()
            waiting = [begun]
            if line.startswith(b"{"):
                yield without_error(json.loads(line))


def without_error(answer: Any) -> Body:
    """The answer, or the event, itself; raises `ModelError` if it says that the request failed."""
    whole = as_dict(answer)
    error = whole.get("error") or as_dict(whole.get("response")).get("error")
    if error or whole.get("type") in ("error", "response.failed"):
        said = as_dict(error).get("message") or error or whole.get("message") or whole
        told = said if isinstance(said, str) else excerpt(said)
        raise ModelError(f"the answer ended with an error: {told}", advice="ask again")
    return whole


def server_sent(events: Iterable[Body], done: bool = False) -> Iterator[bytes]:
    """Events as the bytes of server-sent events; one that has a type is named by it.

    With `done`, the stream ends with `[DONE]`, as that of Chat Completions does.

    >>> list(server_sent([{"type": "message_stop"}]))
    [b'event: message_stop\\ndata: {"type":"message_stop"}\\n\\n']
    """
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        yield f"{name}data: {encode_line(event)}\n\n".encode()
    if done:
        yield b"data: [DONE]\n\n"


def cut(text: str, piece: int = PIECE) -> Iterator[str]:
    """The text in pieces of this length."""
    return (text[start : start + piece] for start in range(0, len(text), piece))


def text_delta(text: Any, hidden: Any = False) -> Message:
    """What a piece of text adds to a message; nothing if it is hidden."""
    return {"content": text} if isinstance(text, str) and text and not hidden else {}


class CallDeltas:
    """The calls of a stream, as deltas: APIs number all their blocks, Chat Completions the calls alone."""

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}

    def begin(self, place: str, call: Body, arguments: str = "") -> Message:
        """The first delta of a call."""
        slot = self._slots[place] = len(self._slots)
        own = {"id": call["id"]} if call.get("id") else {}
        function = {"name": call.get("name"), "arguments": arguments}
        return {"tool_calls": [{"index": slot, **own, "type": "function", "function": function}]}

    def whole(self, call: Body, field: str) -> Message:
        """The only delta of a call whose arguments are an object in this field."""
        return self.begin(str(len(self._slots)), call, encode(call.get(field) or {}))

    def more(self, place: str, arguments: Any) -> Message:
        """A further delta of a call; empty if the block is not a call."""
        if place not in self._slots or not arguments:
            return {}
        return {"tool_calls": [{"index": self._slots[place], "function": {"arguments": arguments}}]}


def too_early() -> ModelError:
    """The error for a stream that ends before its reply."""
    return ModelError("the stream ended before the reply was complete", advice="try again")
