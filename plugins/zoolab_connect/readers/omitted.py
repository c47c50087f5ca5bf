"""What a reply has and its message in OpenAI's form has not: tools of the endpoint, pictures, thoughts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoolab.jsontext import encode, excerpt
from zoolab.records import Message

#: Parts that a message has a place for.
_TOLD = ("text", "output_text", "tool_use", "function_call", "functionCall", "message", "refusal")
_BESIDE = ("type", "id", "status", "signature", "thoughtSignature", "encrypted_content", "thought")


def omitted(value: Mapping[str, Any], message: Message) -> Iterator[str]:
    """Yield what a reply of Responses, Anthropic or Gemini says and its message does not.

    >>> search = {"type": "web_search_call", "id": "w", "action": {"query": "zoo"}}
    >>> [*omitted({"output": [search]}, {"role": "assistant", "content": "Hi"})]
    ['web_search_call is not shown: {"action":{"query":"zoo"}}']
    """
    said = encode(message)
    for part in _parts_of(value):
        kind = part.get("type") or next((key for key in part if key not in _BESIDE), "")
        told = {key: each for key, each in part.items() if key not in _BESIDE}
        texts = [encode(text)[1:-1] for text in _texts_in(told)]
        thought = part.get("thought") is True
        if (kind not in _TOLD or thought) and texts and not all(text in said for text in texts):
            what = "a thought" if thought else str(kind)
            yield f"{what} is not shown: {excerpt(told, 80)}"
    candidates = value.get("candidates")
    if isinstance(candidates, list) and len(candidates) > 1:
        yield f"it has {len(candidates)} answers; the first one is shown"
    feedback = value.get("promptFeedback")
    if isinstance(feedback, Mapping) and feedback.get("blockReason"):
        yield f"the prompt was blocked: {excerpt(feedback['blockReason'], 60)}"


def _parts_of(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    candidates = value.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    content = first.get("content") if isinstance(first, Mapping) else None
    inner = content.get("parts") if isinstance(content, Mapping) else None
    listed = inner or value.get("output") or value.get("content")
    return [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(each)
