"""A model of zoolab answers the requests of a program: a recording, a local model, one with faults."""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from zoolab.apis import APIS
from zoolab.apis.reading import as_dict
from zoolab.errors import InvalidInput, ModelError, ReplayMiss, ZoolabError
from zoolab.fault import Fault
from zoolab.jsontext import encode_line
from zoolab.models.about import about
from zoolab.models.transport import models_listed
from zoolab.records import Message, Model, Reply, Request, without
from zoolab_connect.faulty.model import SAYS, Faulty
from zoolab_connect.proxy.exchange import (
    BROKEN_OFF,
    HttpRequest,
    HttpResponse,
    Upstream,
    only_asked,
    read_reply,
    with_model,
)
from zoolab_connect.proxy.recognising import api_of_request, wants_list
from zoolab_connect.strict import expect_one_reply

Body = dict[str, Any]
#: How many answers of Responses are kept, for requests that begin where one of them ended.
MAX_KEPT = 1_000


class PassedOn(ModelError):
    """An endpoint gave no reply; `response` is what it answered, and the program gets that as it is."""

    def __init__(self, what: str, response: HttpResponse) -> None:
        super().__init__(what)
        self.response = response
        self.status = response.status


class AnsweredBy:
    """An upstream that asks a model, and answers in the API of the request: plain or as a stream.

    Args:
        model: The model. It gets the messages, the tools and the settings of each request. The program's
            name for the model is among them only if the model has no name of its own.
        model_for: Makes a model for one request, in place of `model`. If a reply has its whole body in
            `Reply.raw`, in the API of the program, then that is passed on as it is.
        otherwise: Answers what is no request for a reply, and a request that zoolab cannot read. Without
            it, `GET /v1/models` lists the model, a request that cannot be read is an error 400, and
            all else is 404.
        in_part: Whether a request is read though zoolab has no form for a part of it, such as a picture: a
            recording knows it, though no model can see that part.
        timeout_seconds: How long the fault `timeout` holds a request before its error.

    Errors have the form of the API. A `ReplayMiss` is 404 and shows the difference, a `ModelError` has the
    status that the endpoint gave, or 500. The faults of `Faulty` become what they say: `http_429` is a 429,
    a dropped stream breaks off half-way, and `timeout` is the 504 of a gateway that has waited. A program
    that waits for less meets its own timeout.
    """

    def __init__(
        self,
        model: Model | None = None,
        *,
        model_for: Callable[[HttpRequest], Model] | None = None,
        otherwise: Upstream | None = None,
        in_part: bool = False,
        timeout_seconds: float = 1.0,
    ) -> None:
        if (model is None) == (model_for is None):
            raise InvalidInput("a model is needed", expected="either model or model_for")
        self._model: Any = model
        self._model_for = model_for
        self._otherwise = otherwise
        self._in_part = in_part
        self._timeout_seconds = timeout_seconds
        behind = model
        while isinstance(behind, Faulty):
            behind = behind.inner
        shared = behind is None or about(behind).shared
        self._turn: AbstractContextManager[object] = nullcontext() if shared else threading.Lock()
        self._has_name = bool(about(behind).model)
        #: The messages up to each answer of Responses, by its id: a later request may hold only what is new.
        self._kept: dict[str, list[Message]] = {}
        self._keeping = threading.Lock()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        api = request.api
        if api is None:
            return self._otherwise(request) if self._otherwise else self._elsewhere(request)
        try:
            asked = self._read(api, request)
        except InvalidInput as problem:
            return self._otherwise(request) if self._otherwise else error_response(request, 400, str(problem))
        try:
            model = self._model_for(request) if self._model_for else self._model
            with self._turn:
                reply = model(asked)
            return replace(self._answer(api, request, asked, reply), faults=reply.faults)
        except Exception as error:
            fault = getattr(error, "fault", None)
            response = self._failure(error, request, asked)
            return replace(response, faults=(fault,)) if isinstance(fault, Fault) else response

    def _read(self, api: str, came: HttpRequest) -> Request:
        """Return the request in Chat's form, with the messages that an earlier answer stands for."""
        body = came.body
        if not (came.text and body):
            raise InvalidInput("the body is not a JSON object", expected="a request with messages")
        expect_one_reply(body)
        left: list[str] | None = [] if self._in_part else None
        request = with_model(only_asked(APIS[api].from_body(body, left)), came.model)
        settings = without(request.settings, ["model"] if self._has_name else [])
        messages = request.messages
        if isinstance(before := body.get("previous_response_id"), str):
            kept = self._kept.get(before)
            if kept is None:
                raise InvalidInput(
                    f"no response {before!r} was given here", expected="the id of one that was"
                )
            told = messages[:1] if body.get("instructions") else []
            messages = [*told, *kept, *messages[len(told) :]]
        return replace(request, messages=messages, settings=settings)

    def _answer(
        self, api: str, came: HttpRequest, asked: Request, reply: Reply, half: bool = False
    ) -> HttpResponse:
        body = came.body
        spoken = APIS[api]
        if self._model_for and reply.raw:
            response: Body = reply.raw
        else:
            name = came.model or reply.model or "unknown"
            response = spoken.response(reply, name, uuid.uuid4().hex, int(time.time()))
        if spoken.keeps_replies and body.get("store") is not False:
            # The instructions of a request do not go on to the next one.
            messages = asked.messages[1:] if body.get("instructions") else asked.messages
            with self._keeping:
                self._kept[str(response.get("id"))] = [*messages, reply.message]
                while len(self._kept) > MAX_KEPT:
                    del self._kept[next(iter(self._kept))]
        # What broke off when it was recorded breaks off again.
        broke_off = reply.finish_reason == BROKEN_OFF
        if not came.wants_stream:
            whole = _json_response(200, response)
            return replace(whole, content=_broken_off(whole.content)) if half or broke_off else whole
        if not (spoken.counts_unasked or as_dict(body.get("stream_options")).get("include_usage")):
            response = without(response, ["usage"])
        pieces: Iterable[bytes] = spoken.stream_bytes(spoken.events(response))
        if broke_off:
            pieces = _without_end(api, [*pieces])
        headers = {"content-type": spoken.stream_type}
        if wants_list(api, came.path) and not broke_off:
            pieces = [encode_line([*spoken.events(response)]).encode()]
            headers = {"content-type": "application/json"}
        return HttpResponse(200, headers, _broken_off(pieces) if half else pieces)

    def _failure(self, error: Exception, request: HttpRequest, asked: Request) -> HttpResponse:
        if getattr(getattr(error, "fault", None), "name", None) == "timeout":
            time.sleep(self._timeout_seconds)
            return error_response(request, 504, "the model did not answer in time", "timeout_error")
        match error:
            case PassedOn():
                return error.response
            case ModelError(dropped=Reply() as reply):
                with suppress(ZoolabError):  # it may have no form in this API
                    return self._answer(str(request.api), request, asked, reply, half=True)
            case ModelError(status=int(status)):
                return error_response(
                    request, status, SAYS[status] if hasattr(error, "fault") else str(error)
                )
            case ReplayMiss():
                return error_response(request, 404, str(error), "replay_miss")
        said = str(error) if isinstance(error, ZoolabError) else f"{type(error).__name__}: {error}"
        # The official clients ask again after a 500, but a model of ours would fail again.
        return error_response(request, 500, said, headers={"x-should-retry": "false"})

    def _elsewhere(self, request: HttpRequest) -> HttpResponse:
        path = request.path.partition("?")[0]
        name = about(self._model).name
        listed = re.sub(r"\A.*?(?=/models(?:/|\Z))", "", path)
        status, body = models_listed(listed, name) if request.method == "GET" else (404, {})
        if status == 200:
            return _json_response(200, body)
        return error_response(
            request, 404, f"nothing answers {request.method} {path} here, only requests for replies"
        )


def error_response(
    request: HttpRequest, status: int, said: str, kind: str = "", headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return an error in the form of the API that a request speaks; its type is by default that of the
    status.
    """
    spoken = api_of_request(request.path, request.headers, request.body)
    return _json_response(status, spoken.error(status, said, kind), headers)


def _json_response(status: int, body: Body, headers: Mapping[str, str] | None = None) -> HttpResponse:
    told = {"content-type": "application/json", **(headers or {})}
    return HttpResponse(status, told, [encode_line(body).encode()])


def _without_end(api: str, pieces: list[bytes]) -> Iterator[bytes]:
    """Yield the shortest beginning of a stream that holds its whole message; then its connection drops."""

    def message_in(count: int) -> Message:
        with suppress(ModelError):
            return read_reply(api, b"".join(pieces[:count]), streamed=True).message
        return {}

    count = len(pieces)
    message = message_in(len(pieces))
    while count and message_in(count - 1) == message:
        count -= 1
    yield from pieces[:count]
    raise ConnectionAbortedError("the connection drops, as it did when this was recorded")


def _broken_off(content: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the first half of an answer; then its connection drops."""
    whole = b"".join(content)
    yield whole[: len(whole) // 2]
    raise ConnectionAbortedError("the connection was dropped on purpose, half-way through the answer")
