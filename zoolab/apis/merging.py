"""A whole put together from its pieces, by their structure: whatever fields a stream has, none is lost.

text       is appended; an id, a type, a name or a signature replaces the one before
an object  is merged, field by field
a list     goes on: an item continues the one with its index or id, and a part of text the last part
text, and then a list of parts
           become one list of parts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zoolab.jsontext.readonly import MAX_LEVELS, TooDeep

#: Fields whose text comes whole: the next one replaces it.
_WHOLE = frozenset(("id", "type", "role", "name", "format", "object", "model", "status", "mime_type"))
_WHOLE_ENDS = ("_id", "_type", "Id", "Type", "signature", "Signature")


def merge(whole: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Add what a piece says to a whole, which changes. A field that is null says nothing.

    >>> reply = {"content": "It is ", "reasoning_details": [{"index": 0, "text": "Hm"}]}
    >>> merge(reply, {"content": "sunny.", "reasoning_details": [{"index": 0, "text": "m."}]})
    >>> reply
    {'content': 'It is sunny.', 'reasoning_details': [{'index': 0, 'text': 'Hmm.'}]}
    """
    for key, more in piece.items():
        if more is not None:
            whole[key] = _merged(whole.get(key), more, key)


def comes_whole(key: str) -> bool:
    """Return whether the text of a field comes in one piece, as an id does.

    >>> comes_whole("tool_call_id"), comes_whole("reasoning")
    (True, False)
    """
    return key in _WHOLE or key.endswith(_WHOLE_ENDS)


def _merged(known: Any, more: Any, key: str) -> Any:
    match known, more:
        case None, _:
            return copied(more)
        case str(), str():
            return (more or known) if comes_whole(key) else known + more
        case dict(), dict():
            merge(known, more)
            return known
        case list(), list():
            _extend(known, more)
            return known
        case str(), list():
            return _merged(_as_parts(known), more, key)
        case list(), str():
            return _merged(known, _as_parts(more), key)
    return copied(more)


def _as_parts(text: str) -> list[Any]:
    return [{"type": "text", "text": text}] if text else []


def copied(value: Any, level: int = 0) -> Any:
    """Return a copy of JSON data, because a whole grows."""
    if level > MAX_LEVELS:
        raise TooDeep("a value that is nested too deeply", expected=f"at most {MAX_LEVELS} levels")
    if isinstance(value, dict):
        return {key: copied(inner, level + 1) for key, inner in value.items()}
    return [copied(inner, level + 1) for inner in value] if isinstance(value, list) else value


def _extend(known: list[Any], more: Iterable[Any]) -> None:
    """Continue a list. Items that come together are several, so only the first may continue the last one."""
    first = True
    for item in more:
        same = _continued(known, item, first)
        first = False
        if same is None:
            known.append(copied(item))
        else:
            merge(same, item)


def _continued(known: list[Any], item: Any, first: bool) -> dict[str, Any] | None:
    """Return the item of a list that this one goes on with; None if it is another."""
    if not isinstance(item, dict) or not known:
        return None
    if item.get("index") is not None or item.get("id") is not None:
        alike = (each for each in reversed(known) if isinstance(each, dict) and _same(each, item))
        return next(alike, None)
    last = known[-1]
    return last if first and isinstance(last, dict) and _grows(last, item) else None


def _same(known: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Return whether two items have the same index and type, or the same id if they have no index."""
    if item.get("type") not in (None, known.get("type")):
        return False
    if item.get("index") is not None:
        return bool(known.get("index") == item["index"])
    return bool(known.get("id") == item["id"])


def _grows(known: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Return whether an item is a further piece of a part of text: of type "text", or "thinking" and the
    like.
    """
    kind = item.get("type")
    if kind != known.get("type"):
        return False
    own = kind.rpartition(".")[2] if isinstance(kind, str) else ""
    field = "text" if "text" in item else own
    return isinstance(item.get(field), str | list) and isinstance(known.get(field), str | list)
