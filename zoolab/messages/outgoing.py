"""What goes back to a model: the messages of a conversation in a form that every server takes.

    arguments          blank ones go as `{}`; broken ones as `{"_raw": "the text"}`, because servers that
                       parse the arguments of past calls refuse others
    an empty message   of the assistant is left out, because endpoints refuse it

`messages[]` keeps what the model wrote. What was changed on the way is in `Reply.changed`.
"""

from __future__ import annotations

from typing import Any

from zoolab.jsontext import encode, json_or, one_line
from zoolab.jsontext.readonly import read_only
from zoolab.messages import Message, Messages
from zoolab.messages.ends import says_something

#: Holds the text of arguments that are not a JSON object.
RAW = "_raw"


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
        f"messages[{index}]: the arguments of call {slot + 1} were sent as a JSON object,"
        f" which they are not: {one_line(made['function']['arguments'], 80)}"
        for slot, (call, made) in enumerate(zip(calls, sent, strict=True))
        if made is not call
    )
    return (read_only({**message, "tool_calls": sent}), changes) if changes else (message, ())


def _sendable_call(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(text := function.get("arguments"), str):
        return call
    sent = sendable_arguments(text)
    return call if sent == text else {**call, "function": {**function, "arguments": sent}}
