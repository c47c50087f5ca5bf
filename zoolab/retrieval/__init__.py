"""Tool retrieval: with forty tools, which eight does this question need? For `walk(..., retrieve=)`.

scoring.py   BM25 and Embeddings: how well a tool fits the question
picking.py   the tools that a request offers, and those that it leaves out
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoolab.lazy import lazily

if TYPE_CHECKING:
    from zoolab.retrieval.scoring import BM25, Embeddings, words_of

__all__ = ["BM25", "Embeddings", "words_of"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, {"scoring": "BM25 Embeddings words_of"})
