"""The guard: does a broken text mean what is proposed for it? A reader walks along both."""

from __future__ import annotations

import re
from typing import Any

from zoolab.jsontext import MAX_DIGITS, NotStrictJSON, encode, excerpt, is_utf8, parse_json

#: Longer texts are left alone: what a repair library does to them takes too long.
MAX_CHARS = 1 << 15

_FENCE = re.compile(r"```[a-zA-Z0-9]*")
_SPACE = re.compile(r"(?:[\s\ufeff]++|//[^\n]*+|#[^\n]*+|/\*(?s:.*?)\*/)*+")
_WORD = re.compile(r"""[^\s,:{}\[\]"'“”‘’/#]+""")
_BARE_KEY = re.compile(r"""[^\s,:{}\[\]"'“”‘’\\#/]+""")
_BARE_VALUE = re.compile(r"[^\W\d]\w*(?:[ .-]\w+)*")
_ENDS_STRING = re.compile(r"\s*(?:[,:}\]]|\Z)")
_INTEGER = re.compile(rf"[+-]?(?:0|[1-9]\d{{0,{MAX_DIGITS}}})", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?=\.?\d)(?:0|[1-9]\d*)?(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)
_ESCAPE = re.compile(r"""\\(?:u([0-9a-fA-F]{4})|(["'\\/bfnrt])|([^\s0-7xvaNUu]))""")
_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_RESERVED = {"true", "false", "null", "none", "nil", "nan", "inf", "infinity", "undefined"}


class Refused(Exception):
    """There is no proposal, and the message says why."""


def keeps_intent(raw: str, proposed: str) -> bool:
    """Whether `raw` is a sloppy way to write the object `proposed`: no word is lost, added or moved.

    A number or a boolean may stand in quotes in `raw`. Texts that are not closed, and more than one
    object, keep nothing. Never raises.

    >>> keeps_intent("{'to': 'Ada', 'n': '58'", '{"to": "Ada", "n": 58}')
    True
    >>> keeps_intent('{"to": "Ada"', '{"to": "Bob"}'), keeps_intent('{"to": "Ad', '{"to": "Ad"}')
    (False, False)
    """
    try:
        check_intent(raw, proposed)
    except (Refused, NotStrictJSON):
        return False
    return True


def check_intent(raw: str, proposed: str) -> None:
    """Raise what speaks against a proposal.

    >>> check_intent('{"a": 1', '{"a": 2}')
    Traceback (most recent call last):
    zoolab.repair.intent.Refused: 2 is not what stands at character 6: "1"
    """
    value = one_object(parse_json(proposed))
    Reader(unwrapped(raw)).read(value)


def check_size(raw: str) -> None:
    """Raise if there is nothing to repair, or too much.

    >>> check_size(" ")
    Traceback (most recent call last):
    zoolab.repair.intent.Refused: there is no text
    """
    if not raw.strip():
        raise Refused("there is no text")
    if len(raw) > MAX_CHARS:
        raise Refused(f"more than {MAX_CHARS:,} characters")
    if not is_utf8(raw):
        raise Refused("a lone surrogate")


def unwrapped(raw: str, layers: int = 3) -> str:
    """The text without the fence or the quotes around all of it.

    >>> unwrapped('```json\\n{"a": 1}\\n```')
    '{"a": 1}'
    """
    check_size(raw)
    text = raw.strip().removeprefix("\ufeff").strip()
    fence = _FENCE.match(text)
    inner = text[fence.end() :].removesuffix("```") if fence else _unquoted(text)
    return unwrapped(inner, layers - 1) if inner != text and layers else text


def _unquoted(text: str) -> str:
    if text[:1] == '"':
        try:
            value = parse_json(text)
        except NotStrictJSON:
            value = None
        if isinstance(value, str):
            return value
    if text[:1] in tuple("\"'`") and text[:1] == text[-1:] and "\\" not in text:
        inner = text[1:-1].strip()
        return inner if inner[:1] == "{" and inner[-1:] == "}" else text
    return text


def one_object(value: Any) -> dict[str, Any]:
    """The value, if it is an object.

    >>> one_object([])
    Traceback (most recent call last):
    zoolab.repair.intent.Refused: not one object: []
    """
    if not isinstance(value, dict):
        raise Refused(f"not one object: {excerpt(value)}")
    return value


class Reader:
    """Reads a text along the value that it should stand for; raises where they part."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.skipped = ""
        #: The kinds of escapes in this string: with both, as in `C:\temp\dir`, the tab may be none.
        self.escapes: set[str] = set()

    def read(self, value: dict[str, Any]) -> None:
        """Read all of the text as this value."""
        self._value(value)
        self._space()
        rest = self.text[self.at :].strip(" \t\r\n}]")
        if rest:
            raise Refused(f"{'more than one object' if rest[0] in '{[' else 'more text'}: {excerpt(rest)}")

    def _space(self) -> str:
        """Skip blanks and comments; the character after them, empty at the end."""
        found = _SPACE.match(self.text, self.at)
        assert found
        self.skipped, self.at = found[0], found.end()
        return self.text[self.at : self.at + 1]

    def _value(self, value: Any) -> None:
        if isinstance(value, dict):
            self._expect("{")
            for number, (key, item) in enumerate(value.items()):
                self._separate(number)
                self._string(key, ":")
                self._expect(":")
                self._value(item)
            self._close("}", bool(value))
        elif isinstance(value, list):
            self._expect("[")
            for number, item in enumerate(value):
                self._separate(number)
                self._value(item)
            self._close("]", bool(value))
        elif isinstance(value, str):
            self._string(value, ",}]")
        else:
            self._word(value)

    def _expect(self, mark: str) -> None:
        if self._space() != mark:
            raise self._differs(mark)
        self.at += 1

    def _separate(self, number: int) -> None:
        before = self.text[self.at - 1]
        if number and self._space() == ",":
            self.at += 1
        elif number and before not in "\"'”’}]" and self.text[self.at : self.at + 1] not in tuple("\"'“‘{["):
            raise self._differs("a comma")

    def _close(self, mark: str, filled: bool) -> None:
        found = self._space()
        if comma := filled and found == ",":
            self.at += 1
            found = self._space()
        if found == mark:
            self.at += 1
        elif found == "" and (comma or not filled or self._in_comment()):
            raise Refused("the text ends where more should follow")
        elif found != "" and (comma or found not in "}]"):
            raise self._differs(mark)

    def _in_comment(self) -> bool:
        last = self.skipped.rpartition("\n")[2]
        return "//" in last or "#" in last

    def _string(self, value: str, after: str) -> None:
        quote = self._space()
        if quote in _CLOSING:
            self._quoted(value, _CLOSING[quote])
            return
        bare = _BARE_KEY if after == ":" else _BARE_VALUE
        known = bare.fullmatch(value) and value.lower() not in _RESERVED
        if not known or not self.text.startswith(value, self.at):
            raise self._differs(encode(value))
        self.at += len(value)
        if self._space() not in tuple(after):
            raise self._differs(f"one of {after}")

    def _quoted(self, value: str, closing: str) -> None:
        self.at += 1
        self.escapes.clear()
        done, inside = 0, False
        while self.at < len(self.text):
            found = self.text[self.at]
            if found == closing and done == len(value) and not inside:
                if self.escapes >= {"control", "unknown"}:
                    raise Refused("backslashes that may or may not be escapes")
                self.at += 1
                return
            if found == closing:
                if not (inside or self._opens_inside()) or _ENDS_STRING.match(self.text, self.at + 1):
                    break
                inside = not inside
            if found == "\\":
                found = self._escape()
            else:
                self.at += 1
            if not value.startswith(found, done):
                break
            done += len(found)
        if self.at >= len(self.text):
            raise Refused("a string is not closed")
        raise self._differs(encode(value))

    def _opens_inside(self) -> bool:
        """Whether a quote within a string opens one of its own, as in `"say "hi" to me"`."""
        return self.text[self.at - 1].isspace() and self.text[self.at + 1 : self.at + 2].isalnum()

    def _escape(self) -> str:
        """The character of an escape; one that JSON does not know stands for itself."""
        found = _ESCAPE.match(self.text, self.at)
        if found is None:
            raise self._differs("an escape that JSON knows")
        self.at = found.end()
        if not found[2] or found[2] in _ESCAPED:
            self.escapes.add("unknown" if found[3] else "control")
        if found[1] is None:
            return _ESCAPED.get(found[2], found[2]) if found[2] else found[0]
        low = _ESCAPE.match(self.text, self.at)
        if found[1][:2].lower() in ("d8", "d9", "da", "db") and low and low[1]:
            self.at = low.end()
            units = bytes.fromhex(found[1] + low[1])
            return units.decode("utf-16-be", "replace")
        return chr(int(found[1], 16))

    def _word(self, value: Any) -> None:
        quote = self._space()
        quoted = quote in _CLOSING and value is not None
        self.at += quoted
        found = _WORD.match(self.text, self.at)
        word = found[0] if found else ""
        written = read_word(word)
        if not found or type(written) is not type(value) or written != value:
            raise self._differs(encode(value))
        self.at = found.end()
        if quoted:
            if not self.text.startswith(_CLOSING[quote], self.at):
                raise self._differs(_CLOSING[quote])
            self.at += 1
        elif self.at == len(self.text) and word not in _LITERALS:
            raise Refused("the text ends in a number that may go on")

    def _differs(self, expected: str) -> Refused:
        found = excerpt(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end"
        return Refused(f"{expected} is not what stands at character {self.at}: {found}")


def read_word(word: str) -> Any:
    """The value of a word outside quotes; the word itself where it is none.

    >>> read_word("True"), read_word("1.50"), read_word("Oslo")
    (True, 1.5, 'Oslo')
    """
    if word in _LITERALS:
        return _LITERALS[word]
    if _INTEGER.fullmatch(word):
        return int(word)
    return float(word) if _FLOAT.fullmatch(word) else word
