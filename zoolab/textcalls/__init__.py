"""Calls that a model wrote into its text, in the formats of the model families; one file a kind of format.

thoughts.py   what a model only thinks is not a call
tagged.py     names and values in tags: Qwen3-Coder, GLM, MiniMax, DeepSeek since 3.2, Kimi K3
headed.py     JSON between marks, with the name inside (Hermes, Qwen, Apertus) or before it (Mistral, Kimi K2,
              DeepSeek until 3.1, gpt-oss)
gemma.py      call:name{key:value}: FunctionGemma, Gemma 4
pythonic.py   [get_weather(city="Oslo")], the same as code of Gemma 3 and OLMo 3, name.call(...) of Llama
plain.py      JSON on lines of its own, or the first object with name and arguments; Llama 3, Cohere
nearly.py     what looks like a call and is not read

calls.py      a call as it was found in a text, also with arguments that are not JSON
objects.py    JSON objects inside a text
"""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from zoolab.jsontext import MAX_CHARS
from zoolab.textcalls.calls import TextCall, broken_calls
from zoolab.textcalls.gemma import read_gemma
from zoolab.textcalls.headed import (
    read_apertus,
    read_deepseek,
    read_gpt_oss,
    read_hermes,
    read_kimi,
    read_mistral,
)
from zoolab.textcalls.nearly import near_call
from zoolab.textcalls.plain import plain_calls, read_llama, read_plain
from zoolab.textcalls.pythonic import read_built_in, read_pythonic, read_tool_code
from zoolab.textcalls.tagged import read_glm, read_invoke, read_kimi_3, read_minimax_m3, read_qwen_coder
from zoolab.textcalls.thoughts import spoken, spoken_span

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["READERS", "READERS_OF_TAGS", "TextCall", "before_calls", "find_calls", "in_cut_text", "notes"]

_NEAR = 256
#: What a family writes before its calls, at the end of a text.
_ANNOUNCED = re.compile(r"(?:\s|\[TOOL_CALLS\]|\[|```\w{0,16}|\]<\]minimax\[>\[|<[^<>\n]{1,64}>)++\Z")

#: Each takes a text and gives the calls in it, in order.
READERS = (
    read_hermes,
    read_apertus,
    read_gemma,
    read_mistral,
    read_kimi,
    read_deepseek,
    read_gpt_oss,
    read_llama,
    read_pythonic,
    read_built_in,
    read_tool_code,
    read_plain,
)
#: These take the schemas of the tools as well, since their values are written without quotes.
READERS_OF_TAGS = (read_qwen_coder, read_glm, read_invoke, read_kimi_3, read_minimax_m3)


def find_calls(
    text: str, schemas: Mapping[str, Any] = MappingProxyType({}), names: Collection[str] | None = None
) -> list[TextCall]:
    """The calls in a text, whatever family wrote it; none is an empty list.

    The call that begins first decides the format, so that a call that is quoted in the arguments of
    another is none. `schemas` holds the parameters of the tools by name: where a family writes no
    quotes, they tell whether `5123` is a string. With `names`, only calls of these tools are found.
    After 2 ** 20 characters nothing is read.

    >>> find_calls('Sure! {"name": "add", "arguments": {"a": 1}}')[0].arguments
    '{"a": 1}'
    >>> [call.name for call in find_calls("[get_weather(city='Oslo'), get_time()]")]
    ['get_weather', 'get_time']
    >>> find_calls('<think>{"name": "add", "arguments": {}}?</think> No.')
    []
    >>> find_calls('{"name": "Bob", "arguments": {}}', names=["add"])
    []
    """
    begin, end = spoken_span(text)
    said = text[begin : min(end, begin + MAX_CHARS)]
    everything = [read(said) for read in READERS] + [read(said, schemas) for read in READERS_OF_TAGS]
    found = [known for calls in everything if (known := _of(names, calls))]
    calls = min(found, key=lambda calls: calls[0].at) if found else _of(names, broken_calls(said))[:1]
    return [replace(call, at=call.at + begin) for call in calls] if begin else calls


def _of(names: Collection[str] | None, calls: list[TextCall]) -> list[TextCall]:
    return calls if names is None else [call for call in calls if call.name in names]


def before_calls(text: str, calls: list[TextCall]) -> str:
    """What a text says before its first call, without the fence or the marks that announce the call.

    >>> said = 'Sure.\\n```json\\n{"name": "add", "arguments": {}}\\n```'
    >>> before_calls(said, find_calls(said))
    'Sure.'
    """
    if not calls:
        return text
    before = text[: calls[0].at]
    near = before[-_NEAR:]
    return (before[: len(before) - len(near)] + _ANNOUNCED.sub("", near)).strip()


def in_cut_text(text: str, calls: list[TextCall]) -> list[TextCall]:
    """The calls in a text that was cut off: those in a fence that is still open must not run.

    Their arguments are all of the fence, so that validation names what is wrong.

    >>> said = '```json\\n{"name": "add", "arguments": {"a": 1}}'
    >>> in_cut_text(said, find_calls(said))[0].arguments[:8]
    '```json\\n'
    """
    if text.count("```") % 2 == 0:
        return calls
    fence = text.rfind("```")
    return [replace(call, arguments=text[fence:]) if call.at >= fence else call for call in calls]


def notes(text: str) -> tuple[str, ...]:
    """What somebody should know who wonders why a text gave these calls, or none.

    >>> notes('{"tool": "add", "arguments": {"a": 1}}')
    ('the text looks like a call as an object with "tool" and "arguments", which zoolab does not run',)
    >>> notes('I call {"name": "f", "arguments": {}} and then {"name": "g", "arguments": {}}.')
    ('only the first call is read: in prose there is also g; calls on lines of their own are all read',)
    """
    said = spoken(text)[:MAX_CHARS]
    calls = find_calls(text)
    if not calls:
        near = near_call(said)
        return (f"the text looks like {near}, which zoolab does not run",) if near else ()
    alone, in_prose = plain_calls(said)
    unread = [call.name for run in in_prose[not alone :] for call in run]
    if not unread or read_plain(said)[0].name != calls[0].name:
        return ()
    first = "calls on lines of their own are" if alone else "only the first call is"
    also = ", ".join(unread)
    return (f"{first} read: in prose there is also {also}; calls on lines of their own are all read",)
