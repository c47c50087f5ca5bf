"""Families that write names and values in tags, as XML does but without its rules for escaping."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from zoolab.jsontext import NotStrictJSON, encode, parse_json
from zoolab.textcalls.calls import TextCall
from zoolab.textcalls.objects import JSONObject, Objects

if TYPE_CHECKING:
    from collections.abc import Mapping

# In each: a call begins; a value begins, and says whether it is a string, or not; a value ends, where
# another tag of the call follows, since a value may hold tags of its own; a call ends.
_QWEN_CODER = re.compile(
    r"<function=(?P<call>[\w.-]{1,128})>"
    r"|<parameter=(?P<key>[^<>\s]{1,128})>(?P<string>)"
    r"|(?P<value></parameter>)(?=\s*+(?:<parameter=|</function>|</tool_call>|<function=|<tool_call>|\Z))"
    r"|(?P<end></function>|</tool_call>)"
)
_INVOKE = re.compile(
    r'<(?:｜DSML｜)?+(?:invoke|function) name="(?P<call>[\w.-]{1,128})">'
    r'|<(?:｜DSML｜)?+param(?:eter)?+ name="(?P<key>[^"<>]{1,128})"(?: string="(?P<string>true|false)")?+>'
    r"|(?P<value></(?:｜DSML｜)?+param(?:eter)?+>)(?=\s*+(?:</?(?:｜DSML｜)?+(?:param|invoke|function)|\Z))"
    r"|(?P<end></(?:｜DSML｜)?+(?:invoke|function)>)"
)
_GLM = re.compile(
    r"<tool_call>\n?+(?P<call>[A-Za-z_][\w.-]{0,127}+)\n?+(?=<arg_key>|</tool_call>)"
    r"|<arg_key>(?P<key>[^<>]{1,128})</arg_key>\s*+<arg_value>(?P<string>)"
    r"|(?P<value></arg_value>)(?=\s*+(?:<arg_key>|</tool_call>|\Z))"
    r"|(?P<end></tool_call>)"
)
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
    return _read(text, _QWEN_CODER, schemas)


def read_glm(text: str, schemas: Mapping[str, Any] = _NO_SCHEMAS) -> list[TextCall]:
    """`<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`.

    >>> read_glm("<tool_call>add<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>")[0].arguments
    '{"a":1}'
    """
    return _read(text, _GLM, schemas)


def read_invoke(text: str, schemas: Mapping[str, Any] = _NO_SCHEMAS) -> list[TextCall]:
    """`<invoke name="..."><parameter name="key">value</parameter></invoke>`: MiniMax, DeepSeek since 3.2.

    >>> read_invoke('<invoke name="add"><parameter name="a">1</parameter></invoke>')[0].arguments
    '{"a":1}'
    """
    return _read(text, _INVOKE, schemas)


class _Open:
    """A call that has begun and not ended: takes the tags that follow, one after the other."""

    def __init__(self, text: str, opening: re.Match[str], schema: Any) -> None:
        self._text = text
        self._opening = opening
        self._schema = schema
        self._values: list[str] = []
        self._key: re.Match[str] | None = None

    @property
    def in_value(self) -> bool:
        """Whether tags are part of a value now."""
        return self._key is not None

    def ends_with(self, tag: re.Match[str]) -> bool:
        """Take a tag; whether it ended the call."""
        if self._key is not None:
            if tag["value"]:
                written = self._text[self._key.end() : tag.start()]
                key = self._key["key"].strip()
                value = _value(written, self._key["string"], _kinds(self._schema, key))
                self._values.append(f"{encode(key)}:{encode(value)}")
                self._key = None
        elif tag["key"]:
            self._key = tag
        return self._key is None and bool(tag["end"])

    def whole(self, end: int) -> list[TextCall]:
        """The call, if it has values, or nothing in it, or broken JSON."""
        if self._values or not self._written(end):
            return [self._call(f"{{{','.join(self._values)}}}")]
        return self.cut_off(end)

    def cut_off(self, end: int) -> list[TextCall]:
        """The call with what was written of it, so that it will not run; none if that is only prose."""
        written = self._written(end)
        begun = self._values or self._key or written.startswith("{")
        return [self._call(written)] if begun else []

    def _written(self, end: int) -> str:
        return self._text[self._opening.end() : end].strip()

    def _call(self, arguments: str) -> TextCall:
        return TextCall(self._opening["call"], arguments, None, self._opening.start())


def _read(text: str, tags: re.Pattern[str], schemas: Mapping[str, Any]) -> list[TextCall]:
    objects = Objects(text)
    calls: list[TextCall] = []
    call: _Open | None = None
    end = 0
    for tag in tags.finditer(text):
        if tag.start() < end:
            continue
        if tag["call"] and not (call and call.in_value):
            calls += call.cut_off(tag.start()) if call else []
            call = _Open(text, tag, schemas.get(tag["call"]))
            if (body := _body(objects, tag.end())) is not None:
                calls.append(TextCall(tag["call"], text[body.start : body.end], None, tag.start()))
                call, end = None, body.end
        elif call and call.ends_with(tag):
            calls += call.whole(tag.start())
            call = None
    return calls + (call.cut_off(len(text)) if call else [])


def _body(objects: Objects, at: int) -> JSONObject | None:
    before = _BODY.match(objects.text, at)
    return objects.at(before.end()) if before else None


def _kinds(schema: Any, key: str) -> list[Any]:
    """The types that a schema allows for a property, as far as they are plain to see."""
    try:
        kinds = schema["properties"][key]["type"]
    except (KeyError, TypeError):
        return []
    return kinds if isinstance(kinds, list) else [kinds]


def _value(written: str, string: str | None, kinds: list[Any]) -> Any:
    """The value of a text without quotes: a string, unless it reads as another kind of JSON value.

    What may be a string, and besides at most null, reads as no number and no object.
    """
    if written.startswith("\n"):
        written = written[1:].removesuffix("\n")
    if string == "true":
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
