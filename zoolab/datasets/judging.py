"""Whether the arguments of a call say what was meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def same_arguments(meant: Mapping[str, Any], given: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Whether arguments mean the same: case, outer blanks and a last / or . make no difference.

    An argument that was not meant makes no difference if it is the schema's default.

    >>> same_arguments({"city": "Oslo"}, {"city": "oslo "}, {}), same_arguments({}, {"unit": "K"}, {})
    (True, False)
    """
    properties = schema.get("properties", {})
    more = {
        key: value
        for key, value in given.items()
        if key not in meant and properties.get(key, {}).get("default", ...) != value
    }
    return not more and all(key in given and _plain(given[key]) == _plain(meant[key]) for key in meant)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip().rstrip("/.").casefold()
    if isinstance(value, Mapping):
        return {key: _plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_plain(child) for child in value]
    return (type(value) is bool, value)
