"""Requests that go on to a real endpoint on loopback, and its replies, whole or broken on the way."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import openai
import pytest
from counting import ends
from provider_bodies import PROVIDERS
from server import (
    Answer,
    TestServer,
    answered_by,
    call,
    calling,
    chunk,
    completion,
    refused_url,
    serving,
    sse,
)
from test_proxy_answering import (
    NAMES,
    PATHS,
    TOOLS,
    asked_plainly,
    asked_streaming,
    asking,
    body_of,
    openai_at,
    told,
)

from zoolab import Faulty
from zoolab.apis import APIS
from zoolab.models.assembly import assemble
from zoolab.records import Model
from zoolab_connect.apis.streams import events_in
from zoolab_connect.proxy.addresses import endpoints_of
from zoolab_connect.proxy.answering import AnsweredBy
from zoolab_connect.proxy.exchange import HttpRequest
from zoolab_connect.proxy.forwarding import Forward, endpoint_model

Body = dict[str, Any]
KEY = "sk-test-Zq81"
WHOLE = {
    "openai": completion(calling(call("add", '{"a": 1, "b": 2}'))),
    "responses": PROVIDERS["responses"].whole[0],
    "anthropic": PROVIDERS["anthropic"].whole[0],
}
STREAMS = {
    "openai": sse([chunk({"role": "assistant", "content": "It is 3."}), chunk({}, "stop")]),
    "responses": PROVIDERS["responses"].streams[1],
    "anthropic": PROVIDERS["anthropic"].streams[1],
}
CALLS = {"openai": ["add"], "responses": ["add", "add"], "anthropic": ["add", "add"]}


def to(server: TestServer) -> closing[Forward]:
    return closing(Forward(endpoints_of({}, server.url)))


def sent(
    api: str, body: Body | None = None, path: str = "", method: str = "POST", **headers: str
) -> HttpRequest:
    content = b"" if body is None else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpRequest(method, path or PATHS[api], named, content)


@pytest.mark.parametrize("api", NAMES)
def test_the_official_clients_work_through_it(api: str) -> None:
    with serving(WHOLE[api]) as server, to(server) as forward, answered_by(forward) as url:
        plain = asked_plainly(api, url, tools=TOOLS[api])
    assert "add" in str(plain)
    with serving(Answer(STREAMS[api])) as server, to(server) as forward, answered_by(forward) as url:
        streamed = asked_streaming(api, url)
    assert "It is 3." in str(told(streamed))
    assert server.asked[0].path == PATHS[api]


def test_an_answer_is_passed_on_byte_by_byte() -> None:
    body, stream = '{"odd":  1.0, "b":\\u00e9}', STREAMS["openai"]
    for content in (body, stream):
        with serving(Answer(content, cuts=tuple(range(1, len(content), 3)))) as server, to(server) as forward:
            assert b"".join(forward(sent("openai", {})).content) == content.encode()


def test_a_stream_comes_unbuffered() -> None:
    """The first piece is here long before the last one is sent."""
    stream = STREAMS["openai"]
    with ends(), serving(Answer(stream, cuts=(10,), pause=3_600.0)) as server, to(server) as forward:
        content = forward(sent("openai", {})).content
        assert next(iter(content)) == stream[:10].encode()
        content.close()  # type: ignore[attr-defined]


def test_headers_go_on_but_for_those_of_one_connection() -> None:
    own = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "x-app": "é", "user-agent": "some program"}
    hop = {
        "connection": "keep-alive, X-Mine",
        "x-mine": "1",
        "te": "trailers",
        "proxy-authorization": "secret",
        "host": "127.0.0.1:1",
        "accept-encoding": "gzip, compress",
        "content-length": "99",
    }
    answer = Answer(
        {"a": 1}, headers={"x-request-id": "req_1", "Keep-Alive": "timeout=5", "Set-Cookie": "a=b; Path=/"}
    )
    with serving(answer) as server, to(server) as forward:
        for _ in range(2):
            response = forward(HttpRequest("POST", PATHS["openai"], {**own, **hop}, b'{"x":1}'))
            assert b"".join(response.content) == b'{"a": 1}'
    for asked in server.asked:
        assert own.items() <= asked.headers.items()
        assert not {"x-mine", "te", "proxy-authorization", "cookie", "accept"} & asked.headers.keys()
        assert (asked.headers["accept-encoding"], asked.headers["content-length"]) == ("gzip", "7")
        assert asked.headers["host"] in server.url
        assert asked.body == {"x": 1}
    assert response.headers["x-request-id"] == "req_1"
    assert "keep-alive" not in response.headers
    assert server.asked[0].port == server.asked[1].port, "the connection is kept"


WAYS = [
    ("POST", "/v1/chat/completions", {}, "openai", "/v1/chat/completions"),
    ("POST", "/v1/responses?a=1", {}, "openai", "/v1/responses?a=1"),
    ("GET", "/v1/models", {}, "openai", "/v1/models"),
    ("GET", "/v1/models", {"anthropic-version": "2023-06-01"}, "anthropic", "/v1/models"),
    ("POST", "/v1/messages", {}, "anthropic", "/v1/messages"),
    ("POST", "/v1/messages/count_tokens?beta=true", {}, "anthropic", "/v1/messages/count_tokens?beta=true"),
    ("GET", "/v1beta/x", {}, "openai", "/v1beta/x"),
    ("POST", "/messages", {"anthropic-version": "2023-06-01"}, "anthropic", "/messages"),
    ("GET", "/v1", {}, "openai", "/v1"),
]


@pytest.mark.parametrize(("method", "path", "headers", "which", "arrives"), WAYS)
def test_each_api_has_its_endpoint(
    method: str, path: str, headers: dict[str, str], which: str, arrives: str
) -> None:
    with serving({}) as one, serving({}) as other:
        at = {"OPENAI_BASE_URL": one.url, "ANTHROPIC_BASE_URL": other.url.removesuffix("/v1")}
        with closing(Forward(endpoints_of(at))) as forward:
            forward(HttpRequest(method, path, headers, b""))
        server = one if which == "openai" else other
        assert [(asked.method, asked.path) for asked in server.asked] == [(method, arrives)]
        assert len(one.asked) + len(other.asked) == 1


@pytest.mark.parametrize("path", ["@example.invalid/v1/messages", "http://example.invalid/v1/messages", ""])
def test_a_key_never_goes_to_another_host(path: str) -> None:
    with serving({}) as server, to(server) as forward:
        headers = {"anthropic-version": "2023-06-01", "x-api-key": KEY}
        assert forward(HttpRequest("POST", path, headers, b"{}")).status == 400
        assert server.asked == []


@pytest.mark.parametrize("status", [307, 401, 429, 500, 529])
def test_an_error_or_a_redirect_is_an_answer(status: int) -> None:
    answer = Answer({"error": {"message": "no"}}, status, headers={"retry-after": "7", "location": "/v1/x"})
    with serving(answer) as server, to(server) as forward:
        response = forward(sent("openai", {}))
        assert (response.status, response.headers["retry-after"]) == (status, "7")
        assert len(server.asked) == 1


@pytest.mark.parametrize("api", NAMES)
def test_an_endpoint_that_is_not_there_is_a_502(api: str) -> None:
    url = refused_url()
    at = {"OPENAI_BASE_URL": url.replace("//", "//me:secret@"), "ANTHROPIC_BASE_URL": url.removesuffix("/v1")}
    with closing(Forward(endpoints_of(at))) as forward:
        response = forward(sent(api, {}, authorization=KEY))
        said = body_of(response)["error"]["message"]
        host = url.removeprefix("http://").removesuffix("/v1")
        assert (response.status, said) == (502, f"cannot reach {host}: ConnectError")


def test_an_answer_that_breaks_off_is_seen_to_break_off() -> None:
    with serving(Answer({"a": 1}, drop=True)) as server, to(server) as forward:
        with pytest.raises(Exception, match="peer closed"):
            b"".join(forward(sent("openai", {})).content)
        broken = AnsweredBy(model_for=lambda request: endpoint_model(forward, request))
        response = broken(sent("openai", asking("openai")))
        assert response.status == 502
        assert "broke off" in body_of(response)["error"]["message"]


def test_a_hundred_at_once_do_not_wait_for_each_other() -> None:
    together = threading.Barrier(101, timeout=120)

    class Waiting(TestServer):
        def next_answer(self, asked: Any) -> Answer:
            together.wait()
            return Answer({"n": asked.body["n"]})

    server = Waiting([""])
    server._http.socket.listen(128)
    try:
        with to(server) as forward, ThreadPoolExecutor(101) as pool:

            def ask(n: int) -> int:
                return int(body_of(forward(sent("openai", {"n": n})))["n"])

            assert list(pool.map(ask, range(101))) == list(range(101))
    finally:
        server.close()


# Real replies with faults


def breaking(forward: Forward, *faults: str) -> AnsweredBy:
    def broken(request: HttpRequest) -> Model:
        return Faulty(endpoint_model(forward, request), faults)

    return AnsweredBy(model_for=broken, otherwise=forward)


@pytest.mark.parametrize("api", NAMES)
def test_a_real_reply_is_broken_and_streamed(api: str) -> None:
    with serving(WHOLE[api]) as server, to(server) as forward:
        upstream = breaking(forward, "trailing_comma")
        asked = asking(api, tools=TOOLS[api], stream=True, only_here={"b": [1]})
        response = upstream(sent(api, asked, x_api_key=KEY, content_length="3"))
        streamed = b"".join(response.content)
    assert [fault.name for fault in response.faults] == ["trailing_comma"] * len(CALLS[api])
    events = events_in([streamed])
    if api == "openai":
        message = assemble(events).message
    else:
        message = APIS[api].from_response(APIS[api].assemble(events, lambda _: None))
    assert [made["function"]["arguments"][-2:] for made in message["tool_calls"]] == [",}"] * len(CALLS[api])
    (seen,) = server.asked
    assert seen.body == {key: value for key, value in asked.items() if key != "stream"}
    assert seen.headers["x-api-key"] == KEY


@pytest.mark.parametrize("api", NAMES)
def test_a_reply_without_a_fault_is_passed_on_as_it_came(api: str) -> None:
    with serving(WHOLE[api]) as server, to(server) as forward:
        response = breaking(forward)(sent(api, asking(api)))
        assert body_of(response) == WHOLE[api]
        with answered_by(breaking(forward)) as url:
            assert told(asked_streaming(api, url)) == told(asked_plainly(api, url))


@pytest.mark.parametrize("answer", [Answer({"error": {"message": "no"}}, 429), Answer("<html>", 200)])
def test_what_is_no_reply_is_passed_on_as_it_came(answer: Answer) -> None:
    with serving(answer) as server, to(server) as forward:
        response = breaking(forward, "trailing_comma")(sent("openai", asking("openai")))
        assert (response.status, b"".join(response.content)) == (answer.status, answer.content)
        assert response.headers["content-length"] == str(len(answer.content))


def test_what_cannot_be_broken_is_forwarded() -> None:
    image = {"role": "user", "content": [{"type": "image", "source": {}}]}
    body = {**asking("anthropic"), "messages": [image]}
    with serving(WHOLE["anthropic"]) as server, to(server) as forward:
        upstream = breaking(forward, "http_500")
        assert upstream(sent("anthropic", body)).status == 200
        assert upstream(sent("anthropic", {}, "/v1/messages/count_tokens")).status == 200
        assert upstream(sent("anthropic", asking("anthropic"))).status == 500
        assert [asked.path for asked in server.asked] == ["/v1/messages", "/v1/messages/count_tokens"]


def test_a_real_stream_can_drop() -> None:
    with (
        serving(WHOLE["openai"]) as server,
        to(server) as forward,
        answered_by(breaking(forward, "dropped_stream")) as url,
    ):
        client: openai.OpenAI = openai_at(url)
        chunks = client.chat.completions.create(**asking("openai"), stream=True)
        with pytest.raises(Exception, match=r"(?i)peer|connection|incomplete"):
            list(chunks)


def test_a_proxy_for_the_world_outside_is_not_asked_for_this_machine(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, refused_url())
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(WHOLE["openai"]) as server, to(server) as forward:
        assert forward(sent("openai", {"model": "m", "messages": []})).status == 200
