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
from zoolab.wire.notes import Notes, WireWarning
from zoolab.wire.plain import Manner, plain_message, plain_messages
from zoolab.wire.received import Reading, answered, paired_by_place, read_tool, reply_message, sent
from zoolab.wire.shared import (
    at_home,
    calls_of,
    function_in,
    renamed,
    text_of,
    tool_names,
    with_settings,
)
from zoolab.wire.terms import plain_choice, plain_settings, plain_tools

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
_BACK = {theirs: ours for ours, theirs in reversed(_SETTINGS.items())}
_HOMES = (*_SETTINGS, "logprobs", "model", "stream", "top_logprobs")
_OWN = ("messages", "tools")


def normalise(request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
    """The request as this wire can say it, and what of it changed.

    >>> asked = Request([], ({"type": "function", "function": {"name": "f"}},), "f", {"stream": True})
    >>> print(normalise(asked)[1][0])
    tool_choice at /tool_choice: 'f' cannot be asked for: there is no tool_choice here
    """
    notes = Notes()
    messages = [message for _, message in plain_messages(request.messages, Manner(), notes)]
    tool_names(messages)  # each result has its call
    tools = plain_tools(request.tools, _tool_and_back, notes)
    choice = plain_choice(request.tool_choice, tools, notes)
    if choice == "none":
        notes.add("tools_left_out", ("tools",), "left out, since none may be called")
        tools = ()
    if choice != "auto":
        notes.add(
            "tool_choice", ("tool_choice",), f"{choice!r} cannot be asked for: there is no tool_choice here"
        )
    back = _settings_in(_fields(request.settings))
    settings = plain_settings(request.settings, back, {"max_completion_tokens": "max_tokens"}, notes)
    return Request(messages, tools, "auto", settings), notes.warnings


def to_body(request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
    """The body of the HTTP request.

    Args:
        request: The conversation, the tools and the choice of them.
        model: The name of the model; left out if empty.
        settings: Further fields of the body; OpenAI's names for sampling go into `options`, what only
            OpenAI knows is left out, the others go as they are.

    Raises:
        InvalidInput: A message or a tool that this API has no form for; a result without its call.

    >>> to_body(Request([{"role": "user", "content": "Hi"}]), "qwen3", temperature=0)["options"]
    {'temperature': 0}
    """
    plain, _ = normalise(with_settings(request, model, settings))
    body = _fields(plain.settings)
    messages = list(plain.messages)
    body["messages"] = list(map(_message, messages, tool_names(messages)))
    if plain.tools:
        body["tools"] = list(plain.tools)
    return body


def from_body(body: Any) -> Request:
    """The request that a body holds.

    Raises:
        InvalidInput: It is none, or holds what zoolab has no form for, as an image.

    >>> from_body({"messages": [{"role": "user", "content": "Hi"}], "options": {"num_predict": 9}}).settings
    {'max_tokens': 9}
    """
    reading = sent(body)
    fields = dict(reading.object(body, "an object with a list of messages"))
    given = reading.objects(fields.pop("messages", ""), "a list of messages")
    names = [name if isinstance(name := message.get("tool_name"), str) else "" for message in given]
    messages = paired_by_place([_message_in(message, reading) for message in given], names, reading)
    tool_names(messages)
    tools = tuple(_tool_in(tool, reading) for tool in reading.objects(fields.pop("tools", None), "tools"))
    reading.object(fields.get("options", {}), "options that are an object")
    return Request(messages, tools, "auto", _settings_in(fields))


def to_response(message: Message) -> dict[str, Any]:
    """The smallest response that answers with an assistant message.

    >>> to_response({"role": "assistant", "content": "Hi"})["message"]
    {'role': 'assistant', 'content': 'Hi'}
    """
    return {
        "model": "",
        "created_at": "1970-01-01T00:00:00Z",
        "message": _message(normalise_reply(message)[0], ""),
        "done": True,
        "done_reason": "stop",
    }


def from_response(body: Any) -> Message:
    """The assistant message of a response, in OpenAI's form; thinking is left out.

    Raises:
        ModelError: The response holds no message.

    >>> call = {"function": {"name": "add", "arguments": {"a": 1}}}
    >>> from_response({"message": {"role": "assistant", "content": "", "tool_calls": [call]}})["tool_calls"]
    [{'type': 'function', 'function': {'name': 'add', 'arguments': '{"a":1}'}}]
    """
    reading = answered(body)
    expected = "a chat response with a message"
    return _assistant_in(reading.object(reading.object(body, expected).get("message"), expected), reading)


def normalise_reply(message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
    """The assistant message as it comes back, and what of it changed.

    >>> normalise_reply({"role": "assistant", "content": "Hi"})
    ({'role': 'assistant', 'content': 'Hi'}, ())
    """
    notes = Notes()
    return plain_message(message, (), Manner(), notes), notes.warnings


def _fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    known, others = renamed(at_home(settings, _HOMES, _OWN), _SETTINGS)
    body: dict[str, Any] = {"stream": False, **others}
    options = body.get("options", {})
    if not isinstance(options, dict):
        raise InvalidInput(f"options is {excerpt(options)}", expected="an object")
    if known or options:
        body["options"] = {**known, **options}
    return body


def _settings_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    settings = dict(fields)
    known, others = renamed(settings.pop("options", {}), _BACK)
    return {**settings, **({"options": others} if others else {}), **known}


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
    id = message.get("tool_call_id")
    return {**made, "tool_call_id": id if isinstance(id, str) and id else None} if role == "tool" else made


def _assistant_in(message: dict[str, Any], reading: Reading) -> Message:
    text = reading.text(message.get("content") or "")
    calls = reading.items(message.get("tool_calls"), "a list of calls")
    return reply_message(text, [_call_in(call, reading) for call in calls])


def _call_in(call: Any, reading: Reading) -> dict[str, Any]:
    call = reading.object(call, "a call that is an object")
    function = reading.object(call.get("function"), "a call with a function")
    return reading.call(call.get("id"), function.get("name"), function.get("arguments"))


def _tool_and_back(tool: Any) -> dict[str, Any]:
    function = function_in(tool, "a tool")
    return _tool_in({"type": "function", "function": function}, sent(tool))


def _tool_in(tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
    function = reading.object(tool.get("function"), "tools with a function")
    return read_tool({key: value for key, value in function.items() if key != "strict"}, reading)
