"""The guard: does a broken text mean what is proposed for it?"""

from __future__ import annotations

import re
from typing import Any

from zoolab.jsontext import NotStrictJSON, encode, excerpt, parse_json
from zoolab.repair.reading import (
    BARE_KEY,
    CLOSING,
    COLON,
    JOINT,
    SPACE,
    WORD,
    Refused,
    is_prose,
    read_escape,
    read_last_word,
    read_word,
    unwrapped,
)

_BARE_VALUE = re.compile(r"[^\W\d]\w*(?:[ .-]\w+)*")
#: A word that is one item of a list without commas; three digits may be the rest of `1 000`.
_LISTED = re.compile(r"(?!\d{3}(?!\d))\d|(?:[tT]rue|[fF]alse|null|None)\b", re.ASCII)
_PLAIN_KEY = re.compile(rf"(?:\"([^\"\\]*+)\"|'([^'\\]*+)'|({BARE_KEY.pattern}))\s*+[:=]")
_ENDS_STRING = re.compile(r"\s*(?:[,:}\]]|\Z)")
#: Words that are hardly ever meant as text.
_YES_OR_NO = {"true", "false", "yes", "no", "on", "off"}
_NO_VALUE = {"null", "none", "nil", "undefined", "nan", "inf", "infinity"}


class Reader:
    """Reads a text along the value that it should stand for; raises where they differ."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.skipped = ""
        #: Whether the text ends where more may follow: in a number, after a comma or an opening bracket.
        self.may_go_on = False
        #: How many brackets are open.
        self.depth = 0
        #: Of each number and literal, whether it stood in quotes.
        self.quoted: list[bool] = []
        #: The kinds of escapes in this string: with both, as in `C:\temp\dir`, the tab may be none.
        self.escapes: set[str] = set()

    def read(self, value: Any) -> None:
        """Read all of the text as this value; talk may follow an object."""
        self._value(value, "")
        self._space()
        rest = self.text[self.at :]
        if isinstance(value, (dict, list)):
            rest = rest.lstrip(" \t\r\n}];`")
        if rest and not (isinstance(value, dict) and is_prose(rest)):
            raise Refused(f"{'more than one object' if rest[0] in '{[' else 'more text'}: {excerpt(rest)}")

    def _space(self) -> str:
        """Skip blanks and comments; the character after them, empty at the end."""
        found = SPACE.match(self.text, self.at)
        assert found
        self.skipped, self.at = found[0], found.end()
        return self.text[self.at : self.at + 1]

    def _value(self, value: Any, after: str) -> None:
        if isinstance(value, dict):
            self._open("{")
            self._pairs(value)
            self._close("}", bool(value))
        elif isinstance(value, list):
            self._open("[")
            self._items(value)
            self._close("]", bool(value))
        elif isinstance(value, str):
            self._string(value, after)
        else:
            self._word(value)

    def _pairs(self, pairs: dict[str, Any]) -> None:
        """Read what is in an object. A pair may stand there again, if it says the same."""
        read: dict[str, list[bool]] = {}
        for key, item in pairs.items():
            read[key] = self._pair(key, item, len(read))
            while (again := self._next_key()) in read:
                before = len(self.quoted)
                if self._pair(again, pairs[again], len(read)) != read[again]:
                    raise Refused(f"the key {excerpt(again)} twice")
                # Counted once, or an object would differ from its copy in which no pair stands again.
                del self.quoted[before:]

    def _pair(self, key: str, item: Any, number: int) -> list[bool]:
        """Read a pair; which of its numbers and literals stand in quotes."""
        self._separate(number)
        if number:
            self._more_commas()
        before = len(self.quoted)
        self._string(key, ":=")
        self._colon()
        self._value(item, ",}")
        return self.quoted[before:]

    def _next_key(self) -> str | None:
        """The key that comes next, if it is plainly one."""
        at = self.at
        self._space()
        self._more_commas()
        found = _PLAIN_KEY.match(self.text, self.at)
        self.at = at
        return next(filter(None, found.groups()), "") if found else None

    def _items(self, items: list[Any]) -> None:
        """Read what is in a list. Where blanks part words no comma does: `1,5 2` may be 1.5 and 2."""
        commas = blanks = 0
        for number, item in enumerate(items):
            if number and self._begins_word(items[number - 1]):
                blanks += 1
            else:
                self._separate(number)
                commas += self.text[self.at - 1] == ","
            if commas and blanks:
                raise self._differs("a comma")
            self._value(item, ",]")

    def _begins_word(self, before: Any) -> bool:
        """Whether a blank alone parts a number or a literal from the one before it, as in `[1 2]`."""
        space = SPACE.match(self.text, self.at)
        known = space is not None and _LISTED.match(self.text, space.end()) is not None
        return known and not isinstance(before, (str, dict, list))

    def _open(self, mark: str) -> None:
        if self._space() != mark:
            raise self._differs(mark)
        self.at += 1
        self.depth += 1

    def _colon(self) -> None:
        before = self.text[self.at - 1]
        found = self._space()
        if colon := COLON.match(self.text, self.at):
            self.at = colon.end()
        elif before not in "\"'”’" or found not in tuple("{[0123456789-"):
            raise self._differs("a colon")

    def _separate(self, number: int) -> None:
        before = self.text[self.at - 1]
        if number and self._space() == ",":
            self.at += 1
        elif number and before not in "\"'”’}]" and self.text[self.at : self.at + 1] not in tuple("\"'“‘{["):
            raise self._differs("a comma")

    def _more_commas(self) -> None:
        """Skip commas that were doubled after a pair. In a list, an item may have been left out."""
        while self._space() == ",":
            self.at += 1

    def _close(self, mark: str, filled: bool) -> None:
        """Leave a bracket. The text may end before it, and another one may stand for it."""
        found = self._space()
        if comma := filled and found == ",":
            self.at += 1
            if mark == "}":
                self._more_commas()
            found = self._space()
        if found == "" and (comma or not filled):
            self.may_go_on = True
        if found == mark:
            self.at += 1
        elif found == "" and self._in_comment():
            raise Refused("the text ends in a comment")
        elif found in "}]" and mark == "}" and not filled and self.depth == 1:
            raise Refused("an object that says nothing and is not closed")
        elif found != "" and (comma or found not in "}]"):
            raise self._differs(mark)
        self.depth -= 1

    def _in_comment(self) -> bool:
        last = self.skipped.rpartition("\n")[2]
        return "//" in last or "#" in last

    def _string(self, value: str, after: str) -> None:
        quote = self._space()
        if quote in CLOSING:
            self._quoted(value, CLOSING[quote])
            return
        key = ":" in after
        known = (BARE_KEY if key else _BARE_VALUE).fullmatch(value)
        reserved = not key and (value.lower() in _YES_OR_NO | _NO_VALUE or read_last_word(value) != value)
        if not after or not known or reserved or not self.text.startswith(value, self.at):
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
            joint = JOINT.match(self.text, self.at + 1) if found == closing and not inside else None
            if joint:
                closing, self.at = self.text[joint.end()], joint.end() + 1
                continue
            if found == closing and done == len(value) and not inside:
                if self.escapes >= {"control", "unknown"}:
                    raise Refused("backslashes that may or may not be escapes")
                self.at += 1
                if self.text[self.at : self.at + 1] in CLOSING:
                    raise Refused(f"two quotes in a row, at character {self.at}")
                return
            if found == closing:
                if not (inside or self._opens_inside()) or _ENDS_STRING.match(self.text, self.at + 1):
                    break
                inside = not inside
            if found == "\\":
                found, self.at, kind = read_escape(self.text, self.at)
                self.escapes.add(kind)
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

    def _word(self, value: Any) -> None:
        quote = self._space()
        quoted = quote in CLOSING and value is not None
        self.quoted.append(quoted)
        self.at += quoted
        found = WORD.match(self.text, self.at)
        word = found[0] if found else ""
        ends = found is not None and found.end() == len(self.text)
        written = read_last_word(word) if ends else read_word(word)
        if not found or type(written) is not type(value) or written != value:
            raise self._differs(encode(value))
        self.at = found.end()
        if quoted:
            if not self.text.startswith(CLOSING[quote], self.at):
                raise self._differs(CLOSING[quote])
            self.at += 1
        elif ends and self.depth and word[-1] == ".":
            raise Refused("the text ends in a number that goes on")
        elif ends and self.depth and type(value) in (int, float):
            self.may_go_on = True

    def _differs(self, expected: str) -> Refused:
        found = excerpt(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end"
        return Refused(f"{expected} is not what stands at character {self.at}: {found}")


def keeps_intent(raw: str, proposed: str) -> bool:
    """Whether `raw` is a sloppy way to write the JSON `proposed`: no word is lost, added or moved.

    A number or a boolean may stand in quotes in `raw`, a pair may stand there twice, and brackets may be
    missing at its end. Strings that are not closed, and more than one object, keep nothing. Never raises.

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
    zoolab.repair.reading.Refused: 2 is not what stands at character 6: "1"
    """
    Reader(unwrapped(raw)).read(parse_json(proposed))


def check_whole(raw: str, said: dict[str, Any]) -> None:
    """Raise if a text that becomes arguments ends where more may follow: 12 may have been 120.

    >>> check_whole('{"amount": 12', {"amount": 12})
    Traceback (most recent call last):
    zoolab.repair.reading.Refused: the text ends where more may follow
    """
    reader = Reader(unwrapped(raw))
    reader.read(said)
    if reader.may_go_on:
        raise Refused("the text ends where more may follow")


def one_object(value: Any) -> dict[str, Any]:
    """The value, if it is an object.

    >>> one_object([])
    Traceback (most recent call last):
    zoolab.repair.reading.Refused: not one object: []
    """
    if not isinstance(value, dict):
        raise Refused(f"not one object: {excerpt(value)}")
    return value
