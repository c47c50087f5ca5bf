"""Anthropic's content blocks: what a message is made of, there and back."""

from __future__ import annotations

from typing import Any

from zoolab.jsontext import excerpt
from zoolab.records import Message
from zoolab.wire.received import Reading, reply_message
from zoolab.wire.shared import calls_of, is_error, text_of


def blocks_of(message: Message) -> list[dict[str, Any]]:
    """The blocks of an assistant's turn: its text, then its calls.

    >>> blocks_of({"role": "assistant", "content": "Hi"})
    [{'type': 'text', 'text': 'Hi'}]
    """
    text = text_of(message)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for id, name, arguments in calls_of(message):
        own = {"id": id} if id else {}
        blocks.append({"type": "tool_use", **own, "name": name, "input": arguments})
    return blocks


def result_block(message: Message) -> dict[str, Any]:
    """The block of a tool message.

    >>> result_block({"role": "tool", "tool_call_id": "c", "content": "ERROR: late"})
    {'type': 'tool_result', 'tool_use_id': 'c', 'content': 'ERROR: late', 'is_error': True}
    """
    text = text_of(message)
    block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
    return {**block, "is_error": True} if is_error(text) else block


def messages_in(turn: dict[str, Any], reading: Reading) -> list[Message]:
    """The messages of a turn: a user's one may hold several results.

    >>> from zoolab.wire.received import sent
    >>> messages_in({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}, sent({}))
    [{'role': 'tool', 'tool_call_id': 'c', 'content': ''}]
    """
    role, content = turn.get("role"), turn.get("content")
    if role not in ("system", "user", "assistant"):
        raise reading.junk("messages of system, user and assistant")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = reading.objects(blocks, "content that is text or blocks")
    if role == "assistant":
        return [assistant_in(blocks, reading)]
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


def assistant_in(blocks: list[dict[str, Any]], reading: Reading) -> Message:
    """The assistant's message that blocks make; those that are neither text nor call are left out.

    >>> from zoolab.wire.received import sent
    >>> assistant_in([{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "Hi"}], sent({}))
    {'role': 'assistant', 'content': 'Hi'}
    """
    texts = [reading.text(block.get("text")) for block in blocks if block.get("type") == "text"]
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    return reply_message(
        "".join(texts),
        [reading.call(call.get("id"), call.get("name"), call.get("input")) for call in calls],
    )


def joined_text(content: Any, reading: Reading, between: str) -> str:
    """The text of content that is one text, or blocks of text.

    >>> from zoolab.wire.received import sent
    >>> joined_text([{"type": "text", "text": "A"}, {"type": "text", "text": "B"}], sent({}), " ")
    'A B'
    """
    if isinstance(content, str):
        return content
    return between.join(_text_in(block, reading) for block in reading.objects(content, "text or blocks"))


def _said(role: str, texts: list[str]) -> list[Message]:
    return [{"role": role, "content": "".join(texts)}] if texts else []


def _result_in(block: dict[str, Any], reading: Reading) -> Message:
    text = joined_text(block.get("content", ""), reading, "")
    if block.get("is_error") is True and not is_error(text):
        text = f"ERROR: {text}"
    return {"role": "tool", "tool_call_id": reading.text(block.get("tool_use_id"), "an id"), "content": text}


def _text_in(block: dict[str, Any], reading: Reading) -> str:
    if block.get("type") != "text":
        raise reading.junk(f"text, tool_use and tool_result, not {excerpt(block.get('type'))}")
    return reading.text(block.get("text"))
