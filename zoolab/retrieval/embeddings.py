"""Retrieval by meaning: static word embeddings that lie in the package wordllama, nothing is downloaded."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.retrieval.bm25 import check_k

_MAX_CHARS = 20_000


class Embeddings:
    """Scores tools by the cosine between the question's and the description's embedding, -1 to 1.

    Args:
        k: How many tools are sent with a request.

    Raises:
        InvalidInput: wordllama is not installed.

    >>> scores = Embeddings().scores("I want my money back.", ["Refund a payment.", "Ping a host."])
    >>> scores[0] > scores[1]
    True
    """

    def __init__(self, k: int = 8) -> None:
        check_k(k)
        self.k = k
        self._embedder = _embedder()

    def __repr__(self) -> str:
        return f"Embeddings(k={self.k})"

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text."""
        if not texts:
            return []
        asked = self._embedder.embed([query[:_MAX_CHARS] or " "], norm=True)[0]
        return [float(score) for score in _vectors(tuple(texts)) @ asked]


@lru_cache(maxsize=1)
def _embedder() -> Any:
    try:
        with _root_logger_as_it_was():
            import wordllama
    except ImportError:
        raise InvalidInput("Embeddings needs the package wordllama", advice="pip install wordllama") from None
    folder = Path(str(wordllama.__file__)).parent
    with _root_logger_as_it_was():
        return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


@contextmanager
def _root_logger_as_it_was() -> Generator[None]:
    """wordllama sets up logging for the whole process."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


@lru_cache(maxsize=16)
def _vectors(texts: tuple[str, ...]) -> Any:
    """The tools' side is the same at every request."""
    return _embedder().embed([text[:_MAX_CHARS] or " " for text in texts], norm=True)
