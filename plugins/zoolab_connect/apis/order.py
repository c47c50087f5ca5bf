"""The order in which a message came: where its thinking stood between its text and its calls.

Chat Completions has one text and a list of calls. APIs that sign thinking want their blocks back in the order
in which they came, so a message keeps that order beside its thinking, unless it is the usual one: first the
thinking, then the text, then the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zoolab.apis.chat import raw_calls
from zoolab_connect.apis.messages import extra, text_sent

#: One thing after another: "thinking", "call", or the length of a piece of the text.
Order = list[str | int]
THINKING = "thinking"
CALL = "call"


def in_order(message: Mapping[str, Any], vendor: str, thinking: int) -> Order:
    """Return the order of a message with so many blocks of thinking: as it came, or the usual one if it was
    changed.

    >>> call = {"function": {"name": "now", "arguments": "{}"}}
    >>> in_order({"content": "Hm", "tool_calls": [call, call]}, "anthropic", 1)
    ['thinking', 2, 'call', 'call']
    """
    usual = _usual(thinking, len(text_sent(dict(message))), len(raw_calls(dict(message))))
    kept = extra(message, vendor, "order")
    return _joined(kept) if isinstance(kept, list) and _amounts(kept) == _amounts(usual) else usual


def kept_in_order(
    place: tuple[str, str], thinking: list[dict[str, Any]], order: Iterable[str | int]
) -> dict[str, Any]:
    """Return the field of a message that keeps its thinking, and the order if that is not the usual one."""
    if not thinking:
        return {}
    vendor, field = place
    joined = _joined(order)
    usual = joined == _usual(*_amounts(joined))
    return {"extra_content": {vendor: {field: thinking, **({} if usual else {"order": joined})}}}


def laid_out(
    order: Order, thinking: Iterable[Any], text: str, calls: Iterable[Any]
) -> Iterator[tuple[str, Any]]:
    """Yield each thing of a message in its order, with what it is: "thinking", "text" or "call"."""
    thoughts = iter(thinking)
    made = iter(calls)
    start = 0
    for each in order:
        if isinstance(each, int):
            yield "text", text[start : start + each]
            start += each
        else:
            yield each, next(thoughts if each == THINKING else made)


def _usual(thinking: int, text: int, calls: int) -> Order:
    return [*[THINKING] * thinking, *([text] if text else []), *[CALL] * calls]


def _amounts(order: Iterable[Any]) -> tuple[int, int, int]:
    """Return how much thinking, text and calls an order has; nothing at all if it is not an order."""
    order = list(order)
    lengths = [each for each in order if isinstance(each, int) and not isinstance(each, bool) and each > 0]
    thinking = order.count(THINKING)
    calls = order.count(CALL)
    known = len(lengths) + thinking + calls == len(order)
    return (thinking, sum(lengths), calls) if known else (-1, -1, -1)


def _joined(order: Iterable[str | int]) -> Order:
    """Return the order with pieces of text that follow each other as one."""
    made: Order = []
    for each in order:
        last = made[-1] if made else ""
        if isinstance(each, int) and isinstance(last, int):
            made[-1] = last + each
        elif each != 0:
            made.append(each)
    return made
