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
from zoolab.wire.chat import Reading, raw_calls
from zoolab.wire.format import A_CHOICE, CHOICES, Notes, Tools, WireFormat, WireWarning


class ChatCompletions(WireFormat):
    """OpenAI's Chat Completions."""

    name = "openai"
    _pairs_results = False
    _tool_types = ("function", "custom")

    def normalise_reply(self, message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
        back, notes = self.from_response(self.to_response(message)), Notes()
        for key in {**message, **back}:
            if key not in message or key not in back or message[key] != back[key]:
                code = "parts_joined" if isinstance(message.get(key), list) else "empty_content"
                code = code if key == "content" else "message_field"
                notes.add(code, (str(key),), "it comes back in another form")
        return back, tuple(notes)

    def to_response(self, message: Message) -> dict[str, Any]:
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
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            parts = reading.objects(content, "parts of text")
            content = "".join(reading.text(part.get("text")) for part in parts if part.get("type") == "text")
        calls = [_call_in(each, reading) for each in reading.objects(message.get("tool_calls"), "calls")]
        others = {key: message[key] for key in message if key not in ("role", "content", "tool_calls")}
        return {"role": "assistant", "content": content, **others, **({"tool_calls": calls} if calls else {})}

    def _messages(self, request: Request, notes: Notes) -> Any:  # noqa: ARG002
        return request.prefix

    def _turns(self, messages: list[Message]) -> list[Message]:
        return messages

    def _turns_in(self, turns: Any, reading: Reading) -> list[Message]:
        messages = reading.objects(turns, "an object with a list of messages")
        for message in messages:
            reading.text(message.get("role"), "messages with a role")
        return messages

    def _chosen(self, choice: str) -> Any:
        return choice if choice in CHOICES else {"type": "function", "function": {"name": choice}}

    def _chosen_in(self, choice: Any, reading: Reading) -> str:
        """Some endpoints say "any" for "required"."""
        if choice in CHOICES or choice == "any":
            return "required" if choice == "any" else choice
        function = reading.object(choice, A_CHOICE).get("function")
        return reading.text(reading.object(function, A_CHOICE).get("name"), A_CHOICE)

    def _declared(self, tools: Tools) -> list[dict[str, Any]]:
        return list(tools)

    def _declared_in(self, tools: Any, reading: Reading) -> Tools:
        return tuple(reading.objects(tools, "a list of tools"))


def _call_in(call: dict[str, Any], reading: Reading) -> dict[str, Any]:
    function = reading.object(call.get("function"), "a call with a function")
    made = reading.call(call.get("id"), function.get("name"), function.get("arguments"))
    return {**made, **({"extra_content": call["extra_content"]} if "extra_content" in call else {})}
