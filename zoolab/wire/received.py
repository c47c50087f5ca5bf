"""What the formats have in common in what comes back: writing a reply in OpenAI's form."""

from __future__ import annotations

from typing import Any

from zoolab.errors import ModelError
from zoolab.jsontext import encode, excerpt
from zoolab.records import Message

_LONGEST_ANSWER = 300


def reply_message(text: str | None, calls: list[dict[str, Any]]) -> Message:
    """An assistant message in OpenAI's form; `tool_calls` is left out where there are none.

    >>> reply_message("Hi", [])
    {'role': 'assistant', 'content': 'Hi'}
    """
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def reply_call(id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """A call in OpenAI's form: arguments as JSON text, and no id where none came.

    >>> reply_call(None, "add", {"a": 1})
    {'type': 'function', 'function': {'name': 'add', 'arguments': '{"a":1}'}}
    """
    own = {"id": id} if isinstance(id, str) else {}
    function = {"name": name if isinstance(name, str) else "", "arguments": _as_text(arguments)}
    return {**own, "type": "function", "function": function}


def dict_in(value: Any, body: Any, expected: str) -> dict[str, Any]:
    """`value` as a dict, or `ModelError` that shows the whole body.

    >>> dict_in(None, {"error": "overloaded"}, "a message")
    Traceback (most recent call last):
    zoolab.errors.ModelError: the endpoint answered {"error":"overloaded"}; expected a message
    """
    if not isinstance(value, dict):
        raise junk(body, expected)
    return value


def list_in(value: Any, body: Any, expected: str) -> list[Any]:
    """`value` as a list, None as an empty one, or `ModelError` that shows the whole body.

    >>> list_in(None, {}, "parts")
    []
    """
    if value is not None and not isinstance(value, list):
        raise junk(body, expected)
    return value or []


def text_in(value: Any, body: Any) -> str:
    """`value` as text, or `ModelError` that shows the whole body.

    >>> text_in("Hi", {})
    'Hi'
    """
    if not isinstance(value, str):
        raise junk(body, "text")
    return value


def junk(body: Any, expected: str) -> ModelError:
    """The error for a response that is none.

    >>> print(junk([], "a message"))
    the endpoint answered []; expected a message
    """
    try:
        shown = excerpt(body, _LONGEST_ANSWER)
    except RecursionError:
        shown = "something nested too deeply"
    return ModelError(f"the endpoint answered {shown}", expected=expected)


def _as_text(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    try:
        return "" if arguments is None else encode(arguments)
    except (TypeError, ValueError, RecursionError):
        raise ModelError("the arguments of a call are no JSON", expected="an object") from None
