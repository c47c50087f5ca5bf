"""Removes secrets from text before it is written to a file or a screen.

The forms are in `secrets.toml`: those of `tests/test_secrets.py`, the ones that detect-secrets 1.5 names
among them. It is not used itself: it has no rule for Groq, xAI, NVIDIA or Hugging Face, finds only the first
line of a private key, finds and does not replace, and its last release, of May 2024, needs requests and
PyYAML.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from hashlib import sha256
from string import Template
from typing import Any

from zoolab.files import read_table
from zoolab.jsontext import encode

HIDDEN = "[secret removed]"


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
    clean = _pattern("token", re.VERBOSE).sub(HIDDEN, text)
    for form in ("structured", "labelled"):
        clean = _pattern(form).sub(lambda found: f"{found[found.lastindex or 0]}{HIDDEN}", clean)
    return clean


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
        if text.lstrip()[:1] not in ("{", "[") or (clean == text and not _pattern("label").search(text)):
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
