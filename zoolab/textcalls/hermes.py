"""Calls as JSON between marks: Hermes, Qwen and many others in `<tool_call>`, Apertus in `<|tools_prefix|>`.

Source for Apertus: vLLM's parser and the format's specification of the Swiss AI initiative.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from zoolab.textcalls.broken import read_broken_block
from zoolab.textcalls.calls import Reader, TextCall, by_name, in_tag, run_of
from zoolab.textcalls.objects import Objects

_TAG = re.compile(r"<(?P<close>/?)(?:tool_call|function_call|functioncall|tools)>|\Z")
_APERTUS = re.compile(r"<\|tools_prefix\|>|(?P<close><\|tools_suffix\|>)|\Z")
_BEFORE_CALL = re.compile(r"\s*+(?:<!\[CDATA\[\s*+)?+(?:```\w{0,16}\s*+)?(?:\[\s*+)?(?=\{)")
_BETWEEN_CALLS = re.compile(r"\s*+,?\s*+")


def read_hermes(text: str) -> list[TextCall]:
    """The calls in `<tool_call>` tags, broken ones included.

    >>> block = '<tool_call>{"name": "%s", "arguments": {}}</tool_call>'
    >>> [call.name for call in read_hermes("Both: " + block % "f" + block % "g")]
    ['f', 'g']
    """
    return _read(text, _TAG, in_tag)


def read_apertus(text: str) -> list[TextCall]:
    """`<|tools_prefix|>[{"name": {arguments}}]<|tools_suffix|>`.

    >>> read_apertus('<|tools_prefix|>[{"f": {"x": 1}}, {"g": {}}]<|tools_suffix|>')[0].arguments
    '{"x": 1}'
    """
    return _read(text, _APERTUS, by_name)


def _read(text: str, tags: re.Pattern[str], read: Reader) -> list[TextCall]:
    objects = Objects(text)
    calls: list[TextCall] = []
    end = 0
    for tag, following in pairwise(tags.finditer(text)):
        before = _BEFORE_CALL.match(text, tag.end())
        if tag["close"] or tag.start() < end or before is None:
            continue
        inside, end = _calls_in_block(objects, before.end(), following.start(), read)
        calls += [replace(call, at=tag.start()) for call in inside]
    return calls


def _calls_in_block(objects: Objects, start: int, end: int, read: Reader) -> tuple[list[TextCall], int]:
    found = objects.at(start)
    if found is None:
        return read_broken_block(objects.text[start:end]), end
    calls, stop = run_of(objects, found, read, _BETWEEN_CALLS)
    return calls, stop if calls else found.end
