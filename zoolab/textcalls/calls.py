"""Calls in the JSON objects of a text: those with `name` and `arguments`, also broken ones."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

from zoolab.files import read_table
from zoolab.textcalls.objects import JSONObject

#: How each family of models writes calls.
FAMILIES = read_table("zoolab.textcalls", "families.toml")
#: The marks in a text, by name.
MARKS = {
    name: re.compile(Template("".join(parts)).safe_substitute(FAMILIES))
    for name, parts in FAMILIES["marks"].items()
}


_BROKEN_CALL = re.compile(r'\{\s*"name"\s*:\s*"(?P<name>[^"\\]{1,64})"\s*,\s*"arguments"\s*:\s*(?=\{)')
_AFTER = re.compile(r"```|</")


@dataclass(frozen=True, slots=True)
class TextCall:
    """One call in a text. `arguments` is what the model wrote, or JSON where its family writes no JSON."""

    name: str
    arguments: str
    #: The id that the model gave it.
    wanted: str | None = None
    #: Where in the text it begins, and where it ends.
    at: int = 0
    end: int = 0


Reader = Callable[[JSONObject], TextCall | None]


def call_in(found: JSONObject, name: Any, arguments: str, wanted: Any) -> TextCall | None:
    """Return the call that an object stands for; None if the name is none."""
    if not isinstance(name, str):
        return None
    return TextCall(name, arguments, wanted if isinstance(wanted, str) else None, found.start, found.end)


def call_with_arguments(found: JSONObject) -> TextCall | None:
    """Return the call in an object with `name` and `arguments`, these as they were written."""
    if "arguments" not in found.members:
        return None
    return call_in(found, found.value("name"), found.raw("arguments"), found.value("id"))


def broken_calls(text: str, whole: Sequence[tuple[int, int]] = ()) -> list[TextCall]:
    """Return the objects that begin as a call does and are not in a span of those that are whole.

    The arguments end at a fence, at a tag, at the next call on a line of its own, or with the text.
    """
    starts = [start for start, _ in whole]
    stops = list(starts)
    heads: list[re.Match[str]] = []
    for head in _BROKEN_CALL.finditer(text):
        before = bisect_right(starts, head.start()) - 1
        if before < 0 or head.start() >= whole[before][1]:
            heads.append(head)
            if text[max(0, head.start() - 1) : head.start()] in ("", "\n"):
                stops.append(head.start())
    stops.sort()
    calls: list[TextCall] = []
    end = 0
    for head in heads:
        if head.start() >= end:
            at = bisect_right(stops, head.start())
            limit = stops[at] if at < len(stops) else len(text)
            mark = _AFTER.search(text, head.end(), limit)
            end = mark.start() if mark else limit
            arguments = without_closers(text[head.end() : end], 1)
            calls.append(TextCall(head["name"], arguments, None, head.start(), end))
    return calls


def without_closers(arguments: str, most: int) -> str:
    """Return arguments without at most so many braces at the end that close nothing in them."""
    arguments = arguments.rstrip("` \t\r\n")
    for _ in range(most):
        if arguments.endswith("}") and arguments.count("}") > arguments.count("{"):
            arguments = arguments[:-1].rstrip() or arguments
    return arguments
