"""Numbers, sizes and times in words, lists of names, what two texts differ in, and cells of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from zoolab.jsontext import one_line

_MAX_COMPARED = 500
# A spreadsheet takes a text that begins so for a formula.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def count(number: int, noun: str) -> str:
    """Return a number of things."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def as_words(code: str) -> str:
    """Return a code as people read it: "not_reached" is not reached."""
    return code.replace("_", " ")


def duration(milliseconds: float) -> str:
    """Return how long something took."""
    if not math.isfinite(milliseconds):
        return "unknown"
    if milliseconds < 1:
        return "under 1 ms"
    if round(milliseconds) < 1_000:
        return f"{milliseconds:.0f} ms"
    if round(milliseconds, -2) < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    return f"{minutes:,} min {seconds} s"


def size(number: int) -> str:
    """Return how large something is; 1 kB is 1,000 bytes."""
    return f"{number / 1000:,.0f} kB" if number >= 1000 else count(number, "byte")


def listed(items: list[str], most: int) -> str:
    """Return names one after the other, at most so many."""
    more = len(items) - most
    shown = [one_line(item, 80) for item in items[:most]]
    return ", ".join(shown + ([f"and {more:,} more"] if more > 0 else []))


def differences(before: str, after: str) -> list[tuple[str, str]]:
    """Return two texts as pieces: "del" is in the first alone, "ins" in the second alone, "" in both.

    >>> differences('{a: 1}', '{"a": 1}')
    [('', '{'), ('ins', '"'), ('', 'a'), ('ins', '"'), ('', ': 1}')]
    """
    head, tail = common_ends(before, after)
    old = before[head : len(before) - tail]
    new = after[head : len(after) - tail]
    if max(len(old), len(new)) > _MAX_COMPARED:  # character by character it would take too long
        middle = [("del", old), ("ins", new)]
    else:
        middle = []
        for operation, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            same = operation == "equal"
            middle += [("", old[a:b])] if same else [("del", old[a:b]), ("ins", new[c:d])]
    pieces = [("", before[:head]), *middle, ("", before[len(before) - tail :])]
    return [(element, text) for element, text in pieces if text]


def common_ends(one: Sequence[Any], other: Sequence[Any]) -> tuple[int, int]:
    """Return how many items two sequences have in common at their start, and of the rest at their end."""
    least = min(len(one), len(other))
    head = next((i for i in range(least) if one[i] != other[i]), least)
    least -= head
    return head, next((i for i in range(least) if one[-1 - i] != other[-1 - i]), least)


def guarded(text: str) -> str:
    """Return a text that a spreadsheet does not take for a formula."""
    begins = text.lstrip(" \u00a0\ufeff").startswith(_FORMULA)
    return f"'{text}" if begins else text
