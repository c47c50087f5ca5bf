"""A reply of an endpoint, whole or in pieces.

The openai client's own assembly of streamed deltas breaks on calls that are interleaved or lack an index;
here they are put together by slot.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from zoolab.errors import ModelError
from zoolab.jsontext import encode, excerpt
from zoolab.loop.about import tell_delta
from zoolab.records import Message, Reply
from zoolab.wire.streams import as_dict, dicts_in

_LONGEST_EXCERPT = 4_000


def reply_from(body: object) -> Reply:
    """The reply in a chat completion; raises `ModelError` if there is none."""
    whole = as_dict(body)
    choice = _first(whole.get("choices"))
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ModelError(
            f"the endpoint answered {excerpt(body, _LONGEST_EXCERPT)}",
            expected="a chat completion with a message",
        )
    return Reply(
        {"role": "assistant", **cast("Message", message)},
        choice.get("finish_reason"),
        as_dict(whole.get("usage")) or None,
        whole.get("model"),
        raw=whole,
    )


def completion_of(reply: Reply) -> dict[str, Any]:
    """The smallest chat completion that holds a reply."""
    ended = reply.finish_reason or ("tool_calls" if reply.message.get("tool_calls") else "stop")
    choice = {"index": 0, "message": reply.message, "finish_reason": ended}
    head = {"id": "zoolab", "object": "chat.completion", "created": 0, "model": reply.model or "unknown"}
    usage = {} if reply.usage is None else {"usage": dict(reply.usage)}
    return {**head, "choices": [choice], **usage}


def assemble(chunks: Iterable[object]) -> Reply:
    """Put the chunks of a streamed reply together, calls by slot, and tell each delta when it arrives.

    A delta without an index goes on with the call that has its id, or with the last one; a delta with
    a new id, or with a name where no id and no index say whose it is, begins another call.
    """
    message: Message = {"role": "assistant", "content": None}
    calls = _CallsBySlot()
    pieces: list[dict[str, Any]] = []
    finish, usage, model = None, None, None
    for chunk in map(as_dict, chunks):
        usage, model = as_dict(chunk.get("usage")) or usage, chunk.get("model") or model
        choice = _first(chunk.get("choices"))
        finish = choice.get("finish_reason") or finish
        if choice:
            delta = as_dict(choice.get("delta"))
            pieces.append(delta)
            tell_delta(delta)
            for key in ("content", "refusal", "reasoning_content", "reasoning"):
                if isinstance(delta.get(key), str):
                    message[key] = (message.get(key) or "") + delta[key]
            if "extra_content" in delta:
                message["extra_content"] = delta["extra_content"]
            for part in dicts_in(delta.get("tool_calls")):
                calls.add(part)
    if calls.calls:
        message["tool_calls"] = calls.calls
    if not pieces:
        raise ModelError(
            "the stream ended before a reply began", expected="a stream of events that ends with [DONE]"
        )
    return Reply(message, finish, usage, model, tuple(pieces))


class _CallsBySlot:
    """Calls under construction, in the order in which they began."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self._at_index: dict[int, list[dict[str, Any]]] = {}

    def add(self, part: dict[str, Any]) -> None:
        call = self._call_of(part)
        function, given = call["function"], as_dict(part.get("function"))
        call["id"] = call["id"] or part.get("id")
        if "extra_content" in part:
            call["extra_content"] = part["extra_content"]
        name, arguments = given.get("name") or "", given.get("arguments")
        if name != function["name"]:
            function["name"] += str(name)
        if arguments is not None:
            function["arguments"] += arguments if isinstance(arguments, str) else encode(arguments)

    def _call_of(self, part: dict[str, Any]) -> dict[str, Any]:
        index, own = part.get("index"), part.get("id")
        indexed = isinstance(index, int)
        known = self._at_index.setdefault(index, []) if isinstance(index, int) else self.calls
        same = next((call for call in reversed(known) if own and call["id"] == own), None)
        call = same or (known[-1] if known else None)
        if call is None or _begins_another(part, call, indexed):
            call = {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
            self.calls.append(call)
            if known is not self.calls:
                known.append(call)
        return call


def _begins_another(part: dict[str, Any], call: dict[str, Any], indexed: bool) -> bool:
    """Whether a delta is the first of a call other than the one it seems to belong to."""
    own, name = part.get("id"), as_dict(part.get("function")).get("name")
    if own and call["id"] and own != call["id"]:
        return bool(name) or not indexed
    identified = indexed or bool(own and call["id"])
    if not name or not identified:
        return bool(name)
    # Some endpoints repeat the name in each delta, and some give every call the same index or id.
    return bool(call["function"]["arguments"]) and name != call["function"]["name"]


def _first(choices: object) -> dict[str, Any]:
    """The first choice; if several were asked for, chunks of the others come between."""
    return next((choice for choice in dicts_in(choices) if not choice.get("index")), {})
