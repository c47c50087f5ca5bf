"""Removes secrets from text before it is written to a file or a screen.

The forms are in `secrets.toml`: those of `tests/test_secrets.py`, the ones that detect-secrets 1.5 names
among them. It is not used itself: it has no rule for Groq, xAI, NVIDIA or Hugging Face, finds only the first
line of a private key, finds and does not replace, and its last release, of May 2024, needs requests and
PyYAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from zoolab.jsontext import encode
from zoolab.secret_places import (
    Place,
    ends_a_name,
    is_data,
    is_plain_name,
    places_of_names,
    places_of_tokens,
    projected,
    without_places,
)

HIDDEN = "[secret removed]"

#: What is removed from a text of this length is remembered beyond the value that it is part of.
_REMEMBERED = 500
#: A text of this length is looked through alone.
_ALONE = 1 << 14
#: Members of a pair of name and value.
_NAMES = ("name", "key", "Name", "Key", "header", "ParameterKey")
_VALUES = frozenset({"value", "Value", "ParameterValue"})
_MAY_HOLD = (str, dict, list, tuple)
#: What a member is called without secrets, and what tells whether its value is one by that name.
_Name = tuple[str, Callable[[Any], bool] | None]


def scrub(text: str) -> str:
    """Return `text` without what looks like a key, a token or a password.

    >>> scrub("Authorization: Bearer abcdef123456")
    'Authorization: Bearer [secret removed]'
    >>> scrub("https://ada:lovelace@host/?api_key=abcdef123 and sk-proj-abcdefghijk1234")
    'https://ada:[secret removed]@host/?api_key=[secret removed] and [secret removed]'
    """
    said = projected(text)
    tokens = places_of_tokens(said)
    if tokens:
        text = _without(text, tokens)
        said = projected(text)
    return _without(text, places_of_names(said))


def _without(text: str, places: Sequence[Place]) -> str:
    parts = list[str]()
    end = 0
    for low, high in places:
        parts += [text[end:low], HIDDEN]
        end = high
    return "".join([*parts, text[end:]]) if places else text


def scrub_json(value: Any) -> Any:
    """Return a JSON value without secrets: it stays JSON, and so does JSON text within it.

    >>> scrub_json({"password": 12345, "arguments": '{"api_key": 67890}', "max_tokens": 10})
    {'password': '[secret removed]', 'arguments': '{"api_key":"[secret removed]"}', 'max_tokens': 10}
    """
    return _Scrubbing().clean(value)


@lru_cache(maxsize=20_000)
def _known(_digest: bytes) -> list[str | None]:
    """Return what a text is without secrets, by its digest: empty if nobody knows yet, and None if it has
    none.

    Each request of a conversation repeats the messages of the one before. No secret is kept here, only what
    is left without it.
    """
    return []


@lru_cache(maxsize=10_000)
def _known_name(_digest: bytes) -> list[_Name]:
    """Return what a member of this name is called and hides, by the digest of the name: empty if nobody knows
    yet.

    The messages of a trace are cleaned one by one, and have the same few names.
    """
    return []


class _Scrubbing:
    """One value at work. It remembers texts and names, since a trace says the same ones again and again."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        #: The values of texts that are JSON.
        self._parsed: dict[str, Any] = {}
        self._names: dict[Any, _Name] = {}

    def clean(self, value: Any) -> Any:
        self._look_through(value)
        return self._clean(value)

    def _look_through(self, value: Any) -> None:
        """Find the texts that have no secret, all together: a megabyte has tens of thousands of them."""
        fresh = dict[str, None]()
        waiting = [value]
        while waiting:
            each = waiting.pop()
            if isinstance(each, dict):
                waiting += each.values()
            elif isinstance(each, list | tuple):
                waiting += each
            elif isinstance(each, str) and not self._is_seen(each):
                parsed = _parsed(each)
                if parsed is not None:
                    self._parsed[each] = parsed
                    waiting.append(parsed)
                elif is_data(each):
                    self._texts[each] = each
                elif len(each) < _ALONE:
                    fresh[each] = None
        for each in without_places([*fresh]):
            self._texts[each] = each
            _memory(each).append(None)

    def _is_seen(self, text: str) -> bool:
        return text in self._texts or text in self._parsed or bool(_memory(text))

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            clean = self._texts.get(value)
            if clean is None:
                clean = self._texts[value] = self._clean_text(value)
            return clean
        if isinstance(value, dict):
            return self._members(value)
        if isinstance(value, list | tuple):
            return [self._clean(each) if isinstance(each, _MAY_HOLD) else each for each in value]
        return value

    def _members(self, value: dict[Any, Any]) -> dict[str, Any]:
        cleaned = dict[str, Any]()
        names = self._names
        for name, item in value.items():
            called, hides = names.get(name) or self._name(name)
            if name in _VALUES:
                hides = self._name(_named_by(value))[1]
            if hides is not None and hides(item):
                cleaned[called] = HIDDEN
            else:
                cleaned[called] = self._clean(item) if isinstance(item, _MAY_HOLD) else item
        return cleaned

    def _name(self, name: Any) -> _Name:
        if name not in self._names:
            said = str(name)
            known = _known_name(_digest(said))
            if not known:
                hides = None
                if ends_a_name(said):
                    hides = _is_long if is_plain_name(said) else _is_given
                known.append((self._clean(said), hides))
            self._names[name] = known[0]
        return self._names[name]

    def _clean_text(self, text: str) -> str:
        memory = _memory(text)
        if not memory:
            clean = self._scrubbed(text)
            memory.append(None if clean == text else clean)
        return text if memory[0] is None else memory[0]

    def _scrubbed(self, text: str) -> str:
        value = self._parsed.get(text)
        if value is None:
            value = _parsed(text)
            self._look_through(value)
        if value is None:
            return scrub(text)
        try:
            hidden = self._clean(value)
        except RecursionError:
            return scrub(text)
        return text if hidden == value else encode(hidden)


def _memory(text: str) -> list[str | None]:
    """Return what is known of a text, and where it is kept; of a short one nothing is."""
    return _known(_digest(text)) if len(text) >= _REMEMBERED else []


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _parsed(text: str) -> Any:
    """Return the object or list that a text is; None if it is neither."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_long(value: Any) -> bool:
    """Return whether a value is one of secrets if its name may be that of plain things."""
    return isinstance(value, str) and re.fullmatch(r"[!-~]{12,}", value) is not None


def _is_given(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def _named_by(pair: dict[Any, Any]) -> str:
    """Return what the member `value` is called: a cookie of a browser, or the name of a pair of name and
    value.
    """
    if "httpOnly" in pair:
        return "cookie"
    names = (pair[each] for each in _NAMES if each in pair)
    return next((name for name in names if isinstance(name, str)), "value")
