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

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.records import Message, Request
from zoolab.wire.notes import Notes, WireWarning
from zoolab.wire.plain import (
    Manner,
    plain_choice,
    plain_message,
    plain_messages,
    plain_settings,
    plain_tools,
    system_first,
    without_empty,
)
from zoolab.wire.received import Reading, answered, read_tool, reply_message, sent
from zoolab.wire.shared import (
    as_list,
    at_home,
    calls_of,
    function_in,
    is_error,
    renamed,
    text_of,
    tool_names,
    with_settings,
)

MAX_TOKENS = 1024

_SETTINGS = {"stop": "stop_sequences", "max_completion_tokens": "max_tokens"}
_HOMES = (*_SETTINGS, "max_tokens", "metadata", "model", "service_tier", "stream", "temperature", "top_p")
_OWN = ("system", "messages", "tools", "tool_choice")
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}
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
    messages = plain.messages
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
    system = _joined(fields.pop("system", ""), reading, "\n\n")
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    for turn in reading.objects(fields.pop("messages", ""), "a list of messages"):
        messages += _messages_in(turn, reading)
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
    blocks = _blocks(normalise_reply(message)[0])
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
    return _assistant_in(reading.objects(content, expected), reading)


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
            turns[-1]["content"].append(_result(message))
        elif role == "tool":
            turns.append({"role": "user", "content": [_result(message)]})
        elif message.get("tool_calls"):
            turns.append({"role": role, "content": _blocks(message)})
        else:
            turns.append({"role": role, "content": message["content"]})
        previous = role
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    text = text_of(message)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for id, name, arguments in calls_of(message):
        own = {"id": id} if id else {}
        blocks.append({"type": "tool_use", **own, "name": name, "input": arguments})
    return blocks


def _result(message: Message) -> dict[str, Any]:
    text = text_of(message)
    block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
    return {**block, "is_error": True} if is_error(text) else block


def _messages_in(turn: dict[str, Any], reading: Reading) -> list[Message]:
    role, content = turn.get("role"), turn.get("content")
    if role not in ("system", "user", "assistant"):
        raise reading.junk("messages of system, user and assistant")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = reading.objects(blocks, "content that is text or blocks")
    if role == "assistant":
        return [_assistant_in(blocks, reading)]
    made: list[Message] = []
    texts: list[str] = []
    for block in blocks:
        if block.get("type") == "tool_result" and role == "user":
            made += _said(role, texts)
            texts = []
            made.append(_result_in(block, reading))
        else:
            texts.append(_text_in(block, reading))
    return made + _said(role, texts)


def _said(role: str, texts: list[str]) -> list[Message]:
    return [{"role": role, "content": "".join(texts)}] if texts else []


def _assistant_in(blocks: list[dict[str, Any]], reading: Reading) -> Message:
    texts = [reading.text(block.get("text")) for block in blocks if block.get("type") == "text"]
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    return reply_message(
        "".join(texts),
        [reading.call(call.get("id"), call.get("name"), call.get("input")) for call in calls],
    )


def _result_in(block: dict[str, Any], reading: Reading) -> Message:
    text = _joined(block.get("content", ""), reading, "")
    if block.get("is_error") is True and not is_error(text):
        text = f"ERROR: {text}"
    return {"role": "tool", "tool_call_id": reading.text(block.get("tool_use_id"), "an id"), "content": text}


def _joined(content: Any, reading: Reading, between: str) -> str:
    """The text of content that is one text, or blocks of text."""
    if isinstance(content, str):
        return content
    return between.join(_text_in(block, reading) for block in reading.objects(content, "text or blocks"))


def _text_in(block: dict[str, Any], reading: Reading) -> str:
    if block.get("type") != "text":
        raise reading.junk(f"text, tool_use and tool_result, not {excerpt(block.get('type'))}")
    return reading.text(block.get("text"))


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    if _is_foreign(tool):
        return tool
    function = function_in(tool, "a tool")
    others = {key: value for key, value in function.items() if key not in ("name", "description", "parameters")}
    described = {"description": function["description"]} if "description" in function else {}
    schema = function.get("parameters")
    return {
        "name": function["name"],
        **described,
        "input_schema": _EMPTY if schema is None else schema,
        **others,
    }


def _tool_in(tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
    if _is_foreign(tool):
        return tool
    function = {key: value for key, value in tool.items() if key not in ("type", "input_schema")}
    schema = tool.get("input_schema")
    return read_tool({**function, "parameters": _EMPTY if schema is None else schema}, reading)


def _tool_and_back(tool: Any) -> dict[str, Any]:
    made = _tool(tool)
    return _tool_in(made, sent(made))


def _is_foreign(tool: Any) -> bool:
    """A tool of the API's own has a type, a name and no schema."""
    kind = tool.get("type") if isinstance(tool, dict) else None
    return isinstance(kind, str) and kind not in ("function", "custom")


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
