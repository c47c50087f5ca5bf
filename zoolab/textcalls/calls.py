"""JSON objects in a text, found in linear time, and the plain calls among them: those with
`name` and `arguments` on lines of their own, or the first one anywhere.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from string import Template
from typing import Any

from zoolab.files import read_table
from zoolab.jsontext import MAX_CHARS

#: How each family of models writes calls.
FAMILIES = read_table("zoolab.textcalls", "families.toml")
#: The marks in a text, by name.
MARKS = {
    name: re.compile(Template("".join(parts)).safe_substitute(FAMILIES))
    for name, parts in FAMILIES["marks"].items()
}

#: Each member's value, and the text that it was read from.
Members = dict[str, tuple[Any, str]]

_ALLOWANCE = 4 * MAX_CHARS
_DECODER = json.JSONDecoder()
#: An object with members: no other is a call. Each `{` that is passed over here costs next to nothing.
_OBJECT = re.compile(r'\{(?=[ \t\r\n]*+"(?:[^"\\]|\\.){0,128}+"[ \t\r\n]*+:)', re.DOTALL)
#: What an attempt costs beside the characters that it reads.
_ATTEMPT = 64
_WINDOW = 4096
_LONGEST_TOKEN = 16
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class JSONObject:
    """An object, and where it stands in its text."""

    members: Members
    start: int
    end: int

    def value(self, key: str) -> Any:
        """Return the value of a member; None if there is none."""
        return self.members.get(key, (None, ""))[0]

    def raw(self, key: str) -> str:
        """Return the text of a member: what is in the string if it is one, else its JSON as written."""
        value, written = self.members[key]
        return value if isinstance(value, str) else written


class Objects:
    """Reads the objects of a text; after too much work it finds no more."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._left = _ALLOWANCE

    def every(self) -> Iterator[JSONObject]:
        """Yield the objects as they begin, those inside of others included."""
        for opening in _OBJECT.finditer(self.text):
            if (found := self.at(opening.start())) is not None:
                yield found
            if self._left < 0:
                return

    def at(self, start: int) -> JSONObject | None:
        """Return the object that begins at `start`; None if there is none, or it is broken."""
        if self._left < 0 or self.text[start : start + 1] != "{":
            return None
        members, end, cost = _object_at(self.text, start)
        self._left -= cost + _ATTEMPT
        return None if members is None else JSONObject(members, start, end)


def _object_at(text: str, start: int) -> tuple[Members | None, int, int]:
    """Return the members of the object that begins at `start`, its end, and what it cost to read.

    None if it is broken. It is read in a window, since a JSONDecodeError counts the lines of all that
    comes before it.
    """
    cost, size = 0, _WINDOW
    while True:
        window = text[start : start + size]
        try:
            members, end = _members(window)
            return members, start + end, cost + end
        except json.JSONDecodeError as error:
            in_the_middle = error.pos < len(window) - _LONGEST_TOKEN and "Unterminated" not in error.msg
            if in_the_middle or start + size >= len(text):
                return None, start, cost + error.pos
        except (ValueError, RecursionError):
            return None, start, cost + len(text)
        cost += size
        size *= 16


def _members(text: str) -> tuple[Members, int]:
    members: Members = {}
    at = _past(text, 1)
    if text[at : at + 1] == "}":
        return members, at + 1
    while True:
        key, at = _DECODER.raw_decode(text, at)
        start = _past(text, at, ":")
        value, at = _DECODER.raw_decode(text, start)
        members[str(key)] = value, text[start:at]
        at = _past(text, at)
        if text[at : at + 1] == "}":
            return members, at + 1
        at = _past(text, at, ",")


def _past(text: str, at: int, mark: str = "") -> int:
    found = _SPACE.match(text, at)
    at = found.end() if found else at
    if not mark:
        return at
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"expected {mark}", text, at)
    return _past(text, at + 1)


@dataclass(frozen=True, slots=True)
class TextCall:
    """One call in a text. `arguments` is what the model wrote, or JSON where its family writes no JSON."""

    name: str
    arguments: str
    #: The id that the model gave it.
    wanted: str | None = None
    #: Where in the text it begins, and where it ends.
    at: int = 0
    end: int = 0


Reader = Callable[[JSONObject], TextCall | None]


def call_in(found: JSONObject, name: Any, arguments: str, wanted: Any) -> TextCall | None:
    """Return the call that an object stands for; None if the name is none."""
    if not isinstance(name, str):
        return None
    return TextCall(name, arguments, wanted if isinstance(wanted, str) else None, found.start, found.end)


def call_with_arguments(found: JSONObject) -> TextCall | None:
    """Return the call in an object with `name` and `arguments`, these as they were written."""
    if "arguments" not in found.members:
        return None
    return call_in(found, found.value("name"), found.raw("arguments"), found.value("id"))


_BROKEN_CALL = re.compile(r'\{\s*"name"\s*:\s*"(?P<name>[^"\\]{1,64})"\s*,\s*"arguments"\s*:\s*(?=\{)')
_AFTER = re.compile(r"```|</")


def broken_calls(text: str, whole: Sequence[tuple[int, int]] = ()) -> list[TextCall]:
    """Return the objects that begin as a call does and are not in a span of those that are whole.

    The arguments end at a fence, at a tag, at the next call on a line of its own, or with the text.
    """
    starts = [start for start, _ in whole]
    stops = list(starts)
    heads: list[re.Match[str]] = []
    for head in _BROKEN_CALL.finditer(text):
        before = bisect_right(starts, head.start()) - 1
        if before < 0 or head.start() >= whole[before][1]:
            heads.append(head)
            if text[max(0, head.start() - 1) : head.start()] in ("", "\n"):
                stops.append(head.start())
    stops.sort()
    calls: list[TextCall] = []
    end = 0
    for head in heads:
        if head.start() >= end:
            at = bisect_right(stops, head.start())
            limit = stops[at] if at < len(stops) else len(text)
            mark = _AFTER.search(text, head.end(), limit)
            end = mark.start() if mark else limit
            arguments = without_closers(text[head.end() : end], 1)
            calls.append(TextCall(head["name"], arguments, None, head.start(), end))
    return calls


def without_closers(arguments: str, most: int) -> str:
    """Return arguments without at most so many braces at the end that close nothing in them."""
    arguments = arguments.rstrip("` \t\r\n")
    for _ in range(most):
        if arguments.endswith("}") and arguments.count("}") > arguments.count("{"):
            arguments = arguments[:-1].rstrip() or arguments
    return arguments


_NEAR = 256
#: What may stand between the beginning of a line and a call, or between two calls.
_MARKS = re.compile(r"(?:\[TOOL_CALLS\]|[\s,;\[]|```\w{0,16}|<[^<>\n]{1,64}>)*+")
_SENTENCE = re.compile(r"(?:[.:!?*>)]|\[TOOL_CALLS\]|```\w{0,16}|(?:\n|\A)[ \t]*+[-+])\Z")
_ENDS_LINE = re.compile(r"[ \t;.,}\])]*+(?:$|<|```)", re.MULTILINE)


@dataclass(slots=True)
class CallGroup:
    """Calls side by side."""

    calls: list[TextCall]
    start: int
    end: int

    def is_alone(self, text: str, before: re.Pattern[str]) -> bool:
        """Return whether the calls stand on lines of their own."""
        return _begins(text, self.start, before) and _ENDS_LINE.match(text, self.end) is not None


def read_plain(text: str) -> list[TextCall]:
    """Return all objects with a `name` and `arguments` that stand on lines or in fences of their own.

    If there are none, the first such object in the prose. An object that holds calls, such as
    `{"tool_calls": [...]}`, gives all of them.
    """
    alone, in_prose = plain_calls(text)
    return alone or (in_prose[0] if in_prose else [])


def plain_calls(text: str) -> tuple[list[TextCall], list[list[TextCall]]]:
    """Return the calls on lines of their own; and those in the middle of prose, side by side in one list."""
    if '"arguments"' not in text:
        return [], []
    runs, spans = runs_in(text, call_with_arguments)
    alone: list[TextCall] = []
    in_prose: list[list[TextCall]] = []
    for run in runs:
        if run.is_alone(text, _SENTENCE):
            alone += run.calls
        else:
            in_prose.append(run.calls)
    alone += [call for call in broken_calls(text, spans) if _begins(text, call.at, _SENTENCE)]
    return sorted(alone, key=lambda call: call.at), in_prose


def runs_in(text: str, read: Reader, inside: bool = True) -> tuple[list[CallGroup], list[tuple[int, int]]]:
    """Return the calls in a text, also those `inside` of other objects, and the span of each."""
    runs: list[CallGroup] = []
    spans: list[tuple[int, int]] = []
    outer: JSONObject | None = None
    end = 0
    for found in Objects(text).every():
        is_outer = outer is None or found.start >= outer.end
        outer = found if outer is None or is_outer else outer
        call = read(found) if (is_outer or inside) and found.start >= end else None
        if call is None or not call.name:
            continue
        end = found.end
        spans.append((found.start, found.end))
        call = replace(call, at=outer.start, end=outer.end)
        last = runs[-1] if runs else None
        is_near = last is not None and outer.start - last.end <= _NEAR
        if last and (
            last.start == outer.start or (is_near and _MARKS.fullmatch(text, last.end, outer.start))
        ):
            last.calls.append(call)
            last.end = outer.end
        else:
            runs.append(CallGroup([call], outer.start, outer.end))
    return runs, spans


def _begins(text: str, start: int, before_it: re.Pattern[str]) -> bool:
    """Return whether a line begins here, or what may come before a call in its line ends here."""
    near = max(0, start - _NEAR)
    before = text[max(near, text.rfind("\n", near, start)) : start]
    return _MARKS.fullmatch(before) is not None or before_it.search(before.rstrip(" \t,;[")) is not None
