"""Compressed content passes through the proxy as it came, and is read."""

from __future__ import annotations

import gzip
import http.client
import json
import zlib
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server import answered_by, chunk, completion, sse

from zoolab import Scripted, watch
from zoolab.errors import InvalidInput
from zoolab_connect.proxy.encodings import Decoder, decoded, narrowed
from zoolab_connect.proxy.exchange import MAX_BYTES, HttpRequest, HttpResponse
from zoolab_connect.proxy.seen import Seen


def raw_deflate(content: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-15)
    return machine.compress(content) + machine.flush()


def brotli(content: bytes) -> bytes:
    library: Any = pytest.importorskip("brotli", minversion="1.2")
    return bytes(library.compress(content))


def zstandard(content: bytes) -> bytes:
    library: Any = pytest.importorskip("zstandard")
    return bytes(library.compress(content))


WAYS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("br", brotli),
    ("zstd", zstandard),
]
ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
WHOLE = json.dumps(completion("It is 100.")).encode()
STREAM = sse([chunk({"role": "assistant", "content": "It is 100."}), chunk({}, "stop")]).encode()


def ask(
    seen: Seen, content: bytes = json.dumps(ASKED).encode(), **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    """What a program gets that reads nothing of what it gets."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    place = seen.environment["OPENAI_BASE_URL"].removeprefix("http://").partition("/")[0]
    with closing(http.client.HTTPConnection(place, timeout=60)) as connection:
        connection.request("POST", "/v1/chat/completions", body=content, headers=told)
        answer = connection.getresponse()
        content = answer.read()
    seen.wait()
    return answer, content


def packed(content: bytes, encoding: str, kind: str = "application/json", pieces: int = 1) -> HttpResponse:
    size = len(content) // pieces + 1
    parts = [content[start : start + size] for start in range(0, len(content), size)]
    headers = {"content-type": kind, "content-encoding": encoding}
    return HttpResponse(200, headers, parts if pieces == 1 else iter(parts))


@pytest.mark.parametrize(("encoding", "pack"), WAYS)
def test_a_compressed_answer_passes_as_it_is_and_is_read(encoding, pack):
    for content, kind in ((WHOLE, "application/json"), (STREAM, "text/event-stream")):
        compressed = pack(content)
        for pieces in (1, 5):
            with (
                answered_by(lambda _, p=pieces, c=compressed, k=kind: packed(c, encoding, k, p)) as url,
                watch(to=f"{url}/v1") as seen,
            ):
                answer, got = ask(seen)
            assert (got, answer.headers["content-encoding"]) == (compressed, encoding)
            assert [trace.answer for trace in seen.traces] == ["It is 100."]


def test_an_encoding_that_is_not_known_passes_and_is_named():
    with answered_by(lambda _: packed(b"?" + WHOLE, "mystery")) as url, watch(to=f"{url}/v1") as seen:
        answer, got = ask(seen)
    assert (got, answer.headers["content-encoding"]) == (b"?" + WHOLE, "mystery")
    assert "compressed as mystery" in seen.failures[0][1]
    assert seen.traces[0].outcome == "model_error"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (gzip.compress(WHOLE)[:-20], "broke off"),
        (b"no gzip", "not what its content-encoding says"),
        (gzip.compress(b" " * (MAX_BYTES + 1)), "more than"),
    ],
)
def test_a_compressed_answer_that_cannot_be_read_passes_and_is_told(content, why):
    with answered_by(lambda _: packed(content, "gzip")) as url, watch(to=f"{url}/v1") as seen:
        assert ask(seen)[1] == content
    assert why in seen.failures[0][1]


@pytest.mark.parametrize(("encoding", "pack"), WAYS)
def test_a_compressed_request_passes_as_it_is_and_is_read(encoding, pack):
    came: list[HttpRequest] = []
    content = pack(json.dumps(ASKED).encode())
    with (
        answered_by(lambda request: came.append(request) or packed(WHOLE, "")) as url,
        watch(to=f"{url}/v1") as seen,
    ):
        ask(seen, content, content_encoding=encoding)
    assert (came[0].content, came[0].headers["content-encoding"]) == (content, encoding)
    assert [trace.answer for trace in seen.traces] == ["It is 100."]
    with watch(to=Scripted(["Hello"])) as seen:
        ask(seen, content, content_encoding=encoding)
    assert [trace.answer for trace in seen.traces] == ["Hello"]


def test_a_request_whose_encoding_is_not_known_passes_and_is_named():
    came: list[HttpRequest] = []
    with (
        answered_by(lambda request: came.append(request) or packed(WHOLE, "")) as url,
        watch(to=f"{url}/v1") as seen,
    ):
        ask(seen, b"?", content_encoding="mystery")
    assert came[0].content == b"?"
    assert "compressed as mystery" in seen.unread[0]
    with watch(to=Scripted(["Hello"])) as seen:
        answer, said = ask(seen, b"?", content_encoding="mystery")
    assert answer.status == 400
    assert b"compressed as mystery" in said


def test_a_compressed_reply_can_be_broken():
    with (
        answered_by(lambda _: packed(gzip.compress(WHOLE), "gzip")) as url,
        watch(to=f"{url}/v1", faults={"http_429": 1.0}, times=1) as seen,
    ):
        content = gzip.compress(json.dumps({**ASKED, "stream": True}).encode())
        assert ask(seen, content, content_encoding="gzip")[0].status == 429
        answer, said = ask(seen, content, content_encoding="gzip")
    assert answer.headers["content-encoding"] is None
    assert b"100." in said


def test_a_program_is_given_no_encoding_that_cannot_be_read_here():
    came: list[HttpRequest] = []
    with (
        answered_by(lambda request: came.append(request) or packed(WHOLE, "")) as url,
        watch(to=f"{url}/v1") as seen,
    ):
        ask(seen, accept_encoding="compress, gzip;q=0.5, deflate")
        ask(seen, accept_encoding="compress")
    assert [each.headers["accept-encoding"] for each in came] == ["gzip;q=0.5, deflate", "identity"]
    assert narrowed("*;q=0.1, gzip").startswith("deflate;q=0.1")


@given(st.binary(max_size=2_000), st.lists(st.integers(0, 2_000), max_size=9), st.sampled_from(WAYS[:3]))
def test_content_is_read_however_it_is_cut(content, cuts, way):
    encoding, pack = way
    packed, decoder = pack(content), Decoder(encoding, 10_000)
    ends = sorted({0, len(packed), *(cut for cut in cuts if cut < len(packed))})
    pieces = [packed[start:end] for start, end in pairwise(ends)]
    assert b"".join(map(decoder.feed, pieces)) == content
    assert (decoder.is_whole, decoder.problem) == (True, "")


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, deflate"]))
def test_odd_content_never_raises(content, encoding):
    decoder = Decoder(encoding, 1_000)
    assert len(decoder.feed(content)) <= 1_000


@pytest.mark.parametrize(("encoding", "pack"), WAYS)
def test_a_small_content_that_grows_beyond_measure_is_given_up(encoding, pack):
    decoder = Decoder(encoding, 100_000)
    assert decoder.feed(pack(b" " * 10_000_000)) == b""
    assert "more than 100,000 bytes" in decoder.problem


def test_several_members_and_several_encodings():
    two = gzip.compress(b"one") + gzip.compress(b"two")
    assert decoded(two + b"\0\0", "gzip", 99) == b"onetwo"
    assert decoded(zlib.compress(two), "gzip, deflate", 99) == b"onetwo"
    with pytest.raises(InvalidInput, match="not whole"):
        decoded(two[:-1], "gzip", 10)
