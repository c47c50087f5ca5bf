"""Calls that a model wrote into its text, in the formats of the model families.

objects.py    the JSON objects inside a text, found in linear time
calls.py      the call that an object stands for; calls with arguments that are not JSON
plain.py      calls as JSON on lines of their own, or side by side
around.py     what stands around the calls
thoughts.py   what of a text is only thought
families.toml the tags, the heads and the marks of each family

Families that write calls in another way are registered in the group `zoolab.textcalls`, a file for each kind
of format; `zoolab_connect.textcalls` lists those that come with zoolab.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from zoolab.jsontext import MAX_CHARS, excerpt
from zoolab.textcalls.around import before_calls, words_after
from zoolab.textcalls.calls import FAMILIES, MARKS, TextCall, broken_calls
from zoolab.textcalls.objects import Objects
from zoolab.textcalls.plain import plain_calls, read_plain
from zoolab.textcalls.thoughts import spoken

__all__ = ["TextCall", "before_calls", "find_calls", "notes", "notes_on_thought", "readings", "spoken"]

_Read = Callable[[str, Mapping[str, Any]], list[TextCall]]
_NO_SCHEMAS: Mapping[str, Any] = MappingProxyType({})


def find_calls(text: str, schemas: Mapping[str, Any] = _NO_SCHEMAS) -> list[TextCall]:
    """Return the calls in a text, whatever family wrote it and whatever tools exist; none is an empty list.

    The call that begins first decides the format, so that a call that is quoted in the arguments of
    another is none. `schemas` holds the parameters of the tools by name: where a family writes no
    quotes, they tell whether `5123` is a string. After 2 ** 20 characters nothing is read.

    >>> find_calls('Sure! {"name": "add", "arguments": {"a": 1}}')[0].arguments
    '{"a": 1}'
    >>> [call.name for call in find_calls("[get_weather(city='Oslo'), get_time()]")]
    ['get_weather', 'get_time']
    >>> find_calls('<think>{"name": "add", "arguments": {}}?</think> No.')
    []
    """
    begin, end = spoken(text)
    calls = _calls_in(text[begin : min(end, begin + MAX_CHARS)], schemas)
    return [replace(call, at=call.at + begin, end=call.end + begin) for call in calls] if begin else calls


def _calls_in(said: str, schemas: Mapping[str, Any] = _NO_SCHEMAS) -> list[TextCall]:
    said = MARKS["to_user"].sub(lambda words: " " * len(words.group()), said)
    found = [calls for calls in readings(said, schemas) if calls]
    return min(found, key=lambda calls: calls[0].at) if found else broken_calls(said)[:1]


def readings(text: str, schemas: Mapping[str, Any] = _NO_SCHEMAS) -> list[list[TextCall]]:
    """Return the calls that each format finds in a text, in order.

    >>> [calls for calls in readings("[add(a=1)]") if calls]
    [[TextCall(name='add', arguments='{"a":1}', wanted=None, at=0, end=10)]]
    """
    return [*(read(text, schemas) for read in _registered()), read_plain(text)]


@cache
def _registered() -> tuple[_Read, ...]:
    """Return what reads the calls of further families."""
    from zoolab.plugins import TEXTCALLS  # most texts are searched only for what is thought

    def reading(name: str, read: _Read) -> _Read:
        if TEXTCALLS.is_own(name):
            return read
        return lambda text, schemas: TEXTCALLS.attempt(name, _listed, read, text, schemas) or []

    return tuple(reading(name, read) for name, read in TEXTCALLS.everything())


def _listed(read: _Read, text: str, schemas: Mapping[str, Any]) -> list[TextCall]:
    return [replace(call) for call in read(text, schemas)]  # what is no `TextCall` cannot be replaced


def notes(text: str) -> tuple[str, ...]:
    """Return what somebody should know who wonders why a text gave these calls, or none.

    A text with the begin of a call, in whatever family, gives a call or a note.

    >>> notes('{"tool": "add", "arguments": {"a": 1}}')
    ('the text looks like a call as an object with "tool" and "arguments", which zoolab does not run',)
    >>> notes('I call {"name": "f", "arguments": {}} and then {"name": "g", "arguments": {}}.')
    ('only the first call is read: in prose there is also g; calls on lines of their own are all read',)
    """
    begin, end = spoken(text)
    last = begin + MAX_CHARS
    calls = find_calls(text)
    made = [_note_on_calls(text, calls) if calls else _note_on_none(text[begin : min(end, last)])]
    if end > last:
        made.append(f"nothing is read after {MAX_CHARS:,} characters")
    return (*filter(None, made), *notes_on_thought(f"{text[:begin]}\n{text[end:]}"))


def notes_on_thought(thought: str) -> tuple[str, ...]:
    """Return a note if what would be a call is only thought.

    >>> notes_on_thought('I could call {"name": "f", "arguments": {}}.')
    ('a thought holds a call of f, which does not run',)
    """
    calls = _calls_in(thought[:MAX_CHARS])
    if calls:
        return (f"a thought holds a call of {excerpt(calls[0].name)[1:-1]}, which does not run",)
    mark = MARKS["begin"].search(thought)
    return (f"a thought holds the begin of a call ({mark.group()}), which does not run",) if mark else ()


def _note_on_calls(text: str, calls: list[TextCall]) -> str:
    begin, end = spoken(text)
    said = text[begin : min(end, begin + MAX_CHARS)]
    alone, in_prose = plain_calls(said)
    unread = [call.name for run in in_prose[not alone :] for call in run]
    if unread and read_plain(said)[0].name == calls[0].name:
        first = "calls on lines of their own are" if alone else "only the first call is"
        also = ", ".join(unread)
        return f"{first} read: in prose there is also {also}; calls on lines of their own are all read"
    if mark := MARKS["begin"].search(text, calls[-1].end, end):
        return f"after the calls there is the begin of one more ({mark.group()}), which is not read"
    after = words_after(text, calls)
    return f'after the first call there is also text, which calls="auto" leaves out: {after}' if after else ""


def _note_on_none(said: str) -> str:
    near = _near_call(said)
    return f"the text looks like {near}, which zoolab does not run" if near else ""


def _is_named(value: Any) -> bool:
    """Return whether a member names a tool, itself or in an object of its own."""
    return isinstance(value.get("name") if isinstance(value, dict) else value, str)


def _near_call(text: str) -> str:
    """Return what kind of call a text without one looks like; empty if it looks like none."""
    if MARKS["react"].search(text):
        return "a call in the ReAct form (Action:)"
    for found in Objects(text).every():
        name = next((key for key in FAMILIES["names"] if _is_named(found.value(key))), None)
        given = next((key for key in FAMILIES["arguments"] if key in found.members), None)
        value = found.value(given) if given else None
        is_schema = isinstance(value, dict) and value.keys() >= {"type", "properties"}
        if name and given and found.value(name) and not is_schema:
            return f'a call as an object with "{name}" and "{given}"'
    mark = MARKS["begin"].search(text)
    return f"the begin of a call ({mark.group()}) without one behind it" if mark else ""
