"""JSON of anything, for a trace: what has no form in JSON gets one, and nothing raises.

NaN, Infinity, -Infinity      text: "NaN", "Infinity", "-Infinity"
an integer too long to read   text that says how long it is
a key that is not text        the text of its JSON, or of its repr
date, set, dataclass, ...     the documented form of a tool's value (see zoolab/steps/result.py)
anything else                 the beginning of its repr, as text
a cycle, or nesting too deep  the beginning of its repr, as text
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from zoolab.jsontext import MAX_DEPTH, encode_strict, excerpt, is_utf8, nesting
from zoolab.jsontext.readonly import ReadOnlyDict, ReadOnlyList
from zoolab.steps.result import MAX_BITS, NotJSON, to_json_value

_EXCERPT = 200
#: The types whose values JSON keeps as they are.
_SAME = frozenset({str, bool, type(None)})


def encode_any(value: Any, depth: int = MAX_DEPTH) -> str:
    """One line of strict JSON, nested at most `depth` levels. Reading it back gives the same line again.

    >>> encode_any({"a": float("nan"), 1: {2}})
    '{"a":"NaN","1":[2]}'
    """
    try:
        line = encode_strict(value)
    except Exception:
        line = ""
    if not line or nesting(line, depth) > depth:
        line = encode_strict(any_json(value, depth))
    return line if is_utf8(line) else _escaped(line)


def any_json(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The value in JSON's types.

    >>> any_json({None: float("inf"), "b": b"x"})
    {'null': 'Infinity', 'b': "b'x'"}
    """
    try:
        return _form(value, depth, ())
    except Exception:  # a class may do anything when it is looked at
        return excerpt(value, _EXCERPT)


def is_strict(value: Any) -> bool:
    """Whether the value is JSON already: it is the same after it was written and read back.

    >>> is_strict({"a": [1]}), is_strict({"a": float("nan")}), is_strict({1: "a"})
    (True, False, False)
    """
    return type(value) in _SAME or _is_strict(value, 0)


def as_text(value: Any) -> str:
    """Text as it is, and anything else as its JSON.

    >>> as_text("stop"), as_text(5), as_text({"a": 1})
    ('stop', '5', '{"a":1}')
    """
    if type(value) is str:
        return value
    return str.__str__(value) if isinstance(value, str) else encode_any(value)


def _escaped(line: str) -> str:
    """The line with lone surrogates escaped. Two halves of one character, side by side, become that one."""
    value = json.loads(json.dumps(json.loads(line)))
    line = encode_strict(value)
    return line if is_utf8(line) else json.dumps(value)


def _is_strict(value: Any, level: int) -> bool:
    """As `is_strict`, by the types alone: encoding the value and reading it back takes ten times as long."""
    kind = type(value)
    if level >= MAX_DEPTH and kind not in (int, float):
        return False
    if kind is ReadOnlyDict or kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                return False
            if type(item) not in _SAME and not _is_strict(item, level + 1):
                return False
        return True
    if kind is ReadOnlyList or kind is list:
        return all(type(item) in _SAME or _is_strict(item, level + 1) for item in value)
    if kind is int:
        return bool(value.bit_length() <= MAX_BITS)
    return kind is float and math.isfinite(value)


def _form(value: Any, depth: int, inside: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool | str):
        return str.__str__(value) if isinstance(value, str) else value
    if type(value) is int:
        return value if value.bit_length() <= MAX_BITS else f"an integer of {value.bit_length():,} bits"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else json.dumps(float(value))
    if isinstance(value, Mapping | list | tuple):
        if id(value) in inside or len(inside) >= depth:
            return excerpt(value, _EXCERPT)
        inside = (*inside, id(value))
        if isinstance(value, Mapping):
            return {_key(key): _form(item, depth, inside) for key, item in value.items()}
        return [_form(item, depth, inside) for item in value]
    try:
        return _form(to_json_value(value), depth, inside)
    except NotJSON:
        return excerpt(value, _EXCERPT)


def _key(key: Any) -> str:
    return str.__str__(key) if isinstance(key, str) else excerpt(key)
