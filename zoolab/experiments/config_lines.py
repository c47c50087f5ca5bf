"""Where in a TOML file something is wrong, and how that is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from zoolab.records import Problem

__all__ = ["line_of", "said_of"]


def line_of(text: str, where: Sequence[str]) -> int:
    """The line where a key of a TOML file stands, or the nearest thing above it that is there.

    >>> line_of('repeats = 3\\n\\n[variants.loud]\\nsytem = "Shout."\\n', ["variants", "loud", "sytem"])
    4
    >>> line_of('title = "A"\\n[variant.loud]\\n', ["variant"])
    2
    >>> line_of('[[cases]]\\nprompt = "Hi"\\n[[cases]]\\nprompt = 3\\n', ["cases", "1", "prompt"])
    4
    """
    best, nearest = 0, 1
    table: list[str] = []
    counts: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key: list[str] = []
        if header := _HEADER.match(line):
            table = _keys(header[2])
            if header[1] == "[[":
                place = tuple(table)
                counts[place] = counts.get(place, -1) + 1
                table = [*table, str(counts[place])]
        elif assigned := _ASSIGNED.match(line):
            key = _keys(assigned[1])
        else:
            continue
        here = [*table, *key]
        shared = min(len(here), len(where))
        if here[:shared] != list(where[:shared]):
            continue
        if shared > best:
            best, nearest = shared, number
    return nearest


_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")
_ASSIGNED = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")


def _keys(dotted: str) -> list[str]:
    return [key.strip("\"'") for key in re.findall(_KEY, dotted)]


#: What a schema says, as one says it of a TOML file.
_WORDS = {
    "object": "a table",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
}
_BOUNDS = {"exclusiveMinimum": "a number above {}", "minimum": "{} or more", "maximum": "{} or less"}


def said_of(problem: Problem) -> tuple[list[str], str]:
    """Where a problem is, key by key, and a sentence about it.

    >>> said_of(Problem("", "/cases/0/prompt", "string", "nothing"))
    (['cases', '0', 'prompt'], 'cases.0.prompt: expected a text, received nothing')
    >>> said_of(Problem("", "/budget/request", "only requests, tokens", "10"))[1]
    'budget.request: expected only requests, tokens, received 10 (do you mean requests?)'
    """
    where = [part.replace("~1", "/").replace("~0", "~") for part in problem.pointer.split("/")[1:]]
    rule, _, bound = problem.expected.partition(" ")
    kinds = problem.expected.split(" or ")
    expected = _BOUNDS[rule].format(bound) if rule in _BOUNDS else problem.expected
    if all(kind in _WORDS for kind in kinds):
        expected = " or ".join(_WORDS[kind] for kind in kinds)
    meant = get_close_matches(where[-1], bound.split(", "), 1) if where and rule == "only" else []
    hint = f" (do you mean {meant[0]}?)" if meant else ""
    return where, f"{'.'.join(where) or 'the file'}: expected {expected}, received {problem.received}{hint}"
