"""The smallest parts of badly written JSON, and what each of them means: blanks, words, escapes."""

from __future__ import annotations

import re
from typing import Any, Literal

from zoolab.jsontext import MAX_DIGITS
from zoolab.repair.report import Refused

#: Blanks and comments. Possessive, so that no text makes it slow.
SPACE = re.compile(r"(?:[\s\ufeff]++|//[^\n]*+|#[^\n]*+|/\*(?s:.*?)\*/|<!--(?s:.*?)-->)*+")
WORD = re.compile(r"""[^\s,:{}\[\]"'“”‘’/#<]+""")
BARE_KEY = re.compile(r"""[^\s,:={}\[\]"'“”‘’«»„`\\#/<]+""")
COLON = re.compile(r":|=>?")
#: Between two strings that are one: `"x" + "y"`.
JOINT = re.compile(r"""\s*+\+\s*+(?=["'])""")
CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’"}
LITERALS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}

_INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d*+(?:_\d++)*+)\.?", re.ASCII)
_HEX = re.compile(r"[+-]?0[xX][0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[+-]?(?=\.?\d)(?:0|[1-9]\d*)?(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)
_ESCAPE = re.compile(
    r"""\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["'\\/bfnrt])|(\r\n|[\n\r\u2028\u2029])|[^\s0-7xvaNUu])"""
)
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?\Z")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def read_word(word: str) -> Any:
    """The value of a word outside quotes; the word itself where it is none.

    >>> read_word("True"), read_word("1.50"), read_word("1_000"), read_word("0x1F"), read_word("Oslo")
    (True, 1.5, 1000, 31, 'Oslo')
    """
    if word in LITERALS:
        return LITERALS[word]
    if len(word) > MAX_DIGITS:
        return word
    if _INTEGER.fullmatch(word):
        return int(word.removesuffix("."))
    if _HEX.fullmatch(word):
        return int(word, 16)
    return float(word) if _FLOAT.fullmatch(word) else word


def read_last_word(word: str) -> Any:
    """The value of a word that the text ends in: of a literal, the first letters say it all.

    >>> read_last_word("fals"), read_last_word("12"), read_last_word("Os")
    (False, 12, 'Os')
    """
    begun = [LITERALS[name] for name in ("true", "false", "null") if name.startswith(word)]
    return begun[0] if begun and len(word) > 1 else read_word(word)


def read_escape(text: str, at: int) -> tuple[str, int, Literal["known", "control", "unknown"]]:
    """What the escape at `at` stands for, where it ends, and its kind; an unknown one stands for itself.

    >>> read_escape(r"\\n", 0), read_escape(r"\\d+", 0), read_escape(r"\\u00e9", 0)
    (('\\n', 2, 'control'), ('\\\\d', 2, 'unknown'), ('é', 6, 'control'))
    """
    found = _ESCAPE.match(text, at)
    if found is None and _CUT_ESCAPE.match(text, at):
        raise Refused("a string is not closed")
    if found is None:
        raise Refused(f"an escape that JSON does not know, at character {at}")
    unit, byte, mark, line = found.groups()
    if mark:
        return _ESCAPED.get(mark, mark), found.end(), "control" if mark in _ESCAPED else "known"
    if line:
        return "", found.end(), "control"
    if not unit:
        return (chr(int(byte, 16)), found.end(), "control") if byte else (found[0], found.end(), "unknown")
    low = _ESCAPE.match(text, found.end())
    if unit[:2].lower() in ("d8", "d9", "da", "db") and low and low[1]:
        return bytes.fromhex(unit + low[1]).decode("utf-16-be", "replace"), low.end(), "control"
    return chr(int(unit, 16)), found.end(), "control"
