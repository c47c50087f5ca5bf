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
from zoolab.wire.chat import is_foreign, raw_calls
from zoolab.wire.format import Fields, WireFormat
from zoolab.wire.normalise import FOREIGN, plain_choice, plain_settings
from zoolab.wire.reading import Reading
from zoolab.wire.warnings import Notes, WireWarning

_CHOICES = ("auto", "required", "none")
_A_CHOICE = "tool_choice auto, required, none or a function"


class ChatCompletions(WireFormat):
    """OpenAI's Chat Completions.

    >>> wire = ChatCompletions()
    >>> wire.to_body(Request([{"role": "user", "content": "Hi"}]), "gpt", temperature=0)
    {'model': 'gpt', 'temperature': 0, 'messages': [{'role': 'user', 'content': 'Hi'}]}
    >>> wire.from_response({"choices": [{"message": {"role": "assistant", "content": "Hello"}}]})
    {'role': 'assistant', 'content': 'Hello'}
    """

    name = "openai"
    _own = ("messages", "tools", "tool_choice")
    _a_body = "an object with a list of messages"

    def normalise(self, request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
        """The request as this format can say it, and what of it changed."""
        notes = Notes()
        choice = plain_choice(request.tool_choice, request.tools, notes)
        for index, tool in enumerate(request.tools):
            if is_foreign(tool, ("function", "custom")):
                notes.add("foreign_tool", ("tools", index), FOREIGN)
        back = {key: value for key, value in request.settings.items() if key not in self._own}
        settings = plain_settings(request.settings, back, {}, notes)
        return Request(request.prefix, request.tools, choice, settings), notes.warnings

    def normalise_reply(self, message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
        """The assistant message as it comes back, and what of it changed."""
        back, notes = self.from_response(self.to_response(message)), Notes()
        for key in {**message, **back}:
            if key not in message or key not in back or message[key] != back[key]:
                notes.add(_reply_code(key, message), (str(key),), "it comes back in another form")
        return back, notes.warnings

    def to_response(self, message: Message) -> dict[str, Any]:
        """The smallest response that answers with an assistant message."""
        ended = "tool_calls" if raw_calls(message) else "stop"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": ended}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": ""}
        return {**head, "choices": [choice]}

    def _read_reply(self, body: Any, reading: Reading) -> Message:
        expected = "a chat completion with an assistant message"
        choices = reading.items(reading.object(body, expected).get("choices"), expected)
        choice = reading.object(choices[0] if choices else None, expected)
        message = reading.object(choice.get("message"), expected)
        if message.get("role", "assistant") != "assistant":
            raise reading.junk(expected)
        given = reading.objects(message.get("tool_calls"), "a list of calls")
        calls = {"tool_calls": [_call_in(call, reading) for call in given]} if given else {}
        others = {
            key: value for key, value in message.items() if key not in ("role", "content", "tool_calls")
        }
        return {"role": "assistant", "content": _content_in(message, reading), **others, **calls}

    def _written(self, plain: Request) -> dict[str, Any]:
        return plain.body()

    def _read(self, fields: Fields, reading: Reading) -> Request:
        messages = reading.objects(fields.pop("messages", ""), self._a_body)
        for message in messages:
            reading.text(message.get("role"), "messages with a role")
        tools = reading.objects(fields.pop("tools", None), "a list of tools")
        choice = _choice_in(fields.pop("tool_choice", None), reading)
        return Request(messages, tuple(tools), choice, fields)

    def _function(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
        return reading.object(tool.get("function"), "tools with a function")


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


#: The format as plain functions: `from zoolab.wire.openai import to_body`.
FORMAT = ChatCompletions()
normalise, to_body, from_body = FORMAT.normalise, FORMAT.to_body, FORMAT.from_body
normalise_reply, to_response, from_response = FORMAT.normalise_reply, FORMAT.to_response, FORMAT.from_response
