"""A call that is no JSON: its arguments are kept as written, for validation to name what is wrong."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from typing import TYPE_CHECKING

from zoolab.textcalls.calls import TextCall
from zoolab.textcalls.objects import Objects

if TYPE_CHECKING:
    from collections.abc import Sequence

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
