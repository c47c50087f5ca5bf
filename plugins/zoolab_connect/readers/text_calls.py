"""Calls and results that the turns of a dataset hold as text, as Hermes and ToolACE write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from zoolab.jsontext import encode
from zoolab.records import Message
from zoolab.textcalls import before_calls, find_calls, notes
from zoolab.textcalls.around import words_after
from zoolab_connect.readers.found import Unread
from zoolab_connect.readers.messages import call
from zoolab_connect.readers.offered import parsed

_RESULT = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)


def calling(text: str, number: int, sure: bool, place: str, unread: Unread) -> Message:
    """Make a message of the model from a text, with the calls in it.

    If it is not `sure` that the text belongs to a conversation with tools, calls are read only from a text
    that says nothing else.

    >>> calling("[now()]", 1, False, "turn", Unread())["tool_calls"][0]["function"]
    {'name': 'now', 'arguments': '{}'}
    >>> calling("Call [now()] first.", 1, False, "turn", Unread())
    {'role': 'assistant', 'content': 'Call [now()] first.'}
    """
    found = find_calls(text)
    before = before_calls(text, found)
    after = words_after(text, found) if found else ""
    if not sure and (before or after):
        return {"role": "assistant", "content": text}
    if after:
        unread.add(place, f"the text after its calls is left out: {after}")
    elif sure or found:
        for note in notes(text):
            unread.add(place, note)
    calls = [call(f"call_{number}_{at}", each.name, each.arguments) for at, each in enumerate(found)]
    return {"role": "assistant", "content": before, **({"tool_calls": calls} if calls else {})}


def results_of(text: str, open_calls: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Make the results of tools from a text: several, if it holds several.

    `open_calls` have no result yet; a result belongs to the first of them that has its name.
    """
    waiting = list(open_calls)
    found: list[Message] = []
    for name, content in _apart(text):
        named = (each for each in waiting if each["function"]["name"] == name)
        own = next(named, next(iter(waiting), None))
        if own is not None:
            waiting.remove(own)
        found.append({"role": "tool", "tool_call_id": own["id"] if own else "", "content": content})
    return found


def _apart(text: str) -> list[tuple[str, str]]:
    """Return each result in a text, with the name of its tool if it says so."""
    told = [each.strip() for each in _RESULT.findall(text)] if not _RESULT.sub("", text).strip() else []
    if told:
        return [(_name(parsed(each)), each) for each in told]
    listed = parsed(text)
    if isinstance(listed, list) and len(listed) > 1 and all(map(_name, listed)):
        return [(_name(each), encode(each)) for each in listed]
    return [(_name(listed), text)]


def _name(value: Any) -> str:
    name = value.get("name") if isinstance(value, Mapping) else None
    return name if isinstance(name, str) else ""
