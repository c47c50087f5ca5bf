"""The events of a stream: an event is a dict, the data of a server-sent event or a line of Ollama's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from zoolab.apis.reading import as_dict
from zoolab.errors import ModelError
from zoolab.jsontext import encode_line, excerpt

Body = dict[str, Any]
NOT_JSON = (ValueError, RecursionError)
#: Stands for the mark at the end of a stream of Chat Completions.
DONE: Body = {"object": "[DONE]"}
#: How many characters of a text or of arguments come in one event that is made here.
PIECE = 6


def without_error(answer: Any) -> Body:
    """Return the answer, or the event, itself; raises `ModelError` if it says that the request failed."""
    whole = as_dict(answer)
    error = whole.get("error") or as_dict(whole.get("response")).get("error")
    if error or whole.get("type") in ("error", "response.failed"):
        said = as_dict(error).get("message") or error or whole.get("message") or whole
        told = said if isinstance(said, str) else excerpt(said)
        raise ModelError(f"the answer ended with an error: {told}", advice="ask again")
    return whole


def server_sent(events: Iterable[Body], done: bool = False) -> Iterator[bytes]:
    """Yield events as the bytes of server-sent events; one that has a type is named by it.

    With `done`, the stream ends with `[DONE]`, as that of Chat Completions does.

    >>> list(server_sent([{"type": "message_stop"}]))
    [b'event: message_stop\\ndata: {"type":"message_stop"}\\n\\n']
    """
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        yield f"{name}data: {encode_line(event)}\n\n".encode()
    if done:
        yield b"data: [DONE]\n\n"


def in_pieces(text: str, piece: int = PIECE) -> Iterator[str]:
    """Return the text in pieces of this length."""
    return (text[start : start + piece] for start in range(0, len(text), piece))


def too_early() -> ModelError:
    """Return the error for a stream that ends before its reply."""
    return ModelError("the stream ended before the reply was complete", advice="try again")
