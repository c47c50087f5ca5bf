"""Which request is this? The same for what was said, whatever ids the calls had."""

from __future__ import annotations

from zoolab.jsontext import digest
from zoolab.models.keys import RequestKeys
from zoolab.records import Message, Request


class RequestNames:
    """Names requests. It remembers the messages of the last one, since most requests only add to it.

    >>> names = RequestNames()
    >>> results = [{"role": "tool", "tool_call_id": i, "content": "3"} for i in ("call_1", "x")]
    >>> names.of(Request(results[:1])) == names.of(Request(results[1:]))
    True
    """

    def __init__(self) -> None:
        self._known: list[tuple[Message, str]] = []

    def of(self, request: Request) -> str:
        """The name of a request, at little cost for messages that are those of the last one."""
        known, messages = self._known, request.messages
        same = 0
        for message, (other, _name) in zip(messages, known, strict=False):
            if message is not other:
                break
            same += 1
        named = known[:same]
        for message in messages[same:]:
            before = named[-1][1] if named else ""
            named.append((message, digest(before + RequestKeys().of({"messages": [_without_ids(message)]}))))
        self._known = named
        rest = RequestKeys().of({**request.body(), "messages": []})
        return digest(rest + (named[-1][1] if named else ""))


def _without_ids(message: Message) -> Message:
    without: Message = {key: value for key, value in message.items() if key != "tool_call_id"}
    if message.get("tool_calls"):
        without["tool_calls"] = [call.get("function") for call in message["tool_calls"]]
    return without
