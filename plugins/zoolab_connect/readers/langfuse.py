"""Exports of Langfuse: the generations of a trace, each with its input and its output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.messages import anything_in

_ASKS = ("GENERATION", "AGENT")


def recognises(value: Any) -> bool:
    """Whether a value is a trace with observations, or an observation."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("observations"), list) or (value.get("type") in _ASKS and "input" in value)


def read(value: Mapping[str, Any], unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each generation that no later one tells from the beginning."""
    listed = value["observations"] if isinstance(value.get("observations"), list) else [value]
    found = []
    for number, each in enumerate(listed):
        if not isinstance(each, dict) or each.get("type") not in _ASKS:
            what = each.get("type") if isinstance(each, dict) else "no observation"
            unread.add(f"observations[{number}]", f"{what}: it is no generation")
            continue
        own, place = Unread(), f"observations[{number}]"
        messages = anything_in(each.get("input"), f"{place}.input", own)
        messages += anything_in(each.get("output"), f"{place}.output", own, "assistant")
        meta = {"model": each["model"]} if isinstance(each.get("model"), str) else {}
        if each.get("level") == "ERROR":
            own.add(place, f"it ended with an error: {each.get('statusMessage')}")
        found.append(Conversation(messages, meta=meta, unread=own))
    for number, told in enumerate(found):
        size = len(told.messages)
        if not any(other.messages[:size] == told.messages for other in found[number + 1 :]):
            yield told
