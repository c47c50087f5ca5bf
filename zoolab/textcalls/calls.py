"""A call as it was found in a text, and the ways of families to write one as a JSON object."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from zoolab.textcalls.objects import JSONObject, Objects

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


def _call(found: JSONObject, name: Any, arguments: str, wanted: Any) -> TextCall | None:
    if not isinstance(name, str):
        return None
    return TextCall(name, arguments, wanted if isinstance(wanted, str) else None, found.start)


def with_arguments(found: JSONObject) -> TextCall | None:
    """The call in an object with `name` and `arguments`, these as they were written."""
    if "arguments" not in found.members:
        return None
    return _call(found, found.value("name"), found.raw("arguments"), found.value("id"))


def with_parameters(found: JSONObject) -> TextCall | None:
    """The call in an object with `name` and `parameters`, as Llama and Cohere write it.

    Tool descriptions and much other data have a name and parameters too, so nothing else may stand
    beside them, and a schema is none.
    """
    name, given = found.value("name") or found.value("tool_name"), found.value("parameters")
    if not name or not isinstance(given, dict) or {"type", "properties"} <= given.keys():
        return None
    if not found.members.keys() <= _MAY_STAND_BESIDE_PARAMETERS:
        return None
    return _call(found, name, found.raw("parameters"), found.value("id") or found.value("tool_call_id"))


def in_tag(found: JSONObject) -> TextCall | None:
    """The call in an object of which a tag says that it is one: it may name a tool and nothing else."""
    if call := with_arguments(found) or with_parameters(found):
        return call
    only_name = found.members.keys() <= _MAY_STAND_BESIDE_NAME
    return _call(found, found.value("name"), "", found.value("id")) if only_name else None


def by_name(found: JSONObject) -> TextCall | None:
    """The call in an object whose only member is the name of a tool, with its arguments."""
    if len(found.members) != 1:
        return None
    (name,) = found.members
    return _call(found, name, found.raw(name), None) if isinstance(found.value(name), dict) else None


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
            arguments = _without_closers(text[head.end() : end], 1)
            calls.append(TextCall(head["name"], arguments, None, head.start()))
    return calls


def read_broken_block(block: str) -> list[TextCall]:
    """The call that is all of a block: quotes of Python, keys without any, doubled or missing braces."""
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
