"""Patterns of resources: `*` stays within one part of a path, `**` goes on through all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt

# Several `**/` say no more than one.
_REPEATED = re.compile(r"(?<![^/])(?:\*\*+/){2,}")
_TOKEN = re.compile(r"\*+|\\[*\\]|[^\\*]")


@dataclass(frozen=True, slots=True)
class Pattern:
    r"""A pattern of texts. `*` is any text without a slash, `**` any text, `/**/` a slash or any folders.

    All else stands for itself, its case included; `\*` and `\\` are a star and a backslash. Matching
    takes one step a letter, whatever the pattern.

    Raises:
        InvalidInput: It is empty, or a backslash stands before something else.

    >>> Pattern("/srv/*.txt").matches("/srv/a.txt"), Pattern("/srv/*.txt").matches("/srv/x/a.txt")
    (True, False)
    >>> [Pattern("/srv/**/a.txt").matches(path) for path in ("/srv/a.txt", "/srv/x/y/a.txt", "/srv/xa.txt")]
    [True, True, False]
    """

    text: str
    # What a pattern without stars stands for.
    _literal: str | None = field(init=False, repr=False, compare=False)
    # Of a number's bits each is a place in the pattern: those that a letter leads on from, those where a
    # star waits, those where it takes a slash too, and those of a `**/` that may be left out.
    _letters: dict[str, int] = field(init=False, repr=False, compare=False)
    _stars: int = field(init=False, repr=False, compare=False)
    _crossing: int = field(init=False, repr=False, compare=False)
    _skipped: int = field(init=False, repr=False, compare=False)
    _end: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tokens = _tokens(self.text)
        stars_in = "*" in tokens or "**" in tokens
        object.__setattr__(self, "_literal", None if stars_in else "".join(token[-1] for token in tokens))
        masks = _masks(tokens) if stars_in else ({}, 0, 0, 0, 0)
        for name, mask in zip(("_letters", "_stars", "_crossing", "_skipped", "_end"), masks, strict=True):
            object.__setattr__(self, name, mask)

    def matches(self, text: str) -> bool:
        """Whether the whole of `text` is as the pattern says.

        >>> Pattern("https://*.example.org/**").matches("https://www.example.org/a/b")
        True
        """
        if self._literal is not None:
            return text == self._literal
        places = self._onward(1)
        for letter in text:
            waiting = places & (self._crossing if letter == "/" else self._stars)
            places = self._onward((places & self._letters.get(letter, 0)) << 1) | self._past(waiting)
            if not places:
                return False
        return bool(places & self._end)

    def _onward(self, entered: int) -> int:
        return self._past(entered | (entered & self._skipped) << 2)

    def _past(self, places: int) -> int:
        return places | (places & self._stars) << 1


def escape(text: str) -> str:
    r"""The pattern of this very text.

    >>> escape("/srv/[a]*.txt"), Pattern(escape("a*\\")).matches("a*\\")
    ('/srv/[a]\\*.txt', True)
    """
    return re.sub(r"[*\\]", r"\\\g<0>", text)


def _masks(tokens: list[str]) -> tuple[dict[str, int], int, int, int, int]:
    letters = dict[str, int]()
    stars = crossing = skipped = 0
    for place, token in enumerate(tokens):
        here = 1 << place
        if token not in ("*", "**"):
            letters[token[-1]] = letters.get(token[-1], 0) | here
            continue
        stars |= here
        if token == "**":
            crossing |= here
            before, after = tokens[max(0, place - 1) : place], tokens[place + 1 : place + 2]
            skipped |= here if before in ([], ["/"]) and after == ["/"] else 0
    return letters, stars, crossing, skipped, 1 << len(tokens)


def _tokens(text: str) -> list[str]:
    """Letters, escaped ones with their backslash, and stars: two of them for any more."""
    once = _REPEATED.sub("**/", text)
    tokens = _TOKEN.findall(once)
    if not tokens or "".join(tokens) != once:
        raise InvalidInput(
            f"{excerpt(text)} is no pattern",
            expected="text with * and **, a backslash only before * or a backslash",
            advice="write the parts of a path with / between them",
        )
    return [token if len(token) < 3 else "**" for token in tokens]
