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

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from zoolab.records import Message, Request
from zoolab.wire import chat
from zoolab.wire.chat import Reading
from zoolab.wire.format import Manner, WireFormat

#: Where a message keeps its thinking.
_THINKING = ("ollama", "thinking")


class Ollama(WireFormat):
    """Ollama's own chat."""

    name = "ollama"
    _manner = Manner(of_message=lambda message: chat.kept_as(_THINKING, _thinking_of(message)))
    _choice = ""
    _nest = "options"
    _answer = "format"
    _answer_beside_tools = False
    _defaults: ClassVar[dict[str, Any]] = {"stream": False}

    def to_response(self, message: Message) -> dict[str, Any]:
        said = _message(self.normalise_reply(message)[0], "")
        head = {"model": "", "created_at": "1970-01-01T00:00:00Z"}
        return {**head, "message": said, "done": True, "done_reason": "stop"}

    def _read_reply(self, body: Any, reading: Reading) -> Message:
        expected = "a chat response with a message"
        return _assistant_in(reading.object(reading.object(body, expected).get("message"), expected), reading)

    def _written(self, plain: Request) -> dict[str, Any]:
        return super()._written(replace(plain, tools=()) if plain.tool_choice == "none" else plain)

    def _turns(self, messages: list[Message]) -> list[Message]:
        return list(map(_message, messages, chat.tool_names(messages)))

    def _turns_in(self, turns: Any, reading: Reading) -> list[Message]:
        messages = reading.objects(turns, "a list of messages")
        return chat.paired_by_place([_message_in(message, reading) for message in messages], reading)

    def _function(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
        function = super()._function(tool, reading)
        return {key: value for key, value in function.items() if key != "strict"}


def _message(message: Message, name: str) -> Message:
    role = message["role"]
    made: Message = {"role": role, "content": chat.text_of(message)}
    if thinking := _thinking_of(message):
        made["thinking"] = thinking
    if role == "tool":
        return {**made, "tool_name": name, "tool_call_id": message["tool_call_id"]}
    calls = [
        {**({"id": id} if id else {}), "function": {"name": name, "arguments": arguments}}
        for id, name, arguments in chat.calls_of(message)
    ]
    return {**made, "tool_calls": calls} if calls else made


def _message_in(message: dict[str, Any], reading: Reading) -> Message:
    role = message.get("role")
    if message.get("images"):
        raise reading.junk("messages of text alone")
    if role == "assistant":
        return _assistant_in(message, reading)
    if role not in ("system", "user", "tool"):
        raise reading.junk("messages of system, user, assistant and tool")
    made: Message = {"role": role, "content": reading.text(message.get("content", ""))}
    if role != "tool":
        return made
    id, name = message.get("tool_call_id"), message.get("tool_name")
    called = {"tool_call_id": id if isinstance(id, str) and id else None}
    return {**made, **called, "tool_name": name if isinstance(name, str) else ""}


def _assistant_in(message: dict[str, Any], reading: Reading) -> Message:
    calls = []
    for call in reading.objects(message.get("tool_calls"), "a list of calls"):
        function = reading.object(call.get("function"), "a call with a function")
        calls.append(reading.call(call.get("id"), function.get("name"), function.get("arguments")))
    made = chat.reply_message(reading.text(message.get("content") or ""), calls)
    return {**made, **chat.kept_as(_THINKING, reading.text(message.get("thinking") or ""))}


def _thinking_of(message: Mapping[str, Any]) -> str:
    thinking = chat.extra(message, *_THINKING)
    return thinking if isinstance(thinking, str) else ""
