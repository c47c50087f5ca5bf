"""Ollama's own chat: `POST /api/chat`.

What differs from OpenAI's form, and is made plain on the way:

    a call             its `arguments` are an object
    a result           a tool message with `tool_name`, beside the id that older versions ignore
    broken arguments   `{"_raw": "the text"}`, so that they stay visible
    an id              every call gets one, so that its result finds it
    tool_choice        there is none: "none" leaves the tools out; "required" and a tool's name
                       cannot be asked for, and are sent as "auto" would be
    strict             there are no strict tools
    settings           `temperature` and the like live in `options`
    stream             is on unless it is switched off; here it is off unless given

What is read from a body or a response of others, and comes back otherwise: calls and results without ids
are paired by name and place; thinking is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.records import Message, Request
from zoolab.wire.chat import calls_of, renamed, text_of, tool_names
from zoolab.wire.format import Fields, Tools, WireFormat
from zoolab.wire.reading import Reading, paired_by_place, reply_message
from zoolab.wire.warnings import Notes

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "stop": "stop",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "max_tokens": "num_predict",
    "max_completion_tokens": "num_predict",
}
_ALIASES = {"max_completion_tokens": "max_tokens"}
_BACK = {theirs: ours for ours, theirs in reversed(_SETTINGS.items())}


class Ollama(WireFormat):
    """Ollama's own chat.

    >>> wire = Ollama()
    >>> wire.to_body(Request([{"role": "user", "content": "Hi"}]), "qwen3", temperature=0)["options"]
    {'temperature': 0}
    >>> said = {"role": "assistant", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}
    >>> wire.from_response({"message": said})["tool_calls"]
    [{'type': 'function', 'function': {'name': 'add', 'arguments': '{"a":1}'}}]
    """

    name = "ollama"
    _renamed = _SETTINGS
    _names_back = _BACK
    _homes = (*_SETTINGS, "logprobs", "model", "stream", "top_logprobs")
    _own = ("messages", "tools")
    _aliases = _ALIASES
    _a_body = "an object with a list of messages"

    def to_response(self, message: Message) -> dict[str, Any]:
        """The smallest response that answers with an assistant message."""
        return {
            "model": "",
            "created_at": "1970-01-01T00:00:00Z",
            "message": _message(self.normalise_reply(message)[0], ""),
            "done": True,
            "done_reason": "stop",
        }

    def _read_reply(self, body: Any, reading: Reading) -> Message:
        expected = "a chat response with a message"
        return _assistant_in(reading.object(reading.object(body, expected).get("message"), expected), reading)

    def _written(self, plain: Request) -> dict[str, Any]:
        body, messages = self._fields(plain.settings), list(plain.messages)
        body["messages"] = list(map(_message, messages, tool_names(messages)))
        if plain.tools:
            body["tools"] = list(plain.tools)
        return body

    def _read(self, fields: Fields, reading: Reading) -> Request:
        given = reading.objects(fields.pop("messages", ""), "a list of messages")
        messages = paired_by_place([_message_in(message, reading) for message in given], reading)
        tool_names(messages)  # each result has its call
        tools = self._tools_in(fields.pop("tools", None), reading)
        reading.object(fields.get("options", {}), "options that are an object")
        return Request(messages, tools, "auto", self._settings_in(fields))

    def _offered(self, tools: Tools, choice: str, notes: Notes) -> tuple[Tools, str]:
        if choice == "none":
            notes.add("tools_left_out", ("tools",), "left out, since none may be called")
            tools = ()
        if choice != "auto":
            missing = "cannot be asked for: there is no tool_choice here"
            notes.add("tool_choice", ("tool_choice",), f"{choice!r} {missing}")
        return tools, "auto"

    def _fields(self, settings: Mapping[str, Any]) -> Fields:
        known, others = self._split(settings)
        body: Fields = {"stream": False, **others}
        options = body.get("options", {})
        if not isinstance(options, dict):
            raise InvalidInput(f"options is {excerpt(options)}", expected="an object")
        if known or options:
            body["options"] = {**known, **options}
        return body

    def _settings_in(self, fields: Fields) -> Fields:
        settings = dict(fields)
        known, others = renamed(settings.pop("options", {}), self._names_back)
        return {**settings, **({"options": others} if others else {}), **known}

    def _function(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
        function = reading.object(tool.get("function"), "tools with a function")
        return {key: value for key, value in function.items() if key != "strict"}


def _message(message: Message, name: str) -> Message:
    role = message["role"]
    made: Message = {"role": role, "content": text_of(message)}
    if role == "tool":
        return {**made, "tool_name": name, "tool_call_id": message["tool_call_id"]}
    if calls := calls_of(message):
        made["tool_calls"] = [_call(*call) for call in calls]
    return made


def _call(id: str | None, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {**({"id": id} if id else {}), "function": {"name": name, "arguments": arguments}}


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
    text = reading.text(message.get("content") or "")
    calls = reading.items(message.get("tool_calls"), "a list of calls")
    return reply_message(text, [_call_in(call, reading) for call in calls])


def _call_in(call: Any, reading: Reading) -> dict[str, Any]:
    call = reading.object(call, "a call that is an object")
    function = reading.object(call.get("function"), "a call with a function")
    return reading.call(call.get("id"), function.get("name"), function.get("arguments"))


#: The format as plain functions: `from zoolab.wire.ollama import to_body`.
FORMAT = Ollama()
normalise, to_body, from_body = FORMAT.normalise, FORMAT.to_body, FORMAT.from_body
normalise_reply, to_response, from_response = FORMAT.normalise_reply, FORMAT.to_response, FORMAT.from_response
