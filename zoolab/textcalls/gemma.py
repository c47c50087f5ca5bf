"""FunctionGemma and Gemma 4 write `call:name{key:value}`, with strings between marks of their own.

Sources: FunctionGemma's page on formatting at ai.google.dev, and pull request 1105 of ml-explore/mlx-lm.
"""

from __future__ import annotations

import re

from zoolab.jsontext import MAX_DEPTH, NotStrictJSON, encode, parse_json
from zoolab.textcalls.calls import TextCall

_HEAD = re.compile(
    r"(?P<mark><start_function_call>|<\|tool_call>|^)[ \t]*+call:(?P<name>[A-Za-z_][\w.-]{0,127}+)"
    r"(?::(?P=name))?+[ \t]*+(?=\{)",
    re.MULTILINE,
)
_END = re.compile(r"<end_function_call>|<tool_call\|>|<start_function_call>|<\|tool_call>")
_AFTER = re.compile(r"[ \t]*+(?:$|<)", re.MULTILINE)
_STRING = r'(?P<quote><escape>|<\|"\|>)(?P<text>.*?)(?P=quote)'
_VALUE = re.compile(
    rf'\s*+(?:{_STRING}|(?P<json>"(?:[^"\\]|\\.)*+")|(?P<bare>[^{{}}\[\],:<>\s"][^{{}}\[\],<>"]*+))',
    re.DOTALL,
)
_KEY = re.compile(
    rf'\s*+(?:{_STRING}|"(?P<json>[^"\\]{{1,128}})"|(?P<bare>[^{{}}\[\],:<>\s"]{{1,128}}))\s*+:', re.DOTALL
)
_PUNCTUATION = re.compile(r"\s*+([{}\[\],])")


def read_gemma(text: str) -> list[TextCall]:
    """`<|tool_call>call:f{x:1,y:<|"|>a<|"|>}<tool_call|>`, or with `<start_function_call>` and `<escape>`.

    Servers may leave out the outer marks; then a call fills its line.
    """
    calls: list[TextCall] = []
    end = 0
    for head in _HEAD.finditer(text) if "call:" in text else ():
        if head.start() < end:
            continue
        arguments, stop = _value(text, head.end(), 0)
        if not stop or not _AFTER.match(text, stop):
            if not head["mark"]:
                continue
            mark = _END.search(text, head.end())
            stop = mark.start() if mark else len(text)
            arguments = text[head.end() : stop].strip()
        calls.append(TextCall(head["name"], arguments, None, head.start()))
        end = stop
    return calls


def _value(text: str, at: int, depth: int) -> tuple[str, int]:
    """The JSON of the value at a place, and where it ends; 0 if there is none as these models write it."""
    opening, inside = _punctuation(text, at)
    if opening in ("{", "[") and depth <= MAX_DEPTH:
        return _items(text, inside, "]" if opening == "[" else "}", depth + 1)
    token = _VALUE.match(text, at)
    if token is None or depth > MAX_DEPTH:
        return "", 0
    if token["quote"]:
        return encode(token["text"]), token.end()
    written = (token["json"] or token["bare"]).strip()
    try:
        parse_json(written)
    except NotStrictJSON:
        return encode(written), token.end()
    return written, token.end()


def _items(text: str, at: int, closing: str, depth: int) -> tuple[str, int]:
    """The JSON of the object or the list whose items begin at a place, and where it ends; else 0."""
    items: list[str] = []
    mark, after = _punctuation(text, at)
    while mark != closing:
        if items:
            if mark != ",":
                return "", 0
            at = after
        name = ""
        if closing == "}":
            key = _KEY.match(text, at)
            if key is None:
                return "", 0
            at = key.end()
            name = encode(key["text"] if key["quote"] else key["json"] or key["bare"]) + ":"
        value, at = _value(text, at, depth)
        if not at:
            return "", 0
        items.append(name + value)
        mark, after = _punctuation(text, at)
    inside = ",".join(items)
    return f"{{{inside}}}" if closing == "}" else f"[{inside}]", after


def _punctuation(text: str, at: int) -> tuple[str, int]:
    found = _PUNCTUATION.match(text, at)
    return (found[1], found.end()) if found else ("", at)
