"""Any OpenAI-compatible endpoint, through the official client.

The client's `create` walks all messages again in each request, which makes a long conversation
quadratic; its public `post` sends the body as it is. The client's own assembly of streamed deltas
breaks on calls that are interleaved or lack an index; here they are put together by slot.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from zoolab.errors import ModelError
from zoolab.jsontext import excerpt
from zoolab.models.secrets import scrub
from zoolab.records import Message, Reply, Request

if TYPE_CHECKING:
    import openai

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
        import openai

        try:
            return self._streamed(request) if self.stream else self._plain(request)
        except openai.OpenAIError as error:
            raise explain(error, str(self.client.base_url)) from error

    def body(self, request: Request) -> dict[str, Any]:
        """The body of the HTTP request, as it is sent."""
        return request.body(**self.settings, model=self.model)

    def _plain(self, request: Request) -> Reply:
        from openai.types.chat import ChatCompletion

        completion = self.client.post(PATH, cast_to=ChatCompletion, body=self.body(request))
        return reply_from(completion.to_dict(mode="json"))

    def _streamed(self, request: Request) -> Reply:
        from openai import Stream
        from openai.types.chat import ChatCompletionChunk

        body = {**self.body(request), "stream": True, "stream_options": {"include_usage": True}}
        with self.client.post(
            PATH, cast_to=ChatCompletionChunk, body=body, stream=True, stream_cls=Stream[ChatCompletionChunk]
        ) as chunks:
            return assemble(chunk.to_dict(mode="json") for chunk in chunks)


def make_client(base_url: str | None = None, api_key: str | None = None) -> openai.OpenAI:
    """The official client, from the environment where nothing is given.

    >>> make_client("http://127.0.0.1:9/v1", "none").base_url.host
    '127.0.0.1'
    """
    import openai

    try:
        return openai.OpenAI(base_url=base_url, api_key=api_key)
    except openai.OpenAIError as error:
        raise ModelError(
            "no API key", advice="set OPENAI_API_KEY, or use a recording or a local model, which need none"
        ) from error


def reply_from(body: Mapping[str, Any]) -> Reply:
    """The reply in a chat completion; raises `ModelError` where there is none.

    >>> reply_from({"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}).text
    'Hi'
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ModelError(
            f"the endpoint answered {excerpt(dict(body))}", expected="a chat completion with a message"
        )
    return Reply(
        {"role": "assistant", **cast("Message", message)},
        choice.get("finish_reason"),
        body.get("usage"),
        body.get("model"),
        raw=dict(body),
    )


def assemble(chunks: Iterable[dict[str, Any]]) -> Reply:
    """Put the chunks of a streamed reply together, calls by slot.

    A delta without an index goes on with the call that has its id, or with the last one; a delta with
    a new id begins another call.

    >>> pieces = [{"content": "4"}, {"content": "2"}]
    >>> assemble({"choices": [{"delta": delta}]} for delta in pieces).text
    '42'
    """
    message: Message = {"role": "assistant", "content": None}
    calls = _CallsBySlot()
    pieces: list[dict[str, Any]] = []
    finish, usage, model = None, None, None
    for chunk in chunks:
        usage, model = chunk.get("usage") or usage, chunk.get("model") or model
        for choice in (chunk.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            pieces.append(delta)
            finish = choice.get("finish_reason") or finish
            _add_text(message, delta)
            for part in delta.get("tool_calls") or ():
                calls.add(part)
    if calls.calls:
        message["tool_calls"] = calls.calls
    if not pieces:
        raise ModelError("the stream ended before a reply began")
    return Reply(message, finish, usage, model, tuple(pieces))


class _CallsBySlot:
    """Calls under construction; `slots` maps what identifies a delta to its call."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self._by_index: dict[int, dict[str, Any]] = {}

    def add(self, part: dict[str, Any]) -> None:
        call = self._call_of(part)
        function = part.get("function") or {}
        call["id"] = call["id"] or part.get("id")
        call["function"]["name"] += function.get("name") or ""
        arguments = function.get("arguments")
        call["function"]["arguments"] += arguments if isinstance(arguments, str) else ""

    def _call_of(self, part: dict[str, Any]) -> dict[str, Any]:
        index, own = part.get("index"), part.get("id")
        if isinstance(index, int):
            known = self._by_index.get(index)
            if known is None or (own and known["id"] and own != known["id"] and _names(part)):
                known = self._by_index[index] = self._new()
            return known
        same = next((call for call in self.calls if own and call["id"] == own), None)
        if same is not None or not self.calls:
            return same or self._new()
        return self._new() if own or _names(part) else self.calls[-1]

    def _new(self) -> dict[str, Any]:
        self.calls.append({"id": None, "type": "function", "function": {"name": "", "arguments": ""}})
        return self.calls[-1]


def _names(part: dict[str, Any]) -> bool:
    """Whether a delta names a function, which only the first delta of a call does."""
    return bool((part.get("function") or {}).get("name"))


def _add_text(message: Message, delta: dict[str, Any]) -> None:
    for key in ("content", "refusal", "reasoning_content"):
        if isinstance(delta.get(key), str):
            message[key] = (message.get(key) or "") + delta[key]


def explain(error: Exception, base_url: str) -> ModelError:
    """What the client says, as one line with something to do; no key is ever repeated.

    >>> import openai
    >>> explain(openai.OpenAIError("odd"), "http://localhost/v1/").what
    'the model did not answer: odd'
    """
    import openai

    if isinstance(error, openai.APITimeoutError):
        return ModelError(
            f"{base_url} did not answer in time", advice="try again, or raise the client's timeout"
        )
    if isinstance(error, openai.APIConnectionError):
        return ModelError(f"cannot reach {base_url}", advice="check the address and that a server runs there")
    if isinstance(error, openai.APIStatusError):
        said = excerpt(scrub(_said(error)), 300)
        return ModelError(
            f"{base_url} answered {error.status_code}: {said}",
            advice=_STATUS_ADVICE.get(error.status_code, ""),
        )
    return ModelError(f"the model did not answer: {scrub(str(error))[:300]}")


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
    return str(error.message)
