"""The server that passes requests on, and what a watch makes of them."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from zoolab.proxy.exchange import HttpRequest, HttpResponse
from zoolab.proxy.server import MAX_BYTES, LoopbackServer


def told(request: HttpRequest) -> HttpResponse:
    said = {"method": request.method, "path": request.path, "content": request.content.decode()}
    return HttpResponse(200, {"content-type": "application/json"}, [json.dumps(said).encode()])


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    made = LoopbackServer(told)
    yield made
    made.close()


def ask(server: LoopbackServer, method: str = "POST", path: str = "/v1/x", **given: Any) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, **given)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_request_is_answered(server):
    status, said = ask(server, body=b'{"a": 1}')
    assert (status, said) == (200, {"method": "POST", "path": "/v1/x", "content": '{"a": 1}'})


def test_a_content_in_chunks_is_read(server):
    assert ask(
        server, body=iter([b"ab", b"c"]), encode_chunked=True, headers={"transfer-encoding": "chunked"}
    ) == (
        200,
        {"method": "POST", "path": "/v1/x", "content": "abc"},
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
    ],
)
def test_another_host_or_a_page_of_another_site_is_refused(server, headers):
    status, said = ask(server, body=b"{}", headers=headers)
    assert status == 403
    assert "this machine alone" in said["error"]["message"]


def test_a_request_that_is_too_large_is_refused_before_it_is_read(server):
    status, _ = ask(server, headers={"content-length": str(MAX_BYTES + 1)})
    assert status == 413


@pytest.mark.parametrize("length", ["-1", "x", "1e3"])
def test_a_length_that_is_none_is_refused(server, length):
    assert ask(server, headers={"content-length": length})[0] == 413


def test_pieces_go_out_as_they_come():
    step = threading.Event()

    def slow(_: HttpRequest) -> HttpResponse:
        def pieces() -> Iterator[bytes]:
            yield b"first"
            assert step.wait(10)
            yield b"second"

        return HttpResponse(200, {}, pieces())

    server = LoopbackServer(slow)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("POST", "/v1/x", body=b"{}")
    answer = connection.getresponse()
    assert answer.read1(100) == b"first"
    step.set()
    assert answer.read() == b"second"
    connection.close()
    server.close()


def test_an_answer_that_breaks_off_is_seen_to_be_broken():
    def breaks(_: HttpRequest) -> HttpResponse:
        def pieces() -> Iterator[bytes]:
            yield b"half"
            raise ConnectionResetError

        return HttpResponse(200, {}, pieces())

    server = LoopbackServer(breaks)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("POST", "/v1/x", body=b"{}")
    with pytest.raises(http.client.IncompleteRead):
        connection.getresponse().read()
    connection.close()
    server.close()
