"""A server on loopback that passes requests on, and tells what came and what went.

It is no door to the outside: it binds to 127.0.0.1, refuses a request that names another host, or that comes
from a page of another site, and bounds what it takes in. The answer goes out in the pieces in which it comes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import encode
from zoolab_connect.proxy.exchange import MAX_BYTES, HttpRequest, HttpResponse, Upstream

#: Seconds without a word on a connection.
_IDLE = 600.0
#: Headers that are written anew; those of one connection only do not come here.
_OURS = ("content-length", "date", "server")


class LoopbackServer(ThreadingHTTPServer):
    """Answers requests on a port of 127.0.0.1 (0: a free one), each in a thread of its own, until closed."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, answer: Upstream, port: int = 0) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            what = f"cannot listen on port {port}: {getattr(error, 'strerror', None) or error}"
            raise InvalidInput(what, advice="take another port, or 0 for a free one") from None
        self.answer, self.url = answer, f"http://127.0.0.1:{self.server_port}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no more requests; those that are being answered end with the program."""
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A program that has heard enough is no error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: LoopbackServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _IDLE

    def _respond(self) -> None:
        content = None if self._refused() else self._content()
        if content is not None:
            headers = {name.lower(): text for name, text in self.headers.items()}
            self._send(self.server.answer(HttpRequest(self.command, self.path, headers, content)))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _respond

    def _refused(self) -> bool:
        """A page of another site must not ask through here, by whatever name it found this server."""
        own = [f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")]
        origins = [None, *(f"http://{each}" for each in own)]
        refused = self.headers.get("host") not in own or self.headers.get("origin") not in origins
        if refused:
            self._fail(403, "this server answers programs on this machine alone")
        return refused

    def _content(self) -> bytes | None:
        length = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers:
            content = self._chunks()
        elif length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= MAX_BYTES:
            content = self.rfile.read(int(length))
        else:
            content = None
        if content is None:
            self._fail(413, f"a request has at most {MAX_BYTES:,} bytes")
        return content

    def _chunks(self) -> bytes | None:
        parts: list[bytes] = []
        room = MAX_BYTES
        while True:
            size = self.rfile.readline(1_000).partition(b";")[0].strip()
            if not size or len(size) > 8 or size.strip(b"0123456789abcdefABCDEF"):
                return None
            if not (count := int(size, 16)):
                while self.rfile.readline(10_000).strip():
                    pass
                return b"".join(parts)
            room -= count
            if room < 0:
                return None
            parts.append(self.rfile.read(count))
            self.rfile.readline(10)

    def _fail(self, status: int, said: str) -> None:
        self.close_connection = True
        error = {"error": {"message": said, "type": "zoolab_proxy"}}
        self._send(HttpResponse(status, {"content-type": "application/json"}, [encode(error).encode()]))

    def _send(self, response: HttpResponse) -> None:
        self.send_response(response.status)
        for name, text in response.headers.items():
            if name not in _OURS:
                self.send_header(name, text)
        try:
            if isinstance(response.content, list):
                self.send_header("content-length", str(sum(map(len, response.content))))
                self.end_headers()
                self.wfile.write(b"" if self.command == "HEAD" else b"".join(response.content))
            elif self.command == "HEAD" or response.status in (204, 304):  # they have no content
                self.end_headers()
            else:
                self._send_pieces(response.content)
        finally:
            response.close()

    def _send_pieces(self, pieces: Iterable[bytes]) -> None:
        # HTTP/1.0 knows no chunks: there, the end of the connection is the end of the answer.
        chunked, closes = self.request_version != "HTTP/1.0", self.close_connection
        if chunked:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        # Without the last chunk, the program sees that the answer is not whole.
        self.close_connection = True
        for piece in pieces:
            if piece:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
            self.close_connection = closes

    def log_message(self, *_: Any) -> None:
        """Nothing is printed: what passes through is in the traces."""
