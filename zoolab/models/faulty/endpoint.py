"""Faults of an endpoint, met by the real openai client: its retries, its errors, its broken streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from zoolab.jsontext import encode
from zoolab.loop.about import about
from zoolab.models.assembly import completion_of
from zoolab.models.openai import OpenAIModel
from zoolab.models.transport import chunks_of, client_answered_by
from zoolab.records import Model, Reply, Request

if TYPE_CHECKING:
    import openai

#: Seconds that a refused client is asked to wait before it tries again.
RETRY_AFTER = 0.05
_URL = "http://faulty.invalid/v1"
_SAYS = {
    401: "Incorrect API key provided: sk-proj-zoolab0000example0000opens0000nothing",
    429: "Too many requests: this endpoint is busy",
    500: "The server had an error",
}
_WELL: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": ""}}]}


def refuse(model: Model, request: Request, status: int, attempts: int) -> int:
    """Answer the client's first attempts with a status; the number of attempts that it took to get through.

    The client is as patient as the one of `model`, if that has one; else it tries once.

    Raises:
        ModelError: The client gave up, as it does with a real endpoint.

    >>> from zoolab.models.scripted import Scripted
    >>> refuse(Scripted([]), Request([{"role": "user", "content": "Hi"}]), 500, 1)
    Traceback (most recent call last):
    zoolab.errors.ModelError: http://faulty.invalid/v1/ answered 500: The server had an error
    """
    tried = 0

    def respond(http: Any) -> Any:
        nonlocal tried
        tried += 1
        if tried > attempts:
            return http.Response(200, json=_WELL)
        said = {"error": {"message": _SAYS[status], "code": status}}
        return http.Response(status, json=said, headers={"retry-after": str(RETRY_AFTER)})

    OpenAIModel("faulty", _client(respond, model))(request)
    return tried


def drop(model: Model, request: Request, reply: Reply) -> int:
    """Send half of the reply as a stream, and drop the connection; no client tries this again.

    Raises:
        ModelError: As with a real endpoint.

    >>> from zoolab.models.scripted import Scripted
    >>> request = Request([{"role": "user", "content": "Hi"}])
    >>> drop(Scripted([]), request, Reply({"role": "assistant", "content": "Hello"}))
    Traceback (most recent call last):
    zoolab.errors.ModelError: ...http://faulty.invalid/v1/...
    """
    events = [f"data: {encode(chunk)}\n\n".encode() for chunk in chunks_of(completion_of(reply))]

    def respond(http: Any) -> Any:
        class Dropped(http.SyncByteStream):  # type: ignore[misc]
            def __iter__(self) -> Iterator[bytes]:
                yield from events[: len(events) // 2]
                raise http.RemoteProtocolError("peer closed connection without sending complete message body")

        return http.Response(200, headers={"content-type": "text/event-stream"}, stream=Dropped())

    OpenAIModel("faulty", _client(respond, model), stream=True)(request)
    return 1


def _client(respond: Callable[[Any], Any], model: Model) -> openai.OpenAI:
    """A client whose requests are answered here, and which is otherwise like the one of the model."""
    own: Any = about(model).client
    return client_answered_by(
        lambda http, _request: respond(http),
        getattr(own, "base_url", _URL),
        getattr(own, "max_retries", 0),
    )
