"""A call that is no JSON: its arguments are kept as written, for validation to name what is wrong."""

from __future__ import annotations

import re

from zoolab.textcalls.calls import TextCall
from zoolab.textcalls.objects import Objects

_BROKEN_CALL = re.compile(
    r'\{\s*"name"\s*:\s*"(?P<name>[^"\\]{1,64})"\s*,\s*"arguments"\s*:\s*(?P<arguments>\{.*)', re.DOTALL
)
_BROKEN_BLOCK = re.compile(
    r"""(?P<braces>\{\s*+\{?+)\s*+["']?+name["']?+\s*+:\s*+(?P<quote>["'])(?P<name>[\w.-]{1,128})(?P=quote)\s*+"""
    r"""(?:,\s*+["']?+(?:arguments|parameters)["']?+\s*+:\s*+(?P<arguments>[^\s`].*)|,?+\s*+\}[}\s`]*+\Z)""",
    re.DOTALL,
)


def read_broken(text: str) -> list[TextCall]:
    """The first object that begins as a call does; its arguments end at a fence or a tag, or with the text.

    >>> read_broken('{"name": "add", "arguments": {"a": 1,}}')[0].arguments
    '{"a": 1,}'
    """
    match = _BROKEN_CALL.search(text)
    if match is None:
        return []
    arguments = match["arguments"].partition("```")[0].partition("</")[0]
    return [TextCall(match["name"], _without_closers(arguments, 1), None, match.start())]


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
