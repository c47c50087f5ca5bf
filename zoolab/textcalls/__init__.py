"""Calls that a model wrote into its text, in the formats of the model families; one file a kind of format.

thoughts.py   what a model only thinks is no call
hermes.py     <tool_call>{"name": ..., "arguments": ...}</tool_call>
tagged.py     names and values in tags: Qwen3-Coder, GLM, MiniMax, DeepSeek since 3.2
headed.py     the name in a head, the arguments as JSON: Mistral, Kimi, DeepSeek until 3.1, gpt-oss
llama.py      {"name": ..., "parameters": ...}; {...}
pythonic.py   [get_weather(city="Oslo")], the same in a fence of tool_code, name.call(...) of Llama
plain.py      the first object with name and arguments, anywhere
broken.py     the same with arguments that are no JSON
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from zoolab.jsontext import MAX_CHARS
from zoolab.textcalls.broken import broken_calls
from zoolab.textcalls.calls import TextCall
from zoolab.textcalls.headed import read_deepseek, read_gpt_oss, read_kimi, read_mistral
from zoolab.textcalls.hermes import read_hermes
from zoolab.textcalls.minimax import read_minimax_m3
from zoolab.textcalls.plain import read_llama, read_plain
from zoolab.textcalls.pythonic import read_built_in, read_pythonic, read_tool_code
from zoolab.textcalls.tagged import read_glm, read_invoke, read_kimi_3, read_qwen_coder
from zoolab.textcalls.thoughts import spoken

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["READERS", "READERS_OF_TAGS", "TextCall", "find_calls"]

#: Each takes a text and gives the calls in it, in order.
READERS = (
    read_hermes,
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


def find_calls(text: str, schemas: Mapping[str, Any] = MappingProxyType({})) -> list[TextCall]:
    """The calls in a text, whatever family wrote it; none is an empty list.

    The call that begins first decides the format, so that a call that is quoted in the arguments of
    another is none. `schemas` holds the parameters of the tools by name: where a family writes no
    quotes, they tell whether `5123` is a string. After 2 ** 20 characters nothing is read.

    >>> find_calls('Sure! {"name": "add", "arguments": {"a": 1}}')[0].arguments
    '{"a": 1}'
    >>> [call.name for call in find_calls("[get_weather(city='Oslo'), get_time()]")]
    ['get_weather', 'get_time']
    >>> find_calls('<think>{"name": "add", "arguments": {}}?</think> No.')
    []
    """
    said = spoken(text)[:MAX_CHARS]
    found = [calls for read in READERS if (calls := read(said))]
    found += [calls for read in READERS_OF_TAGS if (calls := read(said, schemas))]
    return min(found, key=lambda calls: calls[0].at) if found else broken_calls(said)[:1]
