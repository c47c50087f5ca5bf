"""Headers as they came: in their order, and each as often as it was there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

Pair = tuple[str, str]


class Headers(Mapping[str, str]):
    """The headers of a request or of an answer. Asked by name, those of one name are one, with commas.

    >>> came = Headers([("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
    >>> came["set-cookie"], came.pairs
    ('a=1, b=2', (('set-cookie', 'a=1'), ('set-cookie', 'b=2')))
    """

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self.pairs: tuple[Pair, ...] = tuple((name.lower(), value) for name, value in pairs)

    @classmethod
    def read(cls, raw: Iterable[tuple[bytes, bytes]]) -> Headers:
        """Return headers from the bytes of a connection."""
        return cls((name.decode("latin-1"), value.decode("latin-1")) for name, value in raw)

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> Headers:
        """Return the headers of a mapping, which may be `Headers`."""
        return headers if isinstance(headers, Headers) else cls(headers.items())

    def raw(self) -> list[tuple[bytes, bytes]]:
        """Return the headers as bytes."""
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.pairs]

    def without(self, names: Iterable[str]) -> Headers:
        """Return all headers but those of these names."""
        left_out = {*names}
        return Headers(pair for pair in self.pairs if pair[0] not in left_out)

    def __getitem__(self, name: str) -> str:
        values = [value for each, value in self.pairs if each == name]
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.pairs))

    def __len__(self) -> int:
        return len(dict(self.pairs))

    def __repr__(self) -> str:
        # Their values may be keys.
        return f"<Headers: {', '.join(self)}>"
