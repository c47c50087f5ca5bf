"""Calls without the marks of any family: on lines of their own, or side by side."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from zoolab.textcalls.calls import Reader, TextCall, broken_calls, call_with_arguments
from zoolab.textcalls.objects import JSONObject, Objects

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
