"""Models behind the APIs of other providers: OpenAI's Responses, Anthropic's Messages, Gemini, Ollama.

`zoolab.wire` turns a request into the body that an API wants, and its answer into a message. Here the body
is sent, over the HTTP library that the openai client brings, so no further package is needed. What a model
wants back (encrypted reasoning, thinking with its signature) stands in the message and goes back with it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

from zoolab.errors import ModelError
from zoolab.jsontext import canonical, digest
from zoolab.loop.about import tell_delta
from zoolab.models.openai import NOT_JSON, Body, Rejections, check_key, explained, without_rejected
from zoolab.models.transport import http_library
from zoolab.records import Message, Reply, Request
from zoolab.tokens import Tokens
from zoolab.wire import wire_format
from zoolab.wire.chat import extra
from zoolab.wire.streams import STREAMS, as_dict, dicts_in, events_in, without_error


class ProviderModel:
    """What the four have in common; a subclass says where its API is, and how it takes the key.

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
    #: The name of the format in `zoolab.wire.FORMATS`.
    format: ClassVar[str]
    _address: ClassVar[str]
    #: The environment variable with another address.
    address_from: ClassVar[str]
    _path: ClassVar[str]
    _stream_path: ClassVar[str] = ""
    _key_from: ClassVar[tuple[str, ...]] = ()
    _key_header: ClassVar[str] = "authorization"
    _headers: ClassVar[dict[str, str]] = {}

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
        address = base_url or os.environ.get(self.address_from) or self._address
        if "://" not in address:  # OLLAMA_HOST is often a host alone
            address = f"http://{address}" + ("" if ":" in address else ":11434")
        self.base_url = address.rstrip("/")
        keys = [api_key, *(os.environ.get(name) for name in self._key_from)]
        self._key = next(filter(None, keys), "")
        if self._key_from and not self._key and self.base_url == self._address:
            raise ModelError("no API key", advice=f"set {self._key_from[0]}, or use a recording")
        check_key(self._key, " or ".join(self._key_from) or "api_key")
        self.http = client or http_library().Client(timeout=self.max_seconds)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model}>"

    def __call__(self, request: Request) -> Reply:
        return without_rejected(self._send, self.body(request), self._rejections)

    def body(self, request: Request) -> Body:
        """The body of the HTTP request, as it is sent."""
        streamed = {"stream": True} if self.stream else {}
        return wire_format(self.format).to_body(request, self.model, **{**self.settings, **streamed})

    def _send(self, body: Body) -> Reply:
        pieces = list[Message]()

        def tell(delta: Message) -> None:
            if delta:
                pieces.append(delta)
                tell_delta(delta)

        with explained(self.base_url, self._key):
            reply = reply_in(self.format, self._ask(body, tell))
        return replace(reply, pieces=tuple(pieces), sent=body)

    def _ask(self, body: Body, tell: Callable[[Message], None]) -> Body:
        path = self._stream_path if self.stream and self._stream_path else self._path
        url = self.base_url + path.replace("{model}", self.model.removeprefix("models/"))
        key = f"Bearer {self._key}" if self._key_header == "authorization" else self._key
        headers = {**self._headers, **({self._key_header: key} if self._key else {})}
        with self.http.stream("POST", url, json=body, headers=headers) as response:
            parts = self._bounded(response.iter_bytes())
            if not response.is_success:
                raise _refusal(response, b"".join(parts))
            if not self.stream:
                return without_error(json.loads(b"".join(parts)))
            return STREAMS[self.format](events_in(parts), tell)

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

    format = "responses"
    _address = "https://api.openai.com/v1"
    address_from = "OPENAI_BASE_URL"
    _path = "/responses"
    _key_from = ("OPENAI_API_KEY",)

    def __call__(self, request: Request) -> Reply:
        reply = super().__call__(request)
        if reply.sent is None or reply.raw is None or not reply.sent.get("store"):
            return reply
        kept = {"id": reply.raw.get("id"), "digest": _digest([*request.messages, reply.message])}
        own = as_dict(as_dict(reply.message.get("extra_content")).get("openai"))
        return replace(
            reply, message={**reply.message, "extra_content": {"openai": {**own, "response": kept}}}
        )

    def body(self, request: Request) -> Body:
        whole = super().body(request)
        if not whole.get("store"):
            return {"store": False, "include": ["reasoning.encrypted_content"], **whole}
        messages = list(request.messages)
        while messages and messages[-1].get("role") != "assistant":
            messages.pop()
        kept = as_dict(extra(messages[-1], "openai", "response") if messages else None)
        if kept.get("digest") != _digest(messages):
            return whole
        known = len(super().body(replace(request, messages=messages))["input"])
        return {**whole, "input": whole["input"][known:], "previous_response_id": kept.get("id")}


class AnthropicModel(ProviderModel):
    """A model behind Anthropic's Messages API; thinking goes back with its signature."""

    format = "anthropic"
    _address = "https://api.anthropic.com"
    address_from = "ANTHROPIC_BASE_URL"
    _path = "/v1/messages"
    _key_from = ("ANTHROPIC_API_KEY",)
    _key_header = "x-api-key"
    _headers: ClassVar[dict[str, str]] = {"anthropic-version": "2023-06-01"}


class GeminiModel(ProviderModel):
    """A model behind Gemini's generateContent; thought signatures go back."""

    format = "gemini"
    _address = "https://generativelanguage.googleapis.com"
    address_from = "GOOGLE_GEMINI_BASE_URL"
    _path = "/v1beta/models/{model}:generateContent"
    _stream_path = "/v1beta/models/{model}:streamGenerateContent?alt=sse"
    _key_from = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    _key_header = "x-goog-api-key"


class OllamaModel(ProviderModel):
    """A model behind Ollama's own API; no key is needed."""

    format = "ollama"
    _address = "http://127.0.0.1:11434"
    address_from = "OLLAMA_HOST"
    _path = "/api/chat"


#: The classes, by the names of their formats.
PROVIDERS: dict[str, type[ProviderModel]] = {
    each.format: each for each in (AnthropicModel, GeminiModel, OllamaModel, ResponsesModel)
}
#: Why answers end, in the words of Chat Completions.
_ENDS = {
    **dict.fromkeys(("completed", "end_turn", "stop_sequence", "tool_use", "STOP"), "stop"),
    **dict.fromkeys(("max_output_tokens", "max_tokens", "MAX_TOKENS"), "length"),
    **dict.fromkeys(("refusal", "SAFETY"), "content_filter"),
}


def reply_in(format: str, answer: Body) -> Reply:
    """The reply in a whole answer of an API other than Chat Completions; `ModelError` if there is none."""
    message = wire_format(format).from_response(answer)
    usage = Tokens.of(answer.get("usage") or answer.get("usageMetadata") or answer).usage
    model = answer.get("model") or answer.get("modelVersion")
    return Reply(message, _finish_reason(answer, message), usage, model, raw=answer)


def _finish_reason(answer: Body, message: Message) -> Any:
    candidates = dicts_in(answer.get("candidates")) or [{}]
    said = [as_dict(answer.get("incomplete_details")).get("reason"), candidates[0].get("finishReason")]
    said += [answer.get(name) for name in ("status", "stop_reason", "done_reason")]
    reason = next((each for each in said if isinstance(each, str)), "")
    known = _ENDS.get(reason, reason) or None
    return "tool_calls" if known == "stop" and message.get("tool_calls") else known


def _refusal(response: Any, content: bytes) -> Exception:
    """An HTTP error as the openai client has it, so that the same code explains it and asks again."""
    import openai

    try:
        said = json.loads(content)
    except NOT_JSON:
        said = content.decode(errors="replace")
    return openai.APIStatusError("", response=response, body=as_dict(said).get("error") or said)


def _digest(messages: list[Message]) -> str:
    """A name for what was said in a conversation; `extra_content` does not count."""
    return digest(canonical([{**message, "extra_content": None} for message in messages]))
