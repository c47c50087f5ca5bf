"""A change of a list as a JSON patch (RFC 6902): for lists that grow, and for items that are replaced."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

Operation = dict[str, Any]


def list_patch(before: Sequence[Any], after: Sequence[Any], start: int = 0) -> list[Operation]:
    """The operations that turn one list into the other, in the order in which they are applied.

    Args:
        before: The old list, or its end.
        after: The new list, or its end.
        start: How many equal items come before both.

    >>> list_patch(["a", "b"], ["a", "c", "d"])
    [{'op': 'replace', 'path': '/1', 'value': 'c'}, {'op': 'add', 'path': '/2', 'value': 'd'}]
    >>> list_patch(["a", "b", "c"], ["a", "c"])
    [{'op': 'remove', 'path': '/1'}]
    """
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    at, both = start + head, min(len(old), len(new))
    replaced = [
        {"op": "replace", "path": f"/{at + i}", "value": new[i]}
        for i in range(both)
        if not _same(old[i], new[i])
    ]
    removed = [{"op": "remove", "path": f"/{at + i}"} for i in reversed(range(both, len(old)))]
    added = [{"op": "add", "path": f"/{at + i}", "value": new[i]} for i in range(both, len(new))]
    return [*replaced, *removed, *added]


def _common(one: Sequence[Any], other: Sequence[Any]) -> int:
    return sum(1 for _ in takewhile(lambda pair: _same(*pair), zip(one, other, strict=False)))


def _same(one: Any, other: Any) -> bool:
    """Written alike in JSON: true is not 1, and 0 is not 0.0."""
    return json.dumps(one) == json.dumps(other)
