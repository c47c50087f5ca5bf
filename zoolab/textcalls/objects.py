"""The JSON objects in a text, read within bounds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zoolab.jsontext import MAX_CHARS

#: Each member's value, and the text that it was read from.
Members = dict[str, tuple[Any, str]]
_ALLOWANCE = 4 * MAX_CHARS
_DECODER = json.JSONDecoder()
#: An object with members: no other is a call. Each `{` that is passed over here costs next to nothing.
_OBJECT = re.compile(r'\{(?=[ \t\r\n]*+"(?:[^"\\]|\\.){0,128}+"[ \t\r\n]*+:)', re.DOTALL)
#: What an attempt costs beside the characters that it reads.
_ATTEMPT = 64
_WINDOW = 4096
_LONGEST_TOKEN = 16
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class JSONObject:
    """An object, and where it stands in its text."""

    members: Members
    start: int
    end: int

    def value(self, key: str) -> Any:
        """Return the value of a member; None if there is none."""
        return self.members.get(key, (None, ""))[0]

    def raw(self, key: str) -> str:
        """Return the text of a member: what is in the string if it is one, else its JSON as written."""
        value, written = self.members[key]
        return value if isinstance(value, str) else written


class Objects:
    """Reads the objects of a text; after too much work it finds no more."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._left = _ALLOWANCE

    def every(self) -> Iterator[JSONObject]:
        """Yield the objects as they begin, those inside of others included."""
        for opening in _OBJECT.finditer(self.text):
            if (found := self.at(opening.start())) is not None:
                yield found
            if self._left < 0:
                return

    def at(self, start: int) -> JSONObject | None:
        """Return the object that begins at `start`; None if there is none, or it is broken."""
        if self._left < 0 or self.text[start : start + 1] != "{":
            return None
        members, end, cost = _object_at(self.text, start)
        self._left -= cost + _ATTEMPT
        return None if members is None else JSONObject(members, start, end)


def _object_at(text: str, start: int) -> tuple[Members | None, int, int]:
    """Return the members of the object that begins at `start`, its end, and what it cost to read.

    None if it is broken. It is read in a window, since a JSONDecodeError counts the lines of all that
    comes before it.
    """
    cost = 0
    size = _WINDOW
    while True:
        window = text[start : start + size]
        try:
            members, end = _members(window)
            return members, start + end, cost + end
        except json.JSONDecodeError as error:
            in_the_middle = error.pos < len(window) - _LONGEST_TOKEN and "Unterminated" not in error.msg
            if in_the_middle or start + size >= len(text):
                return None, start, cost + error.pos
        except (ValueError, RecursionError):
            return None, start, cost + len(text)
        cost += size
        size *= 16


def _members(text: str) -> tuple[Members, int]:
    members: Members = {}
    at = _past(text, 1)
    if text[at : at + 1] == "}":
        return members, at + 1
    while True:
        key, at = _DECODER.raw_decode(text, at)
        start = _past(text, at, ":")
        value, at = _DECODER.raw_decode(text, start)
        members[str(key)] = value, text[start:at]
        at = _past(text, at)
        if text[at : at + 1] == "}":
            return members, at + 1
        at = _past(text, at, ",")


def _past(text: str, at: int, mark: str = "") -> int:
    found = _SPACE.match(text, at)
    at = found.end() if found else at
    if not mark:
        return at
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"expected {mark}", text, at)
    return _past(text, at + 1)
