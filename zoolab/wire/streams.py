"""The streams of the APIs, both ways: an answer put together from its events, and a reply as the response and
the events of an API. Pure: nothing is received or sent here.

An event is a dict: the data of a server-sent event, or a line of Ollama's. Each function of `STREAMS` tells
what an event adds to the message, as a delta of Chat Completions (empty if it adds nothing), and returns the
answer in the form that the same API gives without streaming, for `WireFormat.from_response`. It raises
`ModelError` if the stream ends too early. On the way back, texts are cut here, not by a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, cast

from zoolab.errors import ModelError
from zoolab.jsontext import encode, encode_line, excerpt
from zoolab.records import Message, Reply
from zoolab.tokens import Tokens
from zoolab.wire import FORMATS
from zoolab.wire.chat import RAW, arguments_object

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


#: How many characters of a text or of arguments come in one event.
PIECE = 6
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def response_of(api: str, reply: Reply, model: str, id: str, created: int = 0) -> Body:
    """A reply as the whole response of "openai", "responses" or "anthropic", in the words of that API.

    `model` is the name that the program asked for, `id` what makes the ids of the response unique, `created`
    the seconds since 1970. Raises `InvalidInput` if the reply has no form there.

    >>> reply = Reply({"role": "assistant", "content": "Hi"}, "length", {"prompt_tokens": 9})
    >>> response_of("anthropic", reply, "claude", "1")["stop_reason"]
    'max_tokens'
    """
    body = FORMATS[api].to_response(reply.message)
    return {**body, "model": model, **_RESPONSES[api](body, reply, id, created)}


def _chat_fields(body: Body, reply: Reply, id: str, created: int) -> Body:
    (choice,) = body["choices"]
    ended = {**choice, "finish_reason": reply.finish_reason or choice["finish_reason"]}
    # Programs read it unasked, so a model that counts nothing says 0.
    usage = Tokens.of(reply.usage).usage or dict.fromkeys(_COUNTS, 0)
    return {"id": f"chatcmpl-{id}", "created": created, "choices": [ended], "usage": usage}


_ITEM_IDS = {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc"}


def _responses_fields(body: Body, reply: Reply, id: str, created: int) -> Body:
    output = [
        {**item, "id": f"{_ITEM_IDS[item['type']]}_{id}_{number}"} if item["type"] in _ITEM_IDS else item
        for number, item in enumerate(body["output"], start=1)
    ]
    fields: Body = {"id": f"resp_{id}", "created_at": created, "output": output, "usage": None}
    tokens = Tokens.of(reply.usage)
    if tokens.known is not None:
        fields["usage"] = {
            "input_tokens": tokens.input or 0,
            "input_tokens_details": {"cached_tokens": tokens.cached or 0, "cache_write_tokens": 0},
            "output_tokens": tokens.output or 0,
            "output_tokens_details": {"reasoning_tokens": tokens.reasoning or 0},
            "total_tokens": tokens.known,
        }
    ends = {"length": "max_output_tokens", "content_filter": "content_filter"}
    if reply.finish_reason in ends:
        fields |= {"status": "incomplete", "incomplete_details": {"reason": ends[reply.finish_reason]}}
    return fields


def _anthropic_fields(body: Body, reply: Reply, id: str, _created: int) -> Body:
    tokens = Tokens.of(reply.usage)
    cached = min(tokens.cached or 0, tokens.input or 0)
    usage = {
        "input_tokens": (tokens.input or 0) - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": tokens.output or 0,
    }
    ends = {"length": "max_tokens", "content_filter": "refusal"}
    ended = ends.get(reply.finish_reason or "", body["stop_reason"])
    return {"id": f"msg_{id}", "stop_reason": ended, "usage": usage}


_RESPONSES: Mapping[str, Callable[[Body, Reply, str, int], Body]] = {
    "openai": _chat_fields,
    "responses": _responses_fields,
    "anthropic": _anthropic_fields,
}


def stream_of(api: str, response: Body) -> Iterator[Body]:
    """A whole response of an API as the events of its stream, which `STREAMS` and `assemble` put together."""
    return _EVENTS[api](response)


def server_sent(events: Iterable[Body], done: bool = False) -> Iterator[bytes]:
    """Events as the bytes of server-sent events; one that has a type is named by it.

    With `done`, the stream ends with `[DONE]`, as that of Chat Completions does.

    >>> list(server_sent([{"type": "message_stop"}]))
    [b'event: message_stop\\ndata: {"type":"message_stop"}\\n\\n']
    """
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        yield f"{name}data: {encode_line(event)}\n\n".encode()
    if done:
        yield b"data: [DONE]\n\n"


def chunks_of(completion: Body, piece: int = PIECE) -> Iterator[Body]:
    """A chat completion as the chunks of a stream."""
    shared: Body = {key: completion[key] for key in ("id", "created", "model") if key in completion}
    shared["object"] = "chat.completion.chunk"
    choice = completion["choices"][0]
    for delta in _deltas(choice["message"], piece):
        yield {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**shared, "choices": [{"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}]}
    if completion.get("usage"):
        yield {**shared, "choices": [], "usage": completion["usage"]}


def _deltas(message: Body, piece: int) -> Iterator[Body]:
    own = {"extra_content": message["extra_content"]} if "extra_content" in message else {}
    yield {"role": "assistant", "content": "" if message.get("content") == "" else None, **own}
    for key, text in message.items():
        if key != "role" and isinstance(text, str):
            yield from ({key: part} for part in _cut(text, piece))
    for index, call in enumerate(dicts_in(message.get("tool_calls"))):
        function = as_dict(call.get("function"))
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else ""
        named = {"name": function.get("name"), "arguments": "" if text else arguments}
        others = {key: call[key] for key in ("id", "extra_content") if key in call}
        yield {"tool_calls": [{"index": index, **others, "type": "function", "function": named}]}
        for part in _cut(text, piece):
            yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}


def _cut(text: str, piece: int = PIECE) -> Iterator[str]:
    return (text[start : start + piece] for start in range(0, len(text), piece))


def _responses_events(response: Body) -> Iterator[Body]:
    return ({**event, "sequence_number": n} for n, event in enumerate(_unnumbered(response)))


def _unnumbered(response: Body) -> Iterator[Body]:
    begun = {**response, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        yield from _item_events(item, {"item_id": item.get("id"), "output_index": index})
    yield {"type": f"response.{response.get('status', 'completed')}", "response": response}


#: The fields of items and parts that grow, and the events that carry them.
_GROWING = {
    "function_call": ("arguments", "function_call_arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input"),
    "output_text": ("text", "output_text"),
    "refusal": ("refusal", "refusal"),
}


def _item_events(item: Body, place: Body) -> Iterator[Body]:
    index, kind = place["output_index"], item.get("type")
    begun = {**item, "status": "in_progress"} if "status" in item else item
    parts = dicts_in(item.get("content")) if kind == "message" else []
    yield {"type": "response.output_item.added", "output_index": index, "item": _empty(begun)}
    yield from _growth(item, place)
    for number, part in enumerate(parts):
        within = {**place, "content_index": number}
        yield {"type": "response.content_part.added", **within, "part": _empty(part)}
        yield from _growth(part, within)
        yield {"type": "response.content_part.done", **within, "part": part}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _empty(growing: Body) -> Body:
    if growing.get("type") == "message":
        return {**growing, "content": []}
    field, _ = _GROWING.get(str(growing.get("type")), ("", ""))
    return {**growing, field: ""} if field in growing else growing


def _growth(growing: Body, place: Body) -> Iterator[Body]:
    field, name = _GROWING.get(str(growing.get("type")), ("", ""))
    text = growing.get(field)
    if isinstance(text, str):
        more: Body = {"logprobs": []} if field == "text" else {}
        for delta in _cut(text):
            yield {"type": f"response.{name}.delta", **place, "delta": delta, **more}
        yield {"type": f"response.{name}.done", **place, field: text, **more}


def _anthropic_events(response: Body) -> Iterator[Body]:
    usage = as_dict(response.get("usage"))
    begun = {**response, "content": [], "stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": {**begun, "usage": {**usage, "output_tokens": 0}}}
    for index, block in enumerate(response["content"]):
        empty, deltas = _block(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    ended = {key: response.get(key) for key in ("stop_reason", "stop_sequence")}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": usage.get("output_tokens", 0)}}
    yield {"type": "message_stop"}


def _block(block: Body) -> tuple[Body, list[Body]]:
    """A block as it begins, and its deltas; one that does not grow comes whole."""
    match block:
        case {"type": "text", "text": str(text)}:
            return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in _cut(text)]
        case {"type": "thinking", "thinking": str(thinking), "signature": signature}:
            deltas = [{"type": "thinking_delta", "thinking": part} for part in _cut(thinking)]
            signed = {"type": "signature_delta", "signature": signature}
            return {**block, "thinking": "", "signature": ""}, [*deltas, signed]
        case {"type": "tool_use", "input": dict(given)}:
            # Arguments that are no JSON object stream as the model wrote them.
            raw = given.get(RAW)
            text = raw if isinstance(raw, str) and arguments_object(raw) == given else encode(given)
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in ("", *_cut(text))]
            return {**block, "input": {}}, deltas
    return block, []


_EVENTS: Mapping[str, Callable[[Body], Iterator[Body]]] = {
    "openai": chunks_of,
    "responses": _responses_events,
    "anthropic": _anthropic_events,
}
