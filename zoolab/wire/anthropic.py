"""Anthropic's Messages: `POST /v1/messages`.

What differs from OpenAI's form:

    system messages    one text at the top level, wherever they stood
    a call             a `tool_use` block of the assistant's turn; its `input` is an object
    a result           a `tool_result` block of a user's turn; results in a row share one turn
    a failed result    says `is_error`
    broken arguments   `{"_raw": "the text"}`, so that they stay visible
    an empty message   left out: the API takes no empty text
    max_tokens         required; 1024 unless given
"""

from __future__ import annotations

from typing import Any

from zoolab.records import Message, Request
from zoolab.wire.received import dict_in, junk, reply_call, reply_message, text_in
from zoolab.wire.shared import (
    as_list,
    calls_of,
    functions_of,
    is_error,
    renamed,
    role_of,
    settings_of,
    system_of,
    text_of,
    tool_names,
)

MAX_TOKENS = 1024

_SETTINGS = {"stop": "stop_sequences", "max_completion_tokens": "max_tokens"}
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def to_body(request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
    """The body of the HTTP request.

    Args:
        request: The conversation, the tools and the choice of them.
        model: The name of the model; left out if empty.
        settings: Further fields of the body. `stop`, `max_completion_tokens` and `parallel_tool_calls`
            are translated, the others go as they are.

    Raises:
        InvalidInput: A message or a tool that this API has no form for; a result without its call.

    >>> to_body(Request([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]))
    {'max_tokens': 1024, 'system': 'Be brief.', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """
    known, others = renamed(settings_of(request, model, settings), _SETTINGS)
    parallel = others.pop("parallel_tool_calls", True)
    body = {"max_tokens": MAX_TOKENS, **others, **known}
    if "stop_sequences" in body:
        body["stop_sequences"] = as_list(body["stop_sequences"])
    if system := system_of(request.messages):
        body["system"] = system
    body["messages"] = _turns(request.messages)
    if request.tools:
        body["tools"] = [_tool(function) for function in functions_of(request)]
        body["tool_choice"] = _choice(request.tool_choice, parallel)
    return body


def from_response(body: dict[str, Any]) -> Message:
    """The assistant message of a response, in OpenAI's form.

    Texts are joined. Thinking, and the calls that the API answers itself (`server_tool_use`), are left out.

    Raises:
        ModelError: The response holds no content.

    >>> call = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}
    >>> from_response({"content": [call]})["tool_calls"][0]["function"]
    {'name': 'add', 'arguments': '{"a":1}'}
    """
    expected = "a message with a list of content blocks"
    content = dict_in(body, body, expected).get("content")
    if not isinstance(content, list):
        raise junk(body, expected)
    blocks = [dict_in(block, body, expected) for block in content]
    texts = [text_in(block.get("text"), body) for block in blocks if block.get("type") == "text"]
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    return reply_message(
        "".join(texts) or None,
        [reply_call(call.get("id"), call.get("name"), call.get("input")) for call in calls],
    )


def _turns(messages: list[Message]) -> list[Message]:
    tool_names(messages)  # each result has its call
    turns: list[Message] = []
    previous = ""
    for message in messages:
        role = role_of(message)
        if role == "tool" and previous == "tool":
            turns[-1]["content"].append(_result(message))
        elif role == "tool":
            turns.append({"role": "user", "content": [_result(message)]})
        elif role != "system" and (content := _content(message)):
            turns.append({"role": role, "content": content})
        previous = role
    return turns


def _content(message: Message) -> str | list[dict[str, Any]]:
    text, calls = text_of(message), calls_of(message)
    if not calls:
        return text
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for id, name, arguments in calls:
        own = {"id": id} if id else {}
        blocks.append({"type": "tool_use", **own, "name": name, "input": arguments})
    return blocks


def _result(message: Message) -> dict[str, Any]:
    text = text_of(message)
    block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
    return {**block, "is_error": True} if is_error(text) else block


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    described = {"description": function["description"]} if "description" in function else {}
    return {
        "name": function["name"],
        **described,
        "input_schema": function.get("parameters", {"type": "object", "properties": {}}),
    }


def _choice(choice: str, parallel: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"type": _CHOICES.get(choice, "tool")}
    if made["type"] == "tool":
        made["name"] = choice
    if not parallel and choice != "none":
        made["disable_parallel_tool_use"] = True
    return made
