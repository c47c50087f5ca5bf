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
from zoolab.messages import text_of
from zoolab.records import Message, Withheld
from zoolab.tools import Tool, ToolRegistry

__all__ = ["BM25", "Embeddings", "words_of"]

_WORD = re.compile(r"[^\W_]+")
#: The commonest English endings, after three letters or more.
_ENDING = re.compile(r"(?<=...)(?:ing|es|ed|s)\Z")
#: Okapi BM25 as Robertson and Zaragoza (2009) give it: how soon more of a word stops counting, how much
#: long texts are held back, and what the commonest words weigh.
_K1, _B, _EPSILON = 1.5, 0.75, 0.25
#: Longer questions are read up to here.
_MAX_CHARS = 20_000


class Retriever(Protocol):
    """Compares a question with texts about tools."""

    #: How many tools are sent with a request.
    k: int

    def scores(self, query: str, texts: Sequence[str]) -> Iterable[float]:
        """Return one score a text; the higher, the better it fits."""
        ...


def pick_tools(
    retriever: Retriever, messages: Sequence[Message], tools: ToolRegistry, tool_choice: str = "auto"
) -> tuple[list[Tool], tuple[Withheld, ...]]:
    """Return the `retriever.k` tools that fit the last thing the user said, and those that were left out.

    A forced tool, and tools that the conversation has called already, are always sent. `find_tools` is sent
    beside them, if there is one, and what it found: what its results say, so that a fork and an edited result
    offer the right tools.
    """
    beside = (
        _found(messages)
        if isinstance(getattr(tools.get(FIND_TOOLS), "function", None), ToolSearch)
        else set()
    )
    others = [tool for tool in tools if tool.name not in beside]
    if len(others) <= retriever.k:
        return list(tools), ()
    said = (text_of(m) for m in reversed(messages) if m.get("role") == "user")
    scores = _scores(retriever, next(said, ""), others)
    kept = {tool_choice} | {call["function"]["name"] for m in messages for call in m.get("tool_calls") or ()}
    ranking = sorted(range(len(others)), key=lambda i: (others[i].name not in kept, -scores[i], i))
    count = max(retriever.k, sum(tool.name in kept for tool in others))
    why = f"of {len(others)}, the best {count} are sent"
    withheld = tuple(
        Withheld(others[i].name, rank, scores[i], f"rank {rank} {why}")
        for rank, i in enumerate(ranking[count:], count + 1)
    )
    left_out = {each.name for each in withheld}
    return [tool for tool in tools if tool.name not in left_out], withheld


def _scores(retriever: Retriever, query: str, tools: Iterable[Tool]) -> list[float]:
    return [float(score) for score in retriever.scores(query, [*map(tool_text, tools)])]


def tool_text(tool: Tool) -> str:
    """Return what a retriever compares with the question: name, description, and what the parameters say."""
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
    level, handlers = root.level, list(root.handlers)
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


FIND_TOOLS = "find_tools"
_FIND = (
    "Look for further tools, when none of those at hand fits. What is found can be called in the next turn."
)
#: The name of a tool that was found; a result that was cut is text, with its quotes escaped.
_NAMED = re.compile(r'\{\s*\\?"name\\?":\s*\\?"([\w-]{1,64})\\?"', re.ASCII)


class ToolSearch:
    """What `find_tools` calls: a search among the tools of a walk."""

    def __init__(self, retriever: Retriever, tools: Iterable[Tool]) -> None:
        self._retriever, self._tools = retriever, list(tools)

    def __call__(self, query: str) -> list[dict[str, Any]]:
        tools = self._tools
        scores = _scores(self._retriever, query, tools)
        best = sorted(range(len(tools)), key=lambda i: (-scores[i], i))[: self._retriever.k]
        return [tools[i].sent["function"] for i in best]


def with_search(tools: ToolRegistry, retriever: Retriever | None) -> ToolRegistry:
    """Return the tools and `find_tools`, which searches them; `InvalidInput` if another tool has that
    name.
    """
    if retriever is None:
        raise InvalidInput("find_tools needs retrieve", advice="give retrieve=BM25(k=8)")
    own = tools.get(FIND_TOOLS)
    if own is not None and not isinstance(own.function, ToolSearch):
        raise InvalidInput("a tool is named find_tools already", advice="rename it, or leave out find_tools=")
    search = ToolSearch(retriever, (tool for tool in tools if tool is not own))
    return tools.fixed(
        Tool.build(FIND_TOOLS, _FIND).param("query", "string", "What it has to do.").call(search)
    )


def _found(messages: Sequence[Message]) -> set[str]:
    """Return the names of `find_tools` and of what it found in a conversation."""
    found, ids = {FIND_TOOLS}, set()
    for message in messages:
        for call in message.get("tool_calls") or ():
            if call["function"]["name"] == FIND_TOOLS:
                ids.add(call.get("id"))
        if message.get("role") == "tool" and message.get("tool_call_id") in ids:
            found.update(_NAMED.findall(str(message.get("content"))))
    return found
