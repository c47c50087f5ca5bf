"""Families that write names and values in tags, as XML does but without its rules for escaping: Qwen3-Coder,
GLM, MiniMax M2, DeepSeek since 3.2, Muse, Kimi K3. `families.toml` of `zoolab.textcalls` has the tags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from types import MappingProxyType
from typing import Any

from zoolab.jsontext import encode
from zoolab.textcalls.calls import FAMILIES, TextCall
from zoolab.textcalls.objects import Objects
from zoolab_connect.textcalls.values import Values

_MOST_RESTARTS = 8
_IN_CDATA = re.compile(r"<!\[CDATA\[.*?(?:\]\]>|\Z)", re.DOTALL)
_BODY = re.compile(r"\s*+(?=\{)")


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of a family, and those inside of a value."""

    all: re.Pattern[str]
    nested: re.Pattern[str]


def _tags(call: str, key: str, value: str, end: str, nested: str) -> Tags:
    """Return the tags of a family as `families.toml` describes them. In each, CDATA may hold anything."""
    text = f"{call}|{key}|(?P<value>{value})|(?P<end>{end})|(?P<cdata><!\\[CDATA\\[)|(?P<cdata_end>\\]\\]>)"
    inside = re.compile(Template(nested).substitute(FAMILIES))
    return Tags(re.compile(Template(text).substitute(FAMILIES)), inside)


#: The tags of each family, by a text without which there are none.
TAGS: Mapping[str, Tags] = MappingProxyType({each.pop("mark"): _tags(**each) for each in FAMILIES["tags"]})


def read_tagged(text: str, schemas: Mapping[str, Any]) -> list[TextCall]:
    """Return the calls of the family whose tags begin first."""
    found = [calls for mark, tags in TAGS.items() if mark in text and (calls := _tagged(text, tags, schemas))]
    return min(found, key=lambda calls: calls[0].at, default=[])


def _tagged(text: str, tags: Tags, schemas: Mapping[str, Any]) -> list[TextCall]:
    """Return the calls in the tags of a family; JSON may stand in place of parameters."""
    objects = Objects(text)
    calls: list[TextCall] = []
    values: dict[str, Values] = {}
    at = 0
    restarts = 0
    while opening := next((tag for tag in tags.all.finditer(text, at) if tag["call"]), None):
        name = opening["call"]
        may_restart = restarts < _MOST_RESTARTS
        if opening.groupdict().get("bare"):
            at = opening.end()
            calls.append(TextCall(name, "{}", None, opening.start(), at))
            continue
        typed = values.setdefault(name, Values(schemas.get(name)))
        arguments, at, is_closed = _arguments(objects, tags, opening.end(), typed, may_restart)
        restarts += not is_closed
        if arguments is not None:
            calls.append(TextCall(opening["call"], arguments, None, opening.start(), at))
    return calls


def _arguments(
    objects: Objects, tags: Tags, start: int, values: Values, may_restart: bool
) -> tuple[str | None, int, bool]:
    """Return the arguments of the call whose tag ends at `start`, where to read on, and if all its values
    end.

    What is neither a tag nor part of a value breaks the call, and so does a value with tags out of order:
    then its arguments are all that was written, for nothing of it may be dropped silently. They are None if
    the call is only talked about.
    """
    text = objects.text
    before = _BODY.match(text, start)
    body = objects.at(before.end()) if before else None
    at = body.end if body else start
    end = resume = len(text)
    members: list[tuple[str, str]] = []
    is_whole = False
    is_broken = False
    is_closed = True
    while is_closed and (tag := tags.all.search(text, at)):
        if tag["call"]:
            end = resume = tag.start()
            break
        is_broken = is_broken or text[at : tag.start()].strip() != ""
        at = tag.end()
        if tag["end"]:
            is_whole = True
            end = tag.start()
            resume = at
            break
        if tag["key"]:
            closing, next_call = _end_of_value(text, tags.all, at)
            if closing:
                key = tag["key"].strip()
                value = text[at : closing.start()]
                is_broken = is_broken or not _is_in_order(value, tags.nested)
                members.append((key, encode(values.read((key,), value, tag["string"]))))
                at = closing.end()
            else:
                is_closed = False
                end = resume = next_call if may_restart else len(text)
    written = text[start:end].strip()
    if body and not members and not is_broken and is_closed:
        return text[body.start : body.end], resume, is_closed
    if is_whole and not is_broken and not body:
        return object_as_json(members), resume, is_closed
    is_begun = members or not is_closed or written.startswith(("{", "<"))
    return written if is_begun else None, resume, is_closed


def _end_of_value(text: str, tags: re.Pattern[str], start: int) -> tuple[re.Match[str] | None, int]:
    """Return the tag that ends a value, in which there may be others; and the end of the call if there is
    none.
    """
    depth = 1
    in_cdata = False
    end_of_call = len(text)
    for tag in tags.finditer(text, start):
        if tag["end"] and end_of_call == len(text):
            end_of_call = tag.end()
        if in_cdata or tag["cdata"]:
            in_cdata = not tag["cdata_end"]
            continue
        depth += bool(tag["key"]) - bool(tag["value"])
        if depth == 0:
            return tag, end_of_call
    return None, end_of_call


def _is_in_order(value: str, nested: re.Pattern[str]) -> bool:
    """Return whether the tags of the family inside a value open and close one another; CDATA may hold any."""
    opened: list[str] = []
    for tag in nested.finditer(_IN_CDATA.sub("", value)):
        if tag["open"]:
            opened.append(tag["open"])
        elif not opened or opened.pop() != tag["close"]:
            return False
    return not opened


def object_as_json(members: list[tuple[str, str]]) -> str:
    """Return the JSON of an object; a key that came twice is in it twice, for validation to see."""
    return "{" + ",".join(f"{encode(key)}:{value}" for key, value in members) + "}"
