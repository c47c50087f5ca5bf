"""Results of promptfoo: a conversation for each test, with what it was graded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.wrapped import anything_in


def _results(value: Any) -> Any:
    if _is_result(value):  # a line of a file with a result a line
        return [value]
    held = value.get("results") if isinstance(value, dict) else None
    return held.get("results") if isinstance(held, dict) else held


def _is_result(value: Any) -> bool:
    prompt = value.get("prompt") if isinstance(value, dict) else None
    return isinstance(prompt, dict) and "raw" in prompt


def recognises(value: Any) -> bool:
    """Return whether a value holds results with prompts, or is one."""
    listed = _results(value)
    return isinstance(listed, list) and any(isinstance(each, dict) and "prompt" in each for each in listed)


def read(value: Mapping[str, Any], unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each result."""
    for number, each in enumerate(_results(value)):
        place = f"results[{number}]"
        if not isinstance(each, dict):
            unread.add(place, "it is no result")
            continue
        own = Unread()
        prompt = each.get("prompt")
        answer = each.get("response")
        asked = prompt.get("raw") if isinstance(prompt, dict) else prompt
        said = answer.get("output") if isinstance(answer, dict) else answer
        failed = str(each.get("error") or "") if not said else ""
        messages = anything_in(asked, f"{place}.prompt", own)
        if not failed:
            messages += anything_in(said, f"{place}.response", own, "assistant")
        provider = each.get("provider")
        grading = each.get("gradingResult")
        meta = {
            "model": provider.get("id") if isinstance(provider, dict) else provider,
            "success": each.get("success"),
            "score": each.get("score"),
            "reason": grading.get("reason") if isinstance(grading, dict) else None,
        }
        meta = {key: known for key, known in meta.items() if known is not None}
        yield Conversation(messages, (), meta, own, "failed" if failed else "", failed)
