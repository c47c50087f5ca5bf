"""A recording answers an ordinary client, whose requests say the same in another form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoolab.apis import APIS
from zoolab.errors import ReplayMiss
from zoolab.files import read_shipped
from zoolab.jsontext import canonical, parse_json
from zoolab.models.replay import Replay
from zoolab.models.request_keys import RequestKeys
from zoolab.records import Reply, Request, without

_NOTICE = re.compile(r"\A\[untrusted data from [^\n]*\]\n")
_ENVELOPE = {"success", "data", "error_message", "error_type", "metadata"}
#: The words of a reasoning model to itself, which clients keep or lose.
_REASONING = {"reasoning_content", "reasoning"}
_EMPTY: tuple[Any, ...] = (None, [], {})


class RecordedFor(Replay):
    """A recording that answers a request which means the same as a recorded one.

    In messages and tools, absent and null (or empty) are equal, and so are a result in zoolab's envelope and
    the plain result. Reasoning may be left out. A request that is recorded as it stands has that answer.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        keys = RequestKeys()
        #: The recorded bodies by the names of what they mean; of several, the first.
        self._meant: dict[str, dict[str, Any]] = {}
        for body in self.recording.requests:
            self._meant.setdefault(keys.of(plain_body(body)), body)
        self._keys = keys

    def __call__(self, request: Request) -> Reply:
        """Answer as the request was answered when it was recorded; raises `ReplayMiss` if none means it."""
        try:
            return super().__call__(request)
        except ReplayMiss:
            found = self._meant.get(self._keys.of(plain_body(self.body(request))))
            response = self.recording.response(self.recording.key_of(found)) if found else None
            if response is None:
                raise
            return APIS["openai"].reply(response)


def plain_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request without what is absent or empty, and with plain results.

    >>> told = '{"success":true,"data":100,"error_message":null,"error_type":"none","metadata":{}}'
    >>> plain_body({"messages": [{"role": "tool", "content": told, "name": None}]})
    {'messages': [{'role': 'tool', 'content': '100'}]}
    """
    messages = [_plain_message(each) for each in body.get("messages") or ()]
    return {**_without_empty(body), "messages": messages}


def _plain_message(message: Any) -> Any:
    if not isinstance(message, Mapping):
        return message
    plain = without(_without_empty(message), _REASONING)
    if plain.get("role") == "tool" and isinstance(plain.get("content"), str):
        plain["content"] = _plain_result(plain["content"])
    return plain


def _without_empty(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item not in _EMPTY}


def _plain_result(text: str) -> str:
    """Return the result in a text, the same whether it stands in an envelope or alone."""
    try:
        value = parse_json(_NOTICE.sub("", text))
    except ValueError:
        return text
    if isinstance(value, dict) and value.keys() == _ENVELOPE:
        value = value["data"] if value["success"] is True else value["error_message"]
    return value if isinstance(value, str) else canonical(value)


def example() -> str:
    """Return a program that the recording `starter` answers to the end, without a network and without
    a key.
    """
    return read_shipped("zoolab_connect.proxy", "example.py.txt")
