"""Anthropic's Messages: `POST /v1/messages`.

What differs from OpenAI's form, and is made plain on the way:

    system messages    one text at the top level, wherever they stood
    a call             a `tool_use` block of the assistant's turn; its `input` is an object
    a result           a `tool_result` block of a user's turn; results in a row share one turn
    a failed result    says `is_error`
    broken arguments   `{"_raw": "the text"}`, so that they stay visible
    an empty message   left out: the API takes no empty text
    an id              every call needs one
    a schema           every tool needs one
    max_tokens         required; 1024 unless given

What is read from a body or a response of others, and comes back otherwise: texts of one turn are joined,
and stand before its calls; a text between results is a user's message; thinking, the calls that the API
answers itself, and `cache_control` are left out; `is_error` is an `ERROR: ` before the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.records import Message, Request
from zoolab.wire.blocks import assistant_in, blocks_of, joined_text, messages_in, result_block
from zoolab.wire.notes import Notes, WireWarning
from zoolab.wire.plain import Manner, plain_message, plain_messages, system_first, without_empty
from zoolab.wire.received import Reading, answered, read_tool, sent
from zoolab.wire.shared import (
    as_list,
    at_home,
    function_in,
    is_foreign,
    renamed,
    tool_names,
    with_settings,
)
from zoolab.wire.terms import plain_choice, plain_settings, plain_tools

MAX_TOKENS = 1024

_SETTINGS = {"stop": "stop_sequences", "max_completion_tokens": "max_tokens"}
_HOMES = (*_SETTINGS, "max_tokens", "metadata", "model", "service_tier", "stream", "temperature", "top_p")
_OURS = ("function", "custom")
_OWN = ("system", "messages", "tools", "tool_choice")
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}
_TOOL = ("name", "description", "parameters", "input_schema", "type")
_EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


def normalise(request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
    """The request as this wire can say it, and what of it changed.

    >>> [warning.code for warning in normalise(Request([{"role": "user", "content": "Hi"}]))[1]]
    ['setting_added']
    """
    notes = Notes()
    placed = plain_messages(request.messages, Manner(), notes)
    messages = [message for _, message in system_first(without_empty(placed, notes), notes)]
    tool_names(messages)  # each result has its call
    tools = plain_tools(request.tools, _tool_and_back, notes)
    choice = plain_choice(request.tool_choice, tools, notes)
    fields = _fields(request.settings)
    parallel = request.settings.get("parallel_tool_calls")
    if tools and choice != "none" and isinstance(parallel, bool):
        fields["parallel_tool_calls"] = parallel
    names = {**_SETTINGS, "stop_sequences": "stop"}
    settings = plain_settings(request.settings, _settings_in(fields), names, notes)
    return Request(messages, tools, choice, settings), notes.warnings


def to_body(request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
    """The body of the HTTP request.

    Args:
        request: The conversation, the tools and the choice of them.
        model: The name of the model; left out if empty.
        settings: Further fields of the body. `stop`, `max_completion_tokens` and `parallel_tool_calls`
            are translated; what only OpenAI knows is left out, the others go as they are.

    Raises:
        InvalidInput: A message or a tool that this API has no form for; a result without its call.

    >>> to_body(Request([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]))
    {'max_tokens': 1024, 'system': 'Be brief.', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """
    plain, _ = normalise(with_settings(request, model, settings))
    body = _fields(plain.settings)
    messages = list(plain.messages)
    if messages and messages[0]["role"] == "system":
        body["system"] = messages.pop(0)["content"]
    body["messages"] = _turns(messages)
    if plain.tools:
        body["tools"] = [_tool(tool) for tool in plain.tools]
        body["tool_choice"] = _choice(plain.tool_choice, plain.settings)
    return body


def from_body(body: Any) -> Request:
    """The request that a body holds.

    Raises:
        InvalidInput: It is none, or holds what zoolab has no form for, as an image.

    >>> from_body({"messages": [{"role": "user", "content": "Hi"}], "stop_sequences": ["."]}).settings
    {'stop': ['.']}
    """
    reading = sent(body)
    fields = dict(reading.object(body, "an object with a list of messages"))
    system = joined_text(fields.pop("system", ""), reading, "\n\n")
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    for turn in reading.objects(fields.pop("messages", ""), "a list of messages"):
        messages += messages_in(turn, reading)
    tool_names(messages)
    tools = tuple(_tool_in(tool, reading) for tool in reading.objects(fields.pop("tools", None), "tools"))
    chosen = reading.object(fields.pop("tool_choice", {"type": "auto"}), "a tool_choice with a type")
    if isinstance(chosen.get("disable_parallel_tool_use"), bool):
        fields["parallel_tool_calls"] = not chosen["disable_parallel_tool_use"]
    return Request(messages, tools, _choice_in(chosen, reading), _settings_in(fields))


def to_response(message: Message) -> dict[str, Any]:
    """The smallest response that answers with an assistant message.

    >>> to_response({"role": "assistant", "content": "Hi"})["content"]
    [{'type': 'text', 'text': 'Hi'}]
    """
    blocks = blocks_of(normalise_reply(message)[0])
    ended = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "",
        "content": blocks,
        "stop_reason": ended,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def from_response(body: Any) -> Message:
    """The assistant message of a response, in OpenAI's form.

    Texts are joined. Thinking, and the calls that the API answers itself (`server_tool_use`), are left out.

    Raises:
        ModelError: The response holds no content.

    >>> call = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}
    >>> from_response({"content": [call]})["tool_calls"][0]["function"]
    {'name': 'add', 'arguments': '{"a":1}'}
    """
    reading = answered(body)
    expected = "a message with a list of content blocks"
    content = reading.object(body, expected).get("content")
    if not isinstance(content, list):
        raise reading.junk(expected)
    return assistant_in(reading.objects(content, expected), reading)


def normalise_reply(message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
    """The assistant message as it comes back, and what of it changed.

    >>> normalise_reply({"role": "assistant", "content": "Hi"})
    ({'role': 'assistant', 'content': 'Hi'}, ())
    """
    notes = Notes()
    return plain_message(message, (), Manner(), notes), notes.warnings


def _fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    known, others = renamed(at_home(settings, _HOMES, _OWN), _SETTINGS)
    body = {"max_tokens": MAX_TOKENS, **others, **known}
    if "stop_sequences" in body:
        body["stop_sequences"] = as_list(body["stop_sequences"])
    return body


def _settings_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    known, others = renamed(fields, {"stop_sequences": "stop"})
    return {**others, **known}


def _turns(messages: list[Message]) -> list[Message]:
    turns: list[Message] = []
    previous = ""
    for message in messages:
        role = message["role"]
        if role == "tool" and previous == "tool":
            turns[-1]["content"].append(result_block(message))
        elif role == "tool":
            turns.append({"role": "user", "content": [result_block(message)]})
        elif message.get("tool_calls"):
            turns.append({"role": role, "content": blocks_of(message)})
        else:
            turns.append({"role": role, "content": message["content"]})
        previous = role
    return turns


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    if is_foreign(tool, _OURS):
        return tool
    function = function_in(tool, "a tool")
    others = {key: value for key, value in function.items() if key not in _TOOL}
    described = {"description": function["description"]} if "description" in function else {}
    schema = function.get("parameters")
    return {
        "name": function["name"],
        **described,
        "input_schema": _EMPTY if schema is None else schema,
        **others,
    }


def _tool_in(tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
    if is_foreign(tool, _OURS):
        return tool
    function = {key: value for key, value in tool.items() if key not in ("type", "input_schema")}
    schema = tool.get("input_schema")
    return read_tool({**function, "parameters": _EMPTY if schema is None else schema}, reading)


def _tool_and_back(tool: Any) -> dict[str, Any]:
    made = _tool(tool)
    return _tool_in(made, sent(made))


def _choice(choice: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    named = {} if choice in _CHOICES else {"name": choice}
    parallel = settings.get("parallel_tool_calls")
    single = {} if parallel is None else {"disable_parallel_tool_use": not parallel}
    return {"type": _CHOICES.get(choice, "tool"), **named, **single}


def _choice_in(choice: dict[str, Any], reading: Reading) -> str:
    expected = "tool_choice auto, any, none or a tool with a name"
    kind = choice.get("type")
    if kind == "tool":
        return reading.text(choice.get("name"), expected)
    for ours, theirs in _CHOICES.items():
        if kind == theirs:
            return ours
    raise reading.junk(expected)
