"""The output that a tool prints: captured for the trace, and still shown."""

from __future__ import annotations

import sys
import threading
from contextvars import ContextVar, Token
from typing import Any, TextIO

MAX_PRINTED = 16 * 1024


class Printed:
    """Keeps what is printed in this context, until `text` is asked for."""

    __slots__ = ("_parts", "_size", "_token")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._token: Token[Printed | None] = _here.set(self)

    def add(self, text: str) -> None:
        """Keep a text, as long as there is room."""
        if self._size <= MAX_PRINTED:
            self._parts.append(text[: MAX_PRINTED + 1])
        self._size += len(text)

    def text(self) -> str:
        """Return what was printed, at most `MAX_PRINTED` characters and a notice; nothing is kept from here
        on.
        """
        _here.reset(self._token)
        text = "".join(self._parts)
        if self._size <= MAX_PRINTED:
            return text
        return f"{text[:MAX_PRINTED]}\n[cut: the first {MAX_PRINTED:,} of {self._size:,} characters]"


_here: ContextVar[Printed | None] = ContextVar("zoolab_printed", default=None)


class Stage:
    """Stands before `sys.stdout` while tools run; walks in several threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._walks = 0
        self._tee = _Tee(sys.stdout)

    def enter(self) -> None:
        """Note that a walk begins to run tools."""
        with self._lock:
            self._walks += 1
            if self._walks == 1:
                self._tee.beyond = sys.stdout
                sys.stdout = self._tee

    def leave(self) -> None:
        """Note that a walk has its outcomes. The last one to finish restores what was there, unless it was
        replaced.
        """
        with self._lock:
            self._walks -= 1
            if self._walks == 0 and sys.stdout is self._tee:
                sys.stdout = self._tee.beyond


class _Tee:
    def __init__(self, beyond: TextIO) -> None:
        self.beyond = beyond

    def write(self, text: str) -> int:
        printed = _here.get()
        if printed is not None:
            printed.add(text)
        return self.beyond.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beyond, name)


STAGE = Stage()
