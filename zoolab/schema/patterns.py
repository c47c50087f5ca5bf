"""The regular expressions of JSON Schema, in the words of `regex`."""

from __future__ import annotations

import re
from functools import lru_cache

from zoolab.files import read_table
from zoolab.schema.work import TooMuchWork, step

TABLE = read_table("zoolab.schema", "drafts.toml")
_OUTSIDE: dict[str, str] = TABLE["outside"]
_INSIDE: dict[str, str] = TABLE["inside"]
_TOKEN = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\c([A-Za-z])|\\.|.", re.DOTALL)


#: A longer pattern takes too long to compile.
MAX_PATTERN_CHARS = 8_000


@lru_cache(maxsize=1024)
def to_python(pattern: str) -> str:
    r"""Return a pattern of ECMA-262 in the words of `regex`."""
    made: list[str] = []
    inside = False
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token[1] or token[2]:
            code = int(token[1], 16) if token[1] else ord(token[2]) % 32
            made.append(f"\\U{code:08x}")
            continue
        made.append((_INSIDE if inside else _OUTSIDE).get(text, text))
        if text == "]" or (text == "[" and not inside):
            inside = text == "["
    return "".join(made)


def compiles(pattern: object) -> bool:
    """Return whether a pattern is a regular expression; what is not text is not judged."""
    import regex

    step()
    if isinstance(pattern, str) and len(pattern) > MAX_PATTERN_CHARS:
        raise TooMuchWork
    try:
        return not isinstance(pattern, str) or bool(regex.compile(to_python(pattern)))
    except (regex.error, ValueError, RecursionError, OverflowError):
        return False
