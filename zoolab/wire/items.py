"""The items of OpenAI's Responses: what a conversation is made of, there and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.jsontext import excerpt
from zoolab.records import Message
from zoolab.wire.notes import Notes
from zoolab.wire.plain import Placed
from zoolab.wire.received import Reading, reply_message
from zoolab.wire.shared import raw_calls

_TEXTS = ("input_text", "output_text", "text")


def items_of(message: Message) -> list[dict[str, Any]]:
    """The items of a message: its reasoning, its text, its calls.

    >>> items_of({"role": "tool", "tool_call_id": "c", "content": "noon"})
    [{'type': 'function_call_output', 'call_id': 'c', 'output': 'noon'}]
    """
    if message["role"] == "tool":
        said = {"call_id": message["tool_call_id"], "output": message["content"]}
        return [{"type": "function_call_output", **said}]
    items = [*reasoning_of(message)]
    if message["content"]:
        items.append({"role": message["role"], "content": message["content"]})
    return [*items, *(_call(call) for call in raw_calls(message))]


def output_item(item: dict[str, Any], id: str) -> dict[str, Any]:
    """An item as it is in a response: with an id, and a message in parts.

    >>> output_item({"role": "assistant", "content": "Hi"}, "item_1")["content"]
    [{'type': 'output_text', 'text': 'Hi', 'annotations': []}]
    """
    if item.get("type") == "reasoning":
        return item
    if item.get("type") == "function_call":
        return {**item, "id": id, "status": "completed"}
    part = {"type": "output_text", "text": item["content"], "annotations": []}
    return {"id": id, "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def merged(placed: list[Placed], notes: Notes) -> list[Message]:
    """Assistant messages in a row become one where their items would be read as one.

    >>> call = {"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    >>> asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    >>> [len(m["tool_calls"]) for m in merged([(0, asks), (1, asks)], Notes())]
    [2]
    """
    made: list[Message] = []
    for index, message in placed:
        if made and _joins(made[-1], message):
            notes.add("messages_merged", ("messages", index), "it is one with the message before")
            made[-1] = _joined(made[-1], message)
        else:
            made.append(message)
    return made


def take_item(item: dict[str, Any], messages: list[Message], reading: Reading) -> None:
    """Add an item of the input to the messages: to the assistant's last one, if it goes on with it.

    >>> from zoolab.wire.received import sent
    >>> messages = []
    >>> take_item({"role": "user", "content": "Hi"}, messages, sent({}))
    >>> messages
    [{'role': 'user', 'content': 'Hi'}]
    """
    message = _message_in(item, reading)
    if messages and _joins(messages[-1], message):
        messages[-1] = _joined(messages[-1], message)
    else:
        messages.append(message)


def text_in(content: Any, reading: Reading) -> str:
    """The text of content that is one text, or parts of text; a refusal is said in words as well.

    >>> from zoolab.wire.received import sent
    >>> text_in([{"type": "input_text", "text": "Hi"}], sent({}))
    'Hi'
    """
    if isinstance(content, str):
        return content
    return "".join(_part_in(part, reading) for part in reading.objects(content, "text, or parts of text"))


def call_in(item: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """The call that an item is.

    >>> from zoolab.wire.received import sent
    >>> call_in({"call_id": "c", "name": "now", "arguments": "{}"}, sent({}))
    {'id': 'c', 'type': 'function', 'function': {'name': 'now', 'arguments': '{}'}}
    """
    return reading.call(item.get("call_id"), item.get("name"), item.get("arguments"))


def reasoned(reasoning: list[dict[str, Any]]) -> dict[str, Any]:
    """The field of a message that keeps the reasoning that led to it.

    >>> reasoned([]), reasoned([{"type": "reasoning"}])
    ({}, {'extra_content': {'openai': {'reasoning': [{'type': 'reasoning'}]}}})
    """
    return {"extra_content": {"openai": {"reasoning": reasoning}}} if reasoning else {}


def reasoning_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The reasoning that led to a message.

    >>> reasoning_of(reasoned([{"type": "reasoning"}]))
    [{'type': 'reasoning'}]
    """
    extra = message.get("extra_content")
    own = extra.get("openai") if isinstance(extra, dict) else None
    items = own.get("reasoning") if isinstance(own, dict) else None
    found = items if isinstance(items, list) else []
    return [item for item in found if isinstance(item, dict) and item.get("type") == "reasoning"]


def _joins(before: Message, message: Message) -> bool:
    if before["role"] != "assistant" or message["role"] != "assistant":
        return False
    said = bool(before["content"] or before.get("tool_calls"))
    return not (before["content"] and message["content"]) and not (said and reasoning_of(message))


def _joined(before: Message, message: Message) -> Message:
    calls = [*raw_calls(before), *raw_calls(message)]
    reasoning = [*reasoning_of(before), *reasoning_of(message)]
    return {**reply_message(before["content"] or message["content"], calls), **reasoned(reasoning)}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    own = {"call_id": call["id"]} if "id" in call else {}
    return {"type": "function_call", **own, **call["function"]}


def _message_in(item: dict[str, Any], reading: Reading) -> Message:
    match item.get("type", "message"):
        case "message" if item.get("role") in ("system", "developer", "user", "assistant"):
            text = text_in(item.get("content"), reading)
            return reply_message(text, []) if item["role"] == "assistant" else _said(item["role"], text)
        case "function_call":
            return reply_message(None, [call_in(item, reading)])
        case "function_call_output":
            id = reading.text(item.get("call_id"), "each output with a call_id")
            return {**_said("tool", text_in(item.get("output"), reading)), "tool_call_id": id}
        case "reasoning":
            return {**reply_message(None, []), **reasoned([item])}
    raise reading.junk(f"messages and function calls, not {excerpt(item.get('type'))}")


def _said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def _part_in(part: dict[str, Any], reading: Reading) -> str:
    kind = part.get("type")
    if kind == "refusal":
        return reading.text(part.get("refusal"))
    if kind not in _TEXTS:
        raise reading.junk(f"parts of text, not {excerpt(kind)}")
    return reading.text(part.get("text"))
