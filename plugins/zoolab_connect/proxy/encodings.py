"""Compressed content: it passes on as it came, and is read as it comes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

from zoolab.errors import InvalidInput

#: Bytes of Zstandard that are unpacked at once: four of them can say 128 KB.
_SLICE = 256
_GZIP = b"\x1f\x8b"


class _Machine(Protocol):
    """Unpacks one encoding."""

    @property
    def ended(self) -> bool:
        """Whether what came so far is whole."""

    def feed(self, data: bytes, most: int) -> bytes:
        """Return what is in the next bytes; it may stop soon after `most` bytes of it."""


class _Zlib:
    """gzip, of one member or several, and deflate, with zlib's header or without."""

    def __init__(self, gzip: bool) -> None:
        self._gzip = gzip
        self._begin = b""
        self._inner: Any = None
        self.ended = False

    def feed(self, data: bytes, most: int) -> bytes:
        parts = list[bytes]()
        data = self._begin + data
        while data and most >= 0:
            if self._inner is None:
                if len(data) < 2:
                    break
                self._inner = zlib.decompressobj(self._window(data))
                self.ended = False
            parts.append(self._inner.decompress(data, most + 1))
            most -= len(parts[-1])
            data = self._inner.unconsumed_tail
            if self._inner.eof:
                self.ended = True
                rest = self._inner.unused_data
                # Clients pass over what stands behind the end and is not a further member.
                goes_on = self._gzip and _GZIP.startswith(rest[:2])
                data, self._inner = (rest, None) if goes_on else (b"", self._inner)
        self._begin = data if self._inner is None else b""
        return b"".join(parts)

    def _window(self, data: bytes) -> int:
        if self._gzip:
            return 31
        has_header = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
        return 15 if has_header else -15


class _Brotli:
    def __init__(self) -> None:
        import brotli

        self._inner = brotli.Decompressor()

    @property
    def ended(self) -> bool:
        return bool(self._inner.is_finished())

    def feed(self, data: bytes, most: int) -> bytes:
        parts = [self._inner.process(data, output_buffer_limit=most + 1)]
        most -= len(parts[0])
        while most >= 0 and not self._inner.can_accept_more_data():
            parts.append(self._inner.process(b"", output_buffer_limit=most + 1))
            most -= len(parts[-1])
        return b"".join(parts)


class _Zstandard:
    def __init__(self) -> None:
        self._inner: Any = None
        self.ended = False

    def feed(self, data: bytes, most: int) -> bytes:
        import zstandard

        parts = list[bytes]()
        while data and most >= 0:
            if self._inner is None:
                self._inner = zstandard.ZstdDecompressor().decompressobj()
                self.ended = False
            parts.append(self._inner.decompress(data[:_SLICE]))
            most -= len(parts[-1])
            data = data[_SLICE:]
            if self._inner.eof:
                data = self._inner.unused_data + data
                self._inner = None
                self.ended = True
        return b"".join(parts)


def _has_brotli() -> bool:
    """Return whether there is a Brotli that unpacks no more than it is asked for."""
    if find_spec("brotli") is None:
        return False
    import brotli

    return hasattr(brotli.Decompressor, "can_accept_more_data")


@cache
def _machines() -> dict[str, Callable[[], _Machine]]:
    known: dict[str, Callable[[], _Machine]] = {
        "gzip": lambda: _Zlib(gzip=True),
        "deflate": lambda: _Zlib(gzip=False),
    }
    if _has_brotli():
        known["br"] = _Brotli
    if find_spec("zstandard") is not None:
        known["zstd"] = _Zstandard
    return known


class Decoder:
    """Reads content while it comes; `said` is its header `content-encoding`, and may be empty.

    If it cannot be read, `problem` says why, and nothing more comes of it: the encoding is not known here,
    the content is broken, or more than `most` bytes are in it.
    """

    def __init__(self, said: str, most: int) -> None:
        names = [name.strip() for name in said.lower().replace("x-gzip", "gzip").split(",")]
        names = [name for name in names if name not in ("", "identity")]
        known = _machines()
        unknown = ", ".join(sorted({*names} - known.keys()))
        self.problem = f"is compressed as {unknown[:100]}, which cannot be read here" if unknown else ""
        self._machines = [] if unknown else [known[name]() for name in reversed(names)]
        self._room = most
        self._most = most
        self._began = False

    @property
    def is_whole(self) -> bool:
        """Whether the content may end here."""
        return not self._began or all(machine.ended for machine in self._machines)

    def feed(self, piece: bytes) -> bytes:
        """Return what the next bytes say."""
        if self.problem:
            return b""
        self._began = self._began or bool(piece)
        try:
            for machine in self._machines:
                piece = machine.feed(piece, self._room)
                if len(piece) > self._room:
                    break
        except Exception as error:  # each library has its own
            self.problem = f"is not what its content-encoding says: {error}"
            return b""
        self._room -= len(piece)
        if self._room < 0:
            self.problem = f"has more than {self._most:,} bytes"
            return b""
        return piece


def decoded(content: bytes, said: str, most: int) -> bytes:
    """Return content without its encodings; raises `InvalidInput` if it cannot be read.

    >>> import gzip
    >>> decoded(gzip.compress(b"Hello"), "gzip", 100)
    b'Hello'
    """
    decoder = Decoder(said, most)
    plain = decoder.feed(content)
    if decoder.problem or not decoder.is_whole:
        raise InvalidInput(f"the content {decoder.problem or 'is not whole'}", expected=_expected())
    return plain


def narrowed(accepted: str) -> str:
    """Return what a program accepts (`accept-encoding`), without what cannot be read here.

    >>> narrowed("gzip;q=0.5, compress"), narrowed("compress")
    ('gzip;q=0.5', 'identity')
    """
    known = {*_machines(), "identity"}
    kept = list[str]()
    for each in filter(None, re.split(r"\s*,\s*", accepted.strip())):
        name, semicolon, weight = each.partition(";")
        if name.strip() == "*":
            kept += [f"{one}{semicolon}{weight}" for one in _machines() if one not in accepted]
        elif name.strip().lower() in known:
            kept.append(each)
    return ", ".join(kept) or "identity"


def _expected() -> str:
    return ", ".join(_machines())
