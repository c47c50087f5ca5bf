"""Results of promptfoo: a conversation for each test, with what it was graded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.messages import anything_in


def _results(value: Any) -> Any:
    held = value.get("results") if isinstance(value, dict) else None
    return held.get("results") if isinstance(held, dict) else held


def recognises(value: Any) -> bool:
    """Whether a value holds results with prompts."""
    listed = _results(value)
    return isinstance(listed, list) and any(isinstance(each, dict) and "prompt" in each for each in listed)


def read(value: Mapping[str, Any], unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each result."""
    for number, each in enumerate(_results(value)):
        place = f"results[{number}]"
        if not isinstance(each, dict):
            unread.add(place, "it is no result")
            continue
        own, prompt, answer = Unread(), each.get("prompt"), each.get("response")
        asked = prompt.get("raw") if isinstance(prompt, dict) else prompt
        said = answer.get("output") if isinstance(answer, dict) else answer
        messages = anything_in(asked, f"{place}.prompt", own)
        messages += anything_in(said, f"{place}.response", own, "assistant")
        provider = each.get("provider")
        named = provider.get("id") if isinstance(provider, dict) else provider
        meta = {"model": named, "success": each.get("success"), "score": each.get("score")}
        meta = {key: known for key, known in meta.items() if known is not None}
        failed = each.get("error") if not said else ""
        outcome, error = ("failed", str(failed)) if failed else ("", "")
        yield Conversation(messages, meta=meta, unread=own, outcome=outcome, error=error)
