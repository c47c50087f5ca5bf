"""OpenAI's Chat Completions, which zoolab's own records are written in: `POST /chat/completions`."""

from __future__ import annotations

from typing import Any

from zoolab.records import Message, Request
from zoolab.wire.received import dict_in, junk, list_in, reply_call, text_in


def to_body(request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
    """The body of the HTTP request; the same as `Request.body`.

    Args:
        request: The conversation, the tools and the choice of them.
        model: The name of the model; left out if empty.
        settings: Further fields of the body, such as `temperature`.

    >>> to_body(Request([{"role": "user", "content": "Hi"}]), "gpt", temperature=0)
    {'temperature': 0, 'model': 'gpt', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """
    named = {"model": model} if model else {}
    return request.body(**{**settings, **named})


def from_response(body: dict[str, Any]) -> Message:
    """The assistant message of a response, as it came; arguments that came as an object become text.

    Raises:
        ModelError: The response holds no assistant message.

    >>> from_response({"choices": [{"message": {"role": "assistant", "content": "Hello"}}]})
    {'role': 'assistant', 'content': 'Hello'}
    """
    expected = "a chat completion with an assistant message"
    choices = list_in(dict_in(body, body, expected).get("choices"), body, expected)
    choice = dict_in(choices[0] if choices else None, body, expected)
    message = dict_in(choice.get("message"), body, expected)
    if message.get("role", "assistant") != "assistant":
        raise junk(body, expected)
    calls = [_call(call, body) for call in list_in(message.get("tool_calls"), body, "a list of calls")]
    others = {key: value for key, value in message.items() if key not in ("role", "content", "tool_calls")}
    content = _content(message, body)
    return {"role": "assistant", "content": content, **others, **({"tool_calls": calls} if calls else {})}


def _content(message: Message, body: Any) -> str | None:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content
    parts = [dict_in(part, body, "parts of text") for part in list_in(content, body, "text")]
    return "".join(text_in(part.get("text"), body) for part in parts if part.get("type") == "text")


def _call(call: Any, body: Any) -> dict[str, Any]:
    call = dict_in(call, body, "a call that is an object")
    function = dict_in(call.get("function"), body, "a call with a function")
    made = reply_call(call.get("id"), function.get("name"), function.get("arguments"))
    return {**made, **({"extra_content": call["extra_content"]} if "extra_content" in call else {})}
