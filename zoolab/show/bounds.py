"""How much text a panel may hold. Whatever goes to the browser is measured here, and cut if it must be."""

from __future__ import annotations

import json
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.show.markup import visible
from zoolab.show.wording import as_text

#: Of a list, the rest is counted.
MAX_ROWS = 40
LINE = 200
TEXT = 16_000
#: What a row costs besides its texts.
_ROW = 60


class Room:
    """So many bytes of JSON for a part of a panel; each text takes some, and what does not fit is cut.

    >>> room = Room(100)
    >>> room.text("abcdef", limit=4)
    {'text': 'abcd', 'cut': 2}
    """

    def __init__(self, size: int) -> None:
        self.left = size

    def text(self, text: str, limit: int = TEXT) -> dict[str, Any]:
        """The beginning of a text, and how many characters are left out."""
        shown = self._fitting(text[:limit])
        return {"text": shown, "cut": len(text) - len(shown)}

    def ends(self, text: str, limit: int = TEXT) -> dict[str, Any]:
        """A text without its middle, if it is too long: what is new stands at its end."""
        fits = min(limit, max(0, self.left))
        if len(text) <= fits:
            return self.text(text, limit)
        head, tail = fits // 3, fits // 2
        cut = len(text) - head - tail
        shown = f"{text[:head]}\n[{cut:,} characters are left out here]\n{text[len(text) - tail :]}"
        return {"text": self._fitting(shown), "cut": cut}

    def line(self, value: Any, limit: int = LINE) -> str:
        """Any value as text for a line, cut with an ellipsis."""
        text = as_text(value)
        shown = self._fitting(text[:limit])
        self.left -= _ROW
        return shown if len(shown) == len(text) else shown + "…"

    def _fitting(self, text: str) -> str:
        """As much of a text as there is room for, in a form that can be shown and sent."""
        shown = visible(text)
        size = _size(shown)
        if size > self.left:
            shown = visible(text[: max(0, self.left) // 6])
            size = _size(shown)
        self.left -= size
        return shown


def sendable(value: Any) -> Any:
    """Plain data as JSON that any browser reads: no lone surrogate, no NaN, no number past 2^53.

    >>> sendable({"a\\ud800": [float("nan"), 1 << 60, True]})
    {'a\\\\ud800': ['NaN', '1152921504606846976', True]}
    """
    if isinstance(value, dict):
        return {visible(as_text(key)): sendable(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(child) for child in value]
    if isinstance(value, str):
        return visible(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else as_text(value)
    return value if isinstance(value, float) and abs(value) < float("inf") else as_text(value)


def pretty(value: Any) -> str:
    """Data as JSON: on several lines if that helps the reader and costs little.

    >>> pretty({"a": 1}), pretty("text")
    ('{"a": 1}', '"text"')
    """
    try:
        text = json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=1) if 72 < len(text) < 20_000 else text
    except (TypeError, ValueError, RecursionError):
        return as_text(value)


def _size(text: str) -> int:
    plain = text.isascii() and '"' not in text and "\\" not in text and "\n" not in text
    return len(text) if plain else len(json.dumps(text, ensure_ascii=False).encode())


def whole_number(value: object) -> int:
    """A step number as the browser sent it. Raises `InvalidInput` for anything else.

    >>> whole_number(3)
    3
    """
    if type(value) is not int or value < 0:
        raise InvalidInput(f"a step number is {excerpt(value)}", expected="a whole number")
    return value


def plain_text(value: object) -> str:
    """A text as the browser sent it. Raises `InvalidInput` for anything else.

    >>> plain_text("a note")
    'a note'
    """
    if not isinstance(value, str):
        raise InvalidInput(f"found {excerpt(value)}", expected="text")
    return value
