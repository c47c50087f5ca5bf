"""Whether calls are the expected ones.

That is decided by the rules of the Berkeley Function-Calling Leaderboard. What
is accepted is written as its ground truth is: `{"add": {"a": [42], "unit": ["C", ""]}}` names a tool and for
each parameter the values that will do; "" among them means that it may be left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.tools import name_for_apis

#: What `Case.expected_calls` says where a call is needed, and any will do.
ANY_CALL = "any"
Call = tuple[str, Mapping[str, Any]]
Accepted = Mapping[str, Sequence[Any]]
_KINDS: dict[str, type] = {
    **dict.fromkeys(("string", "any"), str),
    "integer": int,
    **dict.fromkeys(("float", "number"), float),
    "boolean": bool,
    **dict.fromkeys(("array", "tuple"), list),
    **dict.fromkeys(("dict", "object"), dict),
}
_UNHEARD = str.maketrans("'", '"', " ,./-_*^")


def expected_calls(written: Any) -> list[tuple[str, Accepted]]:
    """Return names with the accepted values of each parameter, from any of three forms.

    `("add", {"a": 1})` and `{"name": "add", "arguments": {"a": 1}}` accept these values alone,
    `{"add": {"a": [1, 2, ""]}}` each that it lists, "" for a parameter that may be left out.

    Raises `InvalidInput` if it is none of them.
    """
    if isinstance(written, str | Mapping) or not isinstance(written, Iterable):
        raise InvalidInput(f"expected_calls is {excerpt(written)}", expected="a list of calls")
    return [_expected_call(call) for call in written]


def _expected_call(call: Any) -> tuple[str, Accepted]:
    if isinstance(call, Mapping) and call.keys() == {"name", "arguments"}:
        call = (call["name"], call["arguments"])
    elif isinstance(call, Mapping) and len(call) == 1:
        name, accepted = next(iter(call.items()))
        if isinstance(accepted, Mapping) and all(isinstance(one, list) for one in accepted.values()):
            return str(name), accepted
    if isinstance(call, tuple | list) and len(call) == 2:
        name, arguments = call
        if isinstance(name, str) and isinstance(arguments, Mapping):
            return name, {key: [_alone(value)] for key, value in arguments.items()}
    expected = '("add", {"a": 1}), or {"add": {"a": [1, 2]}} with lists of what is accepted'
    raise InvalidInput(f"an expected call is {excerpt(call)}", expected=expected)


def _alone(value: Any) -> Any:
    """Return a value as the one that is accepted: each key of an object has a list of its own."""
    if isinstance(value, Mapping):
        return {key: [item] for key, item in value.items()}
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return [_alone(item) for item in value]
    return value


def are_expected(
    calls: Sequence[Call], expected: Sequence[tuple[str, Accepted]], schemas: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Return whether these calls are the expected ones, in any order.

    Args:
        calls: Names and parsed arguments.
        expected: Names, and the accepted values of each parameter; none at all if no call is needed.
        schemas: The parameters of each tool, as JSON Schema or in Berkeley's own words for types.
    """
    fits = [[_is_expected(call, wanted, schemas) for call in calls] for wanted in expected]
    return len(calls) == len(expected) and _all_have_one(fits)


def _is_expected(call: Call, wanted: tuple[str, Accepted], schemas: Mapping[str, Mapping[str, Any]]) -> bool:
    (called, arguments) = call
    (tool, accepted) = wanted
    schema = next((schema for known, schema in schemas.items() if is_named(known, tool)), {})
    properties: Mapping[str, Any] = schema.get("properties") or {}
    return (
        is_named(called, tool)
        and all(name in arguments for name in schema.get("required") or ())
        and all(name in arguments or "" in values for name, values in accepted.items())
        and arguments.keys() <= properties.keys() & accepted.keys()
        and all(is_accepted(value, accepted[name], properties[name]) for name, value in arguments.items())
    )


def is_named(called: str, name: str) -> bool:
    """Return whether a called tool is the one of this name, as it is or as it can be sent: OpenAI allows no
    dots.
    """
    return called in (name, name_for_apis(name))


def _all_have_one(fits: Sequence[Sequence[bool]]) -> bool:
    """Return whether each row can have a column of its own that fits it."""
    taken: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column, fit in enumerate(fits[row]):
            if fit and column not in tried:
                tried.add(column)
                if column not in taken or place(taken[column], tried):
                    taken[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(fits)))


def is_accepted(value: Any, accepted: Sequence[Any], schema: Mapping[str, Any] | bool) -> bool:
    """Return whether a value is one of the accepted ones.

    It has the type of its schema, or that of the first accepted value; an integer will do for a number,
    but no number for an integer, and no boolean for either. Texts are compared without case, spaces and
    the marks `,./-_*^`. Where the accepted values are of another type than the schema says, they are
    names of variables and the like, and compared as they are.
    """
    # The first one that is not "left out" tells the type of the accepted values.
    usual = next((type(one) for one in accepted if one != ""), None)
    kind: Any = _kind_in(schema) or usual
    if kind is float and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    if type(value) is not kind:
        return type(value) is usual and value in accepted
    items = _kind_in(schema.get("items")) if kind is list and isinstance(schema, Mapping) else None
    # Items have the type that they should have, or one that they have in an accepted list.
    listed: Any = value
    if items is not None and not any(
        not isinstance(one, list) or {type(item) for item in listed} <= {items, *map(type, one)}
        for one in accepted
    ):
        return False
    return _matches(value, accepted, items) if usual in (None, kind) else value in accepted


def _matches(value: Any, accepted: Sequence[Any], items: type | None) -> bool:
    if isinstance(value, dict):
        return any(_dict_fits(value, one) for one in accepted if isinstance(one, dict))
    if isinstance(value, list):
        # An empty accepted list stands for a list that may be left out.
        lists: list[list[Any]] = [one or [] for one in accepted if isinstance(one, list) or one == ""]
        if items is dict or (items is None and {*map(type, value)} == {dict}):
            return any(len(value) == len(one) and all(map(_dict_fits, value, one)) for one in lists)
        return [*map(_heard, value)] in [[*map(_heard, one)] for one in lists]
    if isinstance(value, str):
        return _heard(value) in [_heard(one) for one in accepted if isinstance(one, str)]
    return value in accepted


def _dict_fits(value: Any, accepted: Any) -> bool:
    """Return whether there are only known keys, each with an accepted value; what is left out may be left
    out.
    """
    if not (isinstance(value, dict) and isinstance(accepted, dict)):
        return False
    known = all(key in accepted and _heard(v) in [*map(_heard, accepted[key])] for key, v in value.items())
    return known and all(key in value or "" in options for key, options in accepted.items())


def _heard(value: Any) -> Any:
    """Return a text as it is compared; other values as they are."""
    return value.translate(_UNHEARD).lower() if isinstance(value, str) else value


def _kind_in(schema: Any) -> type | None:
    """Return the one type, beside null, that a schema allows; None where it names none, or several."""
    if not isinstance(schema, Mapping):
        return None
    named = schema.get("type")
    names = [named] if isinstance(named, str) else named
    names = names or [one.get("type") for one in schema.get("anyOf") or () if isinstance(one, Mapping)]
    kinds = {_KINDS[name] for name in names if isinstance(name, str) and name in _KINDS}
    return kinds.pop() if len(kinds) == 1 else None
