"""Answers of four APIs in two turns, written by hand: a thought, a text and two calls, then a last text.

Each is given whole and as a stream, in the form that the API documents. `SENT_BACK` is what the second
request must hold of the first answer, as it came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from zoolab_connect.providers import AnthropicModel, GeminiModel, OllamaModel, ResponsesModel

Body = dict[str, Any]

#: A line separator and a next-line control stand in the text: they end no line of a stream.
TEXT = "Let me\u2028 see\u0085 é."
DONE = "It is 3."
#: The calls of the first turn: one is fine, and one must fail.
CALLS = [("add", {"a": 1, "b": 2}), ("add", {"a": 1, "b": "x\u2028y"})]


@dataclass(frozen=True)
class Provider:
    """A model class, the answers of its API, and what of the first comes back in the second request."""

    model: Any
    whole: list[Body]
    streams: list[str]
    sent_back: list[Body]


def sse(events: Iterable[Body], named: bool = False) -> str:
    """Server-sent events, as the APIs write them: Anthropic and OpenAI name each one."""
    heads = (f"event: {event.get('type')}\r\n" if named else "" for event in events)
    events = list(events)
    return "".join(
        f"{head}data: {json.dumps(event, ensure_ascii=False)}\r\n\r\n"
        for head, event in zip(heads, events, strict=True)
    )


def pieces(text: str, size: int = 5) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


# Anthropic

THINKING = {"type": "thinking", "thinking": "Two sums.", "signature": "EqQBCg=="}
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgB"}
TOOL_USES = [
    {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given}
    for n, (name, given) in enumerate(CALLS)
]
ANTHROPIC_USAGE = {"input_tokens": 10, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1}


def anthropic(blocks: list[Body], stop: str) -> Body:
    usage = {**ANTHROPIC_USAGE, "output_tokens": 7}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test"}
    return {**head, "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def anthropic_stream(answer: Body) -> str:
    start = {**answer, "content": [], "stop_reason": None, "usage": {**ANTHROPIC_USAGE, "output_tokens": 1}}
    events: list[Body] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(answer["content"]):
        empty, deltas = anthropic_deltas(block, whole=index == len(answer["content"]) - 1)
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
    return sse([*events, {"type": "message_stop"}], named=True)


def anthropic_deltas(block: Body, whole: bool) -> tuple[Body, list[Body]]:
    """The beginning of a block, and its deltas; the last tool_use has its whole input at the beginning."""
    match block["type"]:
        case "text":
            parts = pieces(block["text"])
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in parts]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"])]
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
        case "tool_use" if not whole:
            parts = ["", *pieces(json.dumps(block["input"]))]
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            return {**block, "input": {}}, deltas
    return block, []


_anthropic = [
    anthropic([THINKING, REDACTED, {"type": "text", "text": TEXT}, *TOOL_USES], "tool_use"),
    anthropic([{"type": "text", "text": DONE}], "end_turn"),
]
ANTHROPIC = Provider(
    AnthropicModel,
    _anthropic,
    list(map(anthropic_stream, _anthropic)),
    [THINKING, REDACTED, {"type": "text", "text": TEXT}, *TOOL_USES],
)

# Responses

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA=="}
FUNCTION_CALLS = [
    {"type": "function_call", "call_id": f"call_{n}", "name": name, "arguments": json.dumps(given)}
    for n, (name, given) in enumerate(CALLS)
]


def message_item(text: str) -> Body:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def responses(items: list[Body]) -> Body:
    usage = {
        "input_tokens": 15,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 22,
    }
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "error": None}
    asked = {"model": "gpt-test", "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {**head, **asked, "incomplete_details": None, "output": items, "usage": usage}


def output_item(item: Body) -> Body:
    """A call as it is in a response, with an id and a status that do not go back."""
    return {"id": f"fc_{item['call_id']}", "status": "completed", **item}


def responses_stream(answer: Body) -> str:
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    events: list[Body] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(answer["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        in_part = {**place, "content_index": 0}
        empty = {**item, **({"arguments": ""} if "arguments" in item else {})}
        if item["type"] == "message":
            empty["content"] = []
        events.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        if item["type"] == "message":
            (whole,) = item["content"]
            empty = {**whole, "text": ""}
            events.append({"type": "response.content_part.added", **in_part, "part": empty})
            for part in pieces(whole["text"]):
                delta = {"type": "response.output_text.delta", "delta": part, "logprobs": []}
                events.append({**delta, **in_part})
            done = {"type": "response.output_text.done", "text": whole["text"], "logprobs": []}
            events.append({**done, **in_part})
            events.append({"type": "response.content_part.done", **in_part, "part": whole})
        if item["type"] == "function_call":
            kind = "response.function_call_arguments.delta"
            events += [{"type": kind, **place, "delta": part} for part in pieces(item["arguments"])]
            done = {"type": "response.function_call_arguments.done", "name": item["name"]}
            events.append({**done, **place, "arguments": item["arguments"]})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": answer})
    return sse([{**event, "sequence_number": number} for number, event in enumerate(events)], named=True)


_responses = [
    responses([REASONING, message_item(TEXT), *map(output_item, FUNCTION_CALLS)]),
    {**responses([message_item(DONE)]), "id": "resp_2"},
]
RESPONSES = Provider(
    ResponsesModel,
    _responses,
    list(map(responses_stream, _responses)),
    [REASONING, {"role": "assistant", "content": TEXT}, *FUNCTION_CALLS],
)

# Gemini

FUNCTION_PARTS = [{"functionCall": {"name": name, "args": given}} for name, given in CALLS]
FUNCTION_PARTS[0]["thoughtSignature"] = "Q3ZjQkE="  # type: ignore[assignment]
SIGNED_TEXT = {"text": TEXT, "thoughtSignature": "Q3RleHQ="}


def gemini(parts: list[Body]) -> Body:
    counts = {"promptTokenCount": 15, "cachedContentTokenCount": 4, "candidatesTokenCount": 5}
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    usage = {**counts, "thoughtsTokenCount": 2, "totalTokenCount": 22}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-test"}


def gemini_stream(answer: Body) -> str:
    candidate = answer["candidates"][0]
    *others, last = candidate["content"]["parts"]
    early = [gemini([part]) for part in others]
    for event in early:
        event["candidates"][0].pop("finishReason")
        event["usageMetadata"].pop("thoughtsTokenCount")
    return sse([*early, gemini([last])])


_thought = {"text": "Two sums.", "thought": True}
_gemini = [gemini([_thought, SIGNED_TEXT, *FUNCTION_PARTS]), gemini([{"text": "It is "}, {"text": "3."}])]
GEMINI = Provider(GeminiModel, _gemini, list(map(gemini_stream, _gemini)), [SIGNED_TEXT, *FUNCTION_PARTS])

# Ollama


def ollama(message: Body) -> Body:
    counts = {"prompt_eval_count": 15, "eval_count": 7}
    said = {"role": "assistant", **message}
    return {"model": "qwen-test", "message": said, "done": True, "done_reason": "stop", **counts}


def ollama_stream(answer: Body) -> str:
    message = answer["message"]
    said = [{"thinking": message["thinking"]}] if "thinking" in message else []
    said += [{"content": part} for part in pieces(message["content"])]
    said += [{"content": "", "tool_calls": [call]} for call in message.get("tool_calls", ())]
    lines = [{"model": "qwen-test", "message": {"role": "assistant", **part}, "done": False} for part in said]
    lines.append({**answer, "message": {"role": "assistant", "content": ""}})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


OLLAMA_CALLS = [{"function": {"name": name, "arguments": given}} for name, given in CALLS]
_ollama = [
    ollama({"content": TEXT, "thinking": "Two sums.", "tool_calls": OLLAMA_CALLS}),
    ollama({"content": DONE}),
]
OLLAMA = Provider(
    OllamaModel, _ollama, list(map(ollama_stream, _ollama)), [{"thinking": "Two sums."}, *OLLAMA_CALLS]
)

PROVIDERS = {"responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI, "ollama": OLLAMA}
