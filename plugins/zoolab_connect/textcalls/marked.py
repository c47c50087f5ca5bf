"""Families that write JSON, or nearly so, after a head with the name of the tool, or between tags with the
name in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise, zip_longest
from string import Template
from types import MappingProxyType
from typing import Any

from zoolab.textcalls.calls import (
    FAMILIES,
    MARKS,
    Reader,
    TextCall,
    call_in,
    call_with_arguments,
    without_closers,
)
from zoolab.textcalls.objects import JSONObject, Objects
from zoolab_connect.textcalls.llama import with_parameters

#: What stands before the arguments, with the name and, in some families, an id.
HEADS = [re.compile(Template(each["head"]).substitute(FAMILIES)) for each in FAMILIES["heads"]]
_AFTER_BROKEN = re.compile(r"\[TOOL_CALLS\]|<\s?[|｜‖│┃∣/]|```")


_BEFORE_CALL = re.compile(r"\s*+(?:<!\[CDATA\[\s*+)?+(?:```\w{0,16}\s*+)?(?:\[\s*+)?(?=\{)")
_BETWEEN_CALLS = re.compile(r"\s*+,?\s*+")
_MAY_STAND_BESIDE_NAME = {"type", "id", "name"}
_BROKEN_BLOCK = re.compile(
    r"""(?P<braces>\{\s*+\{?+)\s*+["']?+name["']?+\s*+:\s*+(?P<quote>["'])(?P<name>[\w.-]{1,128})(?P=quote)\s*+"""
    r"""(?:,\s*+["']?+(?:arguments|parameters)["']?+\s*+:\s*+(?P<arguments>[^\s`].*)|,?+\s*+\}[}\s`]*+\Z)""",
    re.DOTALL,
)


def _headed(text: str, head: re.Pattern[str]) -> list[TextCall]:
    objects = Objects(text)
    heads = list(head.finditer(text))
    calls: list[TextCall] = []
    end = 0
    for found, following in zip_longest(heads, heads[1:]):
        if found.start() < end:
            continue
        if given := objects.at(found.end()):
            end = given.end
        else:
            limit = following.start() if following else len(text)
            mark = _AFTER_BROKEN.search(text, found.end(), limit)
            end = mark.start() if mark else limit
        wanted = found.groupdict().get("id")
        calls.append(TextCall(found["name"], text[found.end() : end], wanted, found.start(), end))
    return calls


def in_tag(found: JSONObject) -> TextCall | None:
    """Return the call in an object of which a tag says that it is one: it may name a tool and nothing
    else.
    """
    if call := call_with_arguments(found) or with_parameters(found):
        return call
    only_name = found.members.keys() <= _MAY_STAND_BESIDE_NAME
    return call_in(found, found.value("name"), "", found.value("id")) if only_name else None


def by_name(found: JSONObject) -> TextCall | None:
    """Return the call in an object whose only member is the name of a tool, with its arguments."""
    if len(found.members) != 1:
        return None
    (name,) = found.members
    return call_in(found, name, found.raw(name), None) if isinstance(found.value(name), dict) else None


#: How a call stands between the marks of a family.
BLOCKS: Mapping[str, Reader] = MappingProxyType({"hermes": in_tag, "apertus": by_name})


def read_broken_block(block: str) -> list[TextCall]:
    """Return the call that is all of a block: quotes of Python, keys without any, doubled or missing
    braces.
    """
    match = _BROKEN_BLOCK.match(block)
    if match is None:
        return []
    start = match.start("arguments")
    whole = Objects(block).at(start) if start >= 0 else None
    given = block[start : whole.end] if whole else match["arguments"] or ""
    return [TextCall(match["name"], without_closers(given, match["braces"].count("{")))]


def _in_blocks(text: str, marks: re.Pattern[str], read: Reader) -> list[TextCall]:
    """Return the calls between the marks of a family."""
    objects = Objects(text)
    calls: list[TextCall] = []
    end = 0
    for mark, following in pairwise(marks.finditer(text)):
        before = _BEFORE_CALL.match(text, mark.end())
        if mark["close"] or mark.start() < end or before is None:
            continue
        found = objects.at(before.end())
        if found is None:
            end = following.start()
            inside = [replace(call, end=end) for call in read_broken_block(text[before.end() : end])]
        else:
            inside = []
            end = found.end
            while found is not None and (call := read(found)) is not None:
                inside.append(call)
                end = found.end
                between = _BETWEEN_CALLS.match(text, end)
                found = objects.at(between.end()) if between else None
        calls += [replace(call, at=mark.start()) for call in inside]
    return calls


def read_marked(text: str, _schemas: Mapping[str, Any]) -> list[TextCall]:
    """Return the calls of the family whose marks begin first."""
    found = [
        *(_in_blocks(text, MARKS[family], read) for family, read in BLOCKS.items()),
        *(_headed(text, head) for head in HEADS),
    ]
    return min(filter(None, found), key=lambda calls: calls[0].at, default=[])
