"""A model that says what a script tells it: for tests, for teaching, and for trying a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from zoolab.errors import InvalidInput, ModelError
from zoolab.jsontext import encode
from zoolab.records import Message, Reply, Request

Calls = Sequence[tuple[str, "dict[str, Any] | str"]]
ScriptedReply = str | Message | Calls | Callable[[Request], "str | Message | Calls"]


class Scripted:
    """Answers each request with the next reply of a script.

    A reply is a string (the final text), an assistant message (a dict), a list of
    `(name, arguments)` pairs where arguments are a dict or raw text, or a callable from the request
    to one of these. A callable in place of the list answers every request.

    Raises:
        ModelError: The script has ended.

    >>> model = Scripted([[("add", {"a": 1})], "Done."])
    >>> model(Request([])).message["tool_calls"][0]["function"]
    {'name': 'add', 'arguments': '{"a":1}'}
    >>> model(Request([])).text
    'Done.'
    """

    made = "authored"
    who = "written by hand, for teaching"

    def __init__(self, replies: Iterable[ScriptedReply] | Callable[[Request], Any]) -> None:
        self._replies = iter(replies) if isinstance(replies, Iterable) else iter(lambda: replies, None)
        self._calls_made = 0
        self._requests = 0

    def __repr__(self) -> str:
        return f"<Scripted, {self._requests} requests so far>"

    def __call__(self, request: Request) -> Reply:
        self._requests += 1
        try:
            reply = next(self._replies)
        except StopIteration:
            raise ModelError(
                f"the script has no reply to request {self._requests}", advice="add a reply to the script"
            ) from None
        return self._as_reply(reply(request) if callable(reply) else reply)

    def _as_reply(self, reply: Any) -> Reply:
        if isinstance(reply, Reply):
            return reply
        if isinstance(reply, str):
            reply = {"content": reply}
        if isinstance(reply, list | tuple):
            reply = {"content": None, "tool_calls": [self._call(pair) for pair in reply]}
        if isinstance(reply, dict):
            finish = "tool_calls" if reply.get("tool_calls") else "stop"
            return Reply({"role": "assistant", **reply}, finish, model="scripted")
        raise InvalidInput(
            f"a scripted reply is {reply!r}", expected="text, a message, or (name, arguments) pairs"
        )

    def _call(self, pair: Any) -> dict[str, Any]:
        try:
            name, arguments = pair
        except (TypeError, ValueError):
            raise InvalidInput(f"a scripted call is {pair!r}", expected="a pair (name, arguments)") from None
        self._calls_made += 1
        text = arguments if isinstance(arguments, str) else encode(arguments)
        return {
            "id": f"call_{self._calls_made}",
            "type": "function",
            "function": {"name": name, "arguments": text},
        }
