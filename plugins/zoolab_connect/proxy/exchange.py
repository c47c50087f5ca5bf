"""One request of a program and the answer to it: as they pass through, and as records of zoolab."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from zoolab.apis import APIS
from zoolab.apis.events import events_in, without_error
from zoolab.apis.reading import as_dict
from zoolab.errors import Fault, ModelError
from zoolab.jsontext import json_or, parse_json
from zoolab.models.openai import NOT_JSON
from zoolab.records import Reply, Request, without
from zoolab.secrets import scrub, scrub_json

#: The `finish_reason` of a reply whose connection broke before its end.
BROKEN_OFF = "incomplete"
#: Bytes of a request, and of what is kept of an answer.
MAX_BYTES = 64 * 1024 * 1024
#: The names of the APIs whose conversations are understood, by the path of their requests.
WATCHED: Mapping[str, str] = {each.served_at: each.name for each in APIS.values() if each.watched}
#: What says how a reply is delivered, stored or billed, and nothing of what is asked.
DELIVERY = (
    *("stream", "stream_options", "store", "metadata", "user", "service_tier", "previous_response_id"),
    *("prompt_cache_key", "prompt_cache_retention", "safety_identifier"),
)


SAID_BROKEN_OFF = "the answer broke off"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as the program sent it. The names of headers are in small letters."""

    method: str
    #: With the query, if there is one.
    path: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def api(self) -> str | None:
        """The API of a request for a reply; None for any other request."""
        return WATCHED.get(self.path.partition("?")[0]) if self.method == "POST" else None

    @property
    def body(self) -> dict[str, Any]:
        """The content as an object; empty if it is none."""
        return as_dict(json_or({}, self.content.decode("utf-8", "replace"), MAX_BYTES))


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer; `content` comes in the pieces in which it is to be passed on, and may raise half-way.

    The names of headers are in small letters.
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


def read_request(api: str, content: bytes) -> tuple[Request, dict[str, Any]]:
    """A request for a reply, and its whole body, without secrets.

    Raises `InvalidInput` if it is none, or holds what zoolab has no form for, such as an image; and
    `NotStrictJSON`.
    """
    body = scrub_json(parse_json(content.decode("utf-8", "replace"), MAX_BYTES))
    return only_asked(APIS[api].from_body(body)), body


def only_asked(request: Request) -> Request:
    """A request without the settings that say nothing of what is asked, and differ from run to run."""
    return replace(request, settings=without(request.settings, DELIVERY))


def read_reply(api: str, content: bytes, streamed: bool = False) -> Reply:
    """The reply in an answer, whole or streamed, as it came; raises `ModelError` if there is none."""
    try:
        if streamed:
            return APIS[api].streamed(events_in([content]))
        return APIS[api].reply(without_error(json.loads(content)))
    except NOT_JSON as error:
        raise ModelError(f"the answer is not JSON: {error}", expected="a reply") from None


def said_in(api: str, response: HttpResponse, content: bytes, whole: bool) -> Reply | str:
    """The reply in an answer, without secrets, or why there is none; `whole` is whether all of it came."""
    if response.status >= 400:
        text = content.decode("utf-8", "replace")
        error = as_dict(json_or({}, text)).get("error")
        why = as_dict(error).get("message") or error
        told = scrub_json(why if isinstance(why, str) else text)
        return f"the endpoint answered {response.status}: {' '.join(told.split())[:300]}"
    try:
        reply = read_reply(api, content, "event-stream" in response.headers.get("content-type", ""))
    except Exception as error:
        return scrub(str(error)) if whole else SAID_BROKEN_OFF
    message, raw = scrub_json(reply.message), scrub_json(reply.raw)
    finish = reply.finish_reason if whole or not reply.is_whole else BROKEN_OFF
    return Reply(message, finish, reply.usage, reply.model, raw=raw, faults=response.faults)
