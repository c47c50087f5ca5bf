"""MiniMax M3 marks each tag with `]<]minimax[>[`, and names the parameters in the tags themselves.

Objects and lists are nested tags, the items of a list in `<item>`. Source: pull requests 2008 of
ikawrakow/ik_llama.cpp and 1416 of ml-explore/mlx-lm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from zoolab.jsontext import MAX_DEPTH, encode
from zoolab.textcalls.calls import TextCall
from zoolab.textcalls.tagged import kinds_of, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_MARK = "]<]minimax[>["
_TAG = re.compile(
    re.escape(_MARK)
    + r'(?:<invoke name="(?P<call>[\w.-]{1,128})">|(?P<end></invoke>)|(?P<edge></?tool_call>)'
    + r"|<(?P<close>/?)(?P<key>[^<>/]{1,128})>)"
)
_NO_SCHEMAS: Mapping[str, Any] = MappingProxyType({})


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
            return encode(value_of(written, None, kinds_of(self.schema)))
        if all(key == "item" for key, _ in self.members):
            return f"[{','.join(value for _, value in self.members)}]"
        return as_object(self.members)


def as_object(members: list[tuple[str, str]]) -> str:
    """The JSON of an object; a key that came twice is in it twice, for validation to see.

    >>> as_object([("a", "1"), ("b", "[]")])
    '{"a":1,"b":[]}'
    """
    return "{" + ",".join(f"{encode(key)}:{value}" for key, value in members) + "}"


def read_minimax_m3(text: str, schemas: Mapping[str, Any] = _NO_SCHEMAS) -> list[TextCall]:
    """`]<]minimax[>[<invoke name="f">]<]minimax[>[<key>value]<]minimax[>[</key>]<]minimax[>[</invoke>`.

    >>> said = "|<invoke name='f'>|<x>1|</x>|<y>|<item>a|</item>|</y>|</invoke>".replace("'", '"')
    >>> read_minimax_m3(said.replace("|", "]<]minimax[>["))[0].arguments
    '{"x":1,"y":["a"]}'
    """
    calls: list[TextCall] = []
    opening: re.Match[str] | None = None
    stack: list[_Element] = []
    broken, at = False, 0
    for tag in _TAG.finditer(text):
        if opening is not None:
            gap = text[at : tag.start()].strip()
            if tag["end"] or tag["call"] or tag["edge"]:
                whole = bool(tag["end"]) and not broken and len(stack) == 1 and not gap
                written = text[opening.end() : tag.start()].strip()
                calls.append(_call(opening, as_object(stack[0].members) if whole else written))
                opening = None
            elif tag["close"]:
                broken = broken or len(stack) < 2 or stack[-1].key != tag["key"]
                if not broken:
                    element = stack.pop()
                    broken = bool(element.members and gap)
                    value = element.json(text[element.start : tag.start()])
                    stack[-1].members.append((element.key, value))
            else:
                # Text before an element, in an element: neither an object nor a text.
                broken = broken or bool(gap) or len(stack) > MAX_DEPTH
                if not broken:
                    schema = _inner(stack[-1].schema, tag["key"])
                    stack.append(_Element(tag["key"], tag.end(), schema))
            at = tag.end()
        if tag["call"]:
            opening, at, broken = tag, tag.end(), False
            stack = [_Element("", at, schemas.get(tag["call"]))]
    if opening is not None and (written := text[opening.end() :].strip()):
        calls.append(_call(opening, written))
    return calls


def _call(opening: re.Match[str], arguments: str) -> TextCall:
    return TextCall(opening["call"], arguments, None, opening.start())


def _inner(schema: Any, key: str) -> Any:
    """The schema of an element, as far as it is plain to see."""
    if not isinstance(schema, dict):
        return None
    properties = schema.get("properties")
    if isinstance(properties, dict) and key in properties:
        return properties[key]
    return schema.get("items") if key == "item" else None
