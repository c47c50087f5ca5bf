"""Replies that were paid for once: what a real model answered, by what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zoolab.about import about
from zoolab.errors import InvalidTrace
from zoolab.experiments.journal import as_bytes
from zoolab.files import append_text
from zoolab.jsontext import digest, encode
from zoolab.models.request_keys import RequestKeys
from zoolab.records import Reply, Request
from zoolab.trace.codec import decode_reply, encode_plain

__all__ = ["ReplyCache", "key_of"]


class ReplyCache:
    """Replies by key, in a JSONL file that several workers share; each sees what the others add.

    A reply that two threads of a process want at once is asked for once.

    >>> import tempfile
    >>> cache = ReplyCache(Path(tempfile.mkdtemp()) / "cache.jsonl")
    >>> cache.get("k"), cache.put("k", Reply({"role": "assistant", "content": "Hi"})), cache.get("k").text
    (None, None, 'Hi')
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, int] = {}
        self._read = 0
        self._lock = threading.Lock()
        self._asked: dict[str, threading.Lock] = {}

    def get(self, key: str) -> Reply | None:
        """The reply, if somebody has it already."""
        with self._lock:
            place = self._places.get(key)
            if place is None:
                self._look()
                place = self._places.get(key)
        return None if place is None else self._reply_at(place)

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply."""
        line = as_bytes(encode({"key": key, "reply": encode_plain(reply)}) + "\n").decode()
        append_text(self._path, line, 0o600)

    @contextmanager
    def alone(self, key: str) -> Generator[None]:
        """Keep other threads of this process from asking the same at the same time."""
        with self._lock:
            lock = self._asked.setdefault(key, threading.Lock())
        with lock:
            yield
        with self._lock:
            self._asked.pop(key, None)

    def _look(self) -> None:
        """Read on, where others have written."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                key = _key_in(line)
                if key is not None:
                    self._places.setdefault(key, self._read)
                self._read += len(line)

    def _reply_at(self, place: int) -> Reply | None:
        with self._path.open("rb") as file:
            file.seek(place)
            try:
                return decode_reply(json.loads(file.readline())["reply"])
            except (ValueError, LookupError, TypeError, InvalidTrace):
                return None


def key_of(request: Request, model: Any, name: str, draw: object) -> str:
    """What is asked, and of whom; `draw` tells answers apart that were asked for more than once.

    >>> asked = Request([{"role": "user", "content": "Hi"}])
    >>> key_of(asked, None, "tiny", 0) == key_of(asked, None, "tiny", 1)
    False
    """
    said = about(model)
    sent = said.body(request) if said.body else request.body(**said.settings)
    who = [type(model).__name__, name, said.model, str(getattr(said.client, "base_url", ""))]
    return digest(encode([*map(str, who), RequestKeys().of(sent), str(draw)]))


def _key_in(line: bytes) -> str | None:
    start = len(b'{"key":"')
    end = line.find(b'"', start)
    return line[start:end].decode("ascii", "replace") if line.startswith(b'{"key":"') else None
