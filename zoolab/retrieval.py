"""Tool retrieval: with forty tools, which eight does this question need? For `walk(..., retrieve=)`.

`BM25` scores by the words that question and description share, `Embeddings` by their meaning, with a small
static model from a package. The record of a request says which tools were left out and why:
`Request.withheld`.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Any, Protocol

from zoolab.errors import InvalidInput
from zoolab.extras import needs
from zoolab.tools import Tool

__all__ = ["BM25", "Embeddings", "words_of"]

_WORD = re.compile(r"[^\W_]+")
#: The commonest English endings, after three letters or more.
_ENDING = re.compile(r"(?<=...)(?:ing|es|ed|s)\Z")
#: Okapi BM25 as Robertson and Zaragoza (2009) give it: how soon more of a word stops counting, how much
#: long texts are held back, and what the commonest words weigh.
_K1 = 1.5
_B = 0.75
_EPSILON = 0.25
#: Longer questions are read up to here.
_MAX_CHARS = 20_000


class Retriever(Protocol):
    """Compares a question with texts about tools."""

    #: How many tools are sent with a request.
    k: int

    def scores(self, query: str, texts: Sequence[str]) -> Iterable[float]:
        """Return one score a text; the higher, the better it fits."""
        ...


def tool_text(tool: Tool) -> str:
    """Return what a retriever compares with the question: name, description, and what the parameters say.

    >>> from zoolab.toolbox.starter import add
    >>> tool_text(add).partition(".")[0]
    'add Add two integers: a + b'
    """
    properties = tool.parameters.get("properties")
    parts = [tool.name.replace("_", " ").replace("-", " "), tool.description]
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        parts += [name, str(schema.get("description", "")) if isinstance(schema, dict) else ""]
    return " ".join(part for part in parts if part)


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
        _check_k(self.k)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score a text, 0 if no word is shared."""
        texts_words = [Counter(words_of(text) or [""]) for text in texts]
        asked = sorted(set(words_of(query[:_MAX_CHARS])))
        weights = _rarity(texts_words)
        if not any(word in weights for word in asked):
            return [0.0] * len(texts)
        mean = sum(words.total() for words in texts_words) / len(texts)
        scores = []
        for words in texts_words:
            damping = _K1 * (1 - _B + _B * words.total() / mean)
            shared = ((weights[word], words[word]) for word in asked if word in words)
            found = (weight * (count * (_K1 + 1) / (count + damping)) for weight, count in shared)
            scores.append(sum(found, start=0.0))
        return scores


def _rarity(texts: Sequence[Counter[str]]) -> dict[str, float]:
    """Return how much each word weighs: log((n - m + 1/2) / (m + 1/2)) of a word that m of n texts have.

    A word of more than half of the texts would weigh less than nothing; it gets a share of the mean weight.
    """
    found = Counter(word for words in texts for word in words)
    weights = {word: log(len(texts) - m + 0.5) - log(m + 0.5) for word, m in found.items()}
    least = _EPSILON * sum(weights.values()) / max(len(weights), 1)
    return {word: least if weight < 0 else weight for word, weight in weights.items()}


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without the commonest English endings.

    >>> words_of("Restarting the web-services")
    ['restart', 'the', 'web', 'servic']
    """
    return [_ENDING.sub("", word) for word in _WORD.findall(text.lower())]


def _check_k(k: int) -> None:
    if type(k) is not int or k < 1:
        raise InvalidInput(f"k={k!r}", expected="a number of tools, at least 1")


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Scores tools by the cosine between the question's and the description's embedding, -1 to 1.

    Args:
        k: How many tools are sent with a request.

    Raises:
        MissingPackage: wordllama is not installed.
    """

    k: int = 8

    def __post_init__(self) -> None:
        _check_k(self.k)
        _embedder()  # a missing package is said now, and not at the first question

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score a text."""
        if not texts:
            return []
        asked = _embedder().embed([query[:_MAX_CHARS] or " "], norm=True)[0]
        return [float(score) for score in _vectors(tuple(texts)) @ asked]


@lru_cache(maxsize=1)
def _embedder() -> Any:
    needs("wordllama")
    root = logging.getLogger()
    level = root.level
    handlers = list(root.handlers)
    import wordllama  # sets up logging for the whole process, and again when it loads

    folder = Path(str(wordllama.__file__)).parent
    embedder = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    root.setLevel(level)
    root.handlers[:] = handlers
    return embedder


@lru_cache(maxsize=16)
def _vectors(texts: tuple[str, ...]) -> Any:
    """Keep the tools' side, which is the same at every request."""
    return _embedder().embed([text[:_MAX_CHARS] or " " for text in texts], norm=True)
