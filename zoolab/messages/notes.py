"""What somebody should know who wonders which calls a reply holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoolab.jsontext import excerpt
from zoolab.messages import Message, text_of

#: The fields of a message, and of a part of its content, that hold what the model only thought.
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
#: The words of endpoints for a reply that ends with calls.
_CALLS = ("tool_calls", "tool_call", "tool_use", "function_call")


def notes_of(message: Message, finish_reason: str | None, raw: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the notes on a reply: calls that are not read, and what looks like one."""
    from zoolab.textcalls import find_calls, notes, notes_on_thought

    text = text_of(message)
    is_native = bool(message.get("tool_calls"))
    in_text = find_calls(text)
    if not is_native:
        yield from notes(text)
    elif in_text:
        yield f"the text beside the calls holds a call of {in_text[0].name} too, which is not read"
    for thought in _thoughts(message):
        yield from notes_on_thought(thought)
    if finish_reason in _CALLS and not is_native and not in_text:
        yield f"the reply ended with {excerpt(finish_reason)}, but no call was found in it"
    if failure := _failure_in(raw or {}):
        yield f"the endpoint said of the reply: {excerpt(failure)}"
    for number, other in enumerate(_further_choices(raw or {}), 2):
        if other.get("tool_calls") or find_calls(text_of(other)):
            yield f"choice {number} of the response holds a call too; only the first choice is read"


def _failure_in(raw: Mapping[str, Any]) -> Any:
    """Find what an endpoint says of a choice that failed; OpenRouter says it in the choice itself."""
    choices = raw.get("choices")
    first = choices[0] if isinstance(choices, list | tuple) and choices else None
    failure = first.get("error") if isinstance(first, dict) else None
    return failure.get("message", failure) if isinstance(failure, dict) else failure


def _further_choices(raw: Mapping[str, Any]) -> Iterator[Message]:
    """Find the messages of a response's choices after the first; Gemini calls them candidates."""
    for name in ("choices", "candidates"):
        choices = raw.get(name)
        for choice in choices[1:] if isinstance(choices, list | tuple) else ():
            found = choice.get("message", choice.get("content")) if isinstance(choice, dict) else None
            message = found if isinstance(found, dict) else {}
            parts = message.get("parts")
            asks = any(isinstance(part, dict) and "functionCall" in part for part in parts or ())
            yield {**message, "tool_calls": [{}]} if asks else message


def _thoughts(message: Message) -> Iterator[str]:
    """Find the texts of a message that were only thought."""
    content = message.get("content")
    for each in [message, *(content if isinstance(content, list) else [])]:
        if isinstance(each, dict):
            kind = each.get("type")
            names = (*_THOUGHTS, "text") if kind in _THOUGHTS else _THOUGHTS
            yield from (each[name] for name in names if isinstance(each.get(name), str))
