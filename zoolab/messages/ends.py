"""How a reply ended: one function for all APIs, plain and streamed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from zoolab.messages import Message, text_of

End = Literal["answered", "calls", "cut", "filtered", "failed", "empty"]

#: The ends of a reply that came whole and says something.
WHOLE: tuple[End, ...] = ("answered", "calls")
#: What each other end means, in words that complete "the reply ...".
MEANINGS: Mapping[str, str] = {
    "cut": "was cut off before its end",
    "filtered": "was stopped by a filter",
    "failed": "failed at the endpoint",
    "empty": "is empty",
}
#: The words of endpoints for a reply that did not come to its end; all others stand for a whole one.
_WORDS: Mapping[str, End] = {
    **dict.fromkeys(
        (
            "length",
            "max_tokens",
            "max_output_tokens",
            "model_length",
            "incomplete",
            "model_context_window_exceeded",
            "context_length_exceeded",
            "pause_turn",
            "repetition",
            "max_length",
            "error_limit",
            "in_progress",
            "queued",
            "max_output",
            "max_new_tokens",
            "token_limit",
            "time_limit",
            "max_predicted_tokens_reached",
            "context_length_reached",
            "context_window_exceeded",
            "context_length",
        ),
        "cut",
    ),
    **dict.fromkeys(
        (
            "content_filter",
            "content_filtered",
            "refusal",
            "safety",
            "recitation",
            "blocklist",
            "prohibited_content",
            "spii",
            "image_safety",
            "language",
            "sensitive",
            "guardrail_intervened",
            "error_toxic",
            "llmgateway_content_filter",
            "image_prohibited_content",
            "image_recitation",
            "model_armor",
        ),
        "filtered",
    ),
    **dict.fromkeys(
        (
            "error",
            "failed",
            "cancelled",
            "abort",
            "aborted",
            "network_error",
            "malformed_function_call",
            "malformed_response",
            "malformed_tool_use",
            "malformed_model_output",
            "unexpected_tool_call",
            "other",
            "insufficient_system_resource",
            "timeout",
            "user_cancel",
            "too_many_tool_calls",
            "missing_thought_signature",
            "image_other",
            "no_image",
            "load",
            "unload",
            "user_stopped",
            "model_unloaded",
            "tool_use_failed",
            "canceled",
            "server_error",
            "upstream_error",
            "gateway_error",
            "client_error",
            "finish_reason_unspecified",
            "block_reason_unspecified",
        ),
        "failed",
    ),
}
#: Some clients and gateways write the words as content-filter or contextLengthReached.
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|-")
#: Parts of a message's content that are no answer.
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "text")


def end_of(message: Message, finish_reason: str | None) -> End:
    """Return how a reply ended.

    Calls in the text of a message are not looked for: such a reply is `answered`.

    >>> end_of({"role": "assistant", "content": "It is "}, "length")
    'cut'
    >>> end_of({"role": "assistant", "content": None}, "stop")
    'empty'
    """
    said = _WORDS.get(_HUMP.sub("_", finish_reason).lower()) if finish_reason else None
    if said is not None:
        return said
    if message.get("tool_calls"):
        return "calls"
    if says_something(message):
        return "answered"
    return "filtered" if message.get("refusal") else "empty"


def says_something(message: Message) -> bool:
    """Return whether an assistant message holds an answer or a call: thoughts alone are neither."""
    if message.get("tool_calls") or message.get("function_call") or message.get("audio"):
        return True
    content = message.get("content")
    if isinstance(content, list) and any(_shows(part) for part in content):
        return True
    text = text_of(message)
    if "<" in text or "[" in text or "◁" in text:
        from zoolab.textcalls import spoken  # most replies hold no marks

        begin, end = spoken(text)
        text = text[begin:end]
    return bool(text.strip())


def _shows(part: Any) -> bool:
    """Return whether a part is shown to the user and is not text, as an image is."""
    return isinstance(part, dict) and part.get("type") not in _THOUGHTS
