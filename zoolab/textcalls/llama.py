"""Llama 3 writes `{"name": ..., "parameters": ...}`, several separated by `;`; Cohere a list of such."""

from __future__ import annotations

import re

from zoolab.textcalls.calls import TextCall, listed, run_of, with_parameters
from zoolab.textcalls.objects import Objects

_ALONE = re.compile(r"(?:^|<\|\w{1,32}\|>|```\w{0,16})[ \t]*+(?:\[\s*+)?+(?=\{)", re.MULTILINE)
_END_OF_LINE = re.compile(r"[ \t;.,}\]]*+(?:$|<|```)", re.MULTILINE)
_SEMICOLON = re.compile(r"\s*+;\s*+")


def read_llama(text: str) -> list[TextCall]:
    """The first object with `name` and `parameters`, and those that come right after it.

    Inside of another object it is data, and so it is with words before or behind it on its line.

    >>> written = '<|python_tag|>{"name": "f", "parameters": {"x": 1}}; {"name": "g", "parameters": {}}'
    >>> [(call.name, call.arguments) for call in read_llama(written)]
    [('f', '{"x": 1}'), ('g', '{}')]
    >>> read_llama('Product: {"name": "Widget", "parameters": {"size": "L"}}')
    []
    """
    if '"parameters"' not in text:
        return []
    objects = Objects(text)
    alone = {match.end() for match in _ALONE.finditer(text)}
    for found in objects.outermost():
        if found.start in alone and with_parameters(found) is not None:
            if several := listed(objects, found, with_parameters):
                return several
            calls, end = run_of(objects, found, with_parameters, _SEMICOLON)
            if _END_OF_LINE.match(text, end):
                return calls
    return []
