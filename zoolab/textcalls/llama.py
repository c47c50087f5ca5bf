"""Llama 3 writes `{"name": ..., "parameters": ...}`, several separated by `;`; Cohere a list of such."""

from __future__ import annotations

import re

from zoolab.textcalls.calls import TextCall, listed, run_of, with_parameters
from zoolab.textcalls.objects import Objects

_SEMICOLON = re.compile(r"\s*+;\s*+")


def read_llama(text: str) -> list[TextCall]:
    """The first object with `name` and `parameters`, and those that come right after it.

    Inside of another object it is data.

    >>> written = '<|python_tag|>{"name": "f", "parameters": {"x": 1}}; {"name": "g", "parameters": {}}'
    >>> [(call.name, call.arguments) for call in read_llama(written)]
    [('f', '{"x": 1}'), ('g', '{}')]
    """
    if '"parameters"' not in text:
        return []
    objects = Objects(text)
    for found in objects.outermost():
        if with_parameters(found) is not None:
            calls = listed(objects, found, with_parameters)
            return calls or run_of(objects, found, with_parameters, _SEMICOLON)[0]
    return []
