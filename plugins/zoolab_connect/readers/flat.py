"""Spans of older conventions: OpenInference (Phoenix), OpenLLMetry (Traceloop), and events of OpenTelemetry.

They tell messages in attributes such as `llm.input_messages.0.message.content`, one value each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoolab.jsontext import NotStrictJSON, parse_json
from zoolab.records import Message
from zoolab_connect.readers.found import Unread
from zoolab_connect.readers.messages import messages_in

_GROUPS = (
    ("llm.input_messages", "llm.output_messages"),
    ("gen_ai.prompt", "gen_ai.completion"),
    ("llm.prompts", "llm.completions"),
)
_WHOLE = ("pydantic_ai.all_messages", "all_messages_events", "events")
_MOST = 10_000


def messages_of(told: Mapping[str, Any], events: Sequence[Any], unread: Unread) -> list[Message]:
    """The messages in the attributes of a span, or in its events; empty if there are none."""
    for begin, end in _GROUPS:
        found = messages_in(_listed(told, begin), begin, unread)
        found += messages_in(_listed(told, end), end, unread, "assistant")
        if found:
            return found
    for name in _WHOLE:
        listed = _parsed(told.get(name))
        if isinstance(listed, list):
            return messages_in([_of_event(each) for each in listed], name, unread)
    named = [{**each["attributes"], "event.name": each["name"]} for each in events if _tells(each)]
    return messages_in([_of_event(each) for each in named], "events", unread)


def _tells(event: Any) -> bool:
    name = event.get("name") if isinstance(event, Mapping) else None
    told = event.get("attributes") if isinstance(event, Mapping) else None
    return (
        isinstance(told, Mapping)
        and str(name).startswith("gen_ai.")
        and str(name).endswith(("message", "choice"))
    )


def _of_event(event: Any) -> Any:
    """A message from an event such as `gen_ai.user.message`; a choice holds it one level deeper."""
    if not isinstance(event, Mapping) or "event.name" not in event:
        return event
    held = _parsed(event.get("message"))
    role = str(event["event.name"]).removeprefix("gen_ai.").partition(".")[0]
    named = {"role": "assistant" if role == "choice" else role}
    kept = ("role", "content", "tool_calls", "id")
    told = held if isinstance(held, Mapping) else {k: _parsed(v) for k, v in event.items() if k in kept}
    return {**named, **told}


def _listed(told: Mapping[str, Any], prefix: str) -> list[Any]:
    """The list that is spread over attributes: `prefix.0.role`, `prefix.1.role`, ..."""
    tree: dict[str, Any] = {}
    for name, value in told.items():
        if not name.startswith(f"{prefix}."):
            continue
        at, (*inner, last) = tree, name.removeprefix(f"{prefix}.").split(".")
        for key in inner:
            at = at.setdefault(key, {}) if isinstance(at.get(key, {}), dict) else {}
        at[last] = value
    return [_message(each) for each in _ordered(tree)]


def _ordered(value: Any) -> list[Any]:
    numbers = sorted(int(key) for key in value if key.isdecimal()) if isinstance(value, dict) else []
    return [value[str(number)] for number in numbers[:_MOST] if str(number) in value]


def _message(told: Any) -> Any:
    """A message without the words that OpenInference puts around each part of it."""
    held = told.get("message", told) if isinstance(told, dict) else told
    if not isinstance(held, dict):
        return held
    message = {key: held[key] for key in ("role", "content", "tool_call_id", "name") if key in held}
    message["content"] = _content(_parsed(message.get("content")))
    contents = [each.get("message_content", each) for each in _ordered(held.get("contents", {}))]
    if contents:
        message["content"] = contents
    calls = [each.get("tool_call", each) for each in _ordered(held.get("tool_calls", {}))]
    return {**message, "tool_calls": calls} if calls else message


def _content(value: Any) -> Any:
    return value if isinstance(value, str | list) or value is None else str(value)


def _parsed(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(("[", "{")):
        return value
    try:
        return parse_json(value)
    except NotStrictJSON:
        return value
