"""Calls as FunctionGemma and Gemma 4 write them: `call:name{key:value}`, with marks of their own around text.

Sources: FunctionGemma's page on formatting at ai.google.dev, and pull request 1105 of ml-explore/mlx-lm.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from zoolab.jsontext import MAX_DEPTH, encode, json_or
from zoolab.textcalls.calls import MARKS, TextCall

#: So many broken calls are read, because each may be long.
_MAX_BROKEN = 64
_LINE_END = re.compile(r"[ \t]*+(?:$|<|[,;]?\s*+call:)", re.MULTILINE)
_BETWEEN = re.compile(r"[\s,;]{0,8}")
_PUNCTUATION = re.compile(r"\s*+([{}\[\],])")


def read_gemma(text: str, _schemas: Mapping[str, Any]) -> list[TextCall]:
    """Return `<|tool_call>call:f{x:1,y:<|"|>a<|"|>}<tool_call|>`, or with `<start_function_call>` and
    `<escape>`.

    Servers may leave out the outer marks; then a call fills its line. One pair of marks may hold several
    calls.
    """
    calls: list[TextCall] = []
    end = 0
    broken = 0
    for head in MARKS["gemma"].finditer(text) if "call:" in text else ():
        follows = bool(calls) and _BETWEEN.fullmatch(text, end, max(end, head.start())) is not None
        if head.start() < end or not (head["mark"] or head["line"] is not None or follows):
            continue
        arguments, stop = _arguments(text, head.end())
        if not stop or not _LINE_END.match(text, stop):
            broken += 1
            if broken > _MAX_BROKEN:
                break
            if not head["mark"]:
                continue
            mark = MARKS["gemma_end"].search(text, head.end())
            stop = mark.start() if mark else len(text)
            arguments = text[head.end() : stop].strip()
        calls.append(TextCall(head["name"], arguments, None, head.start(), stop))
        end = stop
    return calls


def _arguments(text: str, at: int) -> tuple[str, int]:
    """Return the JSON of the object at a place, and where it ends; 0 if there is none as these models write
    it.
    """
    pieces: list[str] = []
    opened = ""
    while (opened or not pieces) and len(opened) <= MAX_DEPTH:
        if token := _PUNCTUATION.match(text, at):
            mark = token[1]
            pieces.append(mark)
            opened = opened + mark if mark in "{[" else opened[:-1] if mark in "}]" else opened
        elif pieces[-1] in ("{", ",") and opened[-1] == "{" and (token := MARKS["gemma_key"].match(text, at)):
            pieces.append(encode(token["text"] if token["quote"] else token["json"] or token["bare"]) + ":")
        elif token := MARKS["gemma_value"].match(text, at):
            said = next((token[name] for name in ("text", "single") if token[name] is not None), None)
            written = (token["json"] or token["bare"]).strip() if said is None else said
            is_text = said is not None or json_or(..., written) is ...
            pieces.append(encode(written) if is_text else written)
        else:
            return "", 0
        at = token.end()
    made = "".join(pieces)
    try:
        json.loads(made)
    except ValueError:
        return "", 0
    return made, at
