"""Messages of the model that a program wrote down in parts, a line for each part, as one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zoolab.records import Message


def as_one(said: Sequence[Message]) -> Message:
    """Make one message of those of the model: all of their texts and calls, and why the last one ended.

    >>> as_one([{"role": "assistant", "content": "I look."}, {"role": "assistant", "content": ""}])
    {'role': 'assistant', 'content': 'I look.'}
    """
    texts = [each["content"] for each in said if each["content"]]
    content = texts[0] if len(texts) == 1 else _parts(texts)
    calls = [call for each in said for call in each.get("tool_calls", ())]
    ends = [each["finish_reason"] for each in said if each.get("finish_reason")]
    more = {"tool_calls": calls} if calls else {}
    return {"role": "assistant", "content": content, **more, **({"finish_reason": ends[-1]} if ends else {})}


def joined(messages: Sequence[Message]) -> list[Message]:
    """Return the messages, with those of the model that stand side by side as one."""
    found: list[Message] = []
    for each in messages:
        if found and each["role"] == found[-1]["role"] == "assistant":
            found[-1] = as_one([found[-1], each])
        else:
            found.append(each)
    return found


def _parts(contents: Sequence[Any]) -> Any:
    if all(isinstance(each, str) for each in contents):
        return "\n".join(contents)
    listed = ([{"type": "text", "text": each}] if isinstance(each, str) else each for each in contents)
    return [part for each in listed for part in each]
