"""Calls as MiniMax M3 writes them: each value in a tag of its key; objects and lists hold further tags.

A mark stands before every tag of a call, so a text may hold tags of other kinds. Sources: the parsers for
MiniMax M3 of vllm-project/vllm-gaudi (pull request 1655) and of ggml-org/llama.cpp (pull request 24523).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from zoolab.jsontext import MAX_DEPTH, encode
from zoolab.textcalls.calls import MARKS, TextCall
from zoolab_connect.textcalls.tagged import object_as_json
from zoolab_connect.textcalls.values import Path, Values

#: The key of what is in a list.
_ITEM = "item"


@dataclass(slots=True)
class _Element:
    """A tag with a key, and what is in it: other elements, or a text."""

    key: str
    start: int
    inside: list[_Element] = field(default_factory=list)
    text: str = ""


def read_minimax(text: str, schemas: Mapping[str, Any]) -> list[TextCall]:
    """Read `]<]minimax[>[<invoke name="f">]<]minimax[>[<x>1]<]minimax[>[</x>]<]minimax[>[</invoke>`.

    If something is neither a tag in its place nor the text of one, the call is broken, and its arguments are
    all that was written.
    """
    calls: list[TextCall] = []
    values: dict[str, Values] = {}
    end = 0
    for head in MARKS["minimax"].finditer(text) if "]minimax[" in text else ():
        if head.start() < end:
            continue
        name = head["name"]
        call, end = _call(text, head.end())
        if call:
            typed = values.setdefault(name, Values(schemas.get(name)))
            arguments = _as_json(call.inside, (), typed)
        else:
            stop = MARKS["minimax_end"].search(text, head.end())
            end = stop.end() if stop else len(text)
            arguments = text[head.end() : stop.start() if stop else end].strip()
        if arguments:
            calls.append(TextCall(name, arguments, None, head.start(), end))
    return calls


def _call(text: str, start: int) -> tuple[_Element | None, int]:
    """Return the call whose first tag ends at `start`, and where its last one ends; None if it is broken."""
    call = _Element("invoke", start)
    opened = [call]
    at = start
    for tag in MARKS["minimax_tag"].finditer(text, start):
        top = opened[-1]
        is_blank = not text[at : tag.start()].strip()
        at = tag.end()
        if tag["other"] is not None or len(opened) > MAX_DEPTH:
            break
        if not tag["close"] and is_blank:
            opened.append(_Element(tag["key"], at))
            top.inside.append(opened[-1])
            continue
        if tag["key"] != top.key or not (is_blank or (opened[1:] and not top.inside)):
            break
        top.text = text[top.start : tag.start()]
        opened.pop()
        if not opened:
            return call, at
    return None, at


def _as_json(elements: list[_Element], path: Path, values: Values) -> str:
    return object_as_json([(each.key, _value(each, (*path, each.key), values)) for each in elements])


def _value(element: _Element, path: Path, values: Values) -> str:
    """Return the JSON of an element; the schema tells text from numbers, and lists from objects."""
    if element.inside:
        seems_list = {each.key for each in element.inside} == {_ITEM}
        asked_for = "object" if seems_list else "array"
        if seems_list != values.wants(path, [] if seems_list else {}, asked_for):
            return f"[{','.join(_value(each, (*path, 0), values) for each in element.inside)}]"
        return _as_json(element.inside, path, values)
    if not element.text:
        empty = (made for kind, made in (("array", "[]"), ("object", "{}")) if values.wants(path, "", kind))
        return next(empty, '""')
    return encode(values.read(path, element.text))
