"""`find_tools`: a tool with which the model itself looks for more tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.records import Message, Withheld
from zoolab.retrieval import Retriever, pick_tools, tool_text
from zoolab.tools import Tool, ToolRegistry

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
        scores = [float(score) for score in self._retriever.scores(query, [*map(tool_text, tools)])]
        best = sorted(range(len(tools)), key=lambda i: (-scores[i], i))[: self._retriever.k]
        return [tools[i].sent["function"] for i in best]


def with_search(tools: ToolRegistry, retriever: Retriever | None) -> ToolRegistry:
    """The tools and `find_tools`, which searches them; `InvalidInput` if another tool has that name."""
    if retriever is None:
        raise InvalidInput("find_tools needs retrieve", advice="give retrieve=BM25(k=8)")
    own = tools.get(FIND_TOOLS)
    if own is not None and not isinstance(own.function, ToolSearch):
        raise InvalidInput("a tool is named find_tools already", advice="rename it, or leave out find_tools=")
    search = ToolSearch(retriever, (tool for tool in tools if tool is not own))
    return tools.fixed(
        Tool.build(FIND_TOOLS, _FIND).param("query", "string", "What it has to do.").call(search)
    )


def pick_with_search(
    retriever: Retriever, messages: Sequence[Message], tools: ToolRegistry, tool_choice: str = "auto"
) -> tuple[list[Tool], tuple[Withheld, ...]]:
    """As `pick_tools`, and beside its tools `find_tools`, if there is one, and what it found.

    What it found is what its results say, so that a fork and an edited result offer the right tools.
    """
    search = tools.get(FIND_TOOLS)
    if search is None or not isinstance(search.function, ToolSearch):
        return pick_tools(retriever, messages, tools, tool_choice)
    asked_for, ids = {FIND_TOOLS}, set()
    for message in messages:
        for call in message.get("tool_calls") or ():
            if call["function"]["name"] == FIND_TOOLS:
                ids.add(call.get("id"))
        if message.get("role") == "tool" and message.get("tool_call_id") in ids:
            asked_for.update(_NAMED.findall(str(message.get("content"))))
    others = ToolRegistry(tool for tool in tools if tool.name not in asked_for)
    picked, withheld = pick_tools(retriever, messages, others, tool_choice)
    sent = asked_for | {tool.name for tool in picked}
    return [tool for tool in tools if tool.name in sent], withheld
