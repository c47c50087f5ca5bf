"""What a text says around its calls. The words before them go back to the model; nothing of a call does."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zoolab.jsontext import excerpt
from zoolab.textcalls.calls import MARKS, TextCall
from zoolab.textcalls.thoughts import spoken

_NEAR = 256
_FENCE = re.compile(r"```\w{0,16}")


def before_calls(text: str, calls: Sequence[TextCall]) -> str:
    """Return what a text says before its first call, without the marks and the brackets that open the call.

    A thought before the call stays as it is.

    >>> from zoolab.textcalls import find_calls
    >>> said = 'Sure.\\n```json\\n{{"name": "add", "arguments": {}}}\\n```'
    >>> before_calls(said, find_calls(said))
    'Sure.'
    """
    if not calls:
        return text
    begin, _ = spoken(text)
    at = max(begin, calls[0].at)
    words = _without_open_fence(text[begin : _end_of_words(text, begin, at)])
    return (text[:begin] + words).strip()


def _end_of_words(text: str, begin: int, end: int) -> int:
    """Return where the words before a call end: the marks before it are passed, window by window."""
    while found := MARKS["announced"].search(text, max(begin, end - _NEAR), end):
        end = found.start()
    return end


def _without_open_fence(words: str) -> str:
    """Return the words without the last fence if it is open: it belongs to the call that follows."""
    if words.count("```") % 2 == 0:
        return words
    at = words.rfind("```")
    return words[:at] + _FENCE.sub("", words[at:], count=1)


def words_after(text: str, calls: Sequence[TextCall]) -> str:
    """Return the first words between or after the calls of a text, shortened; empty if there are none.

    >>> from zoolab.textcalls import find_calls
    >>> said = '{"name": "add", "arguments": {}}\\nThis adds.'
    >>> words_after(said, find_calls(said))
    '"This adds."'
    """
    _, end = spoken(text)
    ends = [*(call.at for call in calls[1:]), end]
    for call, following in zip(calls, ends, strict=True):
        found = MARKS["closing"].match(text, call.end, max(call.end, following))
        if found and found.end() < following:
            return excerpt(text[found.end() : following].strip(), 60)
    return ""
