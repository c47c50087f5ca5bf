"""Tool retrieval: with forty tools, which eight does this question need? For `walk(..., retrieve=)`.

bm25.py        by the words that question and description share
embeddings.py  by their meaning, with a small static model from a package

A request's record says which tools were left out and why: `Request.withheld`.
"""

from zoolab.retrieval.bm25 import BM25
from zoolab.retrieval.embeddings import Embeddings

__all__ = ["BM25", "Embeddings"]
