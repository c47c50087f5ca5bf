"""Dicts and lists that cannot be changed: what every record hands out.

They read, compare and encode like plain ones. `copy.copy` and `copy.deepcopy` give plain ones, which
belong to whoever made the copy. Each keeps how many levels of JSON are in it, because what cannot change
has to be looked at only once.
"""

from __future__ import annotations

import copy
import math
import operator
from typing import Any, NoReturn

from zoolab.errors import InvalidInput, ReadOnlyRecord

#: Levels of dicts and lists. A value that contains itself is deeper.
MAX_LEVELS = 256
#: Of an integer in JSON: some 4,200 digits, just below what Python is willing to write out.
MAX_BITS = 14_000
#: The levels of what is not JSON: more than any limit.
NOT_JSON = 1 << 20


class TooDeep(InvalidInput):
    """A value contains itself, or is nested too deeply to be copied."""


def _refuse(self: Any, *_args: Any, **_kwargs: Any) -> NoReturn:
    """Raise `ReadOnlyRecord`."""
    kind = "dict" if isinstance(self, dict) else "list"
    raise ReadOnlyRecord(
        f"this {kind} belongs to a record, and records are read-only",
        advice="change a step with steps.answer(dataclasses.replace(step.record, ...)), "
        "or work on your own copy, made by copy.deepcopy",
    )


class ReadOnlyDict(dict[str, Any]):
    """A dict that cannot be changed; made by `read_only`."""

    __slots__ = ("_levels",)
    _levels: int

    __init__ = __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return read_only, (dict(self),)


class ReadOnlyList(list[Any]):
    """A list that cannot be changed; made by `read_only`."""

    __slots__ = ("_levels",)
    _levels: int

    __init__ = __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(item, memo) for item in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return read_only, (list(self),)


def read_only(value: Any) -> Any:
    """Return the value with every dict, list and set in it replaced by a read-only copy.

    What is read-only already, and any other Python object, is returned as it is.

    Raises:
        TooDeep: The value contains itself, or has more than 256 levels.

    >>> frozen = read_only({"a": [1, {"b": 2}]})
    >>> frozen == {"a": [1, {"b": 2}]}, read_only(frozen) is frozen
    (True, True)
    """
    return value if type(value) in _FINISHED else _frozen(value, 0)


def plain(value: Any) -> Any:
    """Return a copy of plain dicts and lists, which belongs to the caller.

    >>> plain(read_only({"a": [1]}))
    {'a': [1]}
    """
    if type(value) is ReadOnlyDict and value._levels == 1:
        return dict(value)  # no dict or list is in it
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def json_levels(value: Any) -> int:
    """Return how many levels of dicts and lists a read-only value has; at least `NOT_JSON` if it is
    not JSON.
    """
    kind = type(value)
    if kind is ReadOnlyDict or kind is ReadOnlyList:
        levels: int = value._levels
        return levels
    if kind is int:
        return 0 if value.bit_length() <= MAX_BITS else NOT_JSON
    return 0 if kind in _WORDS or (kind is float and math.isfinite(value)) else NOT_JSON


def _frozen(value: Any, level: int) -> Any:
    if level > MAX_LEVELS:
        raise TooDeep("a value that contains itself or is nested too deeply", expected=_LEVELS)
    if type(value) is dict:
        return _frozen_dict(value, level)
    if type(value) is list:
        return _frozen_list(value, level)
    return _frozen_other(value, level)


def _frozen_dict(value: dict[Any, Any], level: int) -> ReadOnlyDict:
    """Copy a dict in C, then freeze what is in the copy; most of it is text, which stays."""
    made: ReadOnlyDict = _new_dict(ReadOnlyDict)
    _fill_dict(made, value)
    deepest = 0
    for key, item in made.items():
        if type(key) is not str:  # it may change its hash, so that nothing can be put in its place
            inside = {key: _inside(item, level) for key, item in made.items()}
            made = _new_dict(ReadOnlyDict)
            _fill_dict(made, inside)
            deepest = NOT_JSON
            break
        if type(item) in _WORDS:
            continue
        if type(item) not in _FINISHED:
            item = _frozen(item, level + 1)
            _put_in_dict(made, key, item)
        levels = json_levels(item)
        if levels > deepest:
            deepest = levels
    made._levels = 1 + deepest
    return made


def _frozen_list(value: list[Any], level: int) -> ReadOnlyList:
    made: ReadOnlyList = _new_list(ReadOnlyList)
    _fill_list(made, value)
    deepest = 0
    for index, item in enumerate(made):
        if type(item) in _WORDS:
            continue
        item = _inside(item, level)
        _put_in_list(made, index, item)
        levels = json_levels(item)
        if levels > deepest:
            deepest = levels
    made._levels = 1 + deepest
    return made


def _inside(item: Any, level: int) -> Any:
    return item if type(item) in _FINISHED else _frozen(item, level + 1)


def _frozen_other(value: Any, level: int) -> Any:
    """Freeze a subclass of dict or list as well; a tuple keeps its type."""
    if isinstance(value, dict):
        return _frozen(dict(dict.items(value)), level)
    if isinstance(value, list):
        return _frozen(list(list.__iter__(value)), level)
    if isinstance(value, set):
        return frozenset(value)
    if not isinstance(value, tuple):
        return value
    items = [_frozen(item, level + 1) for item in value]
    if all(map(operator.is_, items, value)):
        return value
    return type(value)._make(items) if hasattr(value, "_make") else tuple(items)


_LEVELS = f"at most {MAX_LEVELS} levels of dicts and lists"
_WORDS = frozenset({str, bool, type(None)})
_FINISHED = _WORDS | {ReadOnlyDict, ReadOnlyList, int, float, bytes, frozenset}
_new_dict = dict.__new__
_fill_dict = dict.update
_put_in_dict = dict.__setitem__
_new_list = list.__new__
_fill_list = list.extend
_put_in_list = list.__setitem__
