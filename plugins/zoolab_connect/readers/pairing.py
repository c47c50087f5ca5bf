"""Calls and the results that answer them, where a file has no ids for them, or has one id twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from zoolab.records import Message
from zoolab_connect.readers.found import Unread


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call that has no result yet: the id in the file, the id in the trace, and its name."""

    told: str
    id: str
    name: str


def paired(messages: Sequence[Message], unread: Unread) -> list[Message]:
    """Return the messages with an id for each call, and with the id of its call in each result.

    Calls that have ids of their own keep them. Else a result belongs to the first call without a result that
    has its id, then its name, and then to the first one.

    >>> calls = [{"id": "", "function": {"name": name, "arguments": "{}"}} for name in ("f", "g")]
    >>> result = {"role": "tool", "tool_call_id": "", "name": "g", "content": "7"}
    >>> _, told = paired([{"role": "assistant", "tool_calls": calls}, result], Unread())
    >>> told
    {'role': 'tool', 'tool_call_id': 'call00002', 'content': '7'}
    """
    number = 0
    asked: list[_Asked] = []
    made: list[Message] = []
    for place, message in enumerate(messages):
        calls = message.get("tool_calls")
        if message.get("role") == "tool":
            made.append(_answered(message, asked))
        elif isinstance(calls, list) and all(isinstance(each, dict) for each in calls):
            asked = [*_asked(calls, number)]
            number += len(calls)
            if any(each.told != each.id for each in asked):
                unread.add(f"messages[{place}]", "its calls have no ids of their own; zoolab numbered them")
            named = [{**each, "id": known.id} for each, known in zip(calls, asked, strict=True)]
            made.append({**message, "tool_calls": named})
        else:
            made.append(message)
    return made


def _asked(calls: Sequence[dict[str, Any]], number: int) -> Iterator[_Asked]:
    ids = [each.get("id") for each in calls]
    for at, (call, told) in enumerate(zip(calls, ids, strict=True), 1):
        function = call.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        known = isinstance(told, str) and told and told not in ids[: at - 1]
        own = str(told) if known else f"call{number + at:05}"
        yield _Asked(told if isinstance(told, str) else "", own, str(name))


def _answered(message: Message, asked: list[_Asked]) -> Message:
    """Return the result with the id of its call; that call waits for none any more."""
    told = message.get("tool_call_id")
    name = message.get("name")
    plain = {key: value for key, value in message.items() if key != "name"}
    found = next((each for each in asked if told and each.told == told), None)
    if found is None and not told:
        found = next((each for each in asked if each.name == name), next(iter(asked), None))
    if found is None:
        return plain
    asked.remove(found)
    return {**plain, "tool_call_id": found.id}
