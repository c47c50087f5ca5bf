"""How badly written JSON is read: without what stands around it (fences, quotes, tags, talk), by words and
escapes, as the one value that it can stand for.

Quotes, commas, comments and closing brackets may be wrong or missing. Where a text could stand for two
values, or ends in the middle of one, it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any, Literal

from zoolab.jsontext import MAX_DEPTH, MAX_DIGITS, encode, excerpt, json_or
from zoolab.repair.unwrapping import (
    BRACKET_OR_QUOTE,
    LINE,
    MARK,
    MAX_CHARS,
    SPACE,
    Refused,
    is_prose,
    unwrapped,
)

WORD = re.compile(r"""[^\s,;:{}\[\]"'“”‘’/#<]+""")
_KEY = re.compile(r"""[^\s,:={}\[\]"'“”‘’«»„`\\#/<]+""")
_COLON = re.compile(r":|=>?")
_TEXT = re.compile(r"[^\W\d]\w*(?:[ .-]\w+)*")
#: Between two strings that are one: `"x" + "y"`.
_JOINT = re.compile(r"""\s*+\+\s*+(?=["'])""")
#: Words in quotes within a string, as in `"say "hi" to me"`.
_QUOTATION = re.compile(r"""(?<=\s)(["'])\w[^"'“”‘’\\,:{}\[\]\n]*\1(?!\s*(?:[,:}\]]|\Z))""")
#: The value of an attribute, within a string that holds a tag: `<a href="x">`.
_ATTRIBUTE = re.compile(r"""(?<=\w=)(["'])[^"'\\<>{}\[\]\n]*\1(?=\s*/?>|\s+[\w-]+=)""")
_OPEN_TAG = re.compile(r"<\w[^<>]*\Z")
#: A key without quotes, after a pair without a comma.
_NEXT_KEY = re.compile(r"[^\W\d]\w*\s*:")
#: Between two items: a bracket that is missing may stand before it.
_BETWEEN = re.compile(r"\s*+[,;]|\s++")
#: Characters times places: to try a mark at more of them takes seconds.
MAX_WORK = 2_000_000
_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_LITERALS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "None", "NULL"), None),
}
#: Words that are hardly ever meant as text; in `truetrue`, a comma is missing.
_NO_TEXT = re.compile(r"(?i)true|false|null|(?:yes|no|on|off|none|nil|undefined|nan|inf|infinity)\Z")
#: A word that is one item of a list without commas; three digits may be the rest of `1 000`.
_LISTED = re.compile(r"(?!\d{3}(?!\d))\d|(?i:true|false|null|none)\b", re.ASCII)
_INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d*+(?:_\d++)*+)\.?", re.ASCII)
_HEX = re.compile(r"[+-]?0[xX][0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[+-]?(?=\.?\d)(?:0|[1-9]\d*)?(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)
_ESCAPE = re.compile(
    r"""\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["'\\/bfnrt])|(\r\n|[\n\r\u2028\u2029])|[^\s0-7xvaNUu])"""
)
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?\Z")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def read_word(word: str) -> Any:
    """Return the value of a word outside quotes; the word itself if it has none."""
    if word in _LITERALS:
        return _LITERALS[word]
    if len(word) > MAX_DIGITS:
        return word
    if _INTEGER.fullmatch(word):
        return int(word.removesuffix("."))
    if _HEX.fullmatch(word):
        return int(word, 16)
    return float(word) if _FLOAT.fullmatch(word) else word


def _read_last_word(word: str) -> Any:
    """Return the value of a word that the text ends in: a literal is known by its first letters."""
    begun = [_LITERALS[name] for name in ("true", "false", "null") if name.startswith(word)]
    return begun[0] if begun and len(word) > 1 else read_word(word)


def _read_escape(text: str, at: int) -> tuple[str, int, Literal["known", "control", "unknown"]]:
    """Read the escape at `at`: its text, its end and its kind; an unknown one stands for itself."""
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


def read(raw: str, fits: Callable[[Any], bool] = lambda _: True) -> tuple[Any, int, bool]:
    """Read a text: its value, how many brackets are open at its end, and if it may be cut.

    12 may be 120. If a missing bracket could stand in two places, `fits` decides between the values.

    >>> read("{$: 1, to: 'Ada', n: [1 2"), read('{"to": "Ada"}')
    (({'$': 1, 'to': 'Ada', 'n': [1, 2]}, 2, True), ({'to': 'Ada'}, 0, False))
    >>> read('{"to": "Ad')
    Traceback (most recent call last):
    zoolab.repair.unwrapping.Refused: a string is not closed
    """
    value = json_or(..., raw)
    if value is ...:
        return _read_sloppily(unwrapped(raw), fits)
    if isinstance(value, str) and value.lstrip()[:1] in ("{", '"', "`"):
        with suppress(Refused):
            inner = read(value.strip(), fits)
            if isinstance(inner[0], dict):  # it was encoded twice
                return inner
    return value, 0, False


def read_inside(text: str) -> dict[str, Any] | list[Any] | None:
    """Read the list or object that a whole string holds as JSON text.

    >>> read_inside('["bug"]'), read_inside(" {a: 1} "), read_inside("[1"), read_inside("see [1]")
    (['bug'], {'a': 1}, None, None)
    """
    text = text.strip()
    if text[:1] not in tuple("{[") or text[-1:] not in tuple("}]") or len(text) > MAX_CHARS:
        return None
    value = json_or(None, text)
    if value is None:
        reader = _Reader(text)
        with suppress(Refused):
            value = reader.whole()
            value = None if reader.missing else value
    return value if isinstance(value, dict | list) else None


def _read_sloppily(text: str, fits: Callable[[Any], bool]) -> tuple[Any, int, bool]:
    reader = _Reader(text)
    value = reader.whole()
    if not reader.missing or text.rstrip()[-1:] not in ("}", "]"):
        return value, reader.unclosed, reader.may_go_on
    places = [found.start() for found in _BETWEEN.finditer(text)]
    if len(text) * len(places) > MAX_WORK:
        raise Refused("a bracket is missing, and could stand in too many places")
    readings = {encode(value): (value, reader.unclosed, reader.may_go_on)}
    for place, bracket in product(places, "}]"):
        other = _Reader(text[:place] + bracket + text[place:])
        with suppress(Refused):
            value = other.whole()
            if other.missing < reader.missing:
                readings[encode(value)] = (value, other.unclosed, other.may_go_on)
    found = [each for each in readings.values() if len(readings) == 1 or fits(each[0])]
    if len(found) != 1:
        raise Refused("a bracket is missing, and could stand in two places")
    return found[0]


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        #: How many brackets are open.
        self.depth = 0
        #: How many were not closed by one of their own; how many of these the text ends in.
        self.missing = self.unclosed = 0
        self.may_go_on = False
        self._skipped = ""

    def whole(self) -> Any:
        """Read the value of all the text. An object may stand there again, and talk may follow it."""
        value = self._value("")
        while isinstance(value, dict) and self._blanks() == "{":
            self._same_again(value)
        self._check_rest(value)
        return value

    def _blanks(self) -> str:
        """Skip blanks; the character after them."""
        rest = self.text[self.at :].lstrip(" \t\r\n")
        self.at = len(self.text) - len(rest)
        return rest[:1]

    def _same_again(self, value: Any) -> None:
        """Read an object that says the same as the one before it; anything else is refused."""
        rest = self.text[self.at :]
        with suppress(Refused):
            if not self.missing and encode(self._value("")) == encode(value) and not self.missing:
                return
        raise Refused(f"more than one object: {excerpt(rest)}")

    def _check_rest(self, value: Any) -> None:
        """Refuse a text in which more follows the value than blanks, a fence, talk or a comment.

        A bracket too many is one of the same kind. A comment with a mark of JSON may be a part of the value.
        """
        rest = self.text[self.at :].lstrip()
        if isinstance(value, dict | list):
            rest = rest.lstrip(" \t\r\n;`" + ("}" if isinstance(value, dict) else "]"))
        space = SPACE.match(rest)
        assert space
        talk = rest[space.end() :]
        if MARK.search(rest) or (talk and not (isinstance(value, dict) and is_prose(talk))):
            raise Refused(
                f"{'more than one object' if talk[:1] in tuple('{[') else 'more text'}: {excerpt(rest)}"
            )

    def _next(self) -> str:
        """Skip blanks and comments; the character after them, empty at the end."""
        space = SPACE.match(self.text, self.at)
        assert space
        self._skipped = space[0]
        self.at = space.end()
        if self.depth and any(
            BRACKET_OR_QUOTE.search(line[0]) for line in LINE.finditer(space[0]) if line["it"]
        ):
            raise Refused("a mark of JSON in a comment, which may be a part of the text")
        return self.text[self.at : self.at + 1]

    def _unexpected(self, expected: str) -> Refused:
        found = excerpt(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end"
        return Refused(f"{expected} expected at character {self.at}, but found {found}")

    def _value(self, after: str) -> Any:
        """Read the next value; text without quotes is one if a character of `after` follows."""
        if self.depth > MAX_DEPTH:
            raise Refused(f"more than {MAX_DEPTH} levels of nesting")
        found = self._next()
        if found in ("{", "["):
            self.at += 1
            self.depth += 1
            return self._object() if found == "{" else self._list()
        if found in _CLOSING:
            return self._string(_CLOSING[found])
        word = WORD.match(self.text, self.at)
        if not word:
            raise self._unexpected("a value")
        is_last = word.end() == len(self.text)
        value = _read_last_word(word[0]) if is_last else read_word(word[0])
        if isinstance(value, str):
            return self._text_without_quotes(after)
        self.at = word.end()
        if is_last and self.depth and word[0][-1] == ".":
            raise Refused("the text may end in the middle of a number")
        self.may_go_on |= is_last and self.depth > 0 and type(value) in (int, float)
        return value

    def _text_without_quotes(self, after: str) -> str:
        found = _TEXT.match(self.text, self.at)
        if not found or _NO_TEXT.match(found[0]) or _read_last_word(found[0]) != found[0]:
            raise self._unexpected("a value")
        self.at = found.end()
        if self._next() not in tuple(after):
            raise self._unexpected(f"one of {after}" if after else "a value")
        return found[0]

    def _object(self) -> dict[str, Any]:
        """Read what is in an object. A pair may stand there again, if it says the same."""
        made: dict[str, Any] = {}
        while self._separator("}", bool(made)) is not None:
            found = self.text[self.at]
            if found in _CLOSING:
                key = self._string(_CLOSING[found])
            elif bare := _KEY.match(self.text, self.at):
                key = bare[0]
                self.at = bare.end()
                if self._next() not in (":", "="):
                    raise self._unexpected("a colon")
            else:
                raise self._unexpected("a key")
            self._colon()
            value = self._value(",}")
            if key in made and encode(made[key]) != encode(value):
                raise Refused(f"the key {excerpt(key)} twice")
            made[key] = value
        return made

    def _colon(self) -> None:
        before = self.text[self.at - 1]
        found = self._next()
        if colon := _COLON.match(self.text, self.at):
            self.at = colon.end()
        elif before not in "\"'”’" or found not in tuple("{[0123456789-"):
            raise self._unexpected("a colon")

    def _list(self) -> list[Any]:
        """Read what is in a list. Marks of one kind part them: `1,5 2` may be 1.5 and 2."""
        items: list[Any] = []
        separators = set()
        while (separator := self._separator("]", bool(items))) is not None:
            separators.add(separator)
            if len(separators - {""}) > 1:
                raise self._unexpected("a comma")
            items.append(self._value(",]"))
        return items

    def _separator(self, mark: str, filled: bool) -> str | None:
        """Read what parts two items: a comma, a blank alone, or the quote or bracket of the next.

        None at the end, with the bracket behind us. The text may end before it, and another one may stand
        for it.
        """
        before = self.text[self.at - 1]
        found = self._next()
        comma = found if found and found in ",;" and (filled or (mark == "}" and found == ",")) else ""
        if comma:
            self.at += 1
            found = self._next()
            while mark == "}" and filled and found == ",":  # in a list, an item may have been left out
                self.at += 1
                found = self._next()
        if found not in ("", "}", "]"):
            if comma:
                return comma
            if not filled or before in "\"'”’}]" or found in tuple("\"'“‘{["):
                return ""
            follows = _LISTED if mark == "]" else _NEXT_KEY
            if self._skipped and follows.match(self.text, self.at):
                return " "
            raise self._unexpected("a comma")
        last_line = self._skipped.rpartition("\n")[2]
        if not found and ("//" in last_line or "#" in last_line):
            raise Refused("the text ends in a comment")
        if mark == "}" and not filled and (found == "]" or (not found and self.depth == 1)):
            raise Refused("an empty object that is not closed")
        if comma and (found not in ("", mark) or not filled):
            raise self._unexpected(mark if filled else "a key")
        self.may_go_on |= not found and (bool(comma) or not filled)
        self.at += found == mark
        self.missing += found != mark
        self.unclosed += not found
        self.depth -= 1
        return None

    def _string(self, closing: str) -> str:
        self.at += 1
        parts: list[str] = []
        escapes = set()
        while self.at < len(self.text):
            found = self.text[self.at]
            if found == "\\":
                part, self.at, kind = _read_escape(self.text, self.at)
                parts.append(part)
                escapes.add(kind)
            elif found != closing:
                parts.append(found)
                self.at += 1
            elif joint := _JOINT.match(self.text, self.at + 1):
                closing = self.text[joint.end()]
                self.at = joint.end() + 1
            elif quotation := _QUOTATION.match(self.text, self.at) or (
                _OPEN_TAG.search("".join(parts)) and _ATTRIBUTE.match(self.text, self.at)
            ):
                parts.append(quotation[0])
                self.at = quotation.end()
            else:
                break
        else:
            raise Refused("a string is not closed")
        if escapes >= {"control", "unknown"}:  # the tab in C:\temp\dir may be none
            raise Refused("backslashes that could be escapes or plain text")
        self.at += 1
        if self.text[self.at : self.at + 1] in _CLOSING:
            raise Refused(f"two quotes in a row, at character {self.at}")
        return "".join(parts)
