"""How badly written JSON is read: without what stands around it, by words and escapes, as a value."""

from __future__ import annotations

import re
from typing import Any, Literal

from zoolab.jsontext import MAX_DEPTH, MAX_DIGITS, NotStrictJSON, encode, excerpt, is_utf8, parse_json


class Refused(Exception):
    """There is no proposal, and the message says why."""


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


#: Longer texts are left alone: what a repair library does to them takes too long.
MAX_CHARS = 1 << 15

_FENCE = re.compile(r"```[ \t]*[\w+-]*")
_BRACKET_OR_QUOTE = re.compile(r'[{}\[\]"]')
_TAG = re.compile(r"</?[\w:|-]{1,40}>")
_TALK = re.compile(r"(?s:.*?)[^\W\d_][ \t]+[^\W\d_](?s:.*)|[^\W\d_]+[.!?]?|[.!?]")
#: What introduces an object: `Here:`, `The result =`. A small word alone, as in `filter:`, may be a key.
_LABEL = re.compile(
    r"(?:(?:[^\W\d_]+[ \t]+){0,4}"
    r"(?i:json|arguments|args|parameters|params|output|answer|response|result|here|sure|okay|ok)"
    r"|[A-Z][^\W\d_]*)\s*[:=]"
)
#: A name within talk, as in `the "add" tool`; what a colon or a comma follows may be a key or a value.
_QUOTED_NAME = re.compile(r'(?<=\s)"[^"\n{}\[\]]{1,80}"(?!\s*[:=,])')
_ESCAPED_OBJECT = re.compile(r'\{\s*\\"')


def check_size(raw: str) -> None:
    """Raise if there is nothing to repair, or too much.

    >>> check_size(" ")
    Traceback (most recent call last):
    zoolab.repair.reading.Refused: there is no text
    """
    if not raw.strip():
        raise Refused("there is no text")
    if len(raw) > MAX_CHARS:
        raise Refused(f"more than {MAX_CHARS:,} characters")
    if not is_utf8(raw):
        raise Refused("a lone surrogate")


def unwrapped(raw: str, layers: int = 3) -> str:
    """The text without the fence, the quotes or the prose around it. What follows an object stays.

    >>> unwrapped('```json\\n{"a": 1}\\n```'), unwrapped('Here you are: {"a": 1}')
    ('{"a": 1}', '{"a": 1}')
    """
    check_size(raw)
    text = raw.strip().removeprefix("\ufeff").strip()
    inner = _unfenced(text) or _unquoted(text) or _unintroduced(text) or text
    return unwrapped(inner, layers - 1) if inner != text and layers else text


def is_prose(text: str) -> bool:
    """Whether a text beside an object is only talk: words, maybe a quoted name, no brackets, or tags alone.

    >>> is_prose("Here is why."), is_prose(', "b": 2'), is_prose("b: 2")
    (True, False, False)
    """
    words = _QUOTED_NAME.sub("it", _plain(text))
    if not words:
        return True
    if _BRACKET_OR_QUOTE.search(words) or words[0] in ",:=+" or words[-1] in ",=+":
        return False
    return _TALK.fullmatch(words) is not None


def _plain(text: str) -> str:
    """A text without tags, and without the marks that make it bold or code."""
    return _TAG.sub(" ", text).strip().strip("`* \t\n")


def _unfenced(text: str) -> str:
    if text[:1] in tuple("{[") and text.endswith("```"):
        return text[:-3]
    before, fence, _ = text.partition("```")
    opened = _FENCE.match(text, len(before))
    if not fence or not opened or _BRACKET_OR_QUOTE.search(before):
        return ""
    inner, closing, after = text[opened.end() :].rpartition("```")
    return inner if closing and not _BRACKET_OR_QUOTE.search(after) else text[opened.end() :]


def _unquoted(text: str) -> str:
    """The object within quotes, escaped once more than it should be, or in two pairs of braces."""
    inner = ""
    if text[:1] == '"' or _ESCAPED_OBJECT.match(text):
        inner = _unescaped(text if text[0] == '"' else f'"{text}"')
    elif text.startswith("{{") and text.endswith("}}"):
        inner = text[1:-1]
    if not inner and text[:1] in tuple("\"'`") and text[:1] == text[-1:] and "\\" not in text:
        inner = text[1:-1].strip()
        inner = inner if inner[-1:] == "}" else ""
    return inner if inner.lstrip()[:1] == "{" else ""


def _unescaped(text: str) -> str:
    try:
        value = parse_json(text)
    except NotStrictJSON:
        return ""
    return value if isinstance(value, str) else ""


def _unintroduced(text: str) -> str:
    """The text from its first brace on, if talk stands before it. There, only quoted keys make an object."""
    space = SPACE.match(text)
    start = text.find("{")
    if start < 1 or (space and text[space.end() : space.end() + 1] in tuple("{[\"'“‘")):
        return ""
    quoted = SPACE.match(text, start + 1)
    if not quoted or text[quoted.end() : quoted.end() + 1] not in tuple("\"'“‘}"):
        return ""
    talk = text[:start]
    return text[start:] if is_prose(talk) or _LABEL.fullmatch(_plain(talk)) else ""


def read_loosely(text: str) -> Any:
    """The value at the start of a text; commas and brackets may be missing, words may stand without quotes.

    >>> read_loosely("{$: 1, to: 'Ada', n: [1 2")
    {'$': 1, 'to': 'Ada', 'n': [1, 2]}
    >>> read_loosely('{"to": "Ad')
    Traceback (most recent call last):
    zoolab.repair.reading.Refused: a string is not closed
    """
    return _Reading(text).value(0)


class _Reading:
    """One walk through a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Refused(f"more than {MAX_DEPTH} levels of nesting")
        found = self._next()
        if found == "{":
            return self._object(depth + 1)
        if found == "[":
            return self._list(depth + 1)
        if found in CLOSING:
            return self._string(CLOSING[found])
        word = self._match(WORD)
        return read_word(word) if self.at < len(self.text) else read_last_word(word)

    def _next(self) -> str:
        """Skip blanks and comments; the character after them, empty at the end."""
        space = SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.text[self.at : self.at + 1]

    def _more(self) -> bool:
        """Whether another item follows; if not, the bracket that ends them is behind us."""
        found = self._next()
        if found == ",":
            self.at += 1
            found = self._next()
        self.at += bool(found) and found in "}]"
        return bool(found) and found not in "}]"

    def _list(self, depth: int) -> list[Any]:
        self.at += 1
        items = []
        while self._more():
            items.append(self.value(depth))
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        made: dict[str, Any] = {}
        while self._more():
            found = self._next()
            if found == ",":
                continue
            key = self._string(CLOSING[found]) if found in CLOSING else self._match(BARE_KEY)
            self._next()
            colon = COLON.match(self.text, self.at)
            self.at = colon.end() if colon else self.at
            if not self._next():
                raise Refused(f"the text ends before the value of {excerpt(key)}")
            value = self.value(depth)
            if key in made and encode(made[key]) != encode(value):
                raise Refused(f"the key {excerpt(key)} twice")
            made[key] = value
        return made

    def _string(self, closing: str) -> str:
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text):
            found = self.text[self.at]
            joint = JOINT.match(self.text, self.at + 1) if found == closing else None
            if found == closing and not joint:
                self.at += 1
                return "".join(parts)
            if joint:
                closing, self.at = self.text[joint.end()], joint.end() + 1
            elif found == "\\":
                part, self.at, _ = read_escape(self.text, self.at)
                parts.append(part)
            else:
                parts.append(found)
                self.at += 1
        raise Refused("a string is not closed")

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            rest = excerpt(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end"
            raise Refused(f"no value, but {rest}, at character {self.at}")
        self.at = found.end()
        return found[0]
