"""Text that looks like a call and is not read as one: why the model's call did not run."""

from __future__ import annotations

import re

from zoolab.textcalls.objects import Objects

_REACT = re.compile(
    r"^[ \t*]*+Action(?: \d{1,3})?:[ \t*]*+"
    r"(?:\S.*\n\s*+[ \t*]*+Action[ _]Input(?: \d{1,3})?:|`?[\w.-]{1,128}`?[ \t*]*+(?:$|[\[(]))",
    re.MULTILINE | re.IGNORECASE,
)
_NAMES = ("name", "tool", "tool_name", "function", "function_name", "action", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "kwargs", "params", "input", "action_input", "tool_input")
_SCHEMA = {"type", "properties"}
_MARK = re.compile(
    r"<tool_call>|<function_calls?>|<function=[\w.-]{1,128}>|<invoke name=|\[TOOL_CALLS\]"
    r"|<\|tool_call(?:_begin\|)?>|<start_function_call>|<\|tools_prefix\|>|```tool_code|<\|python_tag\|>"
)


def near_call(text: str) -> str:
    """What kind of call a text without one looks like; empty if it looks like none.

    >>> near_call('Action: search\\nAction Input: {"q": "Oslo"}')
    'a call in the ReAct form (Action:)'
    >>> near_call('{"tool": "search", "arguments": {"q": "Oslo"}}')
    'a call as an object with "tool" and "arguments"'
    >>> near_call('A tool has "arguments".')
    ''
    """
    if _REACT.search(text):
        return "a call in the ReAct form (Action:)"
    for found in Objects(text).every():
        name = next((key for key in _NAMES if isinstance(found.value(key), str)), None)
        given = next((key for key in _ARGUMENTS if key in found.members), None)
        value = found.value(given) if given else None
        is_schema = isinstance(value, dict) and value.keys() >= _SCHEMA
        if name and given and found.value(name) and not is_schema:
            return f'a call as an object with "{name}" and "{given}"'
    mark = _MARK.search(text)
    return f"the begin of a call ({mark.group()}) without one behind it" if mark else ""
