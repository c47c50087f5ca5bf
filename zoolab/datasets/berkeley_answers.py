"""Berkeley's ground truth: for each argument a list of the values that are accepted; "" may be left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoolab.datasets.berkeley_types import tool_name


def first_answer(
    truth: Sequence[Mapping[str, Any]], functions: Sequence[Mapping[str, Any]]
) -> tuple[str, dict[str, Any]]:
    """The tool and the arguments of the first call that is expected, of each argument the first value.

    >>> tools = [{"function": {"name": "a_b", "parameters": {"required": ["x"]}}}]
    >>> first_answer([{"a.b": {"x": [1, 2], "unit": ["", "m"]}}], tools)
    ('a_b', {'x': 1})
    """
    (written, accepted), *_ = truth[0].items()
    name = tool_name(written)
    known = [f["function"]["parameters"] for f in functions if f["function"]["name"] == name]
    return name, first_values(accepted, known[0] if known else {})


def first_values(accepted: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object out of the accepted values of its members; what may be left out is.

    >>> first_values({"at": [{"lat": [1.5], "lon": [2]}], "unit": ["", "m"]}, {})
    {'at': {'lat': 1.5, 'lon': 2}}
    """
    required = schema.get("required") or ()
    kept = {
        key: values
        for key, values in accepted.items()
        if key in required or not isinstance(values, list) or "" not in values
    }
    properties = schema.get("properties") or {}
    return {
        key: _first(values[0] if isinstance(values, list) and values else values, properties.get(key) or {})
        for key, values in kept.items()
    }


def _first(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return first_values(value, schema)
    if isinstance(value, list):
        items = schema.get("items")
        return [_first(item, items if isinstance(items, Mapping) else {}) for item in value]
    return value
