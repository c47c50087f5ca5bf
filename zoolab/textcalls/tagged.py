"""Families that write names and values in tags, as XML does but without its rules for escaping."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from zoolab.jsontext import MAX_DEPTH, NotStrictJSON, encode, parse_json
from zoolab.textcalls.calls import TextCall
from zoolab.textcalls.objects import JSONObject, Objects

if TYPE_CHECKING:
    from collections.abc import Mapping


def _tags(call: str, key: str, value: str, end: str) -> re.Pattern[str]:
    """The tags of a family: a call begins; a value begins; it ends, if another tag of the call follows
    (a value may hold tags of its own); the call ends. In each, CDATA may hold anything."""
    return re.compile(
        f"{call}|{key}|(?P<value>{value})|(?P<end>{end})|(?P<cdata><!\\[CDATA\\[)|(?P<cdata_end>\\]\\]>)"
    )


_NAME = r"(?P<call>[\w.-]{1,128})"
_PREFIX = r"(?:｜DSML｜|antml:)?+"
_QWEN_CODER = _tags(
    rf"<function={_NAME}>",
    r"<parameter=(?P<key>[^<>\s]{1,128})>(?P<string>)",
    r"</parameter>(?=\s*+(?:<parameter|</function>|</tool_call>|<function=|<tool_call>|\Z))",
    r"</function>|</tool_call>",
)
_INVOKE = _tags(
    rf'<{_PREFIX}(?:invoke|function) name="{_NAME}">',
    rf'<{_PREFIX}param(?:eter)?+ name="(?P<key>[^"<>]{{1,128}})"'
    r'(?: (?!string=)\w{1,32}="[^"<>]{0,64}")*+(?: string="(?P<string>true|false)")?+>',
    rf"</{_PREFIX}param(?:eter)?+>(?=\s*+(?:</?{_PREFIX}(?:param|invoke|function)|\Z))",
    rf"</{_PREFIX}(?:invoke|function)>",
)
_GLM = _tags(
    r"<tool_call>\n?+(?P<call>[A-Za-z_][\w.-]{0,127}+)\n?+(?=<arg_key>|</tool_call>)",
    r"<arg_key>(?P<key>[^<>]{1,128})</arg_key>\s*+<arg_value>(?P<string>)",
    r"</arg_value>(?=\s*+(?:<arg_key>|<arg_value>|</tool_call>|\Z))",
    r"</tool_call>",
)
_KIMI_3 = _tags(
    rf'<\|open\|>call tool="{_NAME}"(?: index="\d{{1,9}}")?+<\|sep\|>',
    r'<\|open\|>argument key="(?P<key>[^"<>]{1,128})"(?: type="(?:(?P<string>string)|\w{1,32})")?+<\|sep\|>',
    r"<\|close\|>argument<\|sep\|>(?=\s*+(?:<\|open\|>argument|<\|close\|>call|\Z))",
    r"<\|close\|>call<\|sep\|>",
)
_MOST_RESTARTS = 8
_CDATA = "<![CDATA["
#: Some templates write these values as Python does.
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_BODY = re.compile(r"\s*+(?=\{)")
_NO_SCHEMAS: Mapping[str, Any] = MappingProxyType({})


def read_qwen_coder(text: str, schemas: Mapping[str, Any] = _NO_SCHEMAS) -> list[TextCall]:
    """`<function=name><parameter=key>value</parameter></function>`; JSON may stand in place of parameters.

    >>> read_qwen_coder("<function=add><parameter=a>1</parameter></function>")[0].arguments
    '{"a":1}'
    >>> strings = {"properties": {"a": {"type": "string"}}}
    >>> read_qwen_coder("<function=f><parameter=a>1</parameter></function>", {"f": strings})[0].arguments
    '{"a":"1"}'
    """
    return _read(text, "<function=", _QWEN_CODER, schemas)


def read_glm(text: str, schemas: Mapping[str, Any] = _NO_SCHEMAS) -> list[TextCall]:
    """`<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`.

    >>> read_glm("<tool_call>add<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>")[0].arguments
    '{"a":1}'
    """
    return _read(text, "<tool_call>", _GLM, schemas)


def read_invoke(text: str, schemas: Mapping[str, Any] = _NO_SCHEMAS) -> list[TextCall]:
    """`<invoke name="..."><parameter name="key">value</parameter></invoke>`: MiniMax M2, DeepSeek since 3.2.

    >>> read_invoke('<invoke name="add"><parameter name="a">1</parameter></invoke>')[0].arguments
    '{"a":1}'
    >>> read_invoke('<invoke name="add"><parameter>1</parameter></invoke>')[0].arguments
    '<parameter>1</parameter>'
    """
    return _read(text, ' name="', _INVOKE, schemas)


def read_kimi_3(text: str, schemas: Mapping[str, Any] = _NO_SCHEMAS) -> list[TextCall]:
    """`<|open|>call tool="..."<|sep|>` and `<|open|>argument key="..." type="..."<|sep|>`: Kimi K3.

    >>> argument = '<|open|>argument key="a" type="number"<|sep|>1<|close|>argument<|sep|>'
    >>> read_kimi_3(f'<|open|>call tool="add"<|sep|>{argument}<|close|>call<|sep|>')[0].arguments
    '{"a":1}'
    """
    return _read(text, "<|open|>", _KIMI_3, schemas)


class _Open:
    """A call that has begun and not ended: takes the tags that follow, one after the other.

    What is neither a tag nor part of a value makes the call broken: then its arguments are all that was
    written, for nothing of it may be dropped silently.
    """

    def __init__(self, text: str, opening: re.Match[str], schema: Any, body: JSONObject | None) -> None:
        self._text = text
        self._opening = opening
        self._schema = schema
        self._body = body
        self._values: list[str] = []
        self._key: re.Match[str] | None = None
        self._depth = 0
        self._in_cdata = False
        self._broken = False
        #: All before this was read.
        self._at = body.end if body else opening.end()

    @property
    def in_value(self) -> bool:
        """Whether tags are part of a value now."""
        return self._key is not None

    def ends_with(self, tag: re.Match[str]) -> bool:
        """Take a tag; whether it ended the call."""
        if self._key is not None:
            self._take_in_value(tag, self._key)
            return False
        self._broken = self._broken or bool(self._text[self._at : tag.start()].strip())
        self._at = tag.end()
        if tag["key"]:
            self._key, self._depth = tag, 1
        return bool(tag["end"])

    def _take_in_value(self, tag: re.Match[str], opening: re.Match[str]) -> None:
        if self._in_cdata or tag["cdata"]:
            self._in_cdata = not tag["cdata_end"]
            return
        self._depth += bool(tag["key"]) - bool(tag["value"])
        if self._depth == 0:
            written, key = self._text[opening.end() : tag.start()], opening["key"].strip()
            value = value_of(written, opening["string"], kinds_of(_property(self._schema, key)))
            self._values.append(f"{encode(key)}:{encode(value)}")
            self._key, self._at = None, tag.end()

    def whole(self, end: int) -> list[TextCall]:
        """The call, if it has values, or nothing in it, or broken JSON."""
        if self._broken or (self._body and self._values):
            return self.cut_off(end)
        if self._body:
            return [self._call(self._text[self._body.start : self._body.end])]
        return [self._call(f"{{{','.join(self._values)}}}")]

    def cut_off(self, end: int) -> list[TextCall]:
        """The call with what was written of it, so that it will not run; none if that is only prose."""
        written = self._text[self._opening.end() : end].strip()
        if self._body and not self._values and not self._key and not self._broken:
            return [self._call(self._text[self._body.start : self._body.end])]
        begun = self._values or self._key or written.startswith(("{", "<"))
        return [self._call(written)] if begun else []

    def _call(self, arguments: str) -> TextCall:
        return TextCall(self._opening["call"], arguments, None, self._opening.start())


def _read(text: str, mark: str, tags: re.Pattern[str], schemas: Mapping[str, Any]) -> list[TextCall]:
    if mark not in text:
        return []
    calls: list[TextCall] = []
    end = 0
    for left in reversed(range(_MOST_RESTARTS)):
        found, resume = _read_from(text, end, tags, schemas, may_restart=left > 0)
        calls += found
        if resume is None:
            return calls
        end = resume
    return calls


def _read_from(
    text: str, start: int, tags: re.Pattern[str], schemas: Mapping[str, Any], *, may_restart: bool
) -> tuple[list[TextCall], int | None]:
    """The calls from `start` on. If a value is never closed: up to the end of its call, and where that is."""
    objects = Objects(text)
    calls: list[TextCall] = []
    call: _Open | None = None
    end = first_end = 0
    for tag in tags.finditer(text, start):
        if tag.start() < end:
            continue
        if call and call.in_value:
            first_end = first_end or (tag.end() if tag["end"] else 0)
        if tag["call"] and not (call and call.in_value):
            calls += call.cut_off(tag.start()) if call else []
            body = _body(objects, tag.end())
            call = _Open(text, tag, schemas.get(tag["call"]), body)
            end = body.end if body else tag.end()
        elif call and call.ends_with(tag):
            calls += call.whole(tag.start())
            call = None
        if not (call and call.in_value):
            first_end = 0
    if call is None:
        return calls, None
    stop = first_end if may_restart and call.in_value and first_end else len(text)
    return calls + call.cut_off(stop), stop if stop < len(text) else None


def _body(objects: Objects, at: int) -> JSONObject | None:
    before = _BODY.match(objects.text, at)
    return objects.at(before.end()) if before else None


def kinds_of(schema: Any) -> list[Any]:
    """The types that a schema allows, as far as they are plain to see.

    >>> kinds_of({"type": "string"}), kinds_of(None)
    (['string'], [])
    """
    kinds = schema.get("type", []) if isinstance(schema, dict) else []
    return kinds if isinstance(kinds, list) else [kinds]


def _property(schema: Any, key: str) -> Any:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties.get(key) if isinstance(properties, dict) else None


def value_of(written: str, string: str | None, kinds: list[Any]) -> Any:
    """The value of a text without quotes: a string, unless it reads as another kind of JSON value.

    What may be a string, and besides at most null, reads as no number and no object.

    >>> value_of("5", None, []), value_of("5", None, ["string"]), value_of("<![CDATA[a < b]]>", None, [])
    (5, '5', 'a < b')
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
    if string == "false" or (not isinstance(value, str) and not _is_text(value, kinds)):
        return value
    return written


def _is_text(value: Any, kinds: list[Any]) -> bool:
    only_text = "string" in kinds and all(kind in ("string", "null") for kind in kinds)
    return only_text and not (value is None and "null" in kinds)


_MARK = "]<]minimax[>["
_TAG = re.compile(
    re.escape(_MARK)
    + r'(?:<invoke name="(?P<call>[\w.-]{1,128})">|(?P<end></invoke>)|(?P<edge></?tool_call>)'
    + r"|<(?P<close>/?)(?P<key>[^<>/]{1,128})>)"
)


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
