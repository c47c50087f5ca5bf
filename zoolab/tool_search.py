"""Which tools go with a request: those that fit the question, and `find_tools`, which looks for others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.messages import text_of
from zoolab.records import Message, Withheld
from zoolab.retrieval import Retriever, tool_text
from zoolab.tools import Tool, ToolRegistry

FIND_TOOLS = "find_tools"
_FIND = (
    "Look for further tools, when none of those at hand fits. What is found can be called in the next turn."
)
#: The name of a tool that was found; a result that was cut is text, with its quotes escaped.
_NAMED = re.compile(r'\{\s*\\?"name\\?":\s*\\?"([\w-]{1,64})\\?"', re.ASCII)


def pick_tools(
    retriever: Retriever, messages: Sequence[Message], tools: ToolRegistry, tool_choice: str = "auto"
) -> tuple[list[Tool], tuple[Withheld, ...]]:
    """Return the `retriever.k` tools that fit the last thing the user said, and those that were left out.

    A forced tool, and tools that the conversation has called already, are always sent. `find_tools` is sent
    beside them, if there is one, and what it found: what its results say, so that a fork and an edited result
    offer the right tools.

    >>> from zoolab.retrieval import BM25
    >>> from zoolab.toolbox.starter import add, get_weather
    >>> said = [{"role": "user", "content": "What is the weather in Vienna?"}]
    >>> sent, withheld = pick_tools(BM25(k=1), said, ToolRegistry([add, get_weather]))
    >>> sent[0].name, withheld[0].name
    ('get_weather', 'add')
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


class ToolSearch:
    """What `find_tools` calls: a search among the tools of a walk."""

    def __init__(self, retriever: Retriever, tools: Iterable[Tool]) -> None:
        self._retriever = retriever
        self._tools = list(tools)

    def __call__(self, query: str) -> list[dict[str, Any]]:
        tools = self._tools
        scores = _scores(self._retriever, query, tools)
        best = sorted(range(len(tools)), key=lambda i: (-scores[i], i))[: self._retriever.k]
        return [tools[i].sent["function"] for i in best]


def with_search(tools: ToolRegistry, retriever: Retriever | None) -> ToolRegistry:
    """Return the tools and `find_tools`, which searches them; `InvalidInput` if another tool has that
    name.

    >>> from zoolab.retrieval import BM25
    >>> from zoolab.toolbox.starter import add
    >>> with_search(ToolRegistry([add]), BM25(k=1)).names()
    ['add', 'find_tools']
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
    found = {FIND_TOOLS}
    ids = set()
    for message in messages:
        for call in message.get("tool_calls") or ():
            if call["function"]["name"] == FIND_TOOLS:
                ids.add(call.get("id"))
        if message.get("role") == "tool" and message.get("tool_call_id") in ids:
            found.update(_NAMED.findall(str(message.get("content"))))
    return found
