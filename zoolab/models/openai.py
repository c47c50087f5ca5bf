"""Any OpenAI-compatible endpoint, through the official client.

The client's `create` walks all messages again in each request, which makes a long conversation
quadratic; its public `post` sends the body as it is.

A setting that an endpoint rejects by name is left out, and the reply says so. OpenAI names it beside a code,
and other providers only in the message:

    {"error": {"message": "Unsupported value: 'temperature' does not support 0 with this model. ...",
               "type": "invalid_request_error", "param": "temperature", "code": "unsupported_value"}}
    {"type": "error", "error": {"type": "invalid_request_error",
                                "message": "`temperature` is deprecated for this model."}}
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from zoolab.apis import APIS
from zoolab.apis.events import DONE
from zoolab.errors import ModelError, SettingRejected
from zoolab.files import read_table
from zoolab.jsontext import encode, excerpt, one_line
from zoolab.models.assembly import assemble
from zoolab.models.transport import http_library
from zoolab.records import Reply, Request, without
from zoolab.secrets import HIDDEN, scrub

if TYPE_CHECKING:
    import openai
    from openai._streaming import ServerSentEvent

_API = APIS["openai"]
NOT_JSON = (ValueError, RecursionError)
Body = dict[str, Any]
_STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
_LOOPBACK = re.compile(r"https?://(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?(?:/|\Z)")
_SHORTEST_KEY = 6
_LONGEST_LINE = 400
_ADDRESS_ADVICE = "check that the address is right; most end in /v1"
_STATUS_ADVICE = {
    401: "check the API key",
    403: "this key may not use that model",
    404: "check the model's name and the address; of most endpoints it ends in /v1",
    429: "too many requests: wait, or check your quota",
}


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint.

    Args:
        model: Its name; by default what `ZOOLAB_MODEL` says.
        client: An `openai.OpenAI`; by default one made from `OPENAI_API_KEY` and `OPENAI_BASE_URL`.
        stream: Whether the reply is streamed; its deltas are then in `Reply.pieces`.
        settings: Further fields of each request; `temperature` is 0 unless given.

    A setting that the endpoint rejects by name is left out from then on, as `Reply.left_out` says.

    Raises:
        ModelError: No model is named, no key is there, or the endpoint does not answer as it should.
    """

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
        self._rejections: Rejections = {}

    def __repr__(self) -> str:
        return f"<OpenAIModel {self.model}>"

    def __call__(self, request: Request) -> Reply:
        reply = self.ask(request.body(model=self.model, **self.settings))
        return replace(reply, changed=request.changes) if request.changes else reply

    def body(self, request: Request) -> dict[str, Any]:
        """The body of the HTTP request, as it is sent."""
        body = request.body(model=self.model, **self.settings)
        return without(body, left_out_of(body, self._rejections))

    def ask(self, body: dict[str, Any]) -> Reply:
        """The reply to a body that is made already; its `sent` is all but what the request itself says."""
        body = {**body, **_STREAMED} if self.stream else body
        return without_rejected(self._send, body, self._rejections)

    def _send(self, body: dict[str, Any]) -> Reply:
        with explained(str(self.client.base_url), self.client.api_key):
            if self.stream:
                reply = self._streamed(body)
            else:
                answer = self.client.post(_API.path, cast_to=object, body=body)
                reply = _API.reply(json.loads(answer) if isinstance(answer, str) else answer)
        return replace(reply, sent=without(body, ("messages", "tools", "tool_choice")))

    def _streamed(self, body: dict[str, Any]) -> Reply:
        with self.client.post(
            _API.path, cast_to=object, body=body, stream=True, stream_cls=_stream_class()
        ) as chunks:
            return assemble(_with_its_end(chunks))


def _with_its_end(chunks: Any) -> Iterator[object]:
    """The chunks of a stream, and the mark at its end if it came."""
    yield from chunks
    if chunks.done:
        yield DONE


@cache
def _stream_class() -> Any:
    from openai import Stream

    class Events(Stream[object]):
        """The client's stream, which neither tells whether [DONE] came nor which event is malformed."""

        done = False

        def _iter_events(self) -> Iterator[ServerSentEvent]:
            for number, event in enumerate(super()._iter_events(), start=1):
                self.done = event.data.startswith("[DONE]")
                whole = None
                with suppress(*NOT_JSON):
                    whole = json.loads(event.data)
                if not self.done and not isinstance(whole, dict):
                    what = f"event {number:,} of the stream is not a JSON object: {excerpt(event.data)}"
                    raise ModelError(what, advice="try again")
                yield event

    return Events


def make_client(base_url: str | None = None, api_key: str | None = None) -> openai.OpenAI:
    """The official client; what is not given comes from the environment."""
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
        raise ModelError("the address of the endpoint is not a URL", advice=_ADDRESS_ADVICE) from None
    check_key(client.api_key, "OPENAI_API_KEY")
    return client


def check_key(key: str, variable: str) -> None:
    """Raise `ModelError` if a key cannot be sent; `variable` is where it usually comes from."""
    if not (key.isascii() and key.isprintable()):
        raise ModelError(
            "the API key contains a character that is not allowed in an HTTP header",
            advice=f"check {variable}",
        )


@contextmanager
def explained(base_url: str, key: object) -> Generator[None]:
    """Raise what goes wrong with a request as a `ModelError`."""
    import openai

    http = http_library()
    try:
        yield
    except (ModelError, openai.OpenAIError, http.HTTPError, http.InvalidURL, *NOT_JSON) as error:
        # What the client raised may repeat the key: it does not go into the traceback.
        raise explain(error, base_url, key) from None


def explain(error: Exception, base_url: str, key: object = "") -> ModelError:
    """What the client says, as one line with something to do; no key is ever repeated."""
    import openai

    what, advice = _what_and_advice(error, base_url)
    status = error.status_code if isinstance(error, openai.APIStatusError) else None
    if isinstance(error, openai.APIStatusError) and (found := rejection_of(error.status_code, error.body)):
        rejected = SettingRejected(_one_line(what, key), advice=advice)
        rejected.setting, said, rejected.whatever = found
        rejected.said, rejected.status = _one_line(said, key), status
        return rejected
    expected = error.expected if isinstance(error, ModelError) else ""
    told = ModelError(_one_line(what, key), expected=expected, advice=advice)
    told.status = status
    return told


def _one_line(text: str, key: object) -> str:
    if isinstance(key, str) and len(key) >= _SHORTEST_KEY:
        text = text.replace(key, HIDDEN)
    return one_line("".join(c if c.isprintable() else " " for c in scrub(text)), _LONGEST_LINE)


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
    if isinstance(error, openai.APIError):
        body = error.body
        said = body.get("message") or body if isinstance(body, dict) else (body or error.message)
        text = "an HTML page" if str(said).lstrip().startswith("<") else str(said).strip()
        if not isinstance(error, openai.APIStatusError):
            return f"the stream of {base_url} ended with an error: {text}", ""
        return f"{base_url} answered {error.status_code}: {text}", _STATUS_ADVICE.get(error.status_code, "")
    if isinstance(error, UnicodeEncodeError):
        return "the request holds text that cannot be sent as UTF-8", "take lone surrogates out of it"
    if isinstance(error, NOT_JSON):
        return f"{base_url} answered text that is not JSON", _ADDRESS_ADVICE
    return f"the model did not answer: {error}", ""


#: What a model object knows to be rejected: the name of a setting and its value as JSON, or "" if the
#: value does not matter, with the endpoint's words.
Rejections = dict[tuple[str, str], str]
_LONGEST_MESSAGE = 2_000
_CODES = {"unsupported_parameter": True, "unsupported_value": False}
_IN_WORDS = re.compile(
    r"Unsupported (?P<kind>parameter|value): '(?P<quoted>[\w.]+)"
    r"|(?P<bare>[a-z][\w.]*)[`'\"]?(?: is (?:deprecated|not supported|unsupported) (?:for|with|by) this model"
    r"| may only be set to |: Extra inputs are not permitted)"
)
#: These are the request itself and how its reply is read; whoever leaves them out asks something else.
_NEVER = read_table("zoolab.apis", "settings.toml")["request"]


def rejection_of(status: int, answer: object) -> tuple[str, str, bool] | None:
    """What `SettingRejected` says of an HTTP error with this body; None if it is another error."""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    error = error if isinstance(error, dict) else {"message": error}
    said = str(error.get("message") or "")[:_LONGEST_MESSAGE]
    found = _IN_WORDS.search(said)
    param, code = error.get("param"), error.get("code")
    if status not in (400, 422):
        return None
    if isinstance(param, str) and isinstance(code, str) and code in _CODES:
        return param, said, _CODES[code]
    if found is None:
        return None
    named = param if isinstance(param, str) and param else found["quoted"] or found["bare"]
    return named, said, found["kind"] != "value"


def left_out_of(body: Body, rejections: Rejections) -> dict[str, str]:
    """The settings of a body that are known to be rejected, and the endpoint's words."""
    known = rejections.copy().items()  # another thread may learn of one meanwhile
    sent = {name: _value(body, name) for (name, _), _ in known}
    return {name: said for (name, value), said in known if sent[name] and value in ("", sent[name])}


def without_rejected(send: Callable[[Body], Reply], body: Body, rejections: Rejections) -> Reply:
    """The reply to a body, sent without the settings that the endpoint rejects.

    `send` raises `SettingRejected`; what that names is added to `rejections`, so that later requests leave it
    out at once. The error goes on if what is rejected is not a setting, or was not sent.
    """
    while True:
        left_out = left_out_of(body, rejections)
        sent = without(body, left_out)
        try:
            reply = send(sent)
        except SettingRejected as error:
            value = _value(sent, error.setting)
            if not value or re.split(r"\W", error.setting)[0] in _NEVER:
                raise
            rejections[error.setting, "" if error.whatever else value] = error.said
        else:
            return replace(reply, left_out=left_out)


def _value(body: Body, name: str) -> str:
    """A setting of a body as JSON; empty if the body has no such setting."""
    found: Any = body
    for key in name.split("."):
        if not isinstance(found, dict) or key not in found:
            return ""
        found = found[key]
    return encode(found)
