"""What passes through: servers on loopback, and an ear that is told what came and what went."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from time import perf_counter, sleep
from typing import Protocol

from zoolab_connect.proxy.addresses import ApiAddress
from zoolab_connect.proxy.encodings import Decoder
from zoolab_connect.proxy.exchange import MAX_BYTES, Heard, HttpRequest, HttpResponse, Upstream
from zoolab_connect.proxy.server import LoopbackServer

# The last event of a stream, and whole: no text of a model can begin a line of the stream.
_LAST = re.compile(
    rb'\ndata: ?(?:\[DONE\]|\{"type": ?"(?:message_stop|response\.(?:completed|incomplete|failed))").*\n\n\Z',
    re.DOTALL,
)
#: Seconds that the end of an answer waits until it is written: if little waits before it, or more.
_PATIENCE = 10.0
_HASTE = 0.02
_FEW = 10
_LITTLE = 500_000
#: Seconds after which another thread has its turn, so that what is long does not hold what is short.
SWITCH = 0.0005
#: Seconds between two looks whether requests are still being answered.
_LOOK = 0.05


class Backlog:
    """How much waits to be written; whoever adds to too many bytes waits until there is room."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self.most = most
        self.waiting = 0
        self._things = 0
        self._over = False
        self._room = threading.Condition()

    def add(self, size: int) -> None:
        """Count bytes that are to be written."""
        with self._room:
            self._room.wait_for(lambda: self.waiting < self.most or self._over)
            self.waiting += size
            self._things += 1

    def take(self, size: int) -> None:
        """Count bytes as written."""
        with self._room:
            self.waiting -= size
            self._things -= 1
            self._room.notify_all()

    def end(self) -> None:
        """Let nobody wait any more."""
        with self._room:
            self._over = True
            self._room.notify_all()

    def patience(self, own: int) -> float:
        """Return seconds for which an answer waits until it is written, if so many bytes are its own."""
        is_short = self._things <= _FEW and self.waiting - own < _LITTLE
        return _PATIENCE if is_short else _HASTE


class Ear(Protocol):
    """Is told what passes through. An answer has the number of its request."""

    backlog: Backlog

    def asked(self, number: int, request: HttpRequest, came: float) -> None:
        """Note that a request came, at this time of `perf_counter`."""

    def heard(
        self, number: int, answer: HttpResponse, heard: Heard, ended: float, size: int
    ) -> threading.Event:
        """Note that an answer ended; `size` is that of both. Tells when it is written."""

    def odd(self, said: str) -> None:
        """Note that what came is no HTTP, or broke off."""


class Passing:
    """Servers on loopback, which ask `upstream` what they are asked, and tell an ear.

    Args:
        upstream: Who answers.
        ear: Is told.
        endpoints: Each gets a port of its own, so that a key goes nowhere else.
        port: The port of `url`, which is for all others; 0 is a free one.
    """

    def __init__(
        self,
        upstream: Upstream,
        ear: Ear,
        endpoints: Sequence[ApiAddress] = (),
        port: int = 0,
    ) -> None:
        self._upstream = upstream
        self._ear = ear
        self._numbers = count()
        self._server = LoopbackServer(self._answer, port, ear.odd)
        self._doors = {
            each: LoopbackServer(partial(self._answer, door=each), odd=ear.odd) for each in endpoints
        }
        self.url = self._server.url
        #: Where each endpoint is, without a path.
        self.doors = {endpoint: server.url for endpoint, server in self._doors.items()}

    def tell_all(self) -> None:
        """Return when the ear has been told of all that has come."""

    def close(self) -> None:
        """Take no more requests; those that are being answered go on."""
        for server in self._servers:
            server.close()

    def let_finish(self) -> None:
        """Wait for the answers to the requests that came."""
        while any(server.busy for server in self._servers):
            sleep(_LOOK)

    @property
    def _servers(self) -> list[LoopbackServer]:
        return [self._server, *self._doors.values()]

    def _answer(self, request: HttpRequest, door: ApiAddress | None = None) -> HttpResponse:
        request = replace(request, door=door)
        number = next(self._numbers)
        self._ear.asked(number, request, perf_counter())
        answer = self._upstream(request)
        if request.api is None:
            return answer

        def hear(heard: Heard) -> None:
            size = len(request.content) + len(heard.content)
            written = self._ear.heard(number, answer, heard, perf_counter(), size)
            # The program knows the end of its answer when that is written, unless that takes long.
            written.wait(self._ear.backlog.patience(size))

        return _tapped(answer, hear)


def _tapped(answer: HttpResponse, heard: Callable[[Heard], None]) -> HttpResponse:
    """Return an answer. Once its content is whole, and before the program knows that, `heard` is told what
    came, or else when it is closed.
    """
    kept: list[bytes] = []
    waiting = [heard]
    decoder = Decoder(answer.headers.get("content-encoding", ""), MAX_BYTES)
    length = answer.headers.get("content-length")

    def tell(*, whole: bool) -> None:
        if waiting:
            waiting.pop()(Heard(b"".join(kept), whole, decoder.problem))

    def pieces() -> Iterator[bytes]:
        size = 0
        for piece in answer.content:
            plain = decoder.feed(piece)
            kept.append(plain)
            size += len(piece)
            if str(size) == length:
                tell(whole=decoder.is_whole)
            if plain.endswith(b"\n\n") and _LAST.search(b"\n" + plain):
                tell(whole=True)
            yield piece
        tell(whole=decoder.is_whole)

    def close() -> None:
        answer.close()
        tell(whole=False)

    return replace(answer, content=pieces(), close=close)
