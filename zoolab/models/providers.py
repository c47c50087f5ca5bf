"""Models behind the APIs of other providers: OpenAI's Responses, Anthropic's Messages, Gemini, Ollama.

What differs between them is in `zoolab.apis`. Here the body is sent, over the HTTP library that the openai
client brings, so no further package is needed. What a model wants back (encrypted reasoning, thinking with
its signature) stands in the message and goes back with it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

from zoolab.apis import APIS, Api
from zoolab.apis.events import events_in, without_error
from zoolab.apis.reading import as_dict
from zoolab.errors import ModelError
from zoolab.loop.about import tell_delta
from zoolab.models.openai import NOT_JSON, Body, Rejections, check_key, explained, without_rejected
from zoolab.models.transport import http_library
from zoolab.records import Reply, Request


class ProviderModel:
    """What the four have in common; a subclass names its API.

    Args:
        model: The name of the model.
        base_url: Where the API is; by default what the environment says, or the provider's own address.
        api_key: By default from the environment.
        client: A client of the HTTP library (httpx), for instance with a proxy or other timeouts.
        stream: Whether the reply is streamed; its deltas are then in `Reply.pieces`.
        settings: Further fields of each request, under OpenAI's names or the API's own; `temperature` is 0
            unless given. One that the API rejects by name is left out from then on (`Reply.left_out`).

    Raises:
        ModelError: There is no key, or the API does not answer as it should.
    """

    made = "recorded"
    #: How long an answer may be, and how long it may take.
    max_bytes: ClassVar[int] = 64 * 1024 * 1024
    max_seconds: ClassVar[float] = 600.0
    #: What the model is asked in: one of `zoolab.apis.APIS`.
    api: ClassVar[Api]

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: Any = None,
        stream: bool = False,
        **settings: Any,
    ) -> None:
        if not model:
            raise ModelError("no model is named", advice="give its name")
        self.model, self.stream = model, stream
        self.settings = {"temperature": 0, **settings}
        self._rejections: Rejections = {}
        address = base_url or os.environ.get(self.api.address_from) or self.api.address
        if "://" not in address:  # OLLAMA_HOST is often a host alone
            address = f"http://{address}" + ("" if ":" in address else ":11434")
        self.base_url = address.rstrip("/")
        keys = [api_key, *(os.environ.get(name) for name in self.api.key_from)]
        self._key = next(filter(None, keys), "")
        if self.api.key_from and not self._key and self.base_url == self.api.address:
            raise ModelError("no API key", advice=f"set {self.api.key_from[0]}, or use a recording")
        check_key(self._key, " or ".join(self.api.key_from) or "api_key")
        self.http = client or http_library().Client(timeout=self.max_seconds)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model}>"

    def __call__(self, request: Request) -> Reply:
        reply = without_rejected(self._send, self.body(request), self._rejections)
        return self.api.incoming(request, reply)

    def body(self, request: Request) -> Body:
        """The body of the HTTP request, as it is sent."""
        streamed = {"stream": True} if self.stream else {}
        return self.api.outgoing(request, self.model, **{**self.settings, **streamed})

    def _send(self, body: Body) -> Reply:
        path = self.api.stream_path if self.stream and self.api.stream_path else self.api.path
        url = self.base_url + path.replace("{model}", self.model.removeprefix("models/"))
        key = f"Bearer {self._key}" if self.api.key_header == "authorization" else self._key
        headers = {**self.api.headers, **({self.api.key_header: key} if self._key else {})}
        ask = self.http.stream
        with explained(self.base_url, self._key), ask("POST", url, json=body, headers=headers) as response:
            reply = self._read(response)
        return replace(reply, sent=body)

    def _read(self, response: Any) -> Reply:
        parts = self._bounded(response.iter_bytes())
        if not response.is_success:
            raise _refusal(response, b"".join(parts))
        if self.stream:
            return self.api.streamed(events_in(parts), tell_delta)
        return self.api.reply(without_error(json.loads(b"".join(parts))))

    def _bounded(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """The bytes of an answer, as long as they are not too many and come in time."""
        size, end = 0, time.monotonic() + self.max_seconds
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


#: The classes, by the names of their APIs.
PROVIDERS: dict[str, type[ProviderModel]] = {
    each.api.name: each for each in (AnthropicModel, GeminiModel, OllamaModel, ResponsesModel)
}


def _refusal(response: Any, content: bytes) -> Exception:
    """An HTTP error as the openai client has it, so that the same code explains it and asks again."""
    import openai

    try:
        said = json.loads(content)
    except NOT_JSON:
        said = content.decode(errors="replace")
    return openai.APIStatusError("", response=response, body=as_dict(said).get("error") or said)
