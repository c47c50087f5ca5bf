"""Reads bodies that other programs wrote: a request or a response.

A response is read with `answered`, the body of a request with `sent`. Only the errors that they raise differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from zoolab.errors import InvalidInput, ModelError, ZoolabError
from zoolab.jsontext import MAX_DEPTH, encode, excerpt
from zoolab.records import Message
from zoolab.wire.chat import RAW, fresh_ids

_LONGEST_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Reading:
    """Checks the type of each part of a body, or raises an error that shows the whole body."""

    whole: Any
    opening: str
    error: type[ZoolabError]

    def junk(self, expected: str) -> ZoolabError:
        """The error for a part that is not what was expected."""
        return self.error(f"{self.opening} {excerpt(self.whole, _LONGEST_SHOWN)}", expected=expected)

    def object(self, value: Any, expected: str) -> dict[str, Any]:
        """`value` as a dict."""
        if not isinstance(value, dict):
            raise self.junk(expected)
        return value

    def items(self, value: Any, expected: str) -> list[Any]:
        """`value` as a list; None is an empty one."""
        if value is not None and not isinstance(value, list):
            raise self.junk(expected)
        return value or []

    def objects(self, value: Any, expected: str) -> list[dict[str, Any]]:
        """`value` as a list of dicts; None is an empty one."""
        return [self.object(item, expected) for item in self.items(value, expected)]

    def text(self, value: Any, expected: str = "text") -> str:
        """`value` as text."""
        if not isinstance(value, str):
            raise self.junk(expected)
        return value

    def json(self, value: Any) -> str:
        """`value` as JSON text."""
        try:
            return encode(value)
        except (TypeError, ValueError, RecursionError):
            raise self.error(
                "a part of the body is not JSON", expected=f"at most {MAX_DEPTH} levels"
            ) from None

    def call(self, id: Any, name: Any, arguments: Any) -> dict[str, Any]:
        """A call in OpenAI's form: arguments as text, and no id where none came.

        Arguments under `_raw` become the text that they were.
        """
        own = {"id": id} if isinstance(id, str) and id else {}
        if isinstance(arguments, dict) and arguments.keys() == {RAW} and isinstance(arguments[RAW], str):
            arguments = arguments[RAW]
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else self.json(arguments)
        function = {"name": name if isinstance(name, str) else "", "arguments": arguments}
        return {**own, "type": "function", "function": function}


def answered(body: Any) -> Reading:
    """Reads a response; raises `ModelError` if it is not one."""
    return Reading(body, "the endpoint answered", ModelError)


def sent(body: Any) -> Reading:
    """Reads the body of a request; raises `InvalidInput` if it is not one."""
    return Reading(body, "the body is", InvalidInput)


def reply_message(text: str | None, calls: list[dict[str, Any]]) -> Message:
    """An assistant message in OpenAI's form; empty text is None, and no calls are no `tool_calls`."""
    return {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}


def paired_by_place(messages: list[Message], reading: Reading) -> list[Message]:
    """Gives ids to calls and results that came without: a result answers the first open call of its tool.

    A result that says whose it is has that as its `tool_name`, which is taken out.
    """
    fresh, made = fresh_ids(messages), []
    waiting: list[dict[str, Any]] = []
    for message in messages:
        if "tool_calls" in message:
            waiting = [
                call if "id" in call else {"id": next(fresh), **call} for call in message["tool_calls"]
            ]
            message = {**message, "tool_calls": list(waiting)}
        elif message["role"] == "tool":
            call = _answered(message, waiting, reading)
            others = {key: value for key, value in message.items() if key != "tool_name"}
            message = {**others, "tool_call_id": call["id"]}
            waiting = [other for other in waiting if other is not call]
        made.append(message)
    return made


def joined_texts(items: Iterable[Message | str], role: str) -> list[Message]:
    """The messages of a turn: the texts between two results are one message of this role."""
    made: list[Message] = []
    for is_text, group in groupby(items, lambda item: isinstance(item, str)):
        together: list[Any] = list(group)
        made += [{"role": role, "content": "".join(together)}] if is_text else together
    return made


def _answered(message: Message, waiting: list[dict[str, Any]], reading: Reading) -> dict[str, Any]:
    id, name = message["tool_call_id"], message.get("tool_name")
    if id is not None:
        return next((call for call in waiting if call["id"] == id), {"id": id})
    named = [call for call in waiting if not name or call["function"]["name"] == name]
    if not named:
        raise reading.junk("each result after its call")
    return named[0]
