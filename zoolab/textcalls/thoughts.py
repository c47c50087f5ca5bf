"""What a model thinks is private: a call in a thought was weighed, not made."""

from __future__ import annotations

import re

# A mark in a quoted string is part of an argument. Strings end with their line, so that a lone quote
# in prose hides little; a backslash and what follows are passed together, which keeps it linear.
_MARK = re.compile(
    r'\\.|"(?:[^"\\\n]|\\.)*+"'
    r"|(?P<open><(?:\w{1,16}:)?think(?:ing)?>|\[THINK\]|<\|START_THINKING\|>|<\|channel>thought\b"
    r"|<\|inner_prefix\|>)"
    r"|(?P<close></(?:\w{1,16}:)?think(?:ing)?>|\[/THINK\]|<\|END_THINKING\|>|<channel\|>|<\|inner_suffix\|>)"
)


def spoken(text: str) -> str:
    """What comes after the last thought, and before one that was not ended.

    The mark that begins a thought may be missing, since many templates write it into the prompt.

    >>> spoken("<think>Add?</think>Hello."), spoken("Add?</think>Hello."), spoken("Hello. <think>Add")
    ('Hello.', 'Hello.', 'Hello. ')
    """
    begin, end = spoken_span(text)
    return text[begin:end]


def spoken_span(text: str) -> tuple[int, int]:
    """Where what is spoken begins and ends.

    >>> spoken_span("<think>Add?</think>Hello.")
    (19, 25)
    """
    begin, end = 0, len(text)
    for mark in _MARK.finditer(text):
        if mark["close"]:
            begin, end = mark.end(), len(text)
        elif mark["open"] and end == len(text):
            end = mark.start()
    return begin, end
