"""Bodies of Gemini in a log of another program: `contents` that were asked, and `candidates` that answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.apis import APIS
from zoolab.errors import ZoolabError
from zoolab.records import Message
from zoolab_connect.readers.found import Unread

_PARTS = frozenset(
    {
        *("text", "functionCall", "function_call", "functionResponse", "function_response"),
        *("inlineData", "inline_data", "fileData", "file_data"),
    }
)
_SYSTEM = ("systemInstruction", "system_instruction")
_KNOWN = frozenset({"contents", "config", "model", "tools", *_SYSTEM})


def is_contents(value: Any) -> bool:
    """Return whether a value is a request or a reply of Gemini, or a list of its messages."""
    if isinstance(value, Mapping):
        return _is_request(value) or _is_turn(value.get("content")) or _has_candidates(value)
    return isinstance(value, list) and bool(value) and all(map(_is_turn, value))


def _is_request(value: Mapping[str, Any]) -> bool:
    """Return whether a value is a request; one whose contents are only text names its model, too."""
    given = value.get("contents")
    turns = given if isinstance(given, list) else [given]
    if not turns or not all(isinstance(each, str) or _is_turn(each) for each in turns):
        return False
    return "model" in value or any(map(_is_turn, turns))


def _has_candidates(value: Mapping[str, Any]) -> bool:
    listed = value.get("candidates")
    return isinstance(listed, list) and any(
        isinstance(each, Mapping) and _is_turn(each.get("content")) for each in listed
    )


def _is_turn(value: Any) -> bool:
    """Return whether a value is a message of Gemini: its parts have no types, but names."""
    parts = value.get("parts") if isinstance(value, Mapping) else None
    return (
        isinstance(parts, list)
        and bool(parts)
        and all(isinstance(each, Mapping) and each.keys() & _PARTS and "type" not in each for each in parts)
    )


def contents_in(value: Any, place: str, unread: Unread) -> list[Message] | None:
    """Read the messages of a request, of a candidate, or of a list; None if they are not understood.

    >>> contents_in([{"role": "user", "parts": [{"text": "Hi"}]}], "input", Unread())
    [{'role': 'user', 'content': 'Hi'}]
    """
    left: list[str] = []
    try:
        if isinstance(value, Mapping) and "contents" not in value:
            return _answer(value)
        body = _request(value, place, unread) if isinstance(value, Mapping) else {"contents": value}
        found = APIS["gemini"].from_body(body, left).prefix.tolist()
    except ZoolabError as error:
        unread.add(place, f"it is not understood; expected {getattr(error, 'expected', 'contents')}")
        return None
    for what in left:
        unread.add(place, what)
    return found


def _answer(value: Mapping[str, Any]) -> list[Message]:
    reply = APIS["gemini"].reply(value if "candidates" in value else {"candidates": [value]})
    end = {"finish_reason": reply.finish_reason} if reply.finish_reason else {}
    return [{**reply.message, **end}]


def _request(value: Mapping[str, Any], place: str, unread: Unread) -> dict[str, Any]:
    """Make the body of a request from one, or from the arguments of Google's client."""
    config = value.get("config")
    held = {**config, **value} if isinstance(config, Mapping) else value
    system = next((held[name] for name in _SYSTEM if held.get(name)), None)
    for name in sorted(value.keys() - _KNOWN):
        if value[name] not in (None, [], {}, "", False) and not name.lower().endswith(("config", "settings")):
            unread.add(f"{place}.{name}", "it stands beside the messages and is not shown")
    given = held["contents"]
    turns = [
        {"role": "user", "parts": [{"text": each}]} if isinstance(each, str) else each
        for each in (given if isinstance(given, list) else [given])
    ]
    told = {"parts": [{"text": system}]} if isinstance(system, str) else system
    return {"contents": turns, **({"systemInstruction": told} if told else {})}
