"""Stands in for rpds-py in the browser, as far as jsonschema and referencing use it.

The package index has no build of rpds-py for Pyodide. Pyodide's own distribution has one, so this is only
for a site that is built without that distribution. Each change copies the whole collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


class HashTrieMap(Mapping[Any, Any]):
    """A mapping that does not change."""

    def __init__(self, value: Any = (), **more: Any) -> None:
        self._items = dict(value, **more)

    @classmethod
    def convert(cls, value: Any) -> HashTrieMap:
        """Return the value itself, if it is such a mapping already."""
        return value if isinstance(value, cls) else cls(value)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def insert(self, key: Any, value: Any) -> HashTrieMap:
        """Return a copy with one more item."""
        return HashTrieMap({**self._items, key: value})

    def remove(self, key: Any) -> HashTrieMap:
        """Return a copy without this key, which must be there."""
        self._items[key]
        return self.discard(key)

    def discard(self, key: Any) -> HashTrieMap:
        """Return a copy without this key."""
        return HashTrieMap({other: value for other, value in self._items.items() if other != key})

    def update(self, *more: Any, **named: Any) -> HashTrieMap:
        """Return a copy with more items."""
        copy = dict(self._items)
        for each in (*more, named):
            copy.update(each)
        return HashTrieMap(copy)


class HashTrieSet(frozenset[Any]):
    """A set that does not change."""

    def insert(self, item: Any) -> HashTrieSet:
        """Return a copy with one more item."""
        return HashTrieSet(self | {item})

    def remove(self, item: Any) -> HashTrieSet:
        """Return a copy without this item."""
        return HashTrieSet(self - {item})

    def update(self, *more: Iterable[Any]) -> HashTrieSet:  # type: ignore[override,unused-ignore]
        """Return a copy with more items."""
        return HashTrieSet(self.union(*more))


class List(tuple[Any, ...]):
    """A list that does not change."""

    def __new__(cls, *items: Any) -> List:
        """Make one from one collection, or from the items."""
        alone = len(items) == 1 and not isinstance(items[0], str)
        return super().__new__(cls, items[0] if alone else items)

    def push_front(self, item: Any) -> List:
        """Return a copy with one more item at its beginning."""
        return List((item, *self))

    @property
    def first(self) -> Any:
        """The first item."""
        return self[0]

    @property
    def rest(self) -> List:
        """All but the first."""
        return List(self[1:])

    def drop_first(self) -> List:
        """Return all but the first."""
        return self.rest
