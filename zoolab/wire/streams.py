"""A streamed answer of each API, put together from its events: pure, nothing is received here.

An event is a dict: the data of a server-sent event, or a line of Ollama's. Each function of `STREAMS` tells
what an event adds to the message, as a delta of Chat Completions (empty if it adds nothing), and returns the
answer in the form that the same API gives without streaming, for `WireFormat.from_response`. It raises
`ModelError` if the stream ends too early.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, cast

from zoolab.errors import ModelError
from zoolab.jsontext import encode, excerpt
from zoolab.records import Message
from zoolab.wire.chat import arguments_object

Body = dict[str, Any]
Tell = Callable[[Message], None]


def events_in(parts: Iterable[bytes]) -> Iterator[Body]:
    """The events in the bytes of a stream: server-sent events, or one JSON object a line.

    Only line feeds end a line: U+0085 and U+2028 may stand in JSON.
    """
    waiting: list[bytes] = []
    for part in chain(parts, [b"\n"]):
        first, *others = part.split(b"\n")
        waiting.append(first)
        for begun in others:
            line = b"".join(waiting).removeprefix(b"data:").strip()
            waiting = [begun]
            if line.startswith(b"{"):
                yield without_error(json.loads(line))


def without_error(answer: Any) -> Body:
    """The answer, or the event, itself; raises `ModelError` if it says that the request failed."""
    whole = as_dict(answer)
    error = whole.get("error") or as_dict(whole.get("response")).get("error")
    if error or whole.get("type") in ("error", "response.failed"):
        said = as_dict(error).get("message") or error or whole.get("message") or whole
        told = said if isinstance(said, str) else excerpt(said)
        raise ModelError(f"the answer ended with an error: {told}", advice="ask again")
    return whole


def _anthropic(events: Iterable[Body], tell: Tell) -> Body:
    """Messages: blocks that grow, by index."""
    answer: Body = {}
    blocks: dict[str, Body] = {}
    calls = _Calls()
    for event in events:
        place = str(event.get("index"))
        match event:
            case {"type": "message_start", "message": dict(message)}:
                answer = {**message}
            case {"type": "content_block_start", "content_block": dict(block)}:
                blocks[place] = {**block}
                if block.get("type") == "tool_use":
                    whole = encode(block["input"]) if block.get("input") else ""
                    tell(calls.begin(place, block, whole))
            case {"type": "content_block_delta", "delta": dict(delta)}:
                block = blocks.setdefault(place, {})
                for key, text in delta.items():
                    if key != "type" and isinstance(text, str):
                        block[key] = f"{block.get(key) or ''}{text}"
                tell(_text(delta.get("text")) or calls.more(place, delta.get("partial_json")))
            case {"type": "message_delta"}:
                usage = {**as_dict(answer.get("usage")), **as_dict(event.get("usage"))}
                answer |= {**as_dict(event.get("delta")), "usage": usage}
            case {"type": "message_stop"}:
                for block in blocks.values():
                    if text := block.pop("partial_json", ""):
                        block["input"] = arguments_object(text)
                return {**answer, "content": [*blocks.values()]}
    raise _too_early()


def _responses(events: Iterable[Body], tell: Tell) -> Body:
    """Responses: the last event holds the whole answer, or its items came before."""
    items: list[Body] = []
    calls = _Calls()
    for event in events:
        item, place = as_dict(event.get("item")), str(event.get("output_index"))
        match event.get("type"), item.get("type"):
            case "response.output_text.delta" | "response.refusal.delta", _:
                tell(_text(event.get("delta")))
            case "response.function_call_arguments.delta", _:
                tell(calls.more(place, event.get("delta")))
            case "response.output_item.added", "function_call":
                tell(calls.begin(place, {**item, "id": item.get("call_id")}))
            case "response.output_item.done", kind:
                items.append(item)
                if kind == "custom_tool_call":
                    whole = encode({"input": item.get("input")})
                    tell(calls.begin(place, {**item, "id": item.get("call_id")}, whole))
            case "response.completed" | "response.incomplete", _:
                answer = as_dict(event.get("response"))
                return {**answer, "output": answer.get("output") or items}
    raise _too_early()


def _gemini(events: Iterable[Body], tell: Tell) -> Body:
    """generateContent: each event is a response with further parts."""
    answer: Body = {}
    candidate: Body = {}
    parts: list[Body] = []
    calls = _Calls()
    for event in events:
        candidates = event.get("candidates")
        found = as_dict(candidates[0] if isinstance(candidates, list) and candidates else None)
        answer, candidate = {**answer, **event}, {**candidate, **found}
        for part in dicts_in(as_dict(found.get("content")).get("parts")):
            parts.append(part)
            call = as_dict(part.get("functionCall"))
            tell(calls.whole(call, "args") if call else _text(part.get("text"), part.get("thought")))
    if "content" in candidate:
        candidate["content"] = {"role": "model", "parts": parts}
    if candidate.get("finishReason") or answer.get("promptFeedback"):
        return {**answer, "candidates": [candidate]}
    raise _too_early()


def _ollama(events: Iterable[Body], tell: Tell) -> Body:
    """/api/chat: each line is a response with a further piece of the message."""
    message: Body = {"role": "assistant", "content": ""}
    calls = _Calls()
    for event in events:
        added = as_dict(event.get("message"))
        for key in ("content", "thinking"):
            if isinstance(text := added.get(key), str) and text:
                message[key] = message.get(key, "") + text
        tell(_text(added.get("content")))
        for call in dicts_in(added.get("tool_calls")):
            message.setdefault("tool_calls", []).append(call)
            tell(calls.whole({**as_dict(call.get("function")), "id": call.get("id")}, "arguments"))
        if event.get("done"):
            return {**event, "message": message}
    raise _too_early()


#: What puts the events of an API together, by the name of its format.
STREAMS: Mapping[str, Callable[[Iterable[Body], Tell], Body]] = {
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}


class _Calls:
    """The calls of a stream, as deltas: APIs number all their blocks, Chat Completions the calls alone."""

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}

    def begin(self, place: str, call: Body, arguments: str = "") -> Message:
        """The first delta of a call."""
        slot = self._slots[place] = len(self._slots)
        own = {"id": call["id"]} if call.get("id") else {}
        function = {"name": call.get("name"), "arguments": arguments}
        return {"tool_calls": [{"index": slot, **own, "type": "function", "function": function}]}

    def whole(self, call: Body, field: str) -> Message:
        """The only delta of a call whose arguments are an object in this field."""
        return self.begin(str(len(self._slots)), call, encode(call.get(field) or {}))

    def more(self, place: str, arguments: Any) -> Message:
        """A further delta of a call; empty if the block is not a call."""
        if place not in self._slots or not arguments:
            return {}
        return {"tool_calls": [{"index": self._slots[place], "function": {"arguments": arguments}}]}


def as_dict(value: object) -> Body:
    """`value` if it is a dict, else an empty one."""
    return cast("Body", value) if isinstance(value, dict) else {}


def dicts_in(value: object) -> list[Body]:
    """The dicts in `value` if it is a list, else none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(text: Any, hidden: Any = False) -> Message:
    return {"content": text} if isinstance(text, str) and text and not hidden else {}


def _too_early() -> ModelError:
    return ModelError("the stream ended before the reply was complete", advice="try again")
