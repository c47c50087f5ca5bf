"""Retrieval by words: Okapi BM25, as rank-bm25 has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from zoolab.errors import InvalidInput

_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ing", "es", "ed", "s")
#: Longer questions are read up to here.
_MAX_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class BM25:
    """Scores tools by the words they share with the question, rare ones above common ones.

    Args:
        k: How many tools are sent with a request.

    >>> BM25().scores("Is the disk full?", ["Report disk usage of a host.", "Ping a host."])[1]
    0.0
    """

    k: int = 8

    def __post_init__(self) -> None:
        check_k(self.k)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, 0 where no word is shared."""
        from rank_bm25 import BM25Okapi

        words = [words_of(text) for text in texts]
        asked = set(words_of(query[:_MAX_CHARS]))
        if not any(asked.intersection(found) for found in words):
            return [0.0] * len(texts)
        scores = BM25Okapi([found or [""] for found in words]).get_scores(sorted(asked))
        return [float(score) for score in scores]


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without the commonest English endings.

    >>> words_of("Restarting the web-services")
    ['restart', 'the', 'web', 'servic']
    """
    return [_stem(word) for word in _WORD.findall(text.lower())]


def check_k(k: int) -> None:
    """Refuse a number of tools that no request could carry.

    >>> check_k(0)
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: k=0; expected a number of tools, at least 1
    """
    if type(k) is not int or k < 1:
        raise InvalidInput(f"k={k!r}", expected="a number of tools, at least 1")


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
