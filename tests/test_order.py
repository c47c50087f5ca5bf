"""Signed thinking goes back where it stood between the text and the calls of its message."""

from __future__ import annotations

from typing import Any

import pytest

from zoolab import Tool
from zoolab.apis import APIS
from zoolab.errors import InvalidSchema
from zoolab.records import Message, Request
from zoolab_connect.apis.gemini import json_schema

Body = dict[str, Any]


def thought(number: int) -> Body:
    return {"type": "thinking", "thinking": f"hm {number}", "signature": f"S{number}"}


def use(number: int) -> Body:
    return {"type": "tool_use", "id": f"t{number}", "name": "now", "input": {}}


def text(said: str) -> Body:
    return {"type": "text", "text": said}


def reason(number: int) -> Body:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "E"}


def call(number: int) -> Body:
    return {"type": "function_call", "call_id": f"t{number}", "name": "now", "arguments": "{}"}


def said(words: str) -> Body:
    return {"role": "assistant", "content": words}


ANTHROPIC = {
    "between calls": [thought(1), use(1), thought(2), use(2)],
    "after the text": [text("Let me see."), thought(1), use(1)],
    "between texts": [thought(1), text("Let"), thought(2), text(" me."), use(1), thought(3), use(2)],
    "after a call": [use(1), {"type": "redacted_thinking", "data": "x"}, text("Hm")],
    "the usual order": [thought(1), thought(2), text("Hm"), use(1), use(2)],
}
RESPONSES = {
    "between calls": [reason(1), call(1), reason(2), call(2)],
    "after the text": [said("Let me see."), reason(1), call(1)],
    "between texts": [reason(1), said("Let"), reason(2), said(" me."), call(1), reason(3), call(2)],
    "the usual order": [reason(1), reason(2), said("Hm"), call(1), call(2)],
}


def results(message: Message) -> list[Message]:
    return [
        {"role": "tool", "tool_call_id": each["id"], "content": "noon"}
        for each in message.get("tool_calls", ())
    ]


def sent_back(name: str, message: Message) -> list[Any]:
    """What the next request says after the question."""
    api = APIS[name]
    conversation = [{"role": "user", "content": "Hi"}, message, *results(message)]
    body = api.to_body(Request(conversation), "m")
    assert api.from_body(body).messages == conversation
    turns: list[Any] = body["messages" if name == "anthropic" else "input"]
    return turns[1:]


@pytest.mark.parametrize("what", ANTHROPIC)
def test_blocks_of_anthropic_go_back_in_their_order(what: str) -> None:
    answer = {"role": "assistant", "content": ANTHROPIC[what], "stop_reason": "tool_use"}
    api = APIS["anthropic"]
    for reply in (api.reply(answer), api.streamed(api.events(answer))):
        assert sent_back("anthropic", reply.message)[0]["content"] == ANTHROPIC[what]
        assert ("order" in reply.message["extra_content"]["anthropic"]) is (what != "the usual order")


@pytest.mark.parametrize("what", RESPONSES)
def test_items_of_responses_go_back_in_their_order(what: str) -> None:
    items = RESPONSES[what]
    output = [
        {"type": "message", **each, "content": [{"type": "output_text", "text": each["content"]}]}
        if "content" in each
        else each
        for each in items
    ]
    answer = {"status": "completed", "output": output}
    api = APIS["responses"]
    for reply in (api.reply(answer), api.streamed(api.events(answer))):
        assert sent_back("responses", reply.message)[: len(items)] == items


@pytest.mark.parametrize("name", ["anthropic", "responses"])
def test_a_message_that_was_changed_goes_back_in_the_usual_order(name: str) -> None:
    blocks = {"anthropic": ANTHROPIC, "responses": RESPONSES}[name]["between calls"]
    answer = {"content": blocks, "output": blocks}
    message = APIS[name].reply(answer).message
    (first, _) = message["tool_calls"]
    changed = {**message, "tool_calls": [first], "content": "Let me see."}
    body = APIS[name].to_body(Request([changed, *results(changed)]), "m")
    turn = body["messages"][0]["content"] if name == "anthropic" else body["input"][:4]
    kinds = [each.get("type", "text") for each in turn]
    thinking, called = ("thinking", "tool_use") if name == "anthropic" else ("reasoning", "function_call")
    assert kinds == [thinking, thinking, "text", called]


CAPITALS = {
    "type": "OBJECT",
    "properties": {
        "city": {"type": "STRING", "enum": ["OBJECT", "STRING"]},
        "days": {"type": "ARRAY", "items": {"type": "INTEGER", "nullable": True}},
    },
    "required": ["city"],
}
LOWER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "enum": ["OBJECT", "STRING"]},
        "days": {"type": "array", "items": {"type": ["integer", "null"]}},
    },
    "required": ["city"],
}


def test_declarations_of_gemini_with_types_in_capitals_are_read() -> None:
    declared = {"name": "weather", "parameters": CAPITALS}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [declared]}],
    }
    (tool,) = APIS["gemini"].from_body(body).tools
    assert tool["function"]["parameters"] == LOWER
    assert json_schema(LOWER) == LOWER
    assert CAPITALS["type"] == "OBJECT"


def test_the_refusal_of_types_in_capitals_says_how() -> None:
    with pytest.raises(InvalidSchema, match=r"zoolab_connect\.apis\.gemini\.json_schema"):
        Tool.from_schema("weather", "The weather.", CAPITALS, print)
    assert Tool.from_schema("weather", "The weather.", json_schema(CAPITALS), print).parameters == LOWER
    with pytest.raises(InvalidSchema) as caught:
        Tool.from_schema("weather", "The weather.", {"type": "OBJEKT"}, print)
    assert "gemini" not in str(caught.value)
