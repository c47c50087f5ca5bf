"""Families that write the name of the tool in a head of their own, and then its arguments as JSON."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise, zip_longest

from zoolab.textcalls.calls import Reader, TextCall, by_name, in_tag, read_broken_block, run_of
from zoolab.textcalls.objects import Objects

_NAME = r"(?P<name>[A-Za-z_][\w.-]{0,127})"
_MISTRAL = re.compile(
    rf"(?:\[TOOL_CALLS\]\s*+|(?<![\w.-])(?=[\w.-]{{1,128}}\[(?:CALL_ID|ARGS)\])){_NAME}"
    r"(?:\[CALL_ID\](?P<id>\w{1,64}))?+(?:\[ARGS\])?+\s*+(?=\{)"
)
_KIMI = re.compile(
    rf"<\|tool_call_begin\|>\s*+(?P<id>(?:functions\.)?{_NAME}:\d{{1,9}})\s*+<\|tool_call_argument_begin\|>\s*+(?=\{{)"
)
_DEEPSEEK = re.compile(
    rf"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?{_NAME}(?:<｜tool▁sep｜>|\s*+```json)\s*+(?=\{{)"
)
_GPT_OSS = re.compile(
    rf"\bto=functions\.{_NAME}(?:\s*+<\|(?:channel|constrain)\|>\w{{0,32}})*+\s*+<\|message\|>\s*+(?=\{{)"
)
_AFTER_BROKEN = re.compile(r"\[TOOL_CALLS\]|<[|｜/]|```")


def read_mistral(text: str) -> list[TextCall]:
    """`[TOOL_CALLS]name[ARGS]{...}`, with or without `[CALL_ID]id`; the older list is plain JSON.

    >>> read_mistral('[TOOL_CALLS]add[CALL_ID]123456789[ARGS]{"a": 1}')
    [TextCall(name='add', arguments='{"a": 1}', wanted='123456789', at=0)]
    """
    return _read(text, _MISTRAL) if "[" in text else []


def read_kimi(text: str) -> list[TextCall]:
    """`<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{...}`.

    >>> read_kimi('<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a": 1}')[0].wanted
    'functions.add:0'
    """
    return _read(text, _KIMI)


def read_deepseek(text: str) -> list[TextCall]:
    """`<｜tool▁call▁begin｜>name<｜tool▁sep｜>{...}`, or the fenced form of R1.

    >>> read_deepseek('<｜tool▁call▁begin｜>add<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>')[0].arguments
    '{"a": 1}'
    """
    return _read(text, _DEEPSEEK)


def read_gpt_oss(text: str) -> list[TextCall]:
    """`to=functions.name<|channel|>commentary <|constrain|>json<|message|>{...}`.

    >>> read_gpt_oss('<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}')[0].name
    'add'
    """
    return _read(text, _GPT_OSS)


def _read(text: str, head: re.Pattern[str]) -> list[TextCall]:
    objects = Objects(text)
    heads = list(head.finditer(text))
    calls: list[TextCall] = []
    end = 0
    for found, following in zip_longest(heads, heads[1:]):
        if found.start() >= end:
            given = objects.at(found.end())
            limit = following.start() if following else len(text)
            end = given.end if given else _end_of_broken(text, found.end(), limit)
            wanted = found.groupdict().get("id")
            calls.append(TextCall(found["name"], text[found.end() : end], wanted, found.start()))
    return calls


def _end_of_broken(text: str, start: int, limit: int) -> int:
    mark = _AFTER_BROKEN.search(text, start, limit)
    return mark.start() if mark else limit


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
    return _tagged_calls(text, _TAG, in_tag)


def read_apertus(text: str) -> list[TextCall]:
    """`<|tools_prefix|>[{"name": {arguments}}]<|tools_suffix|>`.

    >>> read_apertus('<|tools_prefix|>[{"f": {"x": 1}}, {"g": {}}]<|tools_suffix|>')[0].arguments
    '{"x": 1}'
    """
    return _tagged_calls(text, _APERTUS, by_name)


def _tagged_calls(text: str, tags: re.Pattern[str], read: Reader) -> list[TextCall]:
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
