"""Keys of requests, computed from their content; the cost does not grow with the conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from zoolab.jsontext import canonical, digest
from zoolab.records import Message, Request
from zoolab.secrets import scrub_json

#: How a reply is delivered is not part of what is asked.
DELIVERY = ("stream", "stream_options")
# The end of a result in zoolab's envelope (see zoolab/steps/result.py): the times differ in each run.
_TIMES = re.compile(
    r'\A((?:\[untrusted data from .*?\]\n)?\{"success":.*,"metadata":\{"execution_time_ms":)[0-9]+'
    r'(,"data_size_bytes":[0-9]+,"timestamp":)[0-9]+(\}\})\Z',
    re.DOTALL,
)


class RequestKeys:
    """Names requests. It remembers the messages of the last one, because most requests only add to it.

    Two requests have the same name if they differ only in delivery, in the times at the end of a
    result's envelope, or in secrets, which no recording keeps.
    """

    def __init__(self) -> None:
        self._messages: list[tuple[str, str]] = []
        self._rest: tuple[str, str] = ("", "")

    def of(self, body: Mapping[str, Any]) -> str:
        """The name of a request: the same however it is streamed, whenever its tools ran, without secrets."""
        messages = body.get("messages")
        listed: list[Any] = messages if isinstance(messages, list) else []
        rest = {key: value for key, value in body.items() if key not in DELIVERY}
        if "messages" in rest:
            rest["messages"] = len(listed) if listed else messages
        named_rest = self._rest = _named(rest, self._rest)
        known = self._messages[: len(listed)]
        named = [_named(message, before) for message, before in zip(listed, known, strict=False)]
        named += [_named(message) for message in listed[len(known) :]]
        self._messages = named
        return digest(named_rest[1] + "".join(name for _, name in named))


def name_without_ids(request: Request) -> str:
    """The name of a request, the same whatever ids its calls have."""
    named = ""
    for message in request.messages:
        named = digest(named + RequestKeys().of({"messages": [_without_ids(message)]}))
    return digest(RequestKeys().of({**request.body(), "messages": []}) + named)


def _named(value: Any, known: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """A part of a request as text, and its name; `known` is returned if it is that of the same part.

    The texts are compared, not the values: `1 == True` in Python, but not in JSON.
    """
    text = canonical(value)
    if text == known[0]:
        return known
    part = scrub_json(json.loads(text))
    if isinstance(part, dict) and part.get("role") == "tool" and isinstance(part.get("content"), str):
        part["content"] = _TIMES.sub(r"\g<1>0\g<2>0\g<3>", part["content"])
    return text, digest(canonical(part))


def _without_ids(message: Message) -> Message:
    without: Message = {key: value for key, value in message.items() if key != "tool_call_id"}
    if message.get("tool_calls"):
        without["tool_calls"] = [call.get("function") for call in message["tool_calls"]]
    return without
