"""A reading of badly written JSON by our own rules; it takes only what has one meaning."""

from __future__ import annotations

import re
from typing import Any

from zoolab.jsontext import MAX_DEPTH, encode, excerpt
from zoolab.repair.report import Refused
from zoolab.repair.words import (
    BARE_KEY,
    CLOSING,
    COLON,
    JOINT,
    SPACE,
    WORD,
    read_escape,
    read_last_word,
    read_word,
)


def read_loosely(text: str) -> Any:
    """The value at the start of a text; commas and brackets may be missing, words may stand without quotes.

    >>> read_loosely("{$: 1, to: 'Ada', n: [1 2")
    {'$': 1, 'to': 'Ada', 'n': [1, 2]}
    >>> read_loosely('{"to": "Ad')
    Traceback (most recent call last):
    zoolab.repair.report.Refused: a string is not closed
    """
    return _Loose(text).value(0)


class _Loose:
    """One walk through a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Refused(f"more than {MAX_DEPTH} levels of nesting")
        found = self._next()
        if found == "{":
            return self._object(depth + 1)
        if found == "[":
            return self._list(depth + 1)
        if found in CLOSING:
            return self._string(CLOSING[found])
        word = self._match(WORD)
        return read_word(word) if self.at < len(self.text) else read_last_word(word)

    def _next(self) -> str:
        """Skip blanks and comments; the character after them, empty at the end."""
        space = SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.text[self.at : self.at + 1]

    def _more(self) -> bool:
        """Whether another item follows; if not, the bracket that ends them is behind us."""
        found = self._next()
        if found == ",":
            self.at += 1
            found = self._next()
        self.at += bool(found) and found in "}]"
        return bool(found) and found not in "}]"

    def _list(self, depth: int) -> list[Any]:
        self.at += 1
        items = []
        while self._more():
            items.append(self.value(depth))
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        made: dict[str, Any] = {}
        while self._more():
            found = self._next()
            if found == ",":
                continue
            key = self._string(CLOSING[found]) if found in CLOSING else self._match(BARE_KEY)
            self._next()
            colon = COLON.match(self.text, self.at)
            self.at = colon.end() if colon else self.at
            if not self._next():
                raise Refused(f"the text ends before the value of {excerpt(key)}")
            value = self.value(depth)
            if key in made and encode(made[key]) != encode(value):
                raise Refused(f"the key {excerpt(key)} twice")
            made[key] = value
        return made

    def _string(self, closing: str) -> str:
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text):
            found = self.text[self.at]
            joint = JOINT.match(self.text, self.at + 1) if found == closing else None
            if found == closing and not joint:
                self.at += 1
                return "".join(parts)
            if joint:
                closing, self.at = self.text[joint.end()], joint.end() + 1
            elif found == "\\":
                part, self.at, _ = read_escape(self.text, self.at)
                parts.append(part)
            else:
                parts.append(found)
                self.at += 1
        raise Refused("a string is not closed")

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            rest = excerpt(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end"
            raise Refused(f"no value, but {rest}, at character {self.at}")
        self.at = found.end()
        return found[0]
