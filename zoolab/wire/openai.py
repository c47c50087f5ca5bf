"""OpenAI's Chat Completions, which zoolab's own records are written in: `POST /chat/completions`.

Nothing is changed on the way: messages, tools and settings go and come as they are. What is made plain:

    tool_choice        left out where there are no tools
    settings           none may be named messages, tools or tool_choice
    a reply's content  parts become one text
    a reply's calls    arguments that came as an object become text; an id that is no text is left out
"""

from __future__ import annotations

from typing import Any

from zoolab.records import Message, Request
from zoolab.wire.notes import Notes, WireWarning
from zoolab.wire.received import Reading, answered, sent
from zoolab.wire.shared import is_foreign, raw_calls, with_settings
from zoolab.wire.terms import FOREIGN, plain_choice, plain_settings

_OWN = ("messages", "tools", "tool_choice")
_CHOICES = ("auto", "required", "none")
_A_CHOICE = "tool_choice auto, required, none or a function"


def normalise(request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
    """The request as this wire can say it, and what of it changed.

    >>> normalise(Request([{"role": "user", "content": "Hi"}]))[1]
    ()
    """
    notes = Notes()
    choice = plain_choice(request.tool_choice, request.tools, notes)
    for index, tool in enumerate(request.tools):
        if is_foreign(tool, ("function", "custom")):
            notes.add("foreign_tool", ("tools", index), FOREIGN)
    back = {key: value for key, value in request.settings.items() if key not in _OWN}
    settings = plain_settings(request.settings, back, {}, notes)
    return Request(request.prefix, request.tools, choice, settings), notes.warnings


def to_body(request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
    """The body of the HTTP request; the same as `Request.body`.

    Args:
        request: The conversation, the tools and the choice of them.
        model: The name of the model; left out if empty.
        settings: Further fields of the body, such as `temperature`.

    >>> to_body(Request([{"role": "user", "content": "Hi"}]), "gpt", temperature=0)
    {'model': 'gpt', 'temperature': 0, 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """
    return normalise(with_settings(request, model, settings))[0].body()


def from_body(body: Any) -> Request:
    """The request that a body holds.

    Raises:
        InvalidInput: It is none.

    >>> from_body({"model": "gpt", "messages": [{"role": "user", "content": "Hi"}]}).settings
    {'model': 'gpt'}
    """
    reading = sent(body)
    expected = "an object with a list of messages"
    fields = dict(reading.object(body, expected))
    messages = reading.objects(fields.pop("messages", ""), expected)
    for message in messages:
        reading.text(message.get("role"), "messages with a role")
    tools = reading.objects(fields.pop("tools", None), "a list of tools")
    choice = _choice_in(fields.pop("tool_choice", None), reading)
    return Request(messages, tuple(tools), choice, fields)


def to_response(message: Message) -> dict[str, Any]:
    """The smallest response that answers with an assistant message.

    >>> to_response({"role": "assistant", "content": "Hi"})["choices"][0]["finish_reason"]
    'stop'
    """
    ended = "tool_calls" if raw_calls(message) else "stop"
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": ended}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "", "choices": [choice]}


def from_response(body: Any) -> Message:
    """The assistant message of a response, as it came; arguments that came as an object become text.

    Raises:
        ModelError: The response holds no assistant message.

    >>> from_response({"choices": [{"message": {"role": "assistant", "content": "Hello"}}]})
    {'role': 'assistant', 'content': 'Hello'}
    """
    reading = answered(body)
    expected = "a chat completion with an assistant message"
    choices = reading.items(reading.object(body, expected).get("choices"), expected)
    choice = reading.object(choices[0] if choices else None, expected)
    message = reading.object(choice.get("message"), expected)
    if message.get("role", "assistant") != "assistant":
        raise reading.junk(expected)
    calls = [
        _call_in(call, reading) for call in reading.objects(message.get("tool_calls"), "a list of calls")
    ]
    others = {key: value for key, value in message.items() if key not in ("role", "content", "tool_calls")}
    content = _content_in(message, reading)
    return {"role": "assistant", "content": content, **others, **({"tool_calls": calls} if calls else {})}


def normalise_reply(message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
    """The assistant message as it comes back, and what of it changed.

    >>> normalise_reply({"role": "assistant", "content": "Hi", "tool_calls": []})[1][0].code
    'message_field'
    """
    back, notes = from_response(to_response(message)), Notes()
    for key in {**message, **back}:
        if key not in message or key not in back or message[key] != back[key]:
            notes.add(_reply_code(key, message), (str(key),), "it comes back in another form")
    return back, notes.warnings


def _reply_code(key: str, message: Message) -> str:
    if key != "content":
        return "message_field"
    return "parts_joined" if isinstance(message.get(key), list) else "empty_content"


def _choice_in(choice: Any, reading: Reading) -> str:
    """Some endpoints say "any" for "required"."""
    if choice is None or choice in _CHOICES:
        return choice or "auto"
    if choice == "any":
        return "required"
    function = reading.object(choice, _A_CHOICE).get("function")
    return reading.text(reading.object(function, _A_CHOICE).get("name"), _A_CHOICE)


def _content_in(message: Message, reading: Reading) -> str | None:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content
    parts = reading.objects(content, "parts of text")
    return "".join(reading.text(part.get("text")) for part in parts if part.get("type") == "text")


def _call_in(call: dict[str, Any], reading: Reading) -> dict[str, Any]:
    function = reading.object(call.get("function"), "a call with a function")
    made = reading.call(call.get("id"), function.get("name"), function.get("arguments"))
    return {**made, **({"extra_content": call["extra_content"]} if "extra_content" in call else {})}
