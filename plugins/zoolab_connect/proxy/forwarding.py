"""The real endpoint answers the requests of a program: they are passed on as they are, keys included."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from zoolab.apis import APIS
from zoolab.errors import InvalidInput, ModelError
from zoolab.jsontext import encode_line
from zoolab.models.transport import http_library
from zoolab.records import Model, Reply, Request, without
from zoolab_connect.proxy.addresses import ApiAddress
from zoolab_connect.proxy.answering import PassedOn, error_response
from zoolab_connect.proxy.encodings import decoded, narrowed
from zoolab_connect.proxy.exchange import MAX_BYTES, HttpRequest, HttpResponse, Upstream, read_reply
from zoolab_connect.proxy.headers import Headers
from zoolab_connect.proxy.recognising import api_of_request, path_without_stream

#: Seconds that a connection may take. An answer may take as long as it likes.
_CONNECT = 10.0
#: Bytes of a request that are sent at once.
_PIECE = 1 << 16
#: Headers that concern one connection only (RFC 9110, 7.6.1).
_ONE_HOP = {
    *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
    *("te", "trailer", "transfer-encoding", "upgrade"),
}
#: Headers of a request that belong to the connection to this machine, or are written anew.
_OURS = {"host", "content-length", "expect"}


class Forward:
    """An upstream that passes each request on to its real endpoint, and the answer back as it comes.

    Args:
        endpoints: Where the APIs are. A request goes to the endpoint whose address the program used; if that
            is not known, to the first one of the API that it speaks, and else to the first one of all.

    The path and the content stay as they came, both ways; a program is given no encoding that cannot be read
    here. Nothing is kept, asked again or followed elsewhere; a redirect is an answer.
    The content of an answer comes unbuffered, and raises `ConnectionError` if the endpoint breaks it off. An
    endpoint that cannot be reached is an error 502.
    """

    def __init__(self, endpoints: Sequence[ApiAddress]) -> None:
        http = http_library()
        self.endpoints = tuple(endpoints)
        self._client = http.Client(
            timeout=http.Timeout(None, connect=_CONNECT),
            limits=http.Limits(max_connections=None, max_keepalive_connections=100),
            follow_redirects=False,
            # A proxy for the world outside cannot reach a server of this machine.
            mounts={"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None},
        )

    def __call__(self, request: HttpRequest) -> HttpResponse:
        http = http_library()
        if not request.path.startswith("/"):
            return error_response(request, 400, "the path of the request does not begin with /")
        target = self._endpoint_of(request).target(request.path)
        headers = _readable(_end_to_end(Headers.of(request.headers)).without(_OURS)).raw()
        content: bytes | Iterator[bytes] = request.content
        if len(request.content) > _PIECE:
            # What is sent whole is copied again for each part of it that the network takes.
            content = _parts(request.content)
            headers.append((b"content-length", str(len(request.content)).encode()))
        try:
            outgoing = http.Request(request.method, target, headers=headers, content=content)
            answer = self._client.send(outgoing, stream=True)
        except (http.HTTPError, http.InvalidURL) as error:
            host = re.sub(r"\A.*?://(?:[^/]*@)?|[/?].*", "", target)
            return error_response(request, 502, f"cannot reach {host}: {type(error).__name__}")
        told = _end_to_end(Headers.read(answer.headers.raw))
        return HttpResponse(answer.status_code, told, _pieces(answer), close=answer.close)

    def _endpoint_of(self, request: HttpRequest) -> ApiAddress:
        if request.door is not None:
            return request.door
        # The body of a large request is read only if nothing else tells.
        name = request.api
        path = request.path
        headers = request.headers
        api = APIS[name] if name else api_of_request(path, headers, request.body)
        variable = api.address_from
        return next((each for each in self.endpoints if variable in each.variables), self.endpoints[0])

    def close(self) -> None:
        """Close the connections to the endpoints."""
        self._client.close()


def _parts(content: bytes) -> Iterator[bytes]:
    for place in range(0, len(content), _PIECE):
        yield content[place : place + _PIECE]


def _readable(headers: Headers) -> Headers:
    """Return headers that accept no encoding that cannot be read here."""
    accepted = headers.get("accept-encoding")
    if accepted is None:
        return headers
    kept = headers.without(["accept-encoding"]).pairs
    return Headers([*kept, ("accept-encoding", narrowed(accepted))])


def _pieces(answer: Any) -> Iterator[bytes]:
    try:
        yield from answer.iter_raw()
    except http_library().HTTPError as error:
        raise ConnectionResetError(f"the endpoint broke off its answer: {error}") from None
    finally:
        answer.close()


def _end_to_end(headers: Headers) -> Headers:
    named = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    return headers.without(_ONE_HOP | named)


def endpoint_model(forward: Upstream, request: HttpRequest) -> Model:
    """Return a model that asks the real endpoint what a program asks it, so that `Faulty` can break real
    replies.

    It sends the request as the program made it, with its headers, because a translation would lose what only
    its API knows; the `Request` that the model gets is not looked at. The reply is not streamed: the
    pieces of a stream are cut by zoolab, because a fault needs the whole reply.

        def broken(request: HttpRequest) -> Model:
            return Faulty(endpoint_model(forward, request), faults)

        upstream = AnsweredBy(model_for=broken, otherwise=forward)

    Raises:
        PassedOn: The endpoint gives no reply. The program gets what it answers.
    """
    api = str(request.api)
    body = without(request.body, ("stream", "stream_options"))
    body |= {"stream": False} if APIS[api].streams_unasked else {}
    path = path_without_stream(api, request.path)
    headers = Headers.of(request.headers).without(["content-encoding"])
    whole = replace(request, path=path, headers=headers, content=encode_line(body).encode())

    def model(_request: Request) -> Reply:
        response = forward(whole)
        try:
            content = b"".join(response.content)
        except ConnectionResetError as error:
            raise PassedOn(str(error), error_response(request, 502, str(error))) from None
        try:
            said = response.headers.get("content-encoding", "")
            return read_reply(api, decoded(content, said, MAX_BYTES))
        except (ModelError, InvalidInput) as error:
            passed = replace(response, content=[content])
            raise PassedOn(f"the endpoint answered {response.status} without a reply", passed) from error

    return model
