"""OpenAI's Chat Completions, which zoolab's own records are written in: `POST /chat/completions`.

Nothing is changed on the way: messages, tools and settings go and come as they are. What is made plain:

    tool_choice        left out where there are no tools
    settings           none may be named messages, tools or tool_choice
    a reply's content  parts become one text
    a reply's calls    arguments that came as an object become text; an id that is no text is left out
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

from zoolab.apis.call_deltas import CallsBySlot
from zoolab.apis.events import DONE, PIECE, in_pieces, server_sent
from zoolab.apis.interface import A_CHOICE, CHOICES, ENDS, SETTINGS, Api, Body, Tell, choice_of
from zoolab.apis.merging import comes_whole, merge
from zoolab.apis.reading import Reading, as_dict, dicts_in
from zoolab.apis.wire_warnings import WireWarning, warning
from zoolab.errors import InvalidInput, ModelError
from zoolab.jsontext import excerpt
from zoolab.jsontext.values import without
from zoolab.messages import Message
from zoolab.messages.outgoing import outgoing, sendable
from zoolab.records.exchange import Reply, Request
from zoolab.tokens import Tokens

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_LONGEST_EXCERPT = 4_000
#: The fields of a body that are the request itself.
_OWN_FIELDS = ("messages", "tools", "tool_choice")
#: The types of its tools; a tool of another type is that of an endpoint.
_TOOL_TYPES = ("function", "custom")


class ChatCompletions(Api):
    """OpenAI's Chat Completions."""

    name = "openai"
    label = "OpenAI Chat Completions"
    address = "https://api.openai.com/v1"
    address_from = "OPENAI_BASE_URL"
    also_from = ("OPENAI_API_BASE",)
    path = "/chat/completions"
    key_from = ("OPENAI_API_KEY",)
    watched = True
    counts_unasked = False
    #: Those of `ENDS`, and those of servers that speak nearly the same.
    ends: ClassVar[dict[str, str]] = {
        **{end: end for end in ENDS},
        **dict.fromkeys(("eos", "eos_token", "end_turn", "stop_sequence", "STOP", "COMPLETE"), "stop"),
        **dict.fromkeys(("function_call", "tool_use"), "tool_calls"),
        **dict.fromkeys(
            ("max_tokens", "model_length", "MAX_TOKENS", "model_context_window_exceeded"), "length"
        ),
        **dict.fromkeys(("sensitive", "safety", "SAFETY", "refusal", "RECITATION"), "content_filter"),
        **dict.fromkeys(("abort", "network_error", "malformed_function_call", "failed", "OTHER"), "error"),
    }
    settings = frozenset(SETTINGS["chat"])
    own = frozenset((*SETTINGS["widespread"], *SETTINGS["compatible"]))

    def recognises(self, body: Mapping[str, Any]) -> bool:
        return "messages" in body

    def asks(self, body: Mapping[str, Any]) -> bool:
        return isinstance(body.get("messages"), list)

    def reply(self, answer: Any) -> Reply:
        """Return the reply; its message stays as it came."""
        whole = as_dict(answer)
        choice = _first(whole.get("choices"))
        message = choice.get("message")
        if not isinstance(message, dict):
            raise ModelError(
                f"the endpoint answered {excerpt(answer, _LONGEST_EXCERPT)}",
                expected="a chat completion with a message",
            )
        made = {"role": "assistant", **cast("Message", message)}
        finish = choice.get("finish_reason")
        usage = as_dict(whole.get("usage")) or None
        finish = self.ends.get(finish, finish) if isinstance(finish, str) else finish
        return Reply(made, finish, usage, whole.get("model"), raw=whole)

    def streamed(self, events: Iterable[object], tell: Tell = lambda _delta: None) -> Reply:
        """Keep all deltas. Some endpoints do not say why the reply ended, but that it did."""
        pieces: list[Message] = []

        def keep(delta: Message) -> None:
            pieces.append(delta)
            tell(delta)

        marked = _Marked(events)
        answer = self._assembled(marked, keep)
        if not pieces:
            raise ModelError(
                "the stream ended before a reply began", expected="a stream of events that ends with [DONE]"
            )
        reply = replace(self.reply(answer), pieces=tuple(pieces))
        if reply.finish_reason is not None or reply.usage is not None or marked.done:
            return reply
        return self._cut(reply)

    def assemble(self, events: Iterable[Body], tell: Tell) -> Body:
        """Join chunks: each has a delta of the message of each choice; those of the first one are told."""
        answer: Body = {"object": "chat.completion"}
        choices: dict[int, _Choice] = {}
        for chunk in events:
            others = {key: value for key, value in chunk.items() if key not in ("choices", "object")}
            answer |= {key: value for key, value in others.items() if value or key not in answer}
            for found in dicts_in(chunk.get("choices")):
                index = found.get("index")
                number = index if isinstance(index, int) else 0
                delta = choices.setdefault(number, _Choice()).add(found)
                if number == 0:
                    tell(delta)
        return {**answer, "choices": [choices[index].whole(index) for index in sorted(choices)]}

    def events(self, response: Body) -> Iterator[Body]:
        return chunks_of(response)

    def stream_bytes(self, events: Iterable[Body]) -> Iterator[bytes]:
        return server_sent(events, done=True)

    def response(self, reply: Reply, model: str, id: str, created: int = 0) -> Body:
        body = self.to_response(reply.message)
        (choice,) = body["choices"]
        ended = {**choice, "finish_reason": reply.finish_reason or choice["finish_reason"]}
        # Programs read it unasked, so a model that counts nothing says 0.
        usage = Tokens.of(reply.usage).usage or dict.fromkeys(_COUNTS, 0)
        head = {"model": model, "id": f"chatcmpl-{id}", "created": created}
        return {**body, **head, "choices": [ended], "usage": usage}

    def normalise(self, request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
        """Return the request with the messages as they are sent: `zoolab.messages.outgoing` says what that
        changes.
        """
        notes = list[WireWarning]()
        choice = choice_of(request)
        for index, message in enumerate(request.prefix):
            made, lines = sendable(index, message)
            code = "message_dropped" if made is None else "message_field"
            notes += [warning(code, ("messages", index), line) for line in lines]
        body = self.written(replace(request, messages=[]))
        back = self.read(body, Reading(body, "the body is", InvalidInput))
        foreign = [index for index, tool in enumerate(back.tools) if _is_foreign(tool)]
        notes += [warning("foreign_tool", ("tools", index)) for index in foreign]
        if back.tool_choice != choice:
            notes.append(warning("tool_choice", ("tool_choice",), f"{choice!r} has no meaning without tools"))
        notes += [warning("setting_dropped", (key,)) for key in request.settings if key not in back.settings]
        return replace(back, messages=outgoing(request.prefix)[0]), tuple(notes)

    def written(self, plain: Request) -> Body:
        settings = without(plain.settings, _OWN_FIELDS)
        return {**settings, **replace(plain, settings={}).body()}

    def read(self, body: Any, reading: Reading) -> Request:
        expected = "an object with a list of messages"
        settings = dict(reading.object(body, expected))
        messages = reading.objects(settings.pop("messages", ""), expected)
        for message in messages:
            reading.text(message.get("role"), "messages with a role")
        tools = tuple(reading.objects(settings.pop("tools", None), "a list of tools"))
        choice = settings.pop("tool_choice", None)
        return Request(messages, tools, _chosen_in(choice, reading), settings)

    def normalise_reply(self, message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
        back = self.from_response(self.to_response(message))
        notes = list[WireWarning]()
        for key in {**message, **back}:
            if key not in message or key not in back or message[key] != back[key]:
                code = "parts_joined" if isinstance(message.get(key), list) else "empty_content"
                code = code if key == "content" else "message_field"
                notes.append(warning(code, (str(key),), "it comes back in another form"))
        return back, tuple(notes)

    def to_response(self, message: Message) -> dict[str, Any]:
        ended = "tool_calls" if raw_calls(message) else "stop"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": ended}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": ""}
        return {**head, "choices": [choice]}

    def from_response(self, body: Any) -> Message:
        reading = Reading(body, "the endpoint answered", ModelError)
        expected = "a chat completion with an assistant message"
        choices = reading.items(reading.object(body, expected).get("choices"), expected)
        choice = reading.object(choices[0] if choices else None, expected)
        message = reading.object(choice.get("message"), expected)
        if message.get("role", "assistant") != "assistant":
            raise reading.junk(expected)
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            parts = reading.objects(content, "parts of text")
            content = "".join(reading.text(part.get("text")) for part in parts if part.get("type") == "text")
        calls = [_call_in(each, reading) for each in reading.objects(message.get("tool_calls"), "calls")]
        others = {key: message[key] for key in message if key not in ("role", "content", "tool_calls")}
        return {"role": "assistant", "content": content, **others, **({"tool_calls": calls} if calls else {})}


def _is_foreign(tool: Mapping[str, Any]) -> bool:
    kind = tool.get("type", "function")
    return "function" not in tool and isinstance(kind, str) and kind not in _TOOL_TYPES


def _chosen_in(choice: Any, reading: Reading) -> str:
    """Return the choice of a tool in a body; some endpoints say "any" for "required"."""
    if choice is None:
        return "auto"
    if choice in CHOICES or choice == "any":
        return "required" if choice == "any" else str(choice)
    for kind in _TOOL_TYPES:
        if kind in reading.object(choice, A_CHOICE):
            return reading.text(reading.object(choice[kind], A_CHOICE).get("name"), A_CHOICE)
    kind = str(choice.get("type"))
    reading.leave(f"the choice of {kind}", A_CHOICE)
    mode = as_dict(choice.get(kind)).get("mode")
    return mode if mode in CHOICES else "required"


def raw_calls(message: Message) -> list[dict[str, Any]]:
    """Return the calls of an assistant message, as they are."""
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise InvalidInput(f"tool_calls is {excerpt(calls)}", expected="a list of calls")
    return calls


def _call_in(call: dict[str, Any], reading: Reading) -> dict[str, Any]:
    function = reading.object(call.get("function"), "a call with a function")
    made = reading.call(call.get("id"), function.get("name"), function.get("arguments"))
    return {**made, **({"extra_content": call["extra_content"]} if "extra_content" in call else {})}


def completion_of(reply: Reply) -> dict[str, Any]:
    """Return the smallest chat completion that holds a reply."""
    ended = reply.finish_reason or ("tool_calls" if reply.message.get("tool_calls") else "stop")
    choice = {"index": 0, "message": reply.message, "finish_reason": ended}
    head = {"id": "zoolab", "object": "chat.completion", "created": 0, "model": reply.model or "unknown"}
    usage = {} if reply.usage is None else {"usage": dict(reply.usage)}
    return {**head, "choices": [choice], **usage}


def chunks_of(completion: Body, piece: int = PIECE) -> Iterator[Body]:
    """Yield a chat completion as the chunks of a stream."""
    shared: Body = {key: completion[key] for key in ("id", "created", "model") if key in completion}
    shared["object"] = "chat.completion.chunk"
    choice = completion["choices"][0]
    for delta in _deltas(choice["message"], piece):
        yield {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**shared, "choices": [{"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}]}
    if completion.get("usage"):
        yield {**shared, "choices": [], "usage": completion["usage"]}


def _deltas(message: Body, piece: int) -> Iterator[Body]:
    content = message.get("content")
    begun: Body = {"role": "assistant", "content": "" if content == "" else None}
    own = {key: value for key, value in message.items() if key not in ("role", "tool_calls")}
    texts = {key for key, value in own.items() if isinstance(value, str) and not comes_whole(key)}
    yield begun | {key: value for key, value in own.items() if key not in texts and value is not None}
    for key in filter(texts.__contains__, own):
        yield from ({key: part} for part in in_pieces(own[key], piece))
    for index, call in enumerate(dicts_in(message.get("tool_calls"))):
        function = as_dict(call.get("function"))
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else ""
        named = {**function, "arguments": "" if text else arguments} if function else {}
        yield {"tool_calls": [{**call, "index": index, **({"function": named} if named else {})}]}
        for part in in_pieces(text, piece):
            yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}


def error_body(said: str, kind: str = "invalid_request_error", param: str = "", code: Any = None) -> Body:
    """Return an error in the form of OpenAI's APIs."""
    return {"error": {"message": said, "type": kind, "param": param or None, "code": code}}


class _Marked:
    """The events of a stream without the mark of its end, and whether that came."""

    def __init__(self, events: Iterable[object]) -> None:
        self._events = events
        self.done = False

    def __iter__(self) -> Iterator[Body]:
        for event in self._events:
            self.done = self.done or event is DONE
            yield as_dict(event if event is not DONE else None)


class _Choice:
    """One of the choices of a streamed completion, under construction."""

    def __init__(self) -> None:
        self._message: Message = {"role": "assistant", "content": None}
        self._calls = CallsBySlot()
        self._others: Body = {}
        self._came = False

    def add(self, choice: Body) -> Message:
        """Add what a chunk says of the choice, and return what that adds to its message."""
        delta = _delta_in(choice) if "delta" in choice or not self._came else {}
        self._came = self._came or bool(delta)
        merge(self._message, without(delta, ("role", "tool_calls")))
        self._calls.add_all(delta.get("tool_calls"))
        merge(self._others, without(choice, ("delta", "message", "index")))
        if word := choice.get("finish_reason"):
            self._others["finish_reason"] = word
        return delta

    def whole(self, index: int) -> Body:
        """Return the choice as it is in a completion that was not streamed."""
        calls = self._calls.whole()
        message = {**self._message, **({"tool_calls": calls} if calls else {})}
        return {"index": index, "message": message, "finish_reason": None, **self._others}


def _delta_in(choice: Body) -> Message:
    """Return what a chunk adds to a message; some endpoints answer a request for a stream with the whole
    message.
    """
    return as_dict(choice["delta"] if "delta" in choice else choice.get("message"))


def _first(choices: object) -> dict[str, Any]:
    """Return the first choice; if several were asked for, chunks of the others come between."""
    return next((choice for choice in dicts_in(choices) if not choice.get("index")), {})
