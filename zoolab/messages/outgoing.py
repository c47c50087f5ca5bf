"""What goes back to a model: the messages of a conversation in a form that every server takes.

    arguments          blank ones go as `{}`; broken ones as `{"_raw": "the text"}`, because servers that
                       parse the arguments of past calls refuse others
    a call's name      without the characters that no tool's name has; a blank one goes as `unnamed`
    an empty message   of the assistant is left out, because endpoints refuse it

`messages[]` keeps what the model wrote. What was changed on the way is in `Reply.changed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from zoolab.jsontext import encode, json_or, one_line
from zoolab.jsontext.readonly import read_only
from zoolab.messages import Message, Messages
from zoolab.messages.ends import says_something

#: Holds the text of arguments that are not a JSON object.
RAW = "_raw"
_NOT_IN_A_NAME = re.compile(r"[^\w.:/-]", re.ASCII)


def outgoing(messages: Messages) -> tuple[list[Message], tuple[str, ...]]:
    """Return the messages as they are sent, and a line for each change; each message is looked at once.

    >>> outgoing(Messages([{"role": "assistant", "content": None}, {"role": "user", "content": "Hi"}]))
    ([{'role': 'user', 'content': 'Hi'}], ('messages[0] was not sent, because it is empty',))
    """
    return messages.changed(sendable)


def sendable_arguments(text: str) -> str:
    """Return the arguments of a call in a form that parses as a JSON object.

    >>> sendable_arguments(""), sendable_arguments("{'a': 1}"), sendable_arguments('{"a": 1.0}')
    ('{}', '{"_raw":"{\\'a\\': 1}"}', '{"a": 1.0}')
    """
    if isinstance(json_or(None, text), dict):
        return text
    return encode({RAW: text}) if text.strip() else "{}"


def sendable_name(name: str) -> str:
    """Return the name of a call in a form that servers take.

    >>> sendable_name("get_weather"), sendable_name(" get weather"), sendable_name("")
    ('get_weather', 'get_weather', 'unnamed')
    """
    return _NOT_IN_A_NAME.sub("_", name.strip()) or "unnamed"


def sendable(index: int, message: Message) -> tuple[Message | None, tuple[str, ...]]:
    """Return a message as it is sent, or None if it is left out, and a line for each change."""
    if message.get("role") != "assistant":
        return message, ()
    if not says_something(message):
        return None, (f"messages[{index}] was not sent, because it is empty",)
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message, ()
    sent = [_sendable_call(call) for call in calls]
    changes = tuple(
        f"messages[{index}]: {told}"
        for slot, (call, made) in enumerate(zip(calls, sent, strict=True), 1)
        if made is not call
        for told in _changes(slot, call["function"], made["function"])
    )
    return (read_only({**message, "tool_calls": sent}), changes) if changes else (message, ())


def _sendable_call(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return call
    name = function.get("name")
    text = function.get("arguments")
    sent = dict(function)
    if isinstance(name, str):
        sent["name"] = sendable_name(name)
    if isinstance(text, str):
        sent["arguments"] = sendable_arguments(text)
    return call if sent == function else {**call, "function": sent}


def _changes(slot: int, before: Message, sent: Message) -> Iterator[str]:
    if before.get("name") != sent.get("name"):
        yield f"the name of call {slot} was sent as {sent['name']!r}, because servers refuse others"
    if before.get("arguments") != sent.get("arguments"):
        text = one_line(sent["arguments"], 80)
        yield f"the arguments of call {slot} were sent as a JSON object, which they are not: {text}"
