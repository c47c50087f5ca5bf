"""Any OpenAI-compatible endpoint, through the official client.

The client's `create` walks all messages again in each request, which makes a long conversation
quadratic; its public `post` sends the body as it is. The client's own assembly of streamed deltas
breaks on calls that are interleaved or lack an index; here they are put together by slot.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from zoolab.errors import ModelError
from zoolab.jsontext import encode, excerpt
from zoolab.models.transport import http_library
from zoolab.records import Message, Reply, Request
from zoolab.secrets import HIDDEN, scrub

if TYPE_CHECKING:
    import openai
    from openai._types import RequestOptions

PATH = "/chat/completions"


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint.

    Args:
        model: Its name; by default what `ZOOLAB_MODEL` says.
        client: An `openai.OpenAI`; by default one made from `OPENAI_API_KEY` and `OPENAI_BASE_URL`.
        stream: Whether the reply is streamed; its deltas are then in `Reply.pieces`.
        settings: Further fields of each request; `temperature` is 0 unless given.

    Raises:
        ModelError: No model is named, no key is there, or the endpoint does not answer as it should.

    >>> import openai
    >>> model = OpenAIModel("m", openai.OpenAI(api_key="none", base_url="http://127.0.0.1:9"), seed=1)
    >>> model.body(Request([]))
    {'temperature': 0, 'seed': 1, 'model': 'm', 'messages': []}
    """

    #: What a recording of this model says of itself.
    made = "recorded"

    def __init__(
        self,
        model: str | None = None,
        client: openai.OpenAI | None = None,
        stream: bool = False,
        **settings: Any,
    ) -> None:
        self.model = model or os.environ.get("ZOOLAB_MODEL") or ""
        if not self.model:
            raise ModelError("no model is named", advice="give model=, or set ZOOLAB_MODEL")
        self.client = client or make_client()
        self.stream = stream
        self.settings = {"temperature": 0, **settings}

    def __call__(self, request: Request) -> Reply:
        return self.ask(self.body(request))

    def body(self, request: Request) -> dict[str, Any]:
        """The body of the HTTP request, as it is sent."""
        return request.body(**self.settings, model=self.model)

    def ask(self, body: dict[str, Any], headers: Mapping[str, str] | None = None) -> Reply:
        """The reply to a body that is made already."""
        options: RequestOptions = {"headers": headers} if headers else {}
        try:
            return self._streamed(body, options) if self.stream else self._plain(body, options)
        except _client_errors() as error:
            # What the client raised may repeat the key: it does not go into the traceback.
            raise explain(error, str(self.client.base_url), self.client.api_key) from None

    def _plain(self, body: dict[str, Any], options: RequestOptions) -> Reply:
        answer = self.client.post(PATH, cast_to=object, body=body, options=options)
        return reply_from(json.loads(answer) if isinstance(answer, str) else answer)

    def _streamed(self, body: dict[str, Any], options: RequestOptions) -> Reply:
        from openai import Stream

        body = {**body, "stream": True, "stream_options": {"include_usage": True}}
        with self.client.post(
            PATH, cast_to=object, body=body, options=options, stream=True, stream_cls=Stream[object]
        ) as chunks:
            reply = assemble(chunks)
        # Some endpoints give no finish_reason, but then they count the tokens at the end.
        if reply.finish_reason is None and reply.usage is None:
            raise ModelError("the stream ended before the reply was complete", advice="try again")
        return reply


def make_client(base_url: str | None = None, api_key: str | None = None) -> openai.OpenAI:
    """The official client, from the environment where nothing is given.

    >>> make_client("http://127.0.0.1:9/v1", "none").base_url.host
    '127.0.0.1'
    """
    import openai

    address = base_url or os.environ.get("OPENAI_BASE_URL") or ""
    if api_key is None and "OPENAI_API_KEY" not in os.environ and _LOOPBACK.match(address):
        api_key = "none"  # servers on this machine ask for no key, and the client for one
    try:
        client = openai.OpenAI(base_url=base_url, api_key=api_key)
    except openai.OpenAIError:
        raise ModelError(
            "no API key", advice="set OPENAI_API_KEY, or use a recording or a local model, which need none"
        ) from None
    except (http_library().InvalidURL, ValueError):
        raise ModelError("the address of the endpoint is no URL", advice=_ADDRESS_ADVICE) from None
    if not (client.api_key.isascii() and client.api_key.isprintable()):
        raise ModelError("the API key holds a character that no header can", advice="check OPENAI_API_KEY")
    return client


def reply_from(body: object) -> Reply:
    """The reply in a chat completion; raises `ModelError` where there is none.

    >>> reply_from({"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}).text
    'Hi'
    """
    whole = _dict(body)
    choice = _first(whole.get("choices"))
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ModelError(
            f"the endpoint answered {excerpt(body, 10 * _LONGEST_LINE)}",
            expected="a chat completion with a message",
        )
    return Reply(
        {"role": "assistant", **cast("Message", message)},
        choice.get("finish_reason"),
        _dict(whole.get("usage")) or None,
        whole.get("model"),
        raw=whole,
    )


def assemble(chunks: Iterable[object]) -> Reply:
    """Put the chunks of a streamed reply together, calls by slot.

    A delta without an index goes on with the call that has its id, or with the last one; a delta with
    a new id, or with a name where no id and no index say whose it is, begins another call.

    >>> pieces = [{"content": "4"}, {"content": "2"}]
    >>> assemble({"choices": [{"delta": delta}]} for delta in pieces).text
    '42'
    """
    message: Message = {"role": "assistant", "content": None}
    calls = _CallsBySlot()
    pieces: list[dict[str, Any]] = []
    finish, usage, model = None, None, None
    for chunk in map(_dict, chunks):
        usage, model = _dict(chunk.get("usage")) or usage, chunk.get("model") or model
        choice = _first(chunk.get("choices"))
        finish = choice.get("finish_reason") or finish
        if choice:
            delta = _dict(choice.get("delta"))
            pieces.append(delta)
            _add_text(message, delta)
            for part in _list(delta.get("tool_calls")):
                calls.add(_dict(part))
    if calls.calls:
        message["tool_calls"] = calls.calls
    if not pieces:
        raise ModelError("the stream ended before a reply began", expected="events that end in [DONE]")
    return Reply(message, finish, usage, model, tuple(pieces))


class _CallsBySlot:
    """Calls under construction, in the order in which they began."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self._at_index: dict[int, list[dict[str, Any]]] = {}

    def add(self, part: dict[str, Any]) -> None:
        call = self._call_of(part)
        function, given = call["function"], _dict(part.get("function"))
        call["id"] = call["id"] or part.get("id")
        name, arguments = given.get("name") or "", given.get("arguments")
        if name != function["name"]:
            function["name"] += str(name)
        if arguments is not None:
            function["arguments"] += arguments if isinstance(arguments, str) else encode(arguments)

    def _call_of(self, part: dict[str, Any]) -> dict[str, Any]:
        index, own = part.get("index"), part.get("id")
        indexed = isinstance(index, int)
        known = self._at_index.setdefault(index, []) if isinstance(index, int) else self.calls
        same = next((call for call in reversed(known) if own and call["id"] == own), None)
        call = same or (known[-1] if known else None)
        if call is None or _begins_another(part, call, indexed):
            call = {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
            self.calls.append(call)
            if known is not self.calls:
                known.append(call)
        return call


def _begins_another(part: dict[str, Any], call: dict[str, Any], indexed: bool) -> bool:
    """Whether a delta is the first of a call other than the one it seems to belong to."""
    own, name = part.get("id"), _dict(part.get("function")).get("name")
    if own and call["id"] and own != call["id"]:
        return bool(name) or not indexed
    identified = indexed or bool(own and call["id"])
    if not name or not identified:
        return bool(name)
    # Some endpoints repeat the name in each delta, and some give every call the same index or id.
    return bool(call["function"]["arguments"]) and name != call["function"]["name"]


def _add_text(message: Message, delta: dict[str, Any]) -> None:
    for key in ("content", "refusal", "reasoning_content", "reasoning"):
        if isinstance(delta.get(key), str):
            message[key] = (message.get(key) or "") + delta[key]


def _first(choices: object) -> dict[str, Any]:
    """The first choice; where several were asked for, chunks of the others come between."""
    return next((choice for choice in map(_dict, _list(choices)) if not choice.get("index")), {})


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _client_errors() -> tuple[type[Exception], ...]:
    """What asking may raise: errors of the client and its HTTP library, and replies that are none."""
    import openai

    http = http_library()
    return (ModelError, openai.OpenAIError, http.HTTPError, http.InvalidURL, ValueError, RecursionError)


def explain(error: Exception, base_url: str, key: object = "") -> ModelError:
    """What the client says, as one line with something to do; no key is ever repeated.

    >>> import openai
    >>> explain(openai.OpenAIError("odd"), "http://localhost/v1/").what
    'the model did not answer: odd'
    """
    what, advice = _what_and_advice(error, base_url)
    if isinstance(key, str) and len(key) >= _SHORTEST_KEY:
        what = what.replace(key, HIDDEN)
    expected = error.expected if isinstance(error, ModelError) else ""
    return ModelError(_one_line(scrub(what)), expected=expected, advice=advice)


def _what_and_advice(error: Exception, base_url: str) -> tuple[str, str]:
    import openai

    http = http_library()
    if isinstance(error, ModelError):
        return error.what, error.advice
    if isinstance(error, openai.APITimeoutError | http.TimeoutException):
        return f"{base_url} did not answer in time", "try again, or raise the client's timeout"
    cause = error.__cause__
    if isinstance(cause, http.RemoteProtocolError | http.ReadError):
        error = cause  # the client calls a connection that breaks one that was never made
    if isinstance(error, openai.APIConnectionError | http.ConnectError):
        return f"cannot reach {base_url}", "check the address and that a server runs there"
    if isinstance(error, http.HTTPError):
        return f"{base_url} broke off its answer: {error}", "try again"
    if isinstance(error, openai.APIStatusError):
        advice = _STATUS_ADVICE.get(error.status_code, "")
        return f"{base_url} answered {error.status_code}: {_said(error)}", advice
    if isinstance(error, openai.APIError):
        return f"the stream of {base_url} ended with an error: {_said(error)}", ""
    if isinstance(error, UnicodeEncodeError):
        return "the request holds text that cannot be sent as UTF-8", "take lone surrogates out of it"
    if isinstance(error, ValueError | RecursionError):
        return f"{base_url} answered what is no JSON", _ADDRESS_ADVICE
    return f"the model did not answer: {error}", ""


_LOOPBACK = re.compile(r"https?://(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?(?:/|\Z)")
_SHORTEST_KEY = 6
_LONGEST_LINE = 400
_ADDRESS_ADVICE = "check that the address is right; most end in /v1"
_STATUS_ADVICE = {
    401: "check the API key (OPENAI_API_KEY)",
    403: "this key may not use that model",
    404: "check the model's name and that the address ends in /v1",
    429: "too many requests: wait, or check your quota",
}


def _said(error: Any) -> str:
    body = error.body
    if isinstance(body, dict):
        return str(cast("dict[str, Any]", body).get("message") or body)
    text = (body if isinstance(body, str) and body else str(error.message)).strip()
    return "an HTML page" if text.startswith("<") else text


def _one_line(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"
