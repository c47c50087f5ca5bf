"""Models behind the APIs of other providers: OpenAI's Responses, Anthropic's Messages, Gemini, Ollama.

What differs between them is in `zoolab.apis`, and `model_of` makes a model for any API there. Here the body
is sent, over the HTTP library that the openai client brings, so no further package is needed. What a model
wants back (encrypted reasoning, thinking with its signature) stands in the message and goes back with it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

from zoolab.apis import APIS
from zoolab.apis import api as api_named
from zoolab.apis.events import NOT_JSON, without_error
from zoolab.apis.reading import as_dict
from zoolab.errors import InvalidInput, ModelError
from zoolab.models.deltas import tell_delta
from zoolab.models.endpoint import ApiModel, Connection
from zoolab.models.network import client_options, surroundings_named
from zoolab.models.openai import check_key, explained, secret_parts
from zoolab.models.rejected import Body, without_rejected
from zoolab.models.transport import http_library
from zoolab.records import Reply, Request, without
from zoolab_connect.apis.streams import events_in

_LONGEST_PAUSE = 30.0


class ProviderModel(ApiModel):
    """What the four have in common; a subclass names its API.

    The arguments are those of every model of an API (see `ApiModel`); `client` is a client of httpx, and the
    names of settings are OpenAI's or the API's own.
    """

    #: How long an answer may be, and how long it may take.
    max_bytes: ClassVar[int] = 64 * 1024 * 1024
    max_seconds: ClassVar[float] = 600.0
    _client_made_by = "httpx.Client(...)"

    def _connect(self, to: Connection) -> None:
        address = to.base_url or os.environ.get(self.api.address_from) or self.api.address
        if "://" not in address:  # OLLAMA_HOST is often a host alone
            address = f"http://{address}" + ("" if ":" in address else ":11434")
        self.base_url = address.rstrip("/")
        # A blank key says that none goes out, also none of the environment.
        keys = [os.environ.get(name) for name in self.api.key_from] if to.api_key is None else [to.api_key]
        self._key = next(filter(None, keys), "")
        if self.api.key_from and not self._key and self.base_url == self.api.address:
            advice = f"set {self.api.key_from[0]}, give api_key=, or use a recording"
            raise ModelError("no API key", advice=advice)
        check_key(self._key, " or ".join(self.api.key_from) or "api_key")
        if to.client is not None and not hasattr(to.client, "stream"):
            raise InvalidInput(f"client is {type(to.client).__name__}", expected=f"an {self._client_made_by}")
        with surroundings_named():
            options = {"timeout": to.timeout or self.max_seconds, **client_options(self.base_url)}
            self.http = to.client or http_library().Client(**options)
        self._timeout = {} if to.timeout is None else {"timeout": to.timeout}
        #: How often a request is sent again that met a busy endpoint, or none.
        self.max_retries = to.max_retries or 0
        key = f"Bearer {self._key}" if self.api.key_header == "authorization" else self._key
        own = {self.api.key_header: key} if self._key else {}
        self._headers = {**self.api.headers, **own, **{name.lower(): to.headers[name] for name in to.headers}}
        self._secrets = (self._key, *secret_parts(to.headers))

    def __call__(self, request: Request) -> Reply:
        reply = without_rejected(self._send, self.body(request), self._rejections)
        return self.api.incoming(request, reply)

    def body(self, request: Request) -> Body:
        """Return the body of the HTTP request, as it is sent."""
        streamed = {"stream": True} if self.stream else {}
        settings = {**self.settings, **streamed}
        if not request.tools:  # as in Chat Completions, see `Request.body`
            settings = without(settings, ("parallel_tool_calls",))
            request = replace(request, settings=without(request.settings, ("parallel_tool_calls",)))
        return self.api.outgoing(request, self.model, **settings)

    def _send(self, body: Body) -> Reply:
        with explained(self.base_url, self._secrets, body):
            reply = self._patiently(body)
        return replace(reply, sent=body)

    def _patiently(self, body: Body) -> Reply:
        for tried in range(self.max_retries):
            try:
                return self._ask(body)
            except Exception as error:
                if not _passes(error):
                    raise
                time.sleep(_pause(error, tried))
        return self._ask(body)

    def _ask(self, body: Body) -> Reply:
        path = self.api.stream_path if self.stream and self.api.stream_path else self.api.path
        url = self.base_url + path.replace("{model}", self.model.removeprefix("models/"))
        with self.http.stream("POST", url, json=body, headers=self._headers, **self._timeout) as response:
            return self._read(response)

    def _read(self, response: Any) -> Reply:
        parts = self._bounded(response.iter_bytes())
        if not response.is_success:
            raise _refusal(response, b"".join(parts))
        if self.stream:
            return self.api.streamed(events_in(parts), tell_delta)
        return self.api.reply(without_error(json.loads(b"".join(parts))))

    def _bounded(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the bytes of an answer, as long as they are not too many and come in time."""
        size = 0
        end = time.monotonic() + self.max_seconds
        for part in parts:
            size += len(part)
            if size > self.max_bytes or time.monotonic() > end:
                limits = f"at most {self.max_bytes:,} bytes in {self.max_seconds:g} seconds"
                raise ModelError("the answer does not end", expected=limits)
            yield part


class ResponsesModel(ProviderModel):
    """A model behind OpenAI's Responses API.

    OpenAI stores nothing by default: reasoning comes encrypted, and goes back with its message.
    With `store=True`, OpenAI keeps the conversation, and a request holds the id of the last answer and what
    is new. If a message that OpenAI has was changed, the whole conversation is sent.
    """

    api = APIS["responses"]


class AnthropicModel(ProviderModel):
    """A model behind Anthropic's Messages API; thinking goes back with its signature."""

    api = APIS["anthropic"]


class GeminiModel(ProviderModel):
    """A model behind Gemini's generateContent; thought signatures go back."""

    api = APIS["gemini"]


class OllamaModel(ProviderModel):
    """A model behind Ollama's own API; no key is needed."""

    api = APIS["ollama"]


#: The classes that have a name of their own, by the names of their APIs.
PROVIDERS: dict[str, type[ProviderModel]] = {
    each.api.name: each for each in (AnthropicModel, GeminiModel, OllamaModel, ResponsesModel)
}


def model_of(api: str = "", model: str | None = None, **options: Any) -> ProviderModel:
    """Return a model behind any API, by the name of the API.

    Args:
        api: A name of `zoolab.apis.APIS`.
        model: The name of the model; by default what ZOOLAB_MODEL says.
        options: What every model of an API takes, such as `base_url` and `stream` (see `ApiModel`).

    Raises:
        InvalidInput: There is no such API.

    >>> model_of("ollama", "small")
    <OllamaModel small>
    """
    kind = PROVIDERS.get(api)
    if kind is None:
        spoken = api_named(api)
        kind = type(f"{type(spoken).__name__}Model", (ProviderModel,), {"api": spoken})
    return kind(model, **options)


def _passes(error: Exception) -> bool:
    """Return whether the same request may succeed later; false as soon as an answer has begun."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return error.status_code in (408, 409, 429) or error.status_code >= 500
    return isinstance(error, (http_library().ConnectError, http_library().ConnectTimeout))


def _pause(error: Exception, tried: int) -> float:
    """Return seconds before the next try: what the endpoint says, else twice as long each time."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return min(max(float(headers.get("retry-after", "")), 0.0), _LONGEST_PAUSE)
    except ValueError:
        return min(0.25 * 2.0**tried, _LONGEST_PAUSE)


def _refusal(response: Any, content: bytes) -> Exception:
    """Return an HTTP error as the openai client has it, so that the same code explains it and asks again."""
    import openai

    try:
        said = json.loads(content)
    except NOT_JSON:
        said = content.decode(errors="replace")
    return openai.APIStatusError("", response=response, body=as_dict(said).get("error") or said)
