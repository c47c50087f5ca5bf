"""Messages between the grader and a submission.

A message is JSON with its length before it, bounded, and nothing else.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from zoolab.jsontext import NotStrictJSON, parse_json

#: The longest message: a million characters, as UTF-8.
MAX_BYTES = 4_000_000
#: What one process may send in its life.
MAX_TOTAL = 16_000_000

_LENGTH = struct.Struct("!I")
_ENCODER = json.JSONEncoder(allow_nan=False, check_circular=False)
_CHUNK = 1 << 16
_CHUNKS = 64


class Gone(Exception):
    """The other side is no longer there, or says what cannot be understood."""


class Closed(Gone):
    """The other side has closed its end, most likely by ending."""

    def __init__(self) -> None:
        super().__init__("closed its end")


class Late(Exception):
    """Nothing whole came in time."""


@dataclass(slots=True)
class Channel:
    """The trusted end: what comes is bounded before it is read, and parsed strictly."""

    socket: socket.socket
    received: int = field(default=0, init=False)
    #: Answers a submission that runs in this process, while it waits in its question.
    answer: Callable[[dict[str, Any]], dict[str, Any]] | None = field(default=None, init=False)
    _came: bytearray = field(default_factory=bytearray, init=False)

    def send(self, message: dict[str, Any], seconds: float = 10.0) -> None:
        """Send one message; raise `Gone` if nobody reads it."""
        data = _ENCODER.encode(message).encode()
        self.socket.settimeout(seconds)
        try:
            self.socket.sendall(_LENGTH.pack(len(data)) + data)
        except TimeoutError as error:
            raise Gone("stopped reading messages") from error
        except OSError as error:
            raise Closed from error

    def receive(self, seconds: float) -> dict[str, Any]:
        """Return the next message; raise `Gone`, or `Late`, after which it can be called again and loses
        nothing.
        """
        until = time.monotonic() + seconds
        self._await(_LENGTH.size, until)
        (length,) = _LENGTH.unpack_from(self._came)
        if length > MAX_BYTES:
            raise Gone(f"sends {length:,} bytes at once")
        self._await(_LENGTH.size + length, until)
        data = self._came[_LENGTH.size : _LENGTH.size + length]
        del self._came[: _LENGTH.size + length]
        try:
            message = parse_json(data.decode())
        except (NotStrictJSON, UnicodeDecodeError) as error:
            raise Gone("sent text that is not JSON") from error
        if not isinstance(message, dict):
            raise Gone("sent JSON that is not a message of the protocol")
        return message

    def ended(self) -> bool:
        """Return whether the other side has closed its end; what it sent before does not matter any more."""
        try:
            self.socket.settimeout(0)
            return any(not self.socket.recv(_CHUNK) for _ in range(_CHUNKS))
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _await(self, size: int, until: float) -> None:
        while len(self._came) < size:
            self.socket.settimeout(max(until - time.monotonic(), 0.001))
            try:
                part = self.socket.recv(min(size - len(self._came), _CHUNK))
            except TimeoutError as error:
                raise Late from error
            except OSError as error:
                raise Closed from error
            if not part:
                raise Closed
            self._came += part
            self.received += len(part)
            if self.received > MAX_TOTAL:
                raise Gone(f"sends more than {MAX_TOTAL:,} bytes")
