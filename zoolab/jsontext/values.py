"""Any Python value as JSON: strictly for what the model reads, leniently for what a trace keeps.

`to_json_value` gives what JSON has no word for one documented form, or raises `NotJSON`:

    date, time, datetime      ISO 8601 text          Enum              its value
    Decimal, UUID, Path       text                   dataclass         an object
    set, frozenset            a sorted list          pydantic model    its own JSON form
    tuple                     a list                 numpy             numbers, lists
    DataFrame                 a list of rows         Series            a list
    bytes, NaN, a cycle, a key that is no text, anything else          an error that names it

`any_json` never raises. It uses the same forms, and for the rest:

    NaN, Infinity, -Infinity      text: "NaN", "Infinity", "-Infinity"
    an integer too long to read   text that says how long it is
    a key that is not text        the text of its JSON, or of its repr
    anything else, a cycle        the beginning of its repr, as text
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from zoolab.jsontext import MAX_DEPTH, canonical, encode_line, encode_strict, excerpt, is_utf8, nesting
from zoolab.jsontext.readonly import MAX_BITS, json_levels

_EXCERPT = 200
_PLAIN = (str, int, bool, type(None))


class NotJSON(TypeError):
    """A tool's value has no form in JSON; says which part of it."""


def to_json_value(value: Any) -> Any:
    """Return `value` in JSON's types, in the documented form; raises `NotJSON` where there is none.

    >>> import datetime
    >>> to_json_value({"when": datetime.date(2026, 1, 2), "tags": {"b", "a"}})
    {'when': '2026-01-02', 'tags': ['a', 'b']}
    >>> to_json_value({"x": [float("nan")]})
    Traceback (most recent call last):
    zoolab.jsontext.values.NotJSON: nan at /x/0
    """
    try:
        return _convert(value, "", ())
    except NotJSON:
        raise
    except BaseException as error:  # a value may raise anything when it is read
        raise NotJSON(_unreadable(value, error)) from error


def _unreadable(value: object, error: BaseException) -> str:
    return f"a {type(value).__name__} that cannot be read ({type(error).__name__})"


def encode_any(value: Any, depth: int = MAX_DEPTH) -> str:
    """Return one line of strict JSON, nested at most `depth` levels. Reading it back gives the same line
    again.
    """
    try:
        line = encode_strict(value)
    except Exception:
        line = ""
    if not line or nesting(line, depth) > depth:
        line = encode_strict(any_json(value, depth))
    if is_utf8(line):
        return line
    # Two halves of one character, side by side, become that one; lone surrogates are escaped.
    return encode_line(json.loads(json.dumps(json.loads(line))))


def any_json(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return the value in JSON's types."""
    try:
        return _form(value, depth, ())
    except Exception:  # a class may do anything when it is looked at
        return excerpt(value, _EXCERPT)


def is_strict(value: Any) -> bool:
    """Return whether a read-only value is JSON already: it is the same after it was written and read back."""
    return json_levels(value) <= MAX_DEPTH


def text_or_json(value: Any) -> str:
    """Return text as it is, and anything else as its JSON."""
    if type(value) is str:
        return value
    return str.__str__(value) if isinstance(value, str) else encode_any(value)


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
            names = [str.__str__(key) if isinstance(key, str) else excerpt(key) for key in value]
            return dict(zip(names, (_form(item, depth, inside) for item in value.values()), strict=True))
        return [_form(item, depth, inside) for item in value]
    try:
        return _form(to_json_value(value), depth, inside)
    except NotJSON:
        return excerpt(value, _EXCERPT)


def _convert(value: Any, where: str, inside: tuple[int, ...]) -> Any:
    kind = type(value)
    if kind is str:
        return _text(value, where)
    if kind is int:
        return _whole(value, where)
    if kind in _PLAIN:
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJSON(f"{value} at {where or '/'}")
        return float(value)
    if isinstance(value, dict | list | tuple):
        return _container(value, where, inside)
    return _documented(value, where, inside)


def _text(value: str, where: str) -> str:
    if not value.isascii() and not is_utf8(value):
        raise NotJSON(f"a lone surrogate in {excerpt(value, 20)!a} at {where or '/'}")
    return value


def _whole(value: int, where: str) -> int:
    if value.bit_length() > MAX_BITS:
        raise NotJSON(f"an integer of more than 4,200 digits at {where or '/'}")
    return value


def _enter(value: object, where: str, inside: tuple[int, ...]) -> tuple[int, ...]:
    if id(value) in inside or len(inside) >= MAX_DEPTH:
        raise NotJSON(f"a value that contains itself, or is too deep, at {where[:80] or '/'}")
    return (*inside, id(value))


def _container(value: Any, where: str, inside: tuple[int, ...]) -> Any:
    inside = _enter(value, where, inside)
    if not isinstance(value, dict):
        return [_convert(item, f"{where}/{i}", inside) for i, item in enumerate(value)]
    for key in value:
        if not isinstance(key, str):
            raise NotJSON(f"the key {key!r} (a {type(key).__name__}, not text) at {where or '/'}")
    return {_text(str(key), where): _convert(item, f"{where}/{key}", inside) for key, item in value.items()}


def _documented(value: Any, where: str, inside: tuple[int, ...]) -> Any:
    import datetime
    import decimal
    import pathlib
    import uuid

    if isinstance(value, enum.Enum):
        return _convert(value.value, where, inside)
    if isinstance(value, str):
        return _text(str.__str__(value), where)
    if isinstance(value, int):
        return _whole(int(value), where)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID | pathlib.PurePath):
        return _text(str(value), where)
    if isinstance(value, set | frozenset):
        return sorted((_convert(item, where, inside) for item in value), key=canonical)
    try:
        plain = _members(value)
    except BaseException as error:
        raise NotJSON(f"{_unreadable(value, error)} at {where or '/'}") from error
    if plain is None:
        raise NotJSON(f"a {type(value).__name__} at {where or '/'}")
    return _convert(plain, where, _enter(value, where, inside))


def _members(value: Any) -> Any:
    """Return a dataclass, model, frame or array in plainer types; None for anything else."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {member.name: getattr(value, member.name) for member in dataclasses.fields(value)}
    return next((convert(value) for name, convert in _BY_METHOD.items() if hasattr(value, name)), None)


_BY_METHOD: dict[str, Callable[[Any], Any]] = {
    "model_dump": lambda model: model.model_dump(mode="json"),
    "to_dict": lambda frame: frame.to_dict("records") if hasattr(frame, "columns") else frame.tolist(),
    "tolist": lambda array: array.tolist(),
}


def without(body: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return a body without some of its settings.

    >>> without({"seed": 1, "reasoning": {"effort": "low", "summary": "auto"}}, ["seed", "reasoning.effort"])
    {'reasoning': {'summary': 'auto'}}
    """
    kept = dict(body)
    for name in names:
        outer, dot, inner = name.partition(".")
        if not dot:
            kept.pop(name, None)
        elif isinstance(kept.get(outer), dict):
            kept[outer] = without(kept[outer], [inner])
    return kept
