"""Calls as Python: Llama 4, LFM2 and others write a list, `[get_weather(city="Oslo"), get_time()]`,
Gemma 3 a fence of code, and Llama 3 `brave_search.call(query="Oslo")` for the tools it was trained with.

They are parsed and never run: calls by name, with keyword arguments that are literals.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from itertools import islice
from typing import Any

from zoolab.jsontext import MAX_DEPTH, encode
from zoolab.textcalls.calls import TextCall

_MAX_TRIES = 64
_MAX_LIST = 1 << 16
_LIST = re.compile(
    r"(?:(?:^|(?<=[.:!?]))[ \t]*+|<\|\w{1,32}\|>\s*+)(?P<list>\[)(?=\s*+[A-Za-z_][\w.]{0,127}\()",
    re.MULTILINE,
)
_BUILT_IN = re.compile(r"<\|python_tag\|>\s*+(?P<call>[A-Za-z_]\w{0,127}\.call\()")
_TOOL_CODE = re.compile(r"```tool_code[ \t]*+\n(?P<code>.*?)(?:```|\Z)", re.DOTALL)
_TOKEN = re.compile(r"""\\.|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|(?P<open>[\[({])|(?P<close>[\])}])""")
_END_OF_LINE = re.compile(r"[ \t]*+(?:$|<|```)", re.MULTILINE)
_END_OF_FENCE = re.compile(r"\s*+(?:\Z|```)")
_JSON_NAMES = {"true": True, "false": False, "null": None}


def read_pythonic(text: str) -> list[TextCall]:
    """The first list of calls that ends its line and begins one, a sentence, or what a mark such as
    `<|tool_call_start|>` announces.

    In a fence it must come last, since code may hold such a line too.

    >>> read_pythonic("Right away.\\n[add(a=1, b=[2, None])]")[0].arguments
    '{"a":1,"b":[2,null]}'
    >>> read_pythonic("In Python, [f(x=1)] makes a list.")
    []
    """
    for opening in islice(_LIST.finditer(text), _MAX_TRIES):
        start = opening.start("list")
        end = _end_of_brackets(text, start)
        if end is not None and (calls := _calls(text[start:end], opening.start())):
            return calls
    return []


def read_built_in(text: str) -> list[TextCall]:
    """`<|python_tag|>name.call(key="value")`; after the same mark, other code is for an interpreter.

    >>> read_built_in('<|python_tag|>brave_search.call(query="Oslo")')[0].name
    'brave_search'
    """
    for opening in islice(_BUILT_IN.finditer(text), _MAX_TRIES):
        start = opening.start("call")
        end = _end_of_brackets(text, start)
        if end is not None and (calls := _calls(text[start:end], opening.start())):
            return [replace(call, name=call.name.removesuffix(".call")) for call in calls]
    return []


def read_tool_code(text: str) -> list[TextCall]:
    """The first fence of `tool_code` with calls in it, and nothing else.

    >>> [call.name for call in read_tool_code("```tool_code\\nf(x=1)\\ng()\\n```")]
    ['f', 'g']
    >>> read_tool_code("```tool_code\\nx = 1\\nf(x=x)\\n```")
    []
    """
    for fence in _TOOL_CODE.finditer(text):
        if len(fence["code"]) <= _MAX_LIST and (calls := _calls(fence["code"].strip(), fence.start())):
            return calls
    return []


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


def _calls(source: str, at: int) -> list[TextCall]:
    try:
        made = ast.parse(source, "<calls in a model's text>").body
        return [_call(node, at) for line in made for node in _nodes(line)]
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []


def _nodes(line: ast.stmt) -> list[ast.expr]:
    if not isinstance(line, ast.Expr):
        raise ValueError("not an expression")
    return line.value.elts if isinstance(line.value, ast.List) else [line.value]


def _call(node: ast.expr, at: int) -> TextCall:
    if not isinstance(node, ast.Call) or node.args:
        raise ValueError("not a call with keyword arguments alone")
    arguments = {keyword.arg: _literal(keyword.value) for keyword in node.keywords}
    if None in arguments or len(arguments) != len(node.keywords):
        raise ValueError("not one value for each name")
    return TextCall(_name(node.func), encode(arguments), None, at)


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            return f"{_name(owner)}.{name}"
    raise ValueError("not a name")


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
            return {_key(key): _literal(value) for key, value in zip(keys, values, strict=True)}
    raise ValueError("not a literal")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError("not a string")
