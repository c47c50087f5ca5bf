"""HTTP as it is on the connection: what ends, what is repeated, and what breaks off."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server import completion

from zoolab import watch
from zoolab_connect.proxy.exchange import HttpRequest, HttpResponse
from zoolab_connect.proxy.headers import Headers
from zoolab_connect.proxy.seen import Seen
from zoolab_connect.proxy.server import LoopbackServer

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
SAID = json.dumps(completion("It is 100.")).encode()
POST = b"POST /v1/chat/completions HTTP/1.1\r\n"


@pytest.fixture
def came() -> list[HttpRequest]:
    return []


@pytest.fixture
def server(came: list[HttpRequest]) -> Iterator[LoopbackServer]:
    def answer(request: HttpRequest) -> HttpResponse:
        came.append(request)
        return HttpResponse(200, {"content-type": "text/plain"}, [b"fine"])

    odd: list[str] = []
    made = LoopbackServer(answer, odd=odd.append)
    made.told = odd  # type: ignore[attr-defined]
    yield made
    made.close()


def talk(port: int, *said: bytes, ends: bool = False) -> bytes:
    """What comes on a connection until the other side closes it; `ends` closes this side first."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        for each in said:
            line.sendall(each.replace(b"HOST", b"Host: 127.0.0.1:%d" % port))
        if ends:
            line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65_536), b""))


@contextmanager
def endpoint(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """An endpoint that says these bytes, one after the other, each on a connection that it then closes."""
    listening = socket.create_server(("127.0.0.1", 0))
    heads: list[bytes] = []

    def serve() -> None:
        for answer in answers:
            line = listening.accept()[0]
            with line, line.makefile("rb") as reader:
                head = b"".join(iter(reader.readline, b"\r\n"))
                size = next(
                    int(each[15:]) for each in head.lower().split(b"\r\n") if each[:15] == b"content-length:"
                )
                heads.append(head + b"\r\n" + reader.read(size))
                line.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", heads
        thread.join(60)


def port_of(seen: Seen) -> int:
    return int(seen.environment["OPENAI_BASE_URL"].split(":")[2].partition("/")[0])


def posted(*more: bytes, body: bytes = BODY, version: bytes = b"1.1") -> bytes:
    """A request for a reply, after which the connection is to be closed."""
    lines = [POST.rstrip().replace(b"1.1", version), b"HOST", b"Content-Length: %d" % len(body), *more]
    return b"\r\n".join([*lines, b"Connection: close", b"", body])


# What comes from the program


def test_trailers_and_extensions_of_chunks_are_read(server, came):
    chunks = b"3;name=x\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n"
    said = talk(
        server.server_port, POST, b"HOST\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", chunks
    )
    assert came[0].content == b"abcde"
    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert said.endswith(b"\r\n\r\nfine")


@pytest.mark.parametrize(
    "sent",
    [
        POST + b"HOST\r\nContent-Length: 100\r\n\r\nonly this",
        POST + b"HOST\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nonly",
        POST + b"HOST\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n12345",
        POST + b"HOST\r\nContent-Length: 4, 5\r\n\r\n12345",
        POST + b"HOST\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        POST + b"HOST\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n\r\n",
        POST + b"HOST\r\nHost: evil.example\r\n\r\n",
        POST + b"HOST\r\nno header\r\n\r\n",
        POST + b"\r\n",
        POST + b"HOST\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"\x16\x03\x01 this is TLS\r\n\r\n",
    ],
)
def test_what_is_not_whole_or_is_no_http_is_never_passed_on(server, came, sent):
    said = talk(server.server_port, sent, ends=True)
    assert came == []
    assert said[:10] in (b"HTTP/1.1 4", b"HTTP/1.1 5")
    assert b"connection: close" in said.lower()
    assert "broke off, or is no HTTP" in server.told[0]


def test_the_same_length_twice_is_that_length(server, came):
    talk(server.server_port, posted(b"Content-Length: %d" % len(BODY)))
    assert came[0].content == BODY


def test_a_program_that_waits_to_be_asked_on_is_asked(server, came):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as line:
        head = posted(b"Expect: 100-continue").removesuffix(BODY)
        line.sendall(head.replace(b"HOST", b"Host: 127.0.0.1:%d" % server.server_port))
        assert line.recv(1_000).startswith(b"HTTP/1.1 100 ")
        line.sendall(BODY)
        assert b"".join(iter(lambda: line.recv(65_536), b"")).endswith(b"fine")
    assert came[0].content == BODY


def test_a_program_that_waits_with_too_much_is_not_asked_on(server, came):
    head = b"HOST\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"
    assert talk(server.server_port, POST, head).startswith(b"HTTP/1.1 413 ")
    assert came == []


def test_several_requests_on_one_connection_are_answered_in_order(server, came):
    keeps = posted().replace(b"Connection: close\r\n", b"")
    said = talk(server.server_port, keeps + keeps + posted())
    assert said.count(b"HTTP/1.1 200 OK") == len(came) == 3


@settings(deadline=None, max_examples=40)
@given(st.binary(max_size=60), st.booleans())
def test_odd_bytes_end_the_connection_and_nothing_else(line, after):
    server = LoopbackServer(lambda _: HttpResponse(200, {}, [b"fine"]))
    try:
        talk(server.server_port, (POST if after else b"") + line, ends=True)
        assert talk(server.server_port, posted()).endswith(b"fine")
    finally:
        server.close()


# What goes to the program


def answered(content: Callable[[], Any], request: bytes, **headers: str) -> bytes:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    server = LoopbackServer(lambda _: HttpResponse(200, told, content()))
    try:
        return talk(server.server_port, request)
    finally:
        server.close()


def broken() -> Iterator[bytes]:
    yield b"half"
    raise ConnectionResetError


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_what_came_is_told_before_the_program_knows_its_end(version):
    told = threading.Event()

    def close() -> None:
        threading.Event().wait(0.2)  # whoever ends the connection first is seen to
        told.set()

    server = LoopbackServer(lambda _: HttpResponse(200, {}, broken(), close=close))
    try:
        with suppress(ConnectionResetError):
            talk(server.server_port, posted(version=version))
        assert told.is_set()
    finally:
        server.close()


def test_an_answer_has_the_length_that_it_was_said_to_have():
    said = answered(lambda: iter([b"ab", b"c"]), posted(), content_length="3")
    assert said.endswith(b"\r\n\r\nabc")
    assert b"content-length: 3" in said
    assert b"chunked" not in said


def test_an_answer_that_is_shorter_than_its_length_is_broken_off():
    said = answered(lambda: iter([b"ab", b"c"]), posted(), content_length="100")
    assert said.endswith(b"\r\n\r\nabc")
    assert b"content-length: 100" in said


def test_an_answer_that_breaks_off_does_not_end_as_a_whole_one():
    with pytest.raises(ConnectionResetError):
        answered(broken, posted(version=b"1.0"))
    with suppress(ConnectionResetError):
        assert not answered(broken, posted()).endswith(b"0\r\n\r\n")


# From the endpoint to the program


def test_repeated_headers_stay_both_ways():
    answer = (
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nContent-Length: %d\r\n\r\n"
        % len(SAID)
    )
    with endpoint(answer + SAID) as (url, heads), watch(to=url) as seen:
        said = talk(port_of(seen), posted(b"X-Tag: one", b"X-Tag: two"))
        seen.wait()
    assert said.lower().count(b"set-cookie:") == 2
    assert heads[0].lower().count(b"x-tag:") == 2
    assert said.endswith(SAID)
    assert [trace.answer for trace in seen.traces] == ["It is 100."]


LENGTH = b"Content-Length: %d\r\n" % len(SAID)
CHUNKED = b"%x\r\n%b\r\n0\r\nX-Sum: 5\r\n\r\n" % (len(SAID), SAID)
WHOLE = {
    "1.0": b"HTTP/1.0 200 OK\r\n\r\n" + SAID,
    "1.0 with a length": b"HTTP/1.0 200 OK\r\n" + LENGTH + b"\r\n" + SAID,
    "close": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + SAID,
    "trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED,
    "the length twice": b"HTTP/1.1 200 OK\r\n" + LENGTH * 2 + b"\r\n" + SAID,
    "100 first": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + LENGTH + b"\r\n" + SAID,
}
HALF = {
    "short": b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + SAID,
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED.partition(b"0\r\nX-")[0],
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n" + LENGTH + b"\r\n" + SAID,
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-",
}


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("form", WHOLE)
def test_an_answer_is_whole_however_it_ends(form, version):
    with endpoint(WHOLE[form]) as (url, _), watch(to=url) as seen:
        said = talk(port_of(seen), posted(version=version))
        seen.wait()
    assert SAID in said
    assert [trace.answer for trace in seen.traces] == ["It is 100."]


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("form", HALF)
def test_an_answer_that_is_not_whole_is_never_told_as_whole(form, version):
    with endpoint(HALF[form]) as (url, _), watch(to=url) as seen:
        said = b""
        with suppress(ConnectionResetError):
            said = talk(port_of(seen), posted(version=version))
        seen.wait()
    chunks = b"chunked" in said and not said.endswith(b"0\r\n\r\n")
    assert not said or said.startswith(b"HTTP/1.1 502") or b"content-length: 9999" in said or chunks
    assert seen.traces[0].outcome in ("model_error", "cut")
    assert seen.failures[0]


def test_a_request_that_breaks_off_is_named():
    with endpoint() as (url, heads), watch(to=url) as seen:
        talk(port_of(seen), POST + b"HOST\r\nContent-Length: 100\r\n\r\nonly this", ends=True)
        seen.wait()
    assert heads == []
    assert "POST /v1/chat/completions: the request broke off" in seen.unread[0]


def test_headers_are_a_mapping_that_keeps_each():
    came = Headers([("A", "1"), ("b", "2"), ("a", "3")])
    assert dict(came) == {"a": "1, 3", "b": "2"}
    assert (len(came), came.without(["a"]).pairs) == (2, (("b", "2"),))
    assert Headers.of({"x": "1"}).raw() == [(b"x", b"1")]
    assert "1" not in repr(came)
