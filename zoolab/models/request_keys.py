"""What a request is found by again: two requests have one key if they ask the same."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from typing import Any

from zoolab.jsontext import canonical, digest
from zoolab.jsontext.readonly import ReadOnlyDict
from zoolab.records import without
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

    Two requests have the same name if they differ only in delivery, in the ids of their calls, in whether no
    words beside calls are null or blank, in the times at the end of a result's envelope, or in secrets, which
    no recording keeps.
    """

    def __init__(self) -> None:
        #: Each message of the last request as text, and its name.
        self._messages: list[tuple[str, str]] = []
        #: The same messages as objects: one that cannot change has the text that it had.
        self._objects: list[Any] = []
        self._ids = PlacesOfIds()
        self._lock = threading.Lock()
        self._rest: tuple[str, str] = ("", "")

    def of(self, body: Mapping[str, Any]) -> str:
        """Return the name of a request without secrets: the same however streamed, whenever tools ran."""
        messages = body.get("messages")
        listed: list[Any] = messages if isinstance(messages, list) else []
        rest = without(body, DELIVERY)
        if "messages" in rest:
            rest["messages"] = len(listed) if listed else messages
        text = canonical(rest)
        with self._lock:
            texts = self._texts(listed)
            if text != self._rest[0]:
                self._rest = text, name_of(rest)
            self._follow(texts)
            return digest(self._rest[1] + "".join(name for _, name in self._messages))

    def _texts(self, messages: list[Any]) -> list[str]:
        known = self._objects
        self._objects = list(messages)
        texts = [text for text, _ in self._messages]
        return [
            texts[at]
            if at < min(len(known), len(texts)) and known[at] is message and type(message) is ReadOnlyDict
            else canonical(message)
            for at, message in enumerate(messages)
        ]

    def _follow(self, texts: list[str]) -> None:
        """Name the messages of a request; those that it has in common with the last one have their names.

        The texts are compared, not the values: `1 == True` in Python, but not in JSON.
        """
        known = [text for text, _ in self._messages]
        if texts[: len(known)] != known:
            self._messages = []
            self._ids = PlacesOfIds()
        for text in texts[len(self._messages) :]:
            message = without_blank(self._ids.replace(json.loads(text)))
            self._messages.append((text, name_of(message)))


class PlacesOfIds:
    """Puts the place of each call where its id stood: an id says which call is meant, and nothing else."""

    def __init__(self) -> None:
        self._messages = 0
        self._places: dict[str, str] = {}

    def replace(self, message: Any) -> Any:
        """Return the next message of a conversation, with places for ids."""
        self._messages += 1
        if not isinstance(message, dict):
            return message
        calls = message.get("tool_calls")
        id = message.get("tool_call_id")
        if isinstance(calls, list):
            message = {**message, "tool_calls": [self._call(slot, call) for slot, call in enumerate(calls)]}
        if isinstance(id, str):
            message = {**message, "tool_call_id": self._places.get(id, id)}
        return message

    def _call(self, slot: int, call: Any) -> Any:
        if not isinstance(call, dict) or not isinstance(call.get("id"), str):
            return call
        place = self._places[call["id"]] = f"message {self._messages}, call {slot + 1}"
        return {**call, "id": place}


def without_blank(message: Any) -> Any:
    """Return a message whose words beside calls are null if there are none: servers read both alike."""
    if isinstance(message, dict) and message.get("tool_calls") and message.get("content") == "":
        return {**message, "content": None}
    return message


def name_of(part: Any, scrubs: bool = True) -> str:
    """Return the name of a part of a request."""
    part = scrub_json(json.loads(canonical(part))) if scrubs else part
    if isinstance(part, dict) and part.get("role") == "tool" and isinstance(part.get("content"), str):
        part = {**part, "content": _TIMES.sub(r"\g<1>0\g<2>0\g<3>", part["content"])}
    return digest(canonical(part))
