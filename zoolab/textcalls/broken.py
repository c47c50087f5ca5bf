"""A call whose arguments are no JSON: kept as written, for validation to name what is wrong."""

from __future__ import annotations

import re

from zoolab.textcalls.calls import TextCall

_BROKEN_CALL = re.compile(
    r'\{\s*"name"\s*:\s*"(?P<name>[^"\\]{1,64})"\s*,\s*"arguments"\s*:\s*(?P<arguments>\{.*)', re.DOTALL
)


def read_broken(text: str) -> list[TextCall]:
    """The first object that begins as a call does; its arguments end at a fence or a tag, or with the text.

    >>> read_broken('{"name": "add", "arguments": {"a": 1,}}')[0].arguments
    '{"a": 1,}'
    """
    match = _BROKEN_CALL.search(text)
    if match is None:
        return []
    arguments = match["arguments"].partition("```")[0].partition("</")[0].rstrip()
    closed = arguments.endswith("}") and arguments.count("}") > arguments.count("{")
    arguments = arguments[:-1].rstrip() if closed else arguments
    return [TextCall(match["name"], arguments, None, match.start())]
