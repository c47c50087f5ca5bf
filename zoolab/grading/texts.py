"""Texts of a submission for a report: short, and without anything that commands a terminal."""

from __future__ import annotations

from typing import Any

from zoolab.jsontext import visible


def cleaned(text: Any, limit: int = 300) -> str:
    """What a submission says, as text of at most `limit` characters whose control characters can be seen.

    >>> cleaned("a\\x1b[2J"), cleaned("abcdef", 3), cleaned(None)
    ('a\\\\x1b[2J', 'abc…', 'None')
    """
    short = str(text)[: limit + 1] if isinstance(text, (str, int, float, type(None))) else "what is no text"
    return visible(short if len(short) <= limit else f"{short[:limit]}…")
