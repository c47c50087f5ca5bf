"""Any OpenAI-compatible endpoint, through the official client.

The client's `create` walks all messages again in each request, which makes a long conversation
quadratic; its public `post` sends the body as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from zoolab.apis import APIS
from zoolab.apis.events import DONE, NOT_JSON, without_error
from zoolab.errors import InvalidInput, ModelError, SettingRejected
from zoolab.jsontext import excerpt, one_line
from zoolab.models.assembly import assemble
from zoolab.models.endpoint import ApiModel, Connection
from zoolab.models.network import LOOPBACK, client_options, surroundings_named
from zoolab.models.rejected import Body, left_out_of, rejection_of, without_rejected
from zoolab.models.transport import http_library
from zoolab.records import Reply, Request, without
from zoolab.secrets import HIDDEN, scrub

if TYPE_CHECKING:
    import openai
    from openai._streaming import ServerSentEvent

_API = APIS["openai"]
#: How a page begins that an endpoint gives in place of an error.
_PAGES = ("<!", "<html", "<?xml")
_STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
_SHORTEST_KEY = 6
_LONGEST_LINE = 400
_HTTP_CLIENT = "for a client of httpx, give openai.OpenAI(http_client=...)"
_ADDRESS_ADVICE = "check that the address is right; most end in /v1"
_STATUS_ADVICE = {
    401: "check the API key",
    403: "this key may not use that model",
    404: "check the model's name and the address; of most endpoints it ends in /v1",
    429: "too many requests: wait, or check your quota",
}


class OpenAIModel(ApiModel):
    """A model behind an OpenAI-compatible endpoint.

    The arguments are those of every model of an API (see `ApiModel`); `client` is an `openai.OpenAI`, by
    default one made from `OPENAI_API_KEY` and `OPENAI_BASE_URL`.
    """

    api = _API
    _client_made_by = "openai.OpenAI(...)"

    def _connect(self, to: Connection) -> None:
        options = {"base_url": to.base_url, "api_key": to.api_key, "timeout": to.timeout}
        given = {name: value for name, value in options.items() if value is not None}
        if to.max_retries is not None:
            given["max_retries"] = to.max_retries
        if to.headers:
            given["default_headers"] = dict(to.headers)
        if to.client is None:
            self.client: openai.OpenAI = make_client(**given)
        elif hasattr(to.client, "chat"):
            self.client = to.client.with_options(**given) if given else to.client
        else:
            made = type(to.client).__name__
            raise InvalidInput(f"client is {made}", expected="an openai.OpenAI", advice=_HTTP_CLIENT)
        self._secrets = (self.client.api_key, *secret_parts(to.headers))

    def __call__(self, request: Request) -> Reply:
        reply = self.ask(self._whole(request))
        return replace(reply, changed=request.changes) if request.changes else reply

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body of the HTTP request, as it is sent."""
        body = self._whole(request)
        return without(body, left_out_of(body, self._rejections))

    def _whole(self, request: Request) -> dict[str, Any]:
        return request.body(model=self.model, **self.settings)

    def ask(self, body: dict[str, Any]) -> Reply:
        """Return the reply to a body that is made already; its `sent` has what the request itself lacks."""
        body = {**body, **_STREAMED} if self.stream else body
        return without_rejected(self._send, body, self._rejections)

    def _send(self, body: dict[str, Any]) -> Reply:
        with explained(str(self.client.base_url), self._secrets, body):
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
    """Yield the chunks of a stream, and the mark at its end if it came.

    An endpoint that does not stream answers with the whole reply.
    """
    if chunks.response.headers.get("content-type", "").startswith("application/json"):
        yield from (without_error(json.loads(chunks.response.read())), DONE)
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
                if not event.data.strip() or event.data.startswith(":"):
                    continue  # gateways say so that they are alive
                self.done = event.data.startswith("[DONE]")
                whole = None
                with suppress(*NOT_JSON):
                    whole = json.loads(event.data)
                if not self.done and not isinstance(whole, dict):
                    what = f"event {number:,} of the stream is not a JSON object: {excerpt(event.data)}"
                    raise ModelError(what, advice="try again")
                yield event

    return Events


def make_client(base_url: str | None = None, api_key: Any = None, **options: Any) -> openai.OpenAI:
    """Return the official client; what is not given comes from the environment."""
    import openai

    if base_url and "://" not in base_url:
        base_url = f"http://{base_url}"
    address = base_url or os.environ.get("OPENAI_BASE_URL") or ""
    if api_key is None and "OPENAI_API_KEY" not in os.environ and LOOPBACK.match(address):
        api_key = "none"  # servers on this machine ask for no key, and the client for one
    try:
        with surroundings_named():
            own = client_options(address)
            if own and "http_client" not in options:
                options["http_client"] = openai.DefaultHttpxClient(**own)
            client = openai.OpenAI(base_url=base_url, api_key=api_key, **options)
    except openai.OpenAIError:
        raise ModelError(
            "no API key",
            advice="set OPENAI_API_KEY or give api_key=; a recording or a local model needs none",
        ) from None
    except (http_library().InvalidURL, ValueError):
        raise ModelError("the address of the endpoint is not a URL", advice=_ADDRESS_ADVICE) from None
    check_key(client.api_key, "OPENAI_API_KEY")
    return client


def secret_parts(headers: Mapping[str, str]) -> list[str]:
    """Return the values of headers, and their words: an endpoint may repeat a key without its `Bearer`."""
    return [part for value in headers.values() for part in (value, *value.split())]


def check_key(key: str, variable: str) -> None:
    """Raise `ModelError` if a key cannot be sent; `variable` is where it usually comes from."""
    if not (key.isascii() and key.isprintable()):
        raise ModelError(
            "the API key contains a character that is not allowed in an HTTP header",
            advice=f"check {variable}",
        )


@contextmanager
def explained(base_url: str, secrets: Iterable[object], body: Body) -> Generator[None]:
    """Raise what goes wrong with a request as a `ModelError`."""
    import openai

    http = http_library()
    try:
        yield
    except (ModelError, openai.OpenAIError, http.HTTPError, http.InvalidURL, *NOT_JSON) as error:
        # What the client raised may repeat the key: it does not go into the traceback.
        raise explain(error, base_url, secrets, body) from None


def explain(
    error: Exception, base_url: str, secrets: Iterable[object] = (), body: Body | None = None
) -> ModelError:
    """Say in one line what the client said, with something to do; no secret is ever repeated."""
    import openai

    hidden = [each for each in secrets if isinstance(each, str) and len(each) >= _SHORTEST_KEY]
    what, advice = _what_and_advice(error, base_url)
    status = error.status_code if isinstance(error, openai.APIStatusError) else None
    expected = error.expected if isinstance(error, ModelError) else ""
    told = ModelError(_one_line(what, hidden), expected=expected, advice=advice)
    if isinstance(error, openai.APIStatusError):
        if found := rejection_of(error.status_code, error.body, body or {}):
            told = SettingRejected(told.what, expected=expected, advice=advice)
            told.setting = found.name
            told.said = _one_line(found.said, hidden)
            told.whatever = found.whatever
            told.beside_tools = found.beside_tools
        if written := _failed_generation(error.body):
            told.advice = f"the model wrote: {_one_line(written, hidden)}"
    told.status = status
    return told


def _failed_generation(answer: object) -> str:
    """Return what the model wrote, if the endpoint could not read it as a call (Groq says it)."""
    written = answer.get("failed_generation") if isinstance(answer, dict) else None
    return written if isinstance(written, str) else ""


def _one_line(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
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
        text = "an HTML page" if str(said).lstrip().lower().startswith(_PAGES) else str(said).strip()
        if not isinstance(error, openai.APIStatusError):
            return f"the stream of {base_url} ended with an error: {text}", ""
        return f"{base_url} answered {error.status_code}: {text}", _STATUS_ADVICE.get(error.status_code, "")
    if isinstance(error, UnicodeEncodeError):
        return "the request holds text that cannot be sent as UTF-8", "take lone surrogates out of it"
    if isinstance(error, NOT_JSON):
        return f"{base_url} answered text that is not JSON", _ADDRESS_ADVICE
    return f"the model did not answer: {error}", ""
