"""Which request is this? A name for what is asked, at a cost that does not grow with the conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from zoolab.jsontext import canonical, digest
from zoolab.secrets import scrub_json

#: How a reply is delivered is no part of what is asked.
DELIVERY = ("stream", "stream_options")
#: What a result's envelope says differently each time: how long the tool took, and when it ran.
_VOLATILE = re.compile(r'(\\"execution_time_ms\\":|\\"timestamp\\":)\d+')


class RequestKeys:
    """Names requests. It remembers the messages of the last one, since most requests only add to it.

    >>> keys = RequestKeys()
    >>> keys.of({"messages": [], "stream": True}) == keys.of({"messages": []})
    True
    """

    def __init__(self) -> None:
        self._messages: list[tuple[Any, str]] = []
        self._rest: tuple[Any, str] = (None, "")

    def of(self, body: Mapping[str, Any]) -> str:
        """The name of a request: the same however it is streamed, whenever its tools ran, without secrets."""
        rest = {key: value for key, value in body.items() if key != "messages" and key not in DELIVERY}
        named_rest = self._rest
        if named_rest[0] != rest:
            named_rest = self._rest = _named(rest)
        known, messages = self._messages, body.get("messages") or []
        same = min(len(known), len(messages))
        named = [known[i] if known[i][0] == messages[i] else _named(messages[i]) for i in range(same)]
        named += map(_named, messages[same:])
        self._messages = named
        return digest(named_rest[1] + "".join(name for _, name in named))


def _named(value: Any) -> tuple[Any, str]:
    """A copy of a part of a request, to know it again, and its name."""
    copy = json.loads(canonical(value))
    return copy, digest(_VOLATILE.sub(r"\g<1>0", canonical(scrub_json(copy))))
