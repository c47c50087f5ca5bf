"""Values of the student's code as JSON: strictly, so that nothing changes on its way without a word."""

from __future__ import annotations

import json
import math
from typing import Any

MAX_CHARACTERS = 1_000_000
MAX_VALUES = 200_000
MAX_DEPTH = 60
MAX_BITS = 1_300  # just under the 400 digits that the grader reads


class Unfit(Exception):
    """A value that JSON cannot carry; says what it is: `a set`, `a dict with the key 1`."""


class Writer:
    """Turns one value into plain JSON values, and keeps count of what it has seen.

    >>> Writer().plain({"a": (1, 2.5, None)})
    {'a': [1, 2.5, None]}
    >>> Writer().plain({1: "a"})
    Traceback (most recent call last):
    zoolab.grading.worker.values.Unfit: a dict with the key 1, which is no text: JSON has only text as keys
    """

    def __init__(self) -> None:
        self.values = self.characters = 0

    def plain(self, value: Any, depth: int = 0) -> Any:
        """`value` as JSON values, or Unfit."""
        self._count(depth)
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int):
            return _whole(int.__int__(value))
        if isinstance(value, float):
            return _finite(float.__float__(value))
        if isinstance(value, (list, tuple)):
            items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
            return [self.plain(item, depth + 1) for item in items]
        if isinstance(value, dict):
            return {self._key(key): self.plain(item, depth + 1) for key, item in dict.items(value)}
        return self.plain(_known(value), depth + 1)

    def after_the_call(self, value: Any, depth: int = 0) -> Any:
        """An argument as it is after the call: what cannot be JSON is marked, a function becomes None."""
        self.values += 1
        if depth > MAX_DEPTH or self.values > MAX_VALUES:
            return "<more>"
        if type(value) is list:
            return [self.after_the_call(item, depth + 1) for item in value]
        if type(value) is dict:
            return {_shown(key): self.after_the_call(item, depth + 1) for key, item in value.items()}
        if callable(value):
            return None
        try:
            return self.plain(value, depth)
        except Unfit as unfit:
            return f"<{unfit}>"

    def _count(self, depth: int) -> None:
        self.values += 1
        if depth > MAX_DEPTH:
            raise Unfit(f"a value nested more than {MAX_DEPTH} deep")
        if self.values > MAX_VALUES:
            raise Unfit(f"more than {MAX_VALUES:,} values")

    def _text(self, text: str) -> str:
        self.characters += len(text)
        if self.characters > MAX_CHARACTERS:
            raise Unfit(f"more than {MAX_CHARACTERS:,} characters")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Unfit("text with half of a surrogate pair, which cannot be sent") from None
        return text

    def _key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise Unfit(f"a dict with the key {repr(key)[:50]}, which is no text: JSON has only text as keys")
        return self._text(str.__str__(key))


def encoded(message: dict[str, Any]) -> bytes:
    """A message of plain values as bytes; Unfit if it is larger than the grader reads.

    >>> encoded({"value": "é"})
    b'{"value":"\\xc3\\xa9"}'
    """
    text = _ENCODER.encode(message)
    if len(text) > MAX_CHARACTERS:
        raise Unfit(f"more than {MAX_CHARACTERS:,} characters as JSON")
    return text.encode()


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _whole(number: int) -> int:
    if number.bit_length() > MAX_BITS:
        raise Unfit("a number of more than 390 digits")
    return number


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise Unfit(f"the number {number}, which JSON does not have")
    return number


def _shown(key: Any) -> str:
    return key if type(key) is str else f"<{type(key).__name__} {repr(key)[:50]}>"


def _known(value: Any) -> Any:
    """What pandas and numpy call a table, a column, a number, as Python's own."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        text = value.reset_index(drop=True).to_json(orient="values", date_format="iso", double_precision=15)
        columns = [str(name) for name in value.columns]
        return {"$frame": {"columns": columns, "rows": json.loads(text)}}
    for name, sign in (("to_list", "index"), ("tolist", "dtype")):
        if hasattr(value, name) and hasattr(value, sign):
            return getattr(value, name)()
    if value is ...:
        raise Unfit("`...`, which stands where your code goes")
    raise Unfit(f"a value of type {type(value).__name__}, which is not JSON")
