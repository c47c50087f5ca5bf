r"""Regular expressions of JSON Schema, which are JavaScript's (ECMA-262), for the package `regex`.

`regex` knows `\p{L}`, which `re` does not, and stops at a time limit. What the two languages read
differently is rewritten: in JavaScript `\d` and `\w` are ASCII, and `$` is the very end of the text.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = "[A-Za-z0-9_]"
_OUTSIDE = {
    "$": r"\Z",
    ".": r"[^\n\r\u2028\u2029]",
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": _WORD,
    r"\W": "[^A-Za-z0-9_]",
    r"\b": rf"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    r"\B": rf"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}
_INSIDE = {r"\d": "0-9", r"\w": "A-Za-z0-9_", "[": r"\["}
_TOKEN = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\c([A-Za-z])|\\.|.", re.DOTALL)


@lru_cache(maxsize=1024)
def to_python(pattern: str) -> str:
    r"""A pattern of ECMA-262 in the words of `regex`.

    >>> to_python(r"^\d+$"), to_python(r"[\w$.-]")
    ('^[0-9]+\\Z', '[A-Za-z0-9_$.-]')
    """
    made: list[str] = []
    inside = False
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token[1] or token[2]:
            made.append(_character(int(token[1], 16) if token[1] else ord(token[2]) % 32))
            continue
        made.append((_INSIDE if inside else _OUTSIDE).get(text, text))
        if text == "]" or (text == "[" and not inside):
            inside = text == "["
    return "".join(made)


def _character(code: int) -> str:
    return f"\\U{code:08x}"


def compiles(pattern: object) -> bool:
    r"""Whether a pattern is a regular expression; what is not text is not judged.

    >>> compiles(r"^\p{L}+$"), compiles("(")
    (True, False)
    """
    import regex

    try:
        return not isinstance(pattern, str) or bool(regex.compile(to_python(pattern)))
    except (regex.error, ValueError, RecursionError, OverflowError):
        return False
