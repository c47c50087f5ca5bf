"""The server of the strict endpoint: on 127.0.0.1 only, and with bounds for what it takes in."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import encode
from zoolab_connect.endpoint.cases import Body, ReportedCase, find_cases
from zoolab_connect.endpoint.judging import CaseVerdict, judge
from zoolab_connect.endpoint.playing import Play, WireAnswer, events, failure

#: Bytes of a request.
MAX_BYTES = 4 << 20
#: Seconds without a word on a connection.
_IDLE = 60.0
_GEMINI = "/v1beta/models/"
#: Where each API is, below the address of a case.
_PATHS: Mapping[str, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "ollama": "/api/chat",
}


class Endpoint:
    """Some cases on a port of 127.0.0.1, until it is closed. Each case has an address of its own."""

    def __init__(self, cases: Iterable[ReportedCase], port: int = 0) -> None:
        self.plays: Mapping[str, Play] = {case.id: Play(case) for case in cases}
        try:
            self._server = _Server(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            raise InvalidInput(f"cannot serve at port {port}: {error}", advice="choose another one") from None
        self._server.plays = self.plays
        self.root = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no more requests."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The address of the first case, without what an API adds to it."""
        return self.url_of(next(iter(self.plays)))

    @property
    def requests(self) -> list[Body]:
        """The bodies of the requests for the first case."""
        return next(iter(self.plays.values())).requests

    def url_of(self, id: str) -> str:
        """Return the address of a case."""
        return f"{self.root}/{id}"

    def verdict(self, ended_well: bool | None = None) -> CaseVerdict:
        """Return the verdict on the first case.

        Args:
            ended_well: Whether the program says that it has an answer; None if it does not say.
        """
        return judge(next(iter(self.plays.values())), ended_well)

    def verdicts(self) -> list[CaseVerdict]:
        """Return the verdicts on the cases for which requests came."""
        return [judge(play) for play in self.plays.values() if play.requests or play.strays]


@contextmanager
def endpoint(*cases: ReportedCase | str | Mapping[str, Any], port: int = 0) -> Iterator[Endpoint]:
    """Play cases on loopback while the block runs.

    Args:
        cases: Ids, APIs or kinds of the data set, or cases of your own; by default all of the data set.
        port: Where to serve; 0 takes a free port.

    Raises:
        InvalidInput: There is no such case, a case lacks something, or the port is taken.

    >>> with endpoint("chat-cut-blank") as server:
    ...     print(server.verdict())
    x chat-cut-blank: gave up (no request came)
    """
    server = Endpoint(_cases(cases) if cases else find_cases(), port)
    try:
        yield server
    finally:
        server.close()


def _cases(given: Iterable[ReportedCase | str | Mapping[str, Any]]) -> list[ReportedCase]:
    made: list[ReportedCase] = []
    for each in given:
        if isinstance(each, str):
            made += find_cases([each])
        else:
            made.append(each if isinstance(each, ReportedCase) else ReportedCase.of(each))
    return made


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    plays: Mapping[str, Play]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a program that has heard enough: that is not an error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _IDLE

    def do_POST(self) -> None:
        if self._is_foreign():
            self._fail("chat", 403, "this server answers programs on this machine alone")
            return
        content = self._content()
        if content is None:
            return
        id, _, rest = self.path[1:].partition("/")
        play = self.server.plays.get(id)
        if play is None:
            self._fail("chat", 404, "there is no such case")
            return
        api = play.case.api
        address = "/" + rest.partition("?")[0]
        if not _is_served(api, address):
            play.stray(self.path)
            self._fail(api, 404, f"this case is {api}, and not at this address")
            return
        body = _object(content)
        if body is None:
            self._fail(api, 400, "the request is not a JSON object")
            return
        self._send(api, play.answer(body, streamed=_is_streamed(api, address, body)))

    def do_GET(self) -> None:
        if self._is_foreign():
            self._fail("chat", 403, "this server answers programs on this machine alone")
        elif self.path.endswith("/v1/models"):
            model = {"id": "any", "object": "model", "created": 1, "owned_by": "zoolab"}
            self._send("chat", WireAnswer(200, {"object": "list", "data": [model]}))
        else:
            self._fail("chat", 404, "this endpoint takes POST")

    def _is_foreign(self) -> bool:
        """Return whether a page of another site asks, by whatever name it found this server."""
        own = [f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")]
        origins = [None, *(f"http://{each}" for each in own)]
        return self.headers.get("host") not in own or self.headers.get("origin") not in origins

    def _content(self) -> bytes | None:
        """Return the bytes of the request; None if it was refused."""
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 10):
            self._fail("chat", 411, "a request needs a content-length")
        elif int(length) > MAX_BYTES:
            self._fail("chat", 413, f"a request has at most {MAX_BYTES:,} bytes")
        else:
            return self.rfile.read(int(length))
        return None

    def _fail(self, api: str, status: int, message: str) -> None:
        self.close_connection = True
        self._send(api, WireAnswer(status, failure(api, status, message)))

    def _send(self, api: str, answer: WireAnswer) -> None:
        if answer.streamed:
            pieces = events(api, answer.content)
            kind = "application/x-ndjson" if api == "ollama" else "text/event-stream"
        else:
            text = answer.content if isinstance(answer.content, str) else encode(answer.content)
            pieces = [text.encode()]
            kind = "application/json"
        self.send_response(answer.status)
        self.send_header("content-type", kind)
        if self.close_connection:
            self.send_header("connection", "close")
        self.send_header("content-length", str(sum(map(len, pieces))))
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)

    def log_message(self, *_: Any) -> None:
        """Print nothing: the verdicts tell what happened."""


def _object(content: bytes) -> Body | None:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _is_served(api: str, address: str) -> bool:
    if api != "gemini":
        return address == _PATHS[api]
    model, _, method = address.removeprefix(_GEMINI).partition(":")
    is_named = address.startswith(_GEMINI) and bool(model) and "/" not in model
    return is_named and method in ("generateContent", "streamGenerateContent")


def _is_streamed(api: str, address: str, body: Body) -> bool:
    if api == "gemini":
        return address.endswith(":streamGenerateContent")
    return body.get("stream", api == "ollama") is True
