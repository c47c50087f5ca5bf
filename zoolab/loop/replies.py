"""Whether what a model returned is a reply, with fields of the types that they are declared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zoolab.errors import ModelError
from zoolab.jsontext import excerpt
from zoolab.jsontext.values import any_json, as_text, is_strict
from zoolab.records import Fault, Reply

_TEXT = (str, type(None))
_DICT = (dict, type(None))


def check_reply(reply: object) -> Reply:
    """The reply of a model in JSON's types, or `ModelError` if it is not a reply.

    A `finish_reason` or `model` that is not text becomes the text of its JSON; what is not JSON in the
    message gets the form that `zoolab.jsontext.values` documents; a field of another type is left out.

    >>> check_reply("100")
    Traceback (most recent call last):
    zoolab.errors.ModelError: the model returned str; expected a Reply; ...
    """
    if (
        isinstance(reply, Reply)
        and isinstance(reply.message, dict)
        and reply.message.get("role") == "assistant"
    ):
        return well_formed(reply)
    if not isinstance(reply, Reply):
        raise ModelError(
            f"the model returned {type(reply).__name__}",
            expected="a Reply",
            advice="wrap a function that returns text or calls in Scripted(function)",
        )
    raise ModelError(f"the model replied {excerpt(reply.message)}", expected="an assistant message")


def well_formed(reply: Reply) -> Reply:
    """The reply with fields of the types that they are declared with.

    >>> well_formed(Reply({"role": "assistant", "logprob": float("-inf")}, finish_reason=5))
    Reply(message={'role': 'assistant', 'logprob': '-Infinity'}, finish_reason='5', ...)
    """
    if _is_well_formed(reply):
        return reply
    changed: dict[str, Any] = {}
    if not is_strict(reply.message):
        changed["message"] = any_json(reply.message)
    for name in ("finish_reason", "model"):
        value = getattr(reply, name)
        if value is not None and type(value) is not str:
            changed[name] = as_text(value)
    for name in ("usage", "raw", "sent"):
        value = getattr(reply, name)
        if value is not None and not isinstance(value, dict):
            changed[name] = any_json(value) if isinstance(value, Mapping) else None
    for name, kind in (("pieces", dict), ("faults", Fault)):
        value = getattr(reply, name)
        if not _is_tuple_of(kind, value):
            items = value if isinstance(value, list | tuple) else ()
            changed[name] = tuple(item for item in items if isinstance(item, kind))
    return replace(reply, **changed)


def _is_well_formed(reply: Reply) -> bool:
    return (
        is_strict(reply.message)
        and type(reply.finish_reason) in _TEXT
        and type(reply.model) in _TEXT
        and isinstance(reply.usage, _DICT)
        and isinstance(reply.raw, _DICT)
        and isinstance(reply.sent, _DICT)
        and _is_tuple_of(dict, reply.pieces)
        and _is_tuple_of(Fault, reply.faults)
    )


def _is_tuple_of(kind: type, items: object) -> bool:
    return type(items) is tuple and (not items or all(isinstance(item, kind) for item in items))
