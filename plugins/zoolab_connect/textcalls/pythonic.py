"""Calls as Python: Llama 4, LFM2 and others write a list, `[get_weather(city="Oslo"), get_time()]`,
Gemma 3 a fence of code, OLMo 3 a call a line between `<function_calls>` tags (source: vLLM's documentation
of its olmo3 parser), and Llama 3 `brave_search.call(query="Oslo")` for the tools it was trained with.

They are parsed and never run: calls by name, with keyword arguments that are literals.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from zoolab.jsontext import MAX_DEPTH, encode
from zoolab.textcalls.calls import MARKS, TextCall

_MAX_TRIES = 64
_MAX_LIST = 1 << 16
_STRING = r"""\"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'"""
_TOKEN = re.compile(
    rf"\\.|(?P<string>{_STRING})|(?P<open>[\[({{])|(?P<close>[\])}}])|\b(?P<word>[a-z]{{2,8}})(?=\s{{0,8}}=[^=])",
    re.DOTALL,
)
#: Makes a name of a word of Python, which a parameter may have: from, class, in.
_NOT_A_WORD = "_zoolab_"
_END_OF_LINE = re.compile(r"[ \t]*+(?:$|<|```)", re.MULTILINE)
_END_OF_FENCE = re.compile(r"\s*+(?:\Z|```)")
_JSON_NAMES = {"true": True, "false": False, "null": None}


def read_lists(text: str, _schemas: Mapping[str, Any]) -> list[TextCall]:
    """Return the lists of calls that end their line and begin one, a sentence, or what a mark such as
    `<|tool_call_start|>` announces.

    In a fence a list must come last, since code may hold such a line too.
    """
    return _bracketed(text, MARKS["list"], "list")


def read_built_in(text: str, _schemas: Mapping[str, Any]) -> list[TextCall]:
    """Return `<|python_tag|>name.call(key="value")`; after the same mark, other code is for an
    interpreter.
    """
    calls = _bracketed(text, MARKS["built_in"], "call")
    return [replace(call, name=call.name.removesuffix(".call")) for call in calls]


def read_tool_code(text: str, _schemas: Mapping[str, Any]) -> list[TextCall]:
    """Return the fences of `tool_code`, or `<function_calls>`, with calls in them and nothing else."""
    calls: list[TextCall] = []
    for fence in islice(MARKS["tool_code"].finditer(text), _MAX_TRIES):
        code = fence["code"] or fence["lines"] or ""
        if len(code) <= _MAX_LIST:
            calls += _calls(code.strip(), fence.start(), fence.end())
    return calls


def _bracketed(text: str, opening: re.Pattern[str], group: str) -> list[TextCall]:
    calls: list[TextCall] = []
    read = 0
    for found in islice(opening.finditer(text), _MAX_TRIES):
        start = found.start(group)
        end = _end_of_brackets(text, start) if start >= read else None
        if end is not None and (inside := _calls(text[start:end], found.start(), end)):
            calls += inside
            read = end
    return calls


def _end_of_brackets(text: str, start: int) -> int | None:
    depth = 0
    for token in _TOKEN.finditer(text, start, start + _MAX_LIST):
        depth += bool(token["open"]) - bool(token["close"])
        if depth > MAX_DEPTH:
            return None
        if depth == 0:
            fenced = text.count("```", 0, start) % 2
            after = (_END_OF_FENCE if fenced else _END_OF_LINE).match(text, token.end())
            return token.end() if after else None
    return None


def _calls(source: str, at: int, end: int) -> list[TextCall]:
    try:
        made = ast.parse(_TOKEN.sub(_as_python, source), "<calls in a model's text>").body
        lines = [line.value if isinstance(line, ast.Expr) else line for line in made]
        return [
            replace(_call(node), at=at, end=end)
            for line in lines
            for node in (line.elts if isinstance(line, ast.List) else [line])
        ]
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []


def _as_python(token: re.Match[str]) -> str:
    """Return a token as Python takes it: line breaks in a string as escapes, and no word of Python as
    a name.
    """
    if token["word"]:
        return f"{_NOT_A_WORD}{token.group()}" if keyword.iskeyword(token["word"]) else token.group()
    return token.group().replace("\n", "\\n").replace("\r", "\\r") if token["string"] else token.group()


def _call(node: ast.AST) -> TextCall:
    if not isinstance(node, ast.Call) or node.args:
        raise ValueError("not a call with only keyword arguments")
    names = [_as_written(named.arg) for named in node.keywords if named.arg]
    arguments = {name: _literal(named.value) for name, named in zip(names, node.keywords, strict=False)}
    if len(arguments) != len(node.keywords):
        raise ValueError("a name has more or fewer than one value")
    return TextCall(_name(node.func), encode(arguments))


def _as_written(name: str) -> str:
    word = name.removeprefix(_NOT_A_WORD)
    return word if keyword.iskeyword(word) else name


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            return f"{_name(owner)}.{name}"
    raise ValueError("not a name")


def literal(written: str) -> Any:
    """Return the value of a literal of Python; raises an error if it is none, or too long.

    >>> literal("{'theme': 'dark', 'on': True}")
    {'theme': 'dark', 'on': True}
    """
    if len(written) > _MAX_LIST:
        raise ValueError("too long")
    return _literal(ast.parse(written.strip(), "<a value in a model's text>", "eval").body)


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.Name(id="true" | "false" | "null" as name):
            return _JSON_NAMES[name]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            names = [
                key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
            ]
            return dict(zip(names, map(_literal, values), strict=True))
    raise ValueError("not a literal")
