"""Removes secrets from text before it is written to a file or a screen.

The forms are in `secrets.toml`: those of `tests/test_secrets.py`, the ones that detect-secrets 1.5 names
among them. It is not used itself: it has no rule for Groq, xAI, NVIDIA or Hugging Face, finds only the first
line of a private key, finds and does not replace, and its last release, of May 2024, needs requests and
PyYAML.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from hashlib import sha256
from itertools import islice
from string import Template
from typing import Any

from zoolab.files import read_table
from zoolab.jsontext import encode

HIDDEN = "[secret removed]"

#: A text of this length is searched for places first, in pieces of that length.
_SHORT, _PIECE = 500, 1 << 16
#: With more than one place in so many characters, the whole text is searched.
_DENSE = 10
#: Letters that are like others if capitals are like small letters, or are two when they are made small.
_ODD = ("\u017f", "\u212a", "\u0130", "\u0131")
#: Tokens with these first letters may be shorter than _LONG characters, each of which is one of a token.
_BEGINS = ("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "xox", "xapp-", "AKCp")
_LONG = 20
_LONG_WORD = b"x" * _LONG
_OF_TOKENS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*~.:-"
_KINDS = bytes(ord("x") if each in _OF_TOKENS else ord(" ") for each in range(256))
#: A place within a long word at which another token may start.
_INSIDE = re.compile(r"(?<=[_*~.:-])[A-Za-z0-9_~.-]")
_EMBEDDED = re.compile(r"data:[\w.+-]{1,50}/[\w.+-]{1,50};base64,[A-Za-z0-9+/=]*")
#: A word of each name in `secrets.toml`, in small letters, and how many characters may stand before it.
_WORDS = {
    "key": 14,
    "token": 8,
    "secret": 7,
    "pass": 9,
    "pwd": 2,
    "contrase": 0,
    "x-amz-": 0,
    "authorization": 0,
    "cookie": 0,
    "bearer": 0,
    "sig=": 1,
    "signature=": 1,
    "hooks.slack": 0,
    "softlayer": 0,
    "://": 0,
    "-----begin": 0,
}
_WIDEST = 16
#: Those at which a name ends, and what then stands between it and its value, beside space.
_ENDS, _BETWEEN = frozenset({"key", "token", "secret", "pwd"}), "\\\"':="


@cache
def _pattern(name: str, flags: int = re.VERBOSE | re.IGNORECASE) -> re.Pattern[str]:
    """A form of `secrets.toml`, compiled when something is scrubbed first: that takes longer than imports."""
    forms = read_table("zoolab", "secrets.toml")
    text = forms[name]
    while "$" in text and (filled := Template(text).safe_substitute(forms)) != text:
        text = filled
    return re.compile(text, flags)


def scrub(text: str) -> str:
    """`text` without what looks like a key, a token or a password.

    >>> scrub("Authorization: Bearer abcdef123456")
    'Authorization: Bearer [secret removed]'
    >>> scrub("https://ada:lovelace@host/?api_key=abcdef123 and sk-proj-abcdefghijk1234")
    'https://ada:[secret removed]@host/?api_key=[secret removed] and [secret removed]'
    """
    without_tokens = _replaced(text, _pattern("token", re.VERBOSE), _token_starts, lambda _: HIDDEN)
    by_place = _replaced_outside(without_tokens, _pattern("structured"))
    return _replaced(by_place, _pattern("labelled"), _label_starts, _with_label)


def _with_label(found: re.Match[str]) -> str:
    return f"{found[found.lastindex or 0]}{HIDDEN}"


def _replaced(
    text: str,
    pattern: re.Pattern[str],
    starts: Callable[[str], Iterator[int]],
    new: Callable[[re.Match[str]], str],
) -> str:
    """As `pattern.sub(new, text)`, but the pattern is tried only where a match can start."""
    if len(text) < _SHORT or any(odd in text for odd in _ODD):
        return pattern.sub(new, text)
    # In a text made of nothing but such places, the pattern alone is faster.
    few = len(text) // _DENSE
    found_at = [*islice(starts(text), few + 1)]
    if len(found_at) > few:
        return pattern.sub(new, text)
    parts, end = list[str](), 0
    for start in sorted({*found_at}):
        found = pattern.match(text, start) if start >= end else None
        if found is not None:
            parts += [text[end:start], new(found)]
            end = found.end()
    return "".join([*parts, text[end:]])


def _replaced_outside(text: str, pattern: re.Pattern[str]) -> str:
    """As `pattern.sub(_with_label, text)`, but data in base64 are passed over."""
    parts, end = list[str](), 0
    for start, stop in _embedded(text):
        parts += [pattern.sub(_with_label, text[end:start]), text[start:stop]]
        end = stop
    return "".join([*parts, pattern.sub(_with_label, text[end:])])


def _pieces(text: str, beyond: int) -> Iterator[tuple[int, str]]:
    """A text in pieces, each with its place: other threads run between them. Each is longer by `beyond`."""
    for place in range(0, len(text), _PIECE):
        yield place, text[place : place + _PIECE + beyond]


def _places(piece: str, sought: str) -> Iterator[int]:
    place = piece.find(sought)
    while place >= 0:
        yield place
        place = piece.find(sought, place + 1)


def _token_starts(text: str) -> Iterator[int]:
    """Where a token can start: at its first letters if it may be short, else where a long word begins."""
    passed = _embedded(text)
    for place, piece in _pieces(text, _LONG):
        for begins in _BEGINS:
            yield from (place + each for each in _places(piece, begins))
        kinds, start = piece.encode("latin-1", "replace").translate(_KINDS), 0
        while (start := kinds.find(_LONG_WORD, start)) >= 0:
            end = kinds.find(b" ", start)
            end = len(kinds) if end < 0 else end
            span = place + start, place + end
            around = bisect(passed, (span[0], len(text))) - 1
            if around < 0 or span[1] > passed[around][1]:
                # The n of an escaped line break may stand in front of it.
                yield from (span[0], span[0] + 1)
                inside = _INSIDE.finditer(piece, start, end)
                yield from (place + each.start() for each in inside)
            start = end


def _embedded(text: str) -> list[tuple[int, int]]:
    """Where data stand in base64, as those of a picture: no secret is looked for in them."""
    return [each.span() for each in _EMBEDDED.finditer(text)]


def _label_starts(text: str) -> Iterator[int]:
    """Where a name and a value can start: in front of a word that a name has."""
    for place, piece in _pieces(text, _WIDEST):
        lowered = piece.lower()
        for word, before in _WORDS.items():
            for each in _places(lowered, word):
                after = lowered[each + len(word) : each + len(word) + 1]
                if word not in _ENDS or after in _BETWEEN or after.isspace():
                    yield from range(max(0, place + each - before), place + each + 1)


def scrub_json(value: Any) -> Any:
    """A JSON value without secrets: it stays JSON, and so does JSON text within it.

    >>> scrub_json({"password": 12345, "arguments": '{"api_key": 67890}', "max_tokens": 10})
    {'password': '[secret removed]', 'arguments': '{"api_key":"[secret removed]"}', 'max_tokens': 10}
    """
    return _Scrubbing().clean(value)


@lru_cache(maxsize=20_000)
def _known(_digest: bytes) -> list[str | None]:
    """What a text is without secrets, by its digest: empty if nobody knows yet, and None if it has none.

    Each request of a conversation repeats the messages of the one before. No secret is kept here, only what
    is left without it.
    """
    return []


def _has_label(text: str) -> bool:
    """Whether a text has a name of secrets in it."""
    return any(_pattern("label").match(text, start) for start in _label_starts(text))


class _Scrubbing:
    """One value at work. It remembers texts and names, since a trace says the same ones again and again."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._names: dict[str, tuple[bool, bool]] = {}

    def clean(self, value: Any) -> Any:
        if isinstance(value, str):
            if value not in self._texts:
                known = _known(sha256(value.encode("utf-8", "surrogatepass")).digest())
                if not known:
                    clean = self._clean_text(value)
                    known.append(None if clean == value else clean)
                self._texts[value] = value if known[0] is None else known[0]
            return self._texts[value]
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        if isinstance(value, dict):
            named = _named_by(value)
            return {
                self.clean(str(name)): self._member(named if name == "value" else str(name), item)
                for name, item in value.items()
            }
        return value

    def _member(self, name: str, value: Any) -> Any:
        if name not in self._names:
            ends = (found.end() == len(name) for found in _pattern("label").finditer(name))
            self._names[name] = any(ends), _pattern("may_name").fullmatch(name) is not None
        labelled, may_name = self._names[name]
        if may_name:
            given = isinstance(value, str) and re.fullmatch(r"[!-~]{12,}", value) is not None
        else:
            given = isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
        return HIDDEN if labelled and given else self.clean(value)

    def _clean_text(self, text: str) -> str:
        clean = scrub(text)
        if text.lstrip()[:1] not in ("{", "[") or (clean == text and not _has_label(text)):
            return clean
        try:
            value = json.loads(text)
            hidden = self.clean(value)
        except (ValueError, RecursionError):
            return clean
        return text if hidden == value else encode(hidden)


def _named_by(pair: dict[Any, Any]) -> str:
    """What the member `value` is called: a cookie of a browser, or the name of a pair of name and value."""
    if "httpOnly" in pair:
        return "cookie"
    name = pair.get("name", pair.get("key"))
    return name if isinstance(name, str) else "value"
