"""Where secrets stand in a text: each form is tried only behind the few letters that it cannot do without.

A text becomes bytes first, one for each character. The work is done in pieces, between which other threads
run, and takes time in proportion to the length of any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import repeat
from operator import sub
from string import Template
from typing import Any

from zoolab.files import read_table

Place = tuple[int, int]

#: Characters that are looked through at once, and how many after them a form may look at.
_PIECE = 1 << 16
_OVER = 1 << 12
#: A name is not longer.
_NAME = 64
#: Characters beyond Latin-1 that are like one of it: blanks, and letters whose small or large form is.
_LIKE = dict.fromkeys("\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))), " ")
_LIKE |= {"\u017f": "s", "\u212a": "k", "\u0130": "i", "\u0131": "i"}
_BLANKS = bytes(32 if chr(each).isspace() and each > 13 else each for each in range(256))
_SMALL = _BLANKS.lower().replace(b"\xd1", b"\xf1")

#: Tokens with these letters, and so many before them, may be shorter than _LONG characters of a token.
_SHORT = {b"k-": 1, b"k_": 1, b"xox": 0, b"xapp-": 0, b"AKCp": 0}
_LONG = b"x" * 20
_OF_TOKENS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*~.:-"
_KINDS = bytes(ord("x") if each in _OF_TOKENS else ord(" ") for each in range(256))

#: So many characters of base64 in a row are data, as those of a picture: no token is looked for in them.
_DATA = re.compile(rb"[A-Za-z0-9+/=]*+")
_LEAST = re.compile(rb"[A-Za-z0-9+/=]{1000}")
_HEAD = b";base64,"
_ALL_DATA = re.compile(r"(?:data:[\w/.+-]{1,100};base64,)?[A-Za-z0-9+/]{1000,}+={0,2}")


@cache
def form(name: str) -> re.Pattern[bytes]:
    """Return a form of `secrets.toml`, compiled when something is scrubbed first: that takes longer than
    imports.
    """
    return _compiled(_forms()[name])


@cache
def _forms() -> dict[str, Any]:
    forms = read_table("zoolab", "secrets.toml")
    forms |= {f"before_{word}": _behind(word, names) for word, names in forms["before"].items()}
    forms["before_plain"] = _behind("key", forms["plain"]["key"], "[a-z0-9]")
    return forms


def _compiled(text: str) -> re.Pattern[bytes]:
    while "$" in text and (filled := Template(text).safe_substitute(_forms())) != text:
        text = filled
    return re.compile(text.encode("latin-1"), re.VERBOSE)


def _behind(word: str, names: str, never: str = "") -> str:
    """Return what is true behind a word that ends one of these names, if `never` is not in front of the name.

    >>> _behind("key", "api")
    '(?:(?<=apikey)|(?<=api[-_]key))'
    """
    ends = [f"{name}{joint}{word}" for name in names.split() for joint in ("", "[-_]")]
    return f"(?:{'|'.join(f'(?<={each})' + (f'(?<!{never}{each})' if never else '') for each in ends)})"


@cache
def _searched() -> dict[bytes, re.Pattern[bytes]]:
    """Return the forms of names and of surroundings, by the letters that they cannot do without."""
    return {letters.encode(): _compiled(text) for letters, text in _forms()["searched"].items()}


def projected(text: str) -> bytes:
    """Return a text with a byte for each character: all blanks are like each other, and so are other scripts.

    >>> projected("a\\u2003b \\u65e5")
    b'a b ?'
    """
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        for odd, like in _LIKE.items():
            text = text.replace(odd, like)
        return text.encode("latin-1", "replace")


def is_data(text: str) -> bool:
    """Tell whether a whole text is data in base64, so that nothing in it is looked at.

    >>> is_data("data:image/png;base64," + "iVBORw0K" * 200), is_data("iVBORw0K")
    (True, False)
    """
    return _ALL_DATA.fullmatch(text) is not None


def ends_a_name(name: str) -> bool:
    """Tell whether the value of a member of JSON that is called so is a secret.

    >>> ends_a_name("OPENAI_API_KEY"), ends_a_name("tokens")
    (True, False)
    """
    said = projected(name).translate(_SMALL)
    return form("label").match(said, len(said)) is not None


def is_plain_name(name: str) -> bool:
    """Tell whether a name of secrets may be that of plain things, too.

    >>> is_plain_name("token"), is_plain_name("auth_token")
    (True, False)
    """
    return form("may_name").fullmatch(name.lower().encode("latin-1", "replace")) is not None


def places_of_tokens(said: bytes) -> list[Place]:
    """Find the tokens of a text, which are known by their form.

    >>> places_of_tokens(b"the key sk-abcdef1234 is")
    [(8, 21)]
    """
    found = list[Place]()
    token = form("token").match
    for starts in (*(_hits(said, *each) for each in _SHORT.items()), _in_long_words(said)):
        end = 0
        for at in starts:
            if at >= end and (known := token(said, at)):
                end = known.end()
                found.append((at, end))
    return _merged(found)


def _hits(said: bytes, letters: bytes, before: int) -> Iterator[int]:
    pattern = re.compile(letters)
    for place in range(0, len(said), _PIECE):
        found = pattern.finditer(said, place, place + _PIECE + len(letters) - 1)
        yield from map(sub, map(re.Match.start, found), repeat(before))


def _next(said: bytes, letters: bytes, at: int) -> int:
    """Return where these letters stand next; -1 if they do not."""
    for place in range(at, len(said), _PIECE):
        found = said.find(letters, place, place + _PIECE + len(letters) - 1)
        if found >= 0:
            return found
    return -1


def _in_long_words(said: bytes) -> Iterator[int]:
    """Yield where a token may begin in a long word: at its beginning, or behind what is no letter."""
    within = form("within").finditer
    passed = 0
    for place in range(0, len(said), _PIECE):
        kinds = said[place : place + _PIECE + len(_LONG)].translate(_KINDS)
        start = max(0, passed - place)
        while (start := kinds.find(_LONG, start)) >= 0:
            end = kinds.find(b" ", start)
            end = len(kinds) if end < 0 else end
            at = place + start
            yield at
            if said.endswith(_HEAD, 0, at) or _LEAST.match(said, at):
                passed = next(_DATA.finditer(said, at)).end()
                start = passed - place
                continue
            if said[at - 1 : at] == b"\\":  # it may be the n of a line break
                yield at + 1
            yield from map(re.Match.end, within(said, at, place + end))
            start = end


def places_of_names(said: bytes) -> list[Place]:
    """Find the values that are secret by their name, or by what surrounds them.

    >>> places_of_names(b"my password=hunter2 is")
    [(12, 22)]
    """
    small = said.translate(_SMALL)
    return _merged(
        place for letters, pattern in _searched().items() for place in _values(small, letters, pattern)
    )


def _values(said: bytes, letters: bytes, pattern: re.Pattern[bytes]) -> Iterator[Place]:
    """Yield where the group of a form stands. It is looked for in pieces, and may be longer than one."""
    at = _next(said, letters, 0)
    while at >= 0:
        stop = at + _PIECE
        while (found := pattern.search(said, at, stop + _OVER)) and found.start() < stop:
            if found.end() == stop + _OVER:
                found = pattern.match(said, found.start()) or found
            yield found.span(found.lastindex or 0)
            # A value may end with the next name.
            at = max(found.start() + 1, found.end() - _NAME)
        at = _next(said, letters, max(at, stop))


def _merged(places: Iterable[Place]) -> list[Place]:
    """Return the places in order; those that have something in common are one."""
    merged = list[Place]()
    for low, high in sorted(places):
        if merged and low < merged[-1][1]:
            low, before = merged.pop()
            high = max(high, before)
        merged.append((low, high))
    return merged


def without_places(texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts without a secret; they are looked through together.

    >>> list(without_places(["The sum is 100.", "password=hunter2", "It is sunny."]))
    ['The sum is 100.', 'It is sunny.']
    """
    start = 0
    while start < len(texts):
        stop = start
        size = 0
        while stop < len(texts) and size < _PIECE:
            size += len(texts[stop]) + 1
            stop += 1
        joined = projected("\n".join(texts[start:stop]))
        places = sorted([*places_of_names(joined), *places_of_tokens(joined)])
        at = 0
        end = 0
        for text in texts[start:stop]:
            begin = end
            end = end + len(text) + 1
            while at < len(places) and places[at][1] <= begin:
                at += 1
            if at == len(places) or places[at][0] >= end:
                yield text
        start = stop
