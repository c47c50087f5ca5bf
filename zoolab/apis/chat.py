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

from zoolab.apis.events import PIECE, cut, server_sent
from zoolab.apis.interface import A_CHOICE, CHOICES, Api, Body, Tell, Tools
from zoolab.apis.messages import raw_calls
from zoolab.apis.plain import Notes, WireWarning
from zoolab.apis.reading import Reading, as_dict, dicts_in
from zoolab.errors import ModelError
from zoolab.files import read_table
from zoolab.jsontext import encode, excerpt
from zoolab.records.exchange import Reply, Request
from zoolab.records.messages import Message
from zoolab.tokens import Tokens

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_LONGEST_EXCERPT = 4_000


_SETTINGS = read_table("zoolab.apis", "settings.toml")


class ChatCompletions(Api):
    """OpenAI's Chat Completions."""

    name = "openai"
    label = "OpenAI Chat Completions"
    address = "https://api.openai.com/v1"
    address_from = "OPENAI_BASE_URL"
    path = "/chat/completions"
    key_from = ("OPENAI_API_KEY",)
    watched = True
    #: With those of servers that speak nearly the same.
    ends: ClassVar[dict[str, str]] = {
        "stop": "stop",
        "tool_calls": "tool_calls",
        "length": "length",
        "content_filter": "content_filter",
        "error": "error",
        "incomplete": "incomplete",
        **dict.fromkeys(("eos", "eos_token", "end_turn", "stop_sequence", "STOP", "COMPLETE"), "stop"),
        **dict.fromkeys(("function_call", "tool_use"), "tool_calls"),
        **dict.fromkeys(
            ("max_tokens", "model_length", "MAX_TOKENS", "model_context_window_exceeded"), "length"
        ),
        **dict.fromkeys(("sensitive", "safety", "SAFETY", "refusal", "RECITATION"), "content_filter"),
        **dict.fromkeys(("abort", "network_error", "malformed_function_call", "failed", "OTHER"), "error"),
    }
    settings = frozenset(_SETTINGS["chat"])
    own = frozenset((*_SETTINGS["widespread"], *_SETTINGS["compatible"]))

    _pairs_results = False
    _tool_types = ("function", "custom")

    def recognises(self, body: Mapping[str, Any]) -> bool:
        return "messages" in body

    def reply(self, answer: Any) -> Reply:
        """The message stays as it came."""
        whole = as_dict(answer)
        choice = _first(whole.get("choices"))
        message = choice.get("message")
        if not isinstance(message, dict):
            raise ModelError(
                f"the endpoint answered {excerpt(answer, _LONGEST_EXCERPT)}",
                expected="a chat completion with a message",
            )
        made = {"role": "assistant", **cast("Message", message)}
        finish, usage = choice.get("finish_reason"), as_dict(whole.get("usage")) or None
        finish = self.ends.get(finish, finish) if isinstance(finish, str) else finish
        return Reply(made, finish, usage, whole.get("model"), raw=whole)

    def streamed(self, events: Iterable[object], tell: Tell = lambda _delta: None) -> Reply:
        """All deltas are kept, empty ones too."""
        pieces: list[Message] = []

        def keep(delta: Message) -> None:
            pieces.append(delta)
            tell(delta)

        answer = self.assemble(map(as_dict, events), keep)
        if not pieces:
            raise ModelError(
                "the stream ended before a reply began", expected="a stream of events that ends with [DONE]"
            )
        return replace(self.reply(answer), pieces=tuple(pieces), raw=None)

    def assemble(self, events: Iterable[Body], tell: Tell) -> Body:
        """Put the chunks of a streamed reply together, calls by slot.

        A delta without an index goes on with the call that has its id, or with the last one; a delta with
        a new id, or with a name where no id and no index say whose it is, begins another call.
        """
        message: Message = {"role": "assistant", "content": None}
        calls = _CallsBySlot()
        finish, usage, model = None, None, None
        for chunk in events:
            usage, model = as_dict(chunk.get("usage")) or usage, chunk.get("model") or model
            choice = _first(chunk.get("choices"))
            finish = choice.get("finish_reason") or finish
            if choice:
                delta = as_dict(choice.get("delta"))
                tell(delta)
                for key in ("content", "refusal", "reasoning_content", "reasoning"):
                    if isinstance(delta.get(key), str):
                        message[key] = (message.get(key) or "") + delta[key]
                if "extra_content" in delta:
                    message["extra_content"] = delta["extra_content"]
                for part in dicts_in(delta.get("tool_calls")):
                    calls.add(part)
        if calls.calls:
            message["tool_calls"] = calls.calls
        ended = {"index": 0, "message": message, "finish_reason": finish}
        return {"object": "chat.completion", "model": model, "choices": [ended], "usage": usage}

    def _end_said(self, answer: Body) -> str | None:
        word = _first(answer.get("choices")).get("finish_reason")
        return word if isinstance(word, str) else None

    def events(self, response: Body) -> Iterator[Body]:
        return chunks_of(response)

    def stream_bytes(self, events: Iterable[Body]) -> Iterator[bytes]:
        return server_sent(events, done=True)

    def _response_fields(self, body: Body, reply: Reply, model: str, id: str, created: int) -> Body:
        (choice,) = body["choices"]
        ended = {**choice, "finish_reason": reply.finish_reason or choice["finish_reason"]}
        # Programs read it unasked, so a model that counts nothing says 0.
        usage = Tokens.of(reply.usage).usage or dict.fromkeys(_COUNTS, 0)
        head = {"model": model, "id": f"chatcmpl-{id}", "created": created}
        return {**head, "choices": [ended], "usage": usage}

    def normalise_reply(self, message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
        back, notes = self.from_response(self.to_response(message)), Notes()
        for key in {**message, **back}:
            if key not in message or key not in back or message[key] != back[key]:
                code = "parts_joined" if isinstance(message.get(key), list) else "empty_content"
                code = code if key == "content" else "message_field"
                notes.add(code, (str(key),), "it comes back in another form")
        return back, tuple(notes)

    def to_response(self, message: Message) -> dict[str, Any]:
        ended = "tool_calls" if raw_calls(message) else "stop"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": ended}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": ""}
        return {**head, "choices": [choice]}

    def _read_reply(self, body: Any, reading: Reading) -> Message:
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

    def _messages(self, request: Request, notes: Notes) -> Any:  # noqa: ARG002
        return request.prefix

    def _turns(self, messages: list[Message]) -> list[Message]:
        return messages

    def _turns_in(self, turns: Any, reading: Reading) -> list[Message]:
        messages = reading.objects(turns, "an object with a list of messages")
        for message in messages:
            reading.text(message.get("role"), "messages with a role")
        return messages

    def _chosen(self, choice: str) -> Any:
        return choice if choice in CHOICES else {"type": "function", "function": {"name": choice}}

    def _chosen_in(self, choice: Any, reading: Reading) -> str:
        """Some endpoints say "any" for "required"."""
        if choice in CHOICES or choice == "any":
            return "required" if choice == "any" else choice
        function = reading.object(choice, A_CHOICE).get("function")
        return reading.text(reading.object(function, A_CHOICE).get("name"), A_CHOICE)

    def _declared(self, tools: Tools) -> list[dict[str, Any]]:
        return list(tools)

    def _declared_in(self, tools: Any, reading: Reading) -> Tools:
        return tuple(reading.objects(tools, "a list of tools"))


def _call_in(call: dict[str, Any], reading: Reading) -> dict[str, Any]:
    function = reading.object(call.get("function"), "a call with a function")
    made = reading.call(call.get("id"), function.get("name"), function.get("arguments"))
    return {**made, **({"extra_content": call["extra_content"]} if "extra_content" in call else {})}


def completion_of(reply: Reply) -> dict[str, Any]:
    """The smallest chat completion that holds a reply."""
    ended = reply.finish_reason or ("tool_calls" if reply.message.get("tool_calls") else "stop")
    choice = {"index": 0, "message": reply.message, "finish_reason": ended}
    head = {"id": "zoolab", "object": "chat.completion", "created": 0, "model": reply.model or "unknown"}
    usage = {} if reply.usage is None else {"usage": dict(reply.usage)}
    return {**head, "choices": [choice], **usage}


def chunks_of(completion: Body, piece: int = PIECE) -> Iterator[Body]:
    """A chat completion as the chunks of a stream."""
    shared: Body = {key: completion[key] for key in ("id", "created", "model") if key in completion}
    shared["object"] = "chat.completion.chunk"
    choice = completion["choices"][0]
    for delta in _deltas(choice["message"], piece):
        yield {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**shared, "choices": [{"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}]}
    if completion.get("usage"):
        yield {**shared, "choices": [], "usage": completion["usage"]}


def _deltas(message: Body, piece: int) -> Iterator[Body]:
    own = {"extra_content": message["extra_content"]} if "extra_content" in message else {}
    yield {"role": "assistant", "content": "" if message.get("content") == "" else None, **own}
    for key, text in message.items():
        if key != "role" and isinstance(text, str):
            yield from ({key: part} for part in cut(text, piece))
    for index, call in enumerate(dicts_in(message.get("tool_calls"))):
        function = as_dict(call.get("function"))
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else ""
        named = {"name": function.get("name"), "arguments": "" if text else arguments}
        others = {key: call[key] for key in ("id", "extra_content") if key in call}
        yield {"tool_calls": [{"index": index, **others, "type": "function", "function": named}]}
        for part in cut(text, piece):
            yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}


def error_body(said: str, kind: str = "invalid_request_error", param: str = "", code: Any = None) -> Body:
    """An error in the form of OpenAI's APIs."""
    return {"error": {"message": said, "type": kind, "param": param or None, "code": code}}


class _CallsBySlot:
    """Calls under construction, in the order in which they began."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self._at_index: dict[int, list[dict[str, Any]]] = {}

    def add(self, part: dict[str, Any]) -> None:
        call = self._call_of(part)
        function, given = call["function"], as_dict(part.get("function"))
        call["id"] = call["id"] or part.get("id")
        if "extra_content" in part:
            call["extra_content"] = part["extra_content"]
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
    own, name = part.get("id"), as_dict(part.get("function")).get("name")
    if own and call["id"] and own != call["id"]:
        return bool(name) or not indexed
    identified = indexed or bool(own and call["id"])
    if not name or not identified:
        return bool(name)
    # Some endpoints repeat the name in each delta, and some give every call the same index or id.
    return bool(call["function"]["arguments"]) and name != call["function"]["name"]


def _first(choices: object) -> dict[str, Any]:
    """The first choice; if several were asked for, chunks of the others come between."""
    return next((choice for choice in dicts_in(choices) if not choice.get("index")), {})
