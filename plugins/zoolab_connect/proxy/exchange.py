"""One request of a program and the answer to it: as they pass through, and as records of zoolab."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from zoolab.apis import APIS
from zoolab.apis.events import NOT_JSON, without_error
from zoolab.apis.reading import as_dict
from zoolab.errors import InvalidInput, ModelError
from zoolab.fault import Fault
from zoolab.jsontext import json_or, parse_json
from zoolab.records import Reply, Request, without
from zoolab.secrets import scrub, scrub_json
from zoolab_connect.apis.streams import events_in
from zoolab_connect.proxy.addresses import ApiAddress
from zoolab_connect.proxy.encodings import decoded
from zoolab_connect.proxy.recognising import api_asked, model_named, wants_stream

#: The `finish_reason` of a reply whose connection broke before its end.
BROKEN_OFF = "incomplete"
#: Bytes of a request, and of what is kept of an answer.
MAX_BYTES = 64 * 1024 * 1024
#: What says how a reply is delivered, stored or billed, and nothing of what is asked.
DELIVERY = (
    *("stream", "stream_options", "store", "metadata", "user", "service_tier", "previous_response_id"),
    *("prompt_cache_key", "prompt_cache_retention", "safety_identifier"),
)


SAID_BROKEN_OFF = "the answer broke off"


@dataclass(frozen=True)
class HttpRequest:
    """A request as the program sent it. The names of headers are in small letters; `Headers` keep repeats."""

    method: str
    #: With the query, if there is one.
    path: str
    headers: Mapping[str, str]
    content: bytes
    #: The endpoint whose address the program used; None if it is to be told from the request.
    door: ApiAddress | None = None

    @cached_property
    def api(self) -> str | None:
        """The API of a request for a reply; None for any other request."""
        if self.method != "POST":
            return None
        # A large body is read only if the path does not tell.
        found = api_asked(self.path, self.headers, {}) or api_asked(self.path, self.headers, self.body)
        return found.name if found else None

    @cached_property
    def text(self) -> str:
        """The content without its encodings; raises `InvalidInput` if it cannot be read."""
        plain = decoded(self.content, self.headers.get("content-encoding", ""), MAX_BYTES)
        return plain.decode("utf-8", "replace")

    @cached_property
    def body(self) -> dict[str, Any]:
        """The content as an object; empty if it is none."""
        if self.method != "POST":
            return {}
        try:
            return as_dict(json_or({}, self.text, MAX_BYTES))
        except InvalidInput:
            return {}

    @property
    def wants_stream(self) -> bool:
        """Whether a request for a reply asks for a stream."""
        return wants_stream(str(self.api), self.path, self.body)

    @property
    def model(self) -> str:
        """The model that a request for a reply names; empty if it names none."""
        return model_named(str(self.api), self.path, self.body)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer; `content` comes in the pieces in which it is to be passed on, and may raise half-way.

    The names of headers are in small letters; `Headers` keep those that are repeated. A `content-length`
    stands for the content, so that one which is too short is seen to be broken off.
    """

    status: int
    headers: Mapping[str, str]
    content: Iterable[bytes]
    #: What was broken on purpose in it.
    faults: tuple[Fault, ...] = ()
    #: Gives the content back, read or not.
    close: Callable[[], None] = lambda: None


#: Who answers a request: the real endpoint, or a model of zoolab.
Upstream = Callable[[HttpRequest], HttpResponse]


def read_request(api: str, asked: HttpRequest, left: list[str]) -> tuple[Request, dict[str, Any]]:
    """Return a request for a reply, and its whole body, without secrets.

    What zoolab has no form for is named in `left`. Raises `InvalidInput` if it is no request; and
    `NotStrictJSON`.
    """
    body = scrub_json(parse_json(asked.text, MAX_BYTES))
    request = only_asked(APIS[api].from_body(body, left))
    return with_model(request, model_named(api, asked.path, as_dict(body))), body


def with_model(request: Request, model: str) -> Request:
    """Return a request that names its model, if its API names it in the address alone."""
    if not model or "model" in request.settings:
        return request
    return replace(request, settings={"model": model, **request.settings})


def only_asked(request: Request) -> Request:
    """Return a request without the settings that say nothing of what is asked, and differ from run to run."""
    return replace(request, settings=without(request.settings, DELIVERY))


def read_reply(api: str, content: bytes, streamed: bool = False) -> Reply:
    """Return the reply in an answer, whole or streamed, as it came; raises `ModelError` if there is none."""
    try:
        if streamed:
            return APIS[api].streamed(events_in([content]))
        answer = json.loads(content)
        if isinstance(answer, list):  # Gemini streams a list if nobody asks for server-sent events
            return APIS[api].streamed(map(without_error, answer))
        return APIS[api].reply(without_error(answer))
    except NOT_JSON as error:
        raise ModelError(f"the answer is not JSON: {error}", expected="a reply") from None


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of an answer, without its encodings."""

    content: bytes
    #: Whether all of it came.
    whole: bool
    #: Why it cannot be read.
    problem: str = ""


def reply_or_reason(api: str, response: HttpResponse, heard: Heard) -> Reply | str:
    """Return the reply in an answer, without secrets, or why there is none."""
    content = heard.content
    whole = heard.whole
    if heard.problem and response.status < 400:
        return f"the answer {heard.problem}"
    if response.status >= 400:
        text = content.decode("utf-8", "replace") or f"its content {heard.problem}"
        error = as_dict(json_or({}, text)).get("error")
        why = as_dict(error).get("message") or error
        told = scrub_json(why if isinstance(why, str) else text)
        return f"the endpoint answered {response.status}: {' '.join(told.split())[:300]}"
    try:
        kind = response.headers.get("content-type", "")
        reply = read_reply(api, content, "event-stream" in kind or "ndjson" in kind)
    except Exception as error:
        return scrub(str(error)) if whole else SAID_BROKEN_OFF
    message = scrub_json(reply.message)
    raw = scrub_json(reply.raw)
    finish = reply.finish_reason if whole or not reply.is_whole else BROKEN_OFF
    return Reply(message, finish, reply.usage, reply.model, raw=raw, faults=response.faults)
