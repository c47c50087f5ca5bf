"""What a request and an answer say, in the form of zoolab's records."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from zoolab.errors import ModelError
from zoolab.jsontext import NotStrictJSON, parse_json
from zoolab.models.assembly import assemble, reply_from
from zoolab.models.openai import NOT_JSON
from zoolab.models.providers import reply_in
from zoolab.proxy.exchange import MAX_BYTES
from zoolab.records import Reply, Request, without
from zoolab.secrets import scrub_json
from zoolab.wire import FORMATS
from zoolab.wire.streams import STREAMS, as_dict, events_in, without_error

#: What says how a reply is delivered, stored or billed, and nothing of what is asked.
DELIVERY = (
    *("stream", "stream_options", "store", "metadata", "user", "service_tier", "previous_response_id"),
    *("prompt_cache_key", "prompt_cache_retention", "safety_identifier"),
)


def read_request(api: str, content: bytes) -> tuple[Request, dict[str, Any]]:
    """A request for a reply, and its whole body, without secrets.

    Raises `InvalidInput` if it is none, or holds what zoolab has no form for, such as an image; and
    `NotStrictJSON`.
    """
    body = scrub_json(parse_json(content.decode("utf-8", "replace"), MAX_BYTES))
    return only_asked(FORMATS[api].from_body(body)), body


def only_asked(request: Request) -> Request:
    """A request without the settings that say nothing of what is asked, and differ from run to run."""
    return replace(request, settings=without(request.settings, DELIVERY))


def read_reply(api: str, content: bytes, streamed: bool = False) -> Reply:
    """The reply in an answer, whole or streamed, as it came; raises `ModelError` if there is none."""
    try:
        if api == "openai" and streamed:
            return assemble(events_in([content]))
        if streamed:
            return reply_in(api, STREAMS[api](events_in([content]), lambda _: None))
        answer = without_error(json.loads(content))
        return reply_from(answer) if api == "openai" else reply_in(api, answer)
    except NOT_JSON as error:
        raise ModelError(f"the answer is not JSON: {error}", expected="a reply") from None


def why_refused(status: int, content: bytes) -> str:
    """What an endpoint said with an error, in one line."""
    try:
        error = as_dict(parse_json(content.decode("utf-8", "replace"))).get("error")
    except NotStrictJSON:
        error = None
    said = as_dict(error).get("message") or error
    told = scrub_json(said if isinstance(said, str) else content.decode("utf-8", "replace"))
    return f"the endpoint answered {status}: {' '.join(told.split())[:300]}"
