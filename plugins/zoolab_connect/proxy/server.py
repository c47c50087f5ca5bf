"""A server on loopback that passes requests on, and tells what came and what went.

It is no door to the outside: it binds to 127.0.0.1, refuses a request that names another host, or that comes
from a page of another site, and bounds what it takes in. The answer goes out in the pieces in which it comes.
HTTP is read and written by h11.
"""

from __future__ import annotations

import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from socketserver import BaseRequestHandler, TCPServer, ThreadingMixIn
from time import monotonic
from typing import Any

import h11

from zoolab.errors import InvalidInput
from zoolab.jsontext import encode
from zoolab_connect.proxy.exchange import MAX_BYTES, HttpRequest, HttpResponse, Upstream
from zoolab_connect.proxy.headers import Headers

#: Seconds without a word on a connection.
_IDLE = 600.0
#: Bytes of a request before its content, and of what is read at once.
_MAX_HEAD = 1 << 17
_READ = 1 << 16
#: Seconds for which a refused request is read on.
_UNREAD_SECONDS = 30.0
#: Statuses of answers without content.
_EMPTY = (204, 304)


class LoopbackServer(ThreadingMixIn, TCPServer):
    """Answers requests on a port of 127.0.0.1 (0: a free one), each connection in a thread, until closed.

    Args:
        answer: Who answers.
        port: The port.
        odd: Is told of each request that is no HTTP, or that broke off. It is not passed on.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, answer: Upstream, port: int = 0, odd: Callable[[str], None] = lambda _: None) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Connection)
        except (OSError, OverflowError) as error:
            what = f"cannot listen on port {port}: {getattr(error, 'strerror', None) or error}"
            raise InvalidInput(what, advice="take another port, or 0 for a free one") from None
        self.answer = answer
        self.odd = odd
        self._busy = 0
        self._counting = threading.Lock()
        self.server_port = int(self.server_address[1])
        self.url = f"http://127.0.0.1:{self.server_port}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a request as one that is being answered."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._counting:
            self._busy += more

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self._busy > 0

    def close(self) -> None:
        """Take no more requests; those that are being answered end with the program."""
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a program that has heard enough: it is no error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Refused(Exception):
    """A request that is not answered, with the status that says so."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class _Connection(BaseRequestHandler):
    """The requests of one connection, one after the other."""

    server: LoopbackServer
    request: socket.socket

    def handle(self) -> None:
        self.request.settimeout(_IDLE)
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wire = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
        while self._exchange():
            self._wire.start_next_cycle()

    def _exchange(self) -> bool:
        """Take a request and send its answer; returns whether another one may follow."""
        head = None
        try:
            head = self._next()
            if not isinstance(head, h11.Request):
                return False
            asked = self._read(head)
        except (_Refused, h11.RemoteProtocolError) as problem:
            if isinstance(problem, h11.RemoteProtocolError):
                name = f"{head.method.decode()} {head.target.decode()}: " if head else ""
                self.server.odd(f"{name}the request broke off, or is no HTTP: {problem}")
            self._refuse(problem)
            return False
        with self.server.answering():
            self._send(asked.method, self.server.answer(asked))
        return self._wire.our_state is h11.DONE and self._wire.their_state is h11.DONE

    def _next(self) -> Any:
        while (event := self._wire.next_event()) is h11.NEED_DATA:
            if self._wire.they_are_waiting_for_100_continue:
                self._write(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
            self._wire.receive_data(self.request.recv(_READ))
        return event

    def _read(self, head: h11.Request) -> HttpRequest:
        headers = Headers.read(head.headers)
        self._expect_own(headers)
        parts = list[bytes]()
        size = int(headers.get("content-length", "0"))
        if size <= MAX_BYTES:
            size = 0
            while isinstance(event := self._next(), h11.Data) and size <= MAX_BYTES:
                parts.append(bytes(event.data))
                size += len(parts[-1])
        if size > MAX_BYTES:
            raise _Refused(413, f"a request has at most {MAX_BYTES:,} bytes")
        return HttpRequest(head.method.decode(), head.target.decode(), headers, b"".join(parts))

    def _expect_own(self, headers: Headers) -> None:
        """Refuse a page of another site, by whatever name it found this server."""
        own = [f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")]
        origins = [None, *(f"http://{each}" for each in own)]
        if headers.get("host") not in own or headers.get("origin") not in origins:
            raise _Refused(403, "this server answers programs on this machine alone")

    def _refuse(self, problem: _Refused | h11.RemoteProtocolError) -> None:
        status = problem.status if isinstance(problem, _Refused) else problem.error_status_hint
        error = {"error": {"message": str(problem), "type": "zoolab_proxy"}}
        headers = {"content-type": "application/json", "connection": "close"}
        with suppress(h11.LocalProtocolError):  # the program may have closed its side
            self._send("", HttpResponse(status, headers, [encode(error).encode()]))
        self._let_finish()

    def _let_finish(self) -> None:
        """Read on for a bounded while.

        Whoever closes with something unread resets the connection, and the answer is lost.
        """
        until = monotonic() + _UNREAD_SECONDS
        with suppress(OSError):
            self.request.shutdown(socket.SHUT_WR)
            while (left := until - monotonic()) > 0:
                self.request.settimeout(left)
                if not self.request.recv(_READ):
                    return

    def _reset(self) -> None:
        """End the connection as one that broke: its plain end is the end of an answer that has no length."""
        with suppress(OSError):
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()

    def _write(self, event: h11.Event) -> None:
        if data := self._wire.send(event):
            self.request.sendall(data)

    def _send(self, method: str, response: HttpResponse) -> None:
        headers = Headers.of(response.headers)
        content = response.content
        if isinstance(content, list):
            size = str(sum(map(len, content)))
            headers = Headers([*headers.without(["content-length"]).pairs, ("content-length", size)])
        status = response.status
        reason = HTTPStatus(status).phrase.encode() if status in [*HTTPStatus] else b""
        try:
            # Closed before a reset, so that what came is told before the program knows its end.
            with closing(response):
                self._write(h11.Response(status_code=status, headers=headers.raw(), reason=reason))
                for piece in [] if method == "HEAD" or status in _EMPTY else content:
                    if piece:
                        self._write(h11.Data(data=piece))
                self._write(h11.EndOfMessage())
        except BaseException:
            if self._wire.their_http_version == b"1.0" and "content-length" not in headers:
                self._reset()
            raise
