"""Ollama's own chat: `POST /api/chat`.

What differs from OpenAI's form:

    a call             its `arguments` are an object
    a result           a tool message with `tool_name`, beside the id that older versions ignore
    broken arguments   `{"_raw": "the text"}`, so that they stay visible
    tool_choice        there is none: "none" leaves the tools out; "required" and a tool's name
                       cannot be asked for, and are sent as "auto" would be
    settings           `temperature` and the like live in `options`
    stream             is on unless it is switched off; here it is off unless given
"""

from __future__ import annotations

from typing import Any

from zoolab.records import Message, Request
from zoolab.wire.received import dict_in, list_in, reply_call, reply_message, text_in
from zoolab.wire.shared import (
    calls_of,
    functions_of,
    renamed,
    role_of,
    settings_of,
    text_of,
    tool_names,
)

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "stop": "stop",
    "max_tokens": "num_predict",
    "max_completion_tokens": "num_predict",
}


def to_body(request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
    """The body of the HTTP request.

    Args:
        request: The conversation, the tools and the choice of them.
        model: The name of the model; left out if empty.
        settings: Further fields of the body; OpenAI's names for sampling go into `options`.

    Raises:
        InvalidInput: A message or a tool that this API has no form for; a result without its call.

    >>> to_body(Request([{"role": "user", "content": "Hi"}]), "qwen3", temperature=0)["options"]
    {'temperature': 0}
    """
    known, others = renamed(settings_of(request, model, settings), _SETTINGS)
    body: dict[str, Any] = {"stream": False, **others}
    if known:
        body["options"] = {**known, **body.get("options", {})}
    messages = request.messages
    body["messages"] = list(map(_message, messages, tool_names(messages)))
    if request.tools and request.tool_choice != "none":
        body["tools"] = [{"type": "function", "function": function} for function in functions_of(request)]
    return body


def from_response(body: dict[str, Any]) -> Message:
    """The assistant message of a response, in OpenAI's form; thinking is left out.

    Raises:
        ModelError: The response holds no message.

    >>> call = {"function": {"name": "add", "arguments": {"a": 1}}}
    >>> from_response({"message": {"role": "assistant", "content": "", "tool_calls": [call]}})["tool_calls"]
    [{'type': 'function', 'function': {'name': 'add', 'arguments': '{"a":1}'}}]
    """
    expected = "a chat response with a message"
    message = dict_in(dict_in(body, body, expected).get("message"), body, expected)
    text = text_in(message.get("content") or "", body)
    calls = list_in(message.get("tool_calls"), body, "a list of calls")
    return reply_message(text or None, [_reply_call(call, body) for call in calls])


def _reply_call(call: Any, body: Any) -> dict[str, Any]:
    call = dict_in(call, body, "a call that is an object")
    function = dict_in(call.get("function"), body, "a call with a function")
    return reply_call(call.get("id"), function.get("name"), function.get("arguments"))


def _message(message: Message, name: str) -> Message:
    role = role_of(message)
    made: Message = {"role": role, "content": text_of(message)}
    if role == "tool":
        return {**made, "tool_name": name, "tool_call_id": message["tool_call_id"]}
    if calls := calls_of(message):
        made["tool_calls"] = [_call(*call) for call in calls]
    return made


def _call(id: str | None, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {**({"id": id} if id else {}), "function": {"name": name, "arguments": arguments}}
