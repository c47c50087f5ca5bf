"""Ollama's own chat: `POST /api/chat`.

What differs from OpenAI's form, and is made plain on the way:

    a call             its `arguments` are an object
    a result           a tool message with `tool_name`, beside the id that older versions ignore
    broken arguments   `{"_raw": "the text"}`, so that they stay visible
    an id              every call gets one, so that its result finds it
    tool_choice        there is none: "none" leaves the tools out; "required" and a tool's name
                       cannot be asked for, and are sent as "auto" would be
    strict             there are no strict tools
    settings           `temperature` and the like live in `options`; a schema of the answer is `format`,
                       but not beside tools: the model could not call them any more
    stream             is on unless it is switched off; here it is off unless given

What is read from a body or a response of others, and comes back otherwise: calls and results without ids
are paired by name and place. Thinking goes back with its message, which keeps it under
`extra_content.ollama.thinking`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from zoolab.apis.events import DONE, in_pieces
from zoolab.apis.interface import Body, Tell
from zoolab.apis.merging import merge
from zoolab.apis.reading import Reading, as_dict, dicts_in
from zoolab.jsontext import encode_line
from zoolab.jsontext.values import without
from zoolab.messages import Message
from zoolab.records.exchange import Reply, Request
from zoolab.tokens import Tokens
from zoolab_connect.apis.messages import (
    calls_sent,
    extra,
    kept_as,
    paired_by_place,
    reply_message,
    text_sent,
    tool_names,
)
from zoolab_connect.apis.plain import Manner
from zoolab_connect.apis.streams import CallDeltas, text_delta
from zoolab_connect.apis.translated import Translated

#: Where a message keeps its thinking.
_THINKING = ("ollama", "thinking")
_PORT = 11434


class Ollama(Translated):
    """Ollama's own messages."""

    name = "ollama"
    label = "Ollama chat"
    place = 4
    address = "http://127.0.0.1:11434"
    address_from = "OLLAMA_HOST"
    also_from = ("OLLAMA_API_BASE",)
    path = "/api/chat"
    own_paths = "/api/"
    stream_type = "application/x-ndjson"
    streams_unasked = True
    watched = True
    ends: ClassVar[dict[str, str]] = {"stop": "stop", "length": "length", "load": "error", "unload": "error"}
    settings = frozenset({"logprobs", "model", "stream", "top_logprobs"})
    renamed: ClassVar[dict[str, str]] = {
        "temperature": "temperature",
        "top_p": "top_p",
        "top_k": "top_k",
        "seed": "seed",
        "presence_penalty": "presence_penalty",
        "frequency_penalty": "frequency_penalty",
        "stop": "stop",
        "max_tokens": "num_predict",
        "max_completion_tokens": "num_predict",
    }
    own = frozenset(
        (
            "format",
            "keep_alive",
            "options",
            "shift",
            "think",
            "truncate",
        )
    )
    nested = frozenset(
        (
            "draft_num_predict",
            "main_gpu",
            "min_p",
            "mirostat",
            "mirostat_eta",
            "mirostat_tau",
            "num_batch",
            "num_ctx",
            "num_gpu",
            "num_keep",
            "num_predict",
            "num_thread",
            "numa",
            "penalize_newline",
            "repeat_last_n",
            "repeat_penalty",
            "tfs_z",
            "typical_p",
            "use_mlock",
            "use_mmap",
            "vocab_only",
        )
    )

    _manner = Manner(of_message=lambda message: kept_as(_THINKING, _thinking_of(message)))
    _choice = ""
    _nest = "options"
    _answer = "format"
    _answer_beside_tools = False
    _defaults: ClassVar[dict[str, Any]] = {"stream": False}

    def recognises(self, body: Mapping[str, Any]) -> bool:
        return "options" in body

    def address_said(self, said: str) -> str:
        """Add the scheme and the port if they are missing; ask a server of all addresses on this machine."""
        if not said or "://" in said:
            return super().address_said(said)
        host, slash, path = said.partition("/")
        port = "" if re.search(r":\d+\Z", host) else f":{_PORT}"
        host = re.sub(r"\A0\.0\.0\.0(?=:|\Z)", "127.0.0.1", host)
        return f"http://{host}{port}{slash}{path}"

    def tool_form(self, function: Mapping[str, Any]) -> dict[str, Any]:
        return super().tool_form(without(function, ["strict"]))

    def error(self, status: int, said: str, kind: str = "") -> Body:  # noqa: ARG002
        return {"error": said}

    def assemble(self, events: Iterable[Body], tell: Tell) -> Body:
        """Join lines: each is a response with a further piece of the message."""
        message: Body = {"role": "assistant", "content": ""}
        answer: Body = {}
        calls = CallDeltas()
        for event in events:
            added = as_dict(event.get("message"))
            merge(message, without(added, ("role", "tool_calls")))
            tell(text_delta(added.get("content")))
            for call in dicts_in(added.get("tool_calls")):
                message.setdefault("tool_calls", []).append(call)
                tell(calls.whole({**as_dict(call.get("function")), "id": call.get("id")}, "arguments"))
            answer = event if event is not DONE else answer
            if event.get("done"):
                break
        return {**answer, "message": message}

    def _is_whole(self, answer: Body) -> bool:
        return bool(answer.get("done"))

    def _end_said(self, answer: Body) -> str | None:
        word = answer.get("done_reason")
        return word if isinstance(word, str) else None

    def events(self, response: Body) -> Iterator[Body]:
        message = response["message"]
        shared: Body = {key: response[key] for key in ("model", "created_at") if key in response}
        for key in ("thinking", "content"):
            for piece in in_pieces(message.get(key) or ""):
                said: Body = {"role": "assistant", "content": "", key: piece}
                yield {**shared, "message": said, "done": False}
        for call in message.get("tool_calls") or ():
            said = {"role": "assistant", "content": "", "tool_calls": [call]}
            yield {**shared, "message": said, "done": False}
        yield {**response, "message": {"role": "assistant", "content": ""}}

    def stream_bytes(self, events: Iterable[Body]) -> Iterator[bytes]:
        return (f"{encode_line(event)}\n".encode() for event in events)

    def _response_fields(self, body: Body, reply: Reply, model: str, id: str, created: int) -> Body:  # noqa: ARG002
        tokens = Tokens.of(reply.usage)
        counts = {"prompt_eval_count": tokens.input, "eval_count": tokens.output}
        return {
            "model": model,
            "created_at": datetime.fromtimestamp(created, UTC).isoformat().replace("+00:00", "Z"),
            "done_reason": self.word_of(reply.finish_reason) or body["done_reason"],
            **{key: count for key, count in counts.items() if count is not None},
        }

    def to_response(self, message: Message) -> dict[str, Any]:
        said = _message(self.normalise_reply(message)[0], "")
        head = {"model": "", "created_at": "1970-01-01T00:00:00Z"}
        return {**head, "message": said, "done": True, "done_reason": "stop"}

    def _read_reply(self, body: Any, reading: Reading) -> Message:
        expected = "a chat response with a message"
        return _assistant_in(reading.object(reading.object(body, expected).get("message"), expected), reading)

    def written(self, plain: Request) -> dict[str, Any]:
        return super().written(replace(plain, tools=()) if plain.tool_choice == "none" else plain)

    def _turns(self, messages: list[Message]) -> list[Message]:
        return list(map(_message, messages, tool_names(messages)))

    def _turns_in(self, turns: Any, reading: Reading) -> list[Message]:
        messages = reading.objects(turns, "a list of messages")
        return paired_by_place([_message_in(message, reading) for message in messages], reading)

    def _function(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
        function = super()._function(tool, reading)
        return {key: value for key, value in function.items() if key != "strict"}


def _message(message: Message, name: str) -> Message:
    role = message["role"]
    made: Message = {"role": role, "content": text_sent(message)}
    if thinking := _thinking_of(message):
        made["thinking"] = thinking
    if role == "tool":
        return {**made, "tool_name": name, "tool_call_id": message["tool_call_id"]}
    calls = [
        {**({"id": id} if id else {}), "function": {"name": name, "arguments": arguments}}
        for id, name, arguments in calls_sent(message)
    ]
    return {**made, "tool_calls": calls} if calls else made


def _message_in(message: dict[str, Any], reading: Reading) -> Message:
    role = message.get("role")
    images = reading.items(message.get("images"), "a list of images")
    shown = [reading.stand_in("image", each, "messages of text alone") for each in images]
    if role == "assistant":
        return _assistant_in(message, reading)
    if role not in ("system", "user", "tool"):
        raise reading.junk("messages of system, user, assistant and tool")
    text = reading.text(message.get("content", ""))
    made: Message = {"role": role, "content": "\n".join([text, *shown])}
    if role != "tool":
        return made
    id = message.get("tool_call_id")
    name = message.get("tool_name")
    called = {"tool_call_id": id if isinstance(id, str) and id else None}
    return {**made, **called, "tool_name": name if isinstance(name, str) else ""}


def _assistant_in(message: dict[str, Any], reading: Reading) -> Message:
    calls = []
    for call in reading.objects(message.get("tool_calls"), "a list of calls"):
        function = reading.object(call.get("function"), "a call with a function")
        calls.append(reading.call(call.get("id"), function.get("name"), function.get("arguments")))
    made = reply_message(reading.text(message.get("content") or ""), calls)
    return {**made, **kept_as(_THINKING, reading.text(message.get("thinking") or ""))}


def _thinking_of(message: Mapping[str, Any]) -> str:
    thinking = extra(message, *_THINKING)
    return thinking if isinstance(thinking, str) else ""
