"""Families that write names and values in tags, as XML does but without its rules for escaping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from string import Template
from types import MappingProxyType
from typing import Any

from zoolab.files import read_table
from zoolab.jsontext import MAX_DEPTH, NotStrictJSON, encode, parse_json
from zoolab.textcalls.calls import Objects, TextCall


def _tags(call: str, key: str, value: str, end: str) -> re.Pattern[str]:
    """The tags of a family as `families.toml` describes them. In each, CDATA may hold anything."""
    text = f"{call}|{key}|(?P<value>{value})|(?P<end>{end})|(?P<cdata><!\\[CDATA\\[)|(?P<cdata_end>\\]\\]>)"
    return re.compile(Template(text).substitute(FAMILIES))


#: How each family of models writes calls.
FAMILIES = read_table("zoolab.textcalls", "families.toml")
#: The tags of each family, by a text without which there are none.
TAGS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {each.pop("mark"): _tags(**each) for each in FAMILIES["tags"]}
)
_MOST_RESTARTS = 8
_CDATA = "<![CDATA["
#: Some templates write these values as Python does.
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_BODY = re.compile(r"\s*+(?=\{)")


def read_tagged(text: str, tags: re.Pattern[str], schemas: Mapping[str, Any]) -> list[TextCall]:
    """The calls in the tags of a family; JSON may stand in place of parameters."""
    objects = Objects(text)
    calls: list[TextCall] = []
    at, restarts = 0, 0
    while opening := next((tag for tag in tags.finditer(text, at) if tag["call"]), None):
        schema = schemas.get(opening["call"])
        arguments, at, is_closed = _arguments(objects, tags, opening.end(), schema, restarts < _MOST_RESTARTS)
        restarts += not is_closed
        if arguments is not None:
            calls.append(TextCall(opening["call"], arguments, None, opening.start()))
    return calls


def _arguments(
    objects: Objects, tags: re.Pattern[str], start: int, schema: Any, may_restart: bool
) -> tuple[str | None, int, bool]:
    """The arguments of the call whose tag ends at `start`, where to read on, and if all its values end.

    What is neither a tag nor part of a value breaks the call: then its arguments are all that was written,
    for nothing of it may be dropped silently. They are None if the call is only talked about.
    """
    text = objects.text
    before = _BODY.match(text, start)
    body = objects.at(before.end()) if before else None
    at = body.end if body else start
    end = resume = len(text)
    members: list[tuple[str, str]] = []
    is_whole, is_broken, is_closed = False, False, True
    while is_closed and (tag := tags.search(text, at)):
        if tag["call"]:
            end = resume = tag.start()
            break
        is_broken = is_broken or text[at : tag.start()].strip() != ""
        at = tag.end()
        if tag["end"]:
            is_whole, end, resume = True, tag.start(), at
            break
        if tag["key"]:
            closing, next_call = _end_of_value(text, tags, at)
            if closing:
                key = tag["key"].strip()
                value = value_of(text[at : closing.start()], tag["string"], _inner(schema, key))
                members.append((key, encode(value)))
                at = closing.end()
            else:
                is_closed = False
                end = resume = next_call if may_restart else len(text)
    written = text[start:end].strip()
    if body and not members and not is_broken and is_closed:
        return text[body.start : body.end], resume, is_closed
    if is_whole and not is_broken and not body:
        return as_object(members), resume, is_closed
    is_begun = members or not is_closed or written.startswith(("{", "<"))
    return written if is_begun else None, resume, is_closed


def _end_of_value(text: str, tags: re.Pattern[str], start: int) -> tuple[re.Match[str] | None, int]:
    """The tag that ends a value, in which there may be others; and the end of the call if there is none."""
    depth, in_cdata, end_of_call = 1, False, len(text)
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


def value_of(written: str, string: str | None, schema: Any) -> Any:
    """The value of a text without quotes: a string, unless it reads as another kind of JSON value.

    What may be a string, and besides at most null, reads as no number and no object.
    """
    if written.strip().startswith(_CDATA) and written.rstrip().endswith("]]>"):
        written = written.strip()[len(_CDATA) : -len("]]>")].replace("]]>" + _CDATA, "")
    elif written.startswith("\n"):
        written = written[1:].removesuffix("\n")
    if string in ("true", "string"):
        return written
    try:
        value = parse_json(_PYTHON.get(written.strip(), written))
    except NotStrictJSON:
        return written
    kinds = schema.get("type", []) if isinstance(schema, dict) else []
    kinds = kinds if isinstance(kinds, list) else [kinds]
    is_text = "string" in kinds and all(kind in ("string", "null") for kind in kinds)
    if string != "false" and (
        isinstance(value, str) or (is_text and not (value is None and "null" in kinds))
    ):
        return written
    return value


def _inner(schema: Any, key: str) -> Any:
    """The schema of a value, as far as it is plain to see."""
    if not isinstance(schema, dict):
        return None
    properties = schema.get("properties")
    if isinstance(properties, dict) and key in properties:
        return properties[key]
    return schema.get("items") if key == "item" else None


def as_object(members: list[tuple[str, str]]) -> str:
    """The JSON of an object; a key that came twice is in it twice, for validation to see."""
    return "{" + ",".join(f"{encode(key)}:{value}" for key, value in members) + "}"


_MARK = re.escape("]<]minimax[>[")
_EDGE = re.compile(rf'{_MARK}(?:<invoke name="(?P<call>[\w.-]{{1,128}})">|(?P<end></invoke>)|</?tool_call>)')
_ELEMENT = re.compile(rf"{_MARK}<(?P<close>/?)(?P<key>[^<>/]{{1,128}})>")


@dataclass(slots=True)
class _Element:
    """A tag that was opened, and the JSON of what is in it."""

    key: str
    start: int
    schema: Any
    members: list[tuple[str, str]] = field(default_factory=list)

    def json(self, written: str) -> str:
        """What the element is in JSON: an object, a list of items, or what is written in it."""
        if not self.members:
            return encode(value_of(written, None, self.schema))
        if all(key == "item" for key, _ in self.members):
            return f"[{','.join(value for _, value in self.members)}]"
        return as_object(self.members)


def read_minimax_m3(text: str, schemas: Mapping[str, Any]) -> list[TextCall]:
    """`]<]minimax[>[<invoke name="f">]<]minimax[>[<key>value]<]minimax[>[</key>]<]minimax[>[</invoke>`."""
    calls: list[TextCall] = []
    edges = list(_EDGE.finditer(text))
    for opening, end in zip_longest(edges, edges[1:]):
        if opening["call"]:
            inside = text[opening.end() : end.start() if end else len(text)]
            members = _members(inside, schemas.get(opening["call"])) if end and end["end"] else None
            if end or inside.strip():
                arguments = inside.strip() if members is None else as_object(members)
                calls.append(TextCall(opening["call"], arguments, None, opening.start()))
    return calls


def _members(inside: str, schema: Any) -> list[tuple[str, str]] | None:
    """The members of a call; None if its elements are not one in the other, or text stands beside them."""
    stack = [_Element("", 0, schema)]
    at = 0
    for tag in _ELEMENT.finditer(inside):
        beside = inside[at : tag.start()].strip()
        at = tag.end()
        if not tag["close"] and not beside and len(stack) <= MAX_DEPTH:
            stack.append(_Element(tag["key"], at, _inner(stack[-1].schema, tag["key"])))
        elif (
            tag["close"] and stack[1:] and stack[-1].key == tag["key"] and not (stack[-1].members and beside)
        ):
            element = stack.pop()
            stack[-1].members.append((element.key, element.json(inside[element.start : tag.start()])))
        else:
            return None
    return None if stack[1:] or inside[at:].strip() else stack[0].members
