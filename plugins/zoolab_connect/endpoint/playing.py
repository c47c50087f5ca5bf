"""One conversation with a program: which reply comes next, and what was wrong with the requests."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

from zoolab.errors import InvalidInput
from zoolab.jsontext import encode, excerpt
from zoolab_connect.endpoint.cases import Body, ReportedCase
from zoolab_connect.endpoint.reading import objects_in, sent_turns
from zoolab_connect.endpoint.strict import RULES, broken_rule, rejected

#: Requests of one conversation; a program that asks more often is told to stop.
MAX_REQUESTS = 50


class WireAnswer(NamedTuple):
    """What goes over the wire: a body, or the events of a stream."""

    status: int
    content: Any
    streamed: bool = False


class Play:
    """A case that is being played; every request comes in turn."""

    def __init__(self, case: ReportedCase) -> None:
        unknown = [rule for rule in case.refuses if rule not in RULES]
        if unknown:
            what = f"the case {excerpt(case.id)} has the unknown rule {excerpt(unknown[0])}"
            raise InvalidInput(what, expected=", ".join(RULES))
        self.case = case
        #: The bodies of the requests.
        self.requests: list[Body] = []
        #: The requests to addresses that this API does not have.
        self.strays: list[str] = []
        #: What the strict server refused.
        self.refused: list[str] = []
        #: What should have come back and did not.
        self.lost: list[str] = []
        #: The settings that were rejected.
        self.rejected: list[str] = []
        #: The number of replies that were given, and whether the last request got one.
        self.given = 0
        self.heard = False
        #: Whether the last reply was streamed.
        self.streamed = False
        self._lock = Lock()

    def answer(self, body: Body, *, streamed: bool) -> WireAnswer:
        """Return the answer to a request."""
        with self._lock:
            self.heard = False
            if len(self.requests) >= MAX_REQUESTS:
                return WireAnswer(429, failure(self.case.api, 429, "too many requests in this conversation"))
            self.requests.append(body)
            return self._refusal(body) or self._next(streamed=streamed)

    @property
    def last_end(self) -> str | None:
        """How the last reply ended; None if none was given."""
        return self.case.ends[min(self.given, len(self.case.ends)) - 1] if self.given else None

    def stray(self, address: str) -> None:
        """Keep a request to an address that is not served."""
        with self._lock:
            if len(self.strays) < MAX_REQUESTS:
                self.strays.append(address[:200])

    def _next(self, *, streamed: bool) -> WireAnswer:
        place = min(self.given, len(self.case.ends) - 1)
        self.given = self.given + 1
        self.heard = True
        self.streamed = streamed
        reply = (self.case.streamed if streamed else self.case.plain)[place]
        if isinstance(reply, dict) and reply.keys() == {"status", "body"}:
            return WireAnswer(reply["status"], reply["body"])
        return WireAnswer(200, reply, streamed)

    def _refusal(self, body: Body) -> WireAnswer | None:
        case = self.case
        found = rejected(case.rejects, body)
        if found is not None:
            self.rejected.append(found["setting"])
            return WireAnswer(found["status"], found["body"])
        said = case.plain[: self.given]
        why = broken_rule(case.refuses, case.api, body, said)
        if why is not None:
            self.refused.append(why)
        elif self.given and any(turn.side == "assistant" for turn in sent_turns(case.api, body)):
            why = self._missing(body)
        return None if why is None else WireAnswer(400, failure(case.api, 400, why))

    def _missing(self, body: Body) -> str | None:
        """Return what the server misses in a conversation that comes back; a changed text is only noted."""
        case = self.case
        texts = [text.strip() for turn in sent_turns(case.api, body) for text in turn.texts]
        self.lost += [f"the text {excerpt(text)}" for text in case.must_say if text not in texts]
        missing = [each for each in case.must_return if not _stands_in(each, body)]
        self.lost += [excerpt(encode(each), 120) for each in missing]
        return f"{encode(missing[0])} has to come back" if missing else None


def _stands_in(wanted: Body, body: Body) -> bool:
    return any(_matches(wanted, found) for found in objects_in(body))


def _matches(wanted: Any, found: Any) -> bool:
    """Return whether a value holds all that is wanted; an object may hold more."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(_matches(wanted[key], found.get(key)) for key in wanted)
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(_matches(*pair) for pair in zip(wanted, found, strict=True))
        )
    return type(wanted) is type(found) and bool(wanted == found)


def failure(api: str, status: int, message: str) -> Body:
    """Return an error in the form of an API.

    >>> failure("ollama", 400, "a message is empty")
    {'error': 'a message is empty'}
    """
    if api == "ollama":
        return {"error": message}
    if api == "anthropic":
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    if api == "gemini":
        return {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


def events(api: str, sequence: Sequence[Any]) -> list[bytes]:
    """Return the events of a stream as an API writes them: lines of JSON for Ollama, server-sent events else.

    >>> events("anthropic", [{"type": "message_stop"}])
    [b'event: message_stop\\ndata: {"type":"message_stop"}\\n\\n']
    """
    if api == "ollama":
        return [f"{encode(event)}\n".encode() for event in sequence]
    named = api in ("anthropic", "responses")
    texts = [event if isinstance(event, str) else encode(event) for event in sequence]
    heads = [f"event: {event['type']}\n" if named else "" for event in sequence]
    return [f"{head}data: {text}\n\n".encode() for head, text in zip(heads, texts, strict=True)]
