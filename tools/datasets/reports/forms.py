"""A reply of each API, plain and streamed: the same reply, as it comes whole and as it comes in events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

JSON = dict[str, Any]


class Said(NamedTuple):
    """One reply: its plain body, its events, and its end in the words of the data set."""

    plain: Any
    streamed: Any
    end: str


def failure(status: int, body: Any) -> Said:
    """Return an HTTP error in place of a reply."""
    answer = {"status": status, "body": body}
    return Said(answer, answer, "failed")


def _broken_off(plain: JSON) -> JSON:
    """Return a plain reply that ends in the middle; its stream has no end."""
    text = json.dumps(plain)
    return {"status": 200, "body": text[: len(text) * 2 // 3]}


def halves(text: str) -> list[str]:
    """Return a text in two pieces, or in none if it is empty."""
    middle = (len(text) + 1) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


# Chat Completions


def chat_call(id: str | None, name: str, arguments: str, **more: Any) -> JSON:
    """Return a call of an assistant message; without an id if it is None."""
    own = {} if id is None else {"id": id}
    return {**own, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def chat(
    content: Any = None,
    calls: Sequence[JSON] = (),
    finish: str | None = "stop",
    end: str = "answered",
    *,
    deltas: Sequence[JSON] | None = None,
    others: Sequence[JSON] = (),
    **message: Any,
) -> Said:
    """Return a completion, broken off if `finish` is None.

    `deltas` replace those made of the message; `others` are further choices.
    """
    asked = {"tool_calls": list(calls)} if calls else {}
    whole = {"role": "assistant", "content": content, **message, **asked}
    first = {"index": 0, "message": whole, "finish_reason": finish}
    head = {"id": "c1", "created": 1, "model": "any"}
    plain = {**head, "object": "chat.completion", "choices": [first, *others]}
    made = _chat_deltas(content, calls, message) if deltas is None else list(deltas)
    choices: list[list[JSON]] = [[_chat_choice(delta, None)] for delta in [{"role": "assistant"}, *made]]
    choices += [[_chat_choice(delta, None, each["index"])] for each in others for delta in _of_message(each)]
    if finish is not None:
        choices.append([_chat_choice({}, finish)])
    chunks = [{**head, "object": "chat.completion.chunk", "choices": each} for each in choices]
    if finish is None:
        return Said(_broken_off(plain), chunks, end)
    return Said(plain, [*chunks, "[DONE]"], end)


def _of_message(choice: JSON) -> list[JSON]:
    message = choice["message"]
    return _chat_deltas(message.get("content"), message.get("tool_calls") or (), {})


def _chat_choice(delta: JSON, finish: str | None, index: int = 0) -> JSON:
    return {"index": index, "delta": delta, "finish_reason": finish}


def _chat_deltas(content: Any, calls: Sequence[JSON], message: JSON) -> list[JSON]:
    deltas: list[JSON] = [{key: value} for key, value in message.items()]
    if isinstance(content, str):
        deltas += [{"content": piece} for piece in halves(content)]
    elif content:
        deltas += [{"content": [part]} for part in content]
    for index, call in enumerate(calls):
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [begun]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in halves(call["function"]["arguments"])
        ]
    return deltas


# Messages of Anthropic


def use(id: str, name: str, input: JSON, partial: str | None = None) -> JSON:
    """Return a `tool_use` block; `partial` is the text of its input in the stream."""
    return {"type": "tool_use", "id": id, "name": name, "input": input, "partial": partial}


def anthropic(blocks: Sequence[JSON], stop: str | None = "end_turn", end: str = "answered") -> Said:
    """Return a message of content blocks; broken off if `stop` is None."""
    whole = [{key: value for key, value in block.items() if key != "partial"} for block in blocks]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "any"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    plain = {**head, "content": whole, "stop_reason": stop, "stop_sequence": None, "usage": usage}
    begun: JSON = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    events: list[JSON] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(blocks):
        last = stop is None and index == len(blocks) - 1
        events += _block_events(index, block, ended=not last)
    if stop is not None:
        told = {"stop_reason": stop, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": told, "usage": {"output_tokens": 1}})
        events.append({"type": "message_stop"})
    return Said(_broken_off(plain) if stop is None else plain, events, end)


def _block_events(index: int, block: JSON, *, ended: bool) -> list[JSON]:
    kind = block["type"]
    deltas: list[JSON] = []
    begun = dict(block)
    if kind == "text":
        begun["text"] = ""
        deltas = [{"type": "text_delta", "text": piece} for piece in halves(block["text"])]
    elif kind == "thinking":
        begun |= {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in halves(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "tool_use":
        partial = begun.pop("partial")
        begun["input"] = {}
        text = json.dumps(block["input"]) if partial is None else partial
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *halves(text)]]
    events: list[JSON] = [{"type": "content_block_start", "index": index, "content_block": begun}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, {"type": "content_block_stop", "index": index}] if ended else events


# Responses


def response_call(id: str, name: str, arguments: str, **more: Any) -> JSON:
    """Return a `function_call` item."""
    own = {"id": f"fc_{id}", "call_id": id, "status": "completed"}
    return {"type": "function_call", **own, "name": name, "arguments": arguments, **more}


def response_text(text: str) -> JSON:
    """Return a `message` item."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def responses(
    items: Sequence[JSON], status: str | None = "completed", end: str = "answered", **more: Any
) -> Said:
    """Return a response of output items; broken off if `status` is None."""
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "any", "error": None}
    head |= {"incomplete_details": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    plain = {**head, "status": status, "output": list(items), **more}
    begun = {**head, "status": "in_progress", "output": []}
    events: list[JSON] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(items):
        events += _item_events(index, item)
    if status is not None:
        events.append({"type": f"response.{status}", "response": plain})
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return Said(_broken_off(plain) if status is None else plain, numbered, end)


def _item_events(index: int, item: JSON) -> list[JSON]:
    place = {"output_index": index}
    of_item = {**place, "item_id": item["id"]}
    begun = {**item, **({"status": "in_progress"} if "status" in item else {})}
    events: list[JSON] = []
    if item["type"] == "function_call":
        begun["arguments"] = ""
        kind = "response.function_call_arguments"
        pieces = halves(item["arguments"])
        events = [{"type": f"{kind}.delta", **of_item, "delta": piece} for piece in pieces]
        events.append({"type": f"{kind}.done", **of_item, "arguments": item["arguments"]})
    elif item["type"] == "message":
        begun["content"] = []
        events = _text_events({**of_item, "content_index": 0}, item["content"][0])
    added = {"type": "response.output_item.added", **place, "item": begun}
    if item.get("status") == "incomplete":
        return [added, *events[:-1]]
    return [added, *events, {"type": "response.output_item.done", **place, "item": item}]


def _text_events(place: JSON, part: JSON) -> list[JSON]:
    kind = "response.output_text"
    text = part["text"]
    return [
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *({"type": f"{kind}.delta", **place, "delta": piece} for piece in halves(text)),
        {"type": f"{kind}.done", **place, "text": text},
        {"type": "response.content_part.done", **place, "part": part},
    ]


# Gemini's generateContent


def gemini(
    parts: Sequence[JSON],
    finish: str | None = "STOP",
    end: str = "answered",
    *,
    pieces: Sequence[Sequence[JSON]] | None = None,
) -> Said:
    """Return a candidate of parts, broken off if `finish` is None.

    `pieces` are the parts of each event, by default one part an event.
    """
    last = {} if finish is None else {"finishReason": finish}
    content = {"role": "model", "parts": list(parts)} if parts else {}
    plain = _candidate({"content": content, **last})
    cut = [[part] for part in parts] if pieces is None else [list(each) for each in pieces]
    events = [_candidate({"content": {"role": "model", "parts": each}}) for each in cut]
    if finish is not None:
        events.append(_candidate({"content": {}, **last}))
    return Said(_broken_off(plain) if finish is None else plain, events, end)


def _candidate(candidate: JSON) -> JSON:
    return {"candidates": [{**candidate, "index": 0}], "modelVersion": "any"}


# Ollama's chat


def ollama(
    content: str = "",
    calls: Sequence[JSON] = (),
    reason: str | None = "stop",
    end: str = "answered",
    **message: Any,
) -> Said:
    """Return a chat response; broken off if `reason` is None."""
    head = {"model": "any", "created_at": "2026-11-27T00:00:00Z"}
    asked = {"tool_calls": list(calls)} if calls else {}
    done = {"done": False} if reason is None else {"done": True, "done_reason": reason}
    plain = {**head, "message": {"role": "assistant", "content": content, **message, **asked}, **done}
    pieces: list[JSON] = [{"content": "", key: value} for key, value in message.items()]
    pieces += [{"content": piece} for piece in halves(content)]
    pieces += [{"content": "", "tool_calls": [call]} for call in calls]
    events = [{**head, "message": {"role": "assistant", **piece}, "done": False} for piece in pieces]
    if reason is not None:
        events.append({**head, "message": {"role": "assistant", "content": ""}, **done})
    return Said(_broken_off(plain) if reason is None else plain, events, end)


def ollama_call(name: str, arguments: Any, **more: Any) -> JSON:
    """Return a call of Ollama's chat."""
    return {"function": {"name": name, "arguments": arguments}, **more}
