"""The calls that a case expects, in any of the forms in which they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.experiments.scorers.rules import Accepted
from zoolab.jsontext import excerpt

#: What `Case.expected_calls` says where a call is needed, and any will do.
ANY_CALL = "any"


def expected_calls(written: Any) -> list[tuple[str, Accepted]]:
    """Names with the accepted values of each parameter, from any of three forms.

    `("add", {"a": 1})` and `{"name": "add", "arguments": {"a": 1}}` accept these values alone,
    `{"add": {"a": [1, 2, ""]}}` each that it lists, "" for a parameter that may be left out.

    Raises:
        InvalidInput: It is none of them.

    >>> expected_calls([("add", {"a": 1}), {"add": {"a": [1, 2]}}])
    [('add', {'a': [1]}), ('add', {'a': [1, 2]})]
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
    raise InvalidInput(
        f"an expected call is {excerpt(call)}",
        expected='("add", {"a": 1}), or {"add": {"a": [1, 2]}} with lists of what is accepted',
    )


def _alone(value: Any) -> Any:
    """A value as the one that is accepted: each key of an object has a list of its own."""
    if isinstance(value, Mapping):
        return {key: [item] for key, item in value.items()}
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return [_alone(item) for item in value]
    return value
