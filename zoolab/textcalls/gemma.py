"""FunctionGemma and Gemma 4 write `call:name{key:value}`, with strings between marks of their own.

Sources: FunctionGemma's page on formatting at ai.google.dev, and pull request 1105 of ml-explore/mlx-lm.
"""

from __future__ import annotations

import re

from zoolab.jsontext import MAX_DEPTH, NotStrictJSON, encode, parse_json
from zoolab.textcalls.calls import TextCall

_HEAD = re.compile(
    r"(?:<start_function_call>|<\|tool_call>|^)[ \t]*+call:(?P<name>[A-Za-z_][\w.-]{0,127}+)"
    r"(?::(?P=name))?+[ \t]*+(?=\{)",
    re.MULTILINE,
)
_END = re.compile(r"<end_function_call>|<tool_call\|>|<start_function_call>|<\|tool_call>")
_AFTER = re.compile(r"[ \t]*+(?:$|<)", re.MULTILINE)
_MARKED = (
    r"<escape>(?P<{0}1>[^<]*+(?:<(?!escape>)[^<]*+)*+)<escape>"
    r"|<\|\"\|>(?P<{0}2>[^<]*+(?:<(?!\|\"\|>)[^<]*+)*+)<\|\"\|>"
)
_QUOTED = r'(?P<json>"(?:[^"\\]|\\.)*+")'
_TOKEN = re.compile(
    rf"\s*+(?:{_MARKED.format('text')}|{_QUOTED}|(?P<mark>[{{}}\[\],:])|(?P<bare>[^{{}}\[\],:<>\s\"][^{{}}\[\],<>\"]*+))",
    re.DOTALL,
)
_KEY = re.compile(
    rf"\s*+(?:{_MARKED.format('key')}|\"(?P<key3>[^\"\\]{{1,128}})\"|(?P<key4>[^{{}}\[\],:<>\s\"]{{1,128}}))\s*+:",
    re.DOTALL,
)


def read_gemma(text: str) -> list[TextCall]:
    """`<|tool_call>call:f{x:1,y:<|"|>a<|"|>}<tool_call|>`, or with `<start_function_call>` and `<escape>`.

    Servers may leave out the outer marks; then a call fills its line.

    >>> read_gemma('<|tool_call>call:f{x:1,y:[<|"|>a<|"|>,true]}<tool_call|>')[0].arguments
    '{"x":1,"y":["a",true]}'
    >>> read_gemma("<start_function_call>call:f{x:<escape>5<escape>}<end_function_call>")[0].arguments
    '{"x":"5"}'
    >>> read_gemma("<|tool_call>call:f{x:<tool_call|>")[0].arguments
    '{x:'
    """
    if "call:" not in text:
        return []
    calls: list[TextCall] = []
    end = 0
    for head in _HEAD.finditer(text):
        if head.start() < end:
            continue
        marked = head.group().lstrip().startswith("<")
        try:
            arguments, stop = _object(text, head.end(), 0)
        except _BrokenValue:
            arguments, stop = "", 0
        if not stop or not _AFTER.match(text, stop):
            if not marked:
                continue
            mark = _END.search(text, head.end())
            stop = mark.start() if mark else len(text)
            arguments = text[head.end() : stop].strip()
        calls.append(TextCall(head["name"], arguments, None, head.start()))
        end = stop
    return calls


class _BrokenValue(ValueError):
    """Here is no value as these models write one."""


def _value(text: str, at: int, depth: int) -> tuple[str, int]:
    """The JSON of the value at a place, and where it ends."""
    token = _TOKEN.match(text, at)
    if token is None or depth > MAX_DEPTH:
        raise _BrokenValue
    if token["mark"] == "{":
        return _object(text, token.end() - 1, depth)
    if token["mark"] == "[":
        return _list(text, token.end(), depth)
    if token["mark"]:
        raise _BrokenValue
    if token["json"] or token["bare"]:
        return _plain((token["json"] or token["bare"]).strip()), token.end()
    return encode(_marked(token, "text")), token.end()


def _object(text: str, at: int, depth: int) -> tuple[str, int]:
    members: list[str] = []
    at += 1
    while not (closed := _mark(text, at, "}")):
        if members:
            at = _mark(text, at, ",")
        key = _KEY.match(text, at)
        if key is None or not at:
            raise _BrokenValue
        value, at = _value(text, key.end(), depth + 1)
        members.append(f"{encode(_marked(key, 'key') or key['key3'] or key['key4'] or '')}:{value}")
    return "{" + ",".join(members) + "}", closed


def _list(text: str, at: int, depth: int) -> tuple[str, int]:
    items: list[str] = []
    while not (closed := _mark(text, at, "]")):
        if items and not (at := _mark(text, at, ",")):
            raise _BrokenValue
        value, at = _value(text, at, depth + 1)
        items.append(value)
    return f"[{','.join(items)}]", closed


def _mark(text: str, at: int, mark: str) -> int:
    """Where the mark at a place ends; 0 if there is another one, or none."""
    token = _TOKEN.match(text, at)
    return token.end() if token and token["mark"] == mark else 0


def _marked(token: re.Match[str], name: str) -> str:
    return token[f"{name}1"] if token[f"{name}1"] is not None else token[f"{name}2"] or ""


def _plain(written: str) -> str:
    """A value without marks: JSON if it reads as such, else a string."""
    try:
        parse_json(written)
    except NotStrictJSON:
        return encode(written)
    return written
