"""A call as it was found in a text, and the two ways of families to write one as a JSON object."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zoolab.textcalls.objects import JSONObject, Objects

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

_MAY_STAND_BESIDE_NAME = {"type", "id", "name"}
_MAY_STAND_BESIDE_PARAMETERS = _MAY_STAND_BESIDE_NAME | {"parameters", "tool_name", "tool_call_id"}


@dataclass(frozen=True, slots=True)
class TextCall:
    """One call in a text. `arguments` is what the model wrote, or JSON where its family writes no JSON."""

    name: str
    arguments: str
    #: The id that the model gave it.
    wanted: str | None = None
    #: Where in the text it begins.
    at: int = 0


Reader = Callable[[JSONObject], TextCall | None]


def with_arguments(found: JSONObject) -> TextCall | None:
    """The call in an object with `name` and `arguments`.

    >>> from zoolab.textcalls.objects import Objects
    >>> with_arguments(Objects('{"name": "add", "arguments": {"a":  1}}').at(0)).arguments
    '{"a":  1}'
    """
    name, wanted = found.value("name"), found.value("id")
    if not isinstance(name, str) or "arguments" not in found.members:
        return None
    return TextCall(name, found.raw("arguments"), wanted if isinstance(wanted, str) else None, found.start)


def with_parameters(found: JSONObject) -> TextCall | None:
    """The call in an object with `name` and `parameters`, as Llama and Cohere write it.

    Tool descriptions and much other data have a name and parameters too, so nothing else may stand
    beside them, and a schema is none.

    >>> from zoolab.textcalls.objects import Objects
    >>> with_parameters(Objects('{"name": "add", "parameters": {"a": 1}}').at(0)).name
    'add'
    >>> with_parameters(Objects('{"name": "add", "parameters": {"type": "object", "properties": {}}}').at(0))
    """
    name = found.value("name") or found.value("tool_name")
    wanted = found.value("id") or found.value("tool_call_id")
    given = found.value("parameters")
    if not isinstance(name, str) or not name or not isinstance(given, dict):
        return None
    if not found.members.keys() <= _MAY_STAND_BESIDE_PARAMETERS or {"type", "properties"} <= given.keys():
        return None
    return TextCall(name, found.raw("parameters"), wanted if isinstance(wanted, str) else None, found.start)


def in_tag(found: JSONObject) -> TextCall | None:
    """The call in an object of which a tag says that it is one: it may name a tool and nothing else.

    >>> from zoolab.textcalls.objects import Objects
    >>> in_tag(Objects('{"name": "now"}').at(0))
    TextCall(name='now', arguments='', wanted=None, at=0)
    """
    return with_arguments(found) or with_parameters(found) or _without_arguments(found)


def by_name(found: JSONObject) -> TextCall | None:
    """The call in an object whose only member is the name of a tool, with its arguments.

    >>> from zoolab.textcalls.objects import Objects
    >>> by_name(Objects('{"add": {"a": 1}}').at(0)).arguments
    '{"a": 1}'
    """
    if len(found.members) != 1:
        return None
    (name,) = found.members
    return TextCall(name, found.raw(name), None, found.start) if isinstance(found.value(name), dict) else None


def _without_arguments(found: JSONObject) -> TextCall | None:
    name, wanted = found.value("name"), found.value("id")
    if not isinstance(name, str) or not found.members.keys() <= _MAY_STAND_BESIDE_NAME:
        return None
    return TextCall(name, "", wanted if isinstance(wanted, str) else None, found.start)


def run_of(
    objects: Objects,
    first: JSONObject,
    read: Reader,
    separator: re.Pattern[str],
) -> tuple[list[TextCall], int]:
    """The calls from `first` on, as long as each comes right after a separator; and where they end.

    >>> import re; from zoolab.textcalls.objects import Objects
    >>> objects = Objects('{"name": "f", "arguments": {}};{"name": "g", "arguments": {}}; {"x": 1}')
    >>> calls, end = run_of(objects, objects.at(0), with_arguments, re.compile("; *"))
    >>> [call.name for call in calls], objects.text[end:]
    (['f', 'g'], '; {"x": 1}')
    """
    calls: list[TextCall] = []
    found: JSONObject | None = first
    end = first.start
    while found is not None and (call := read(found)) is not None:
        calls.append(call)
        end = found.end
        between = separator.match(objects.text, end)
        found = objects.at(between.end()) if between else None
    return calls, end


_BROKEN_CALL = re.compile(r'\{\s*"name"\s*:\s*"(?P<name>[^"\\]{1,64})"\s*,\s*"arguments"\s*:\s*(?=\{)')
_AFTER = re.compile(r"```|</")
_BROKEN_BLOCK = re.compile(
    r"""(?P<braces>\{\s*+\{?+)\s*+["']?+name["']?+\s*+:\s*+(?P<quote>["'])(?P<name>[\w.-]{1,128})(?P=quote)\s*+"""
    r"""(?:,\s*+["']?+(?:arguments|parameters)["']?+\s*+:\s*+(?P<arguments>[^\s`].*)|,?+\s*+\}[}\s`]*+\Z)""",
    re.DOTALL,
)


def broken_calls(text: str, whole: Sequence[tuple[int, int]] = ()) -> list[TextCall]:
    """The objects that begin as a call does and are not in a span of those that are whole.

    The arguments end at a fence, at a tag, at the next call on a line of its own, or with the text.

    >>> broken_calls('{"name": "add", "arguments": {"a": 1,}}')[0].arguments
    '{"a": 1,}'
    """
    heads = [head for head in _BROKEN_CALL.finditer(text) if not _within(head.start(), whole)]
    stops = sorted([start for start, _ in whole] + [head.start() for head in heads if _in_line(text, head)])
    calls: list[TextCall] = []
    end = 0
    for head in heads:
        if head.start() < end:
            continue
        at = bisect_right(stops, head.start())
        limit = stops[at] if at < len(stops) else len(text)
        mark = _AFTER.search(text, head.end(), limit)
        end = mark.start() if mark else limit
        calls.append(TextCall(head["name"], _without_closers(text[head.end() : end], 1), None, head.start()))
    return calls


def _within(start: int, spans: Sequence[tuple[int, int]]) -> bool:
    at = bisect_right(spans, (start, sys.maxsize)) - 1
    return at >= 0 and start < spans[at][1]


def _in_line(text: str, head: re.Match[str]) -> bool:
    return text[max(0, head.start() - 1) : head.start()] in ("", "\n")


def read_broken_block(block: str) -> list[TextCall]:
    """The call that is all of a block: quotes of Python, keys without any, doubled or missing braces.

    >>> read_broken_block("{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}")[0].arguments
    "{'city': 'Oslo'}"
    >>> read_broken_block('{"name": "add", "arguments": {"a": 1}')[0].arguments
    '{"a": 1}'
    """
    match = _BROKEN_BLOCK.match(block)
    if match is None:
        return []
    start = match.start("arguments")
    whole = Objects(block).at(start) if start >= 0 else None
    given = block[start : whole.end] if whole else match["arguments"] or ""
    return [TextCall(match["name"], _without_closers(given, match["braces"].count("{")))]


def _without_closers(arguments: str, most: int) -> str:
    """Without the braces at the end that close what is around the arguments."""
    arguments = arguments.rstrip("` \t\r\n")
    for _ in range(most):
        if arguments.endswith("}") and arguments.count("}") > arguments.count("{"):
            arguments = arguments[:-1].rstrip() or arguments
    return arguments
