"""What attributes of a span can hold: texts, numbers and messages, cut and checked, whoever wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoolab.jsontext import NotStrictJSON, encode, excerpt, parse_json
from zoolab.records import Message, Reply

#: Characters of a name, of a text, and of all messages of one request.
MAX_NAME, MAX_TEXT, MAX_MESSAGES = 128, 4_096, 32_768
_MOST_CALLS = 64


def as_text(value: object, limit: int = MAX_TEXT) -> str:
    """Any value as text that can be sent.

    >>> as_text("\\ud800"), as_text({"a": 1}), as_text("x" * 9, limit=4)
    ('?', '{"a":1}', 'xxx…')
    """
    text = value if isinstance(value, str) else excerpt(value, limit)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text.encode("utf-8", "replace").decode()


def as_name(value: object) -> str | None:
    """A short text; None for no text.

    >>> as_name("add"), as_name(""), as_name(5)
    ('add', None, None)
    """
    return as_text(value, MAX_NAME) if isinstance(value, str) and value else None


def as_number(value: object, kind: type[int] | type[float]) -> int | float | None:
    """A number that fits 64 bits; None for anything else.

    >>> as_number(1, float), as_number(1.5, int), as_number(True, int), as_number(10**30, int)
    (1.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, kind)) or not abs(value) < 1 << 63:
        return None
    return kind(value)


def as_scalar(value: object) -> str | int | float | bool | None:
    """A truth value, a number or a name; None for anything else.

    >>> as_scalar(True), as_scalar(3), as_scalar(0.5), as_scalar("case"), as_scalar([1])
    (True, 3, 0.5, 'case', None)
    """
    if isinstance(value, bool):
        return value
    return as_number(value, type(value)) if isinstance(value, int | float) else as_name(value)


def member(value: object, name: str) -> Mapping[str, Any]:
    """An object within an object; empty if there is none.

    >>> member({"function": {"name": "add"}}, "function"), member([], "function")
    ({'name': 'add'}, {})
    """
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def encode_messages(messages: Sequence[Message]) -> str:
    """The last of the messages in the conventions' form, as many as there is room for.

    >>> encode_messages([{"role": "user", "content": "Hi"}])
    '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]'
    """
    kept: list[str] = []
    room = MAX_MESSAGES
    for message in reversed(messages):
        text = encode(_in_parts(message))
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    return f"[{','.join(reversed(kept))}]"


def encode_reply(reply: Reply) -> str:
    """The message of a reply in the conventions' form, with the reason that it ended.

    >>> encode_reply(Reply({"role": "assistant", "content": "Hi"}, "stop"))
    '[{"role":"assistant","parts":[{"type":"text","content":"Hi"}],"finish_reason":"stop"}]'
    """
    return encode([{**_in_parts(reply.message), "finish_reason": as_name(reply.finish_reason) or ""}])


def _in_parts(message: Message) -> dict[str, Any]:
    role, said, calls = as_name(message.get("role")) or "", message.get("content"), message.get("tool_calls")
    if role == "tool":
        answers = as_name(message.get("tool_call_id"))
        return {
            "role": role,
            "parts": [{"type": "tool_call_response", "id": answers, "response": as_text(said)}],
        }
    parts = [{"type": "text", "content": as_text(said)}] if said else []
    asked = [_asked(call) for call in calls[:_MOST_CALLS]] if isinstance(calls, list) else []
    return {"role": role, "parts": [*parts, *asked]}


def _asked(call: object) -> dict[str, Any]:
    function = member(call, "function")
    call_id = call.get("id") if isinstance(call, Mapping) else None
    return {
        "type": "tool_call",
        "id": as_name(call_id),
        "name": as_name(function.get("name")) or "",
        "arguments": _arguments(function.get("arguments")),
    }


def _arguments(raw: object) -> Any:
    """The object that was meant, or what was written instead of one."""
    try:
        return parse_json(raw) if isinstance(raw, str) and len(raw) <= MAX_TEXT else as_text(raw)
    except NotStrictJSON:
        return as_text(raw)
