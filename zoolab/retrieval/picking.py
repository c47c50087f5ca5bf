"""Which tools a request offers: those nearest to the question, and those that the model asks for."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from zoolab.errors import InvalidInput
from zoolab.records import Message, Withheld
from zoolab.tools import Tool, ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: The tool with which the model looks for more tools.
FIND_TOOLS = "find_tools"
_FIND = (
    "Look for further tools, when none of those at hand fits. What is found can be called in the next turn."
)


class Retriever(Protocol):
    """Compares a question with texts about tools."""

    #: How many tools are sent with a request.
    k: int

    def scores(self, query: str, texts: Sequence[str]) -> Iterable[float]:
        """One score a text; the higher, the better it fits."""
        ...


def pick_tools(
    retriever: Retriever, messages: Sequence[Message], tools: ToolRegistry, tool_choice: str = "auto"
) -> tuple[list[Tool], tuple[Withheld, ...]]:
    """The `retriever.k` tools that fit the last thing the user said, and those that were left out.

    A forced tool, and tools that the conversation has called already, are always sent. What `find_tools`
    found is sent beside the k tools, as long as its result is in the conversation.
    """
    everything = list(tools)
    asked_for = {FIND_TOOLS, *_found(messages)} if _is_search(tools.get(FIND_TOOLS)) else set()
    ranked = [i for i, tool in enumerate(everything) if tool.name not in asked_for]
    if len(ranked) <= retriever.k:
        return everything, ()
    said = (m.get("content") for m in reversed(messages) if m.get("role") == "user")
    question = str(next(said, ""))
    scores = [float(score) for score in retriever.scores(question, [*map(tool_text, everything)])]
    kept = {tool_choice} | {call["function"]["name"] for m in messages for call in m.get("tool_calls") or ()}
    ranking = sorted(ranked, key=lambda i: (everything[i].name not in kept, -scores[i], i))
    sent = set(ranking[: max(retriever.k, sum(everything[i].name in kept for i in ranked))])
    sent.update(set(range(len(everything))).difference(ranked))
    why = f"of {len(everything)}, the best {len(sent)} are sent"
    withheld = tuple(
        Withheld(everything[i].name, rank, scores[i], f"rank {rank} {why}")
        for rank, i in enumerate(ranking, 1)
        if i not in sent
    )
    return [everything[i] for i in sorted(sent)], withheld


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
    """The tools and `find_tools`, with which the model itself looks for more of them.

    Raises:
        InvalidInput: There is no retriever, or another tool has that name.

    >>> from zoolab.retrieval import BM25
    >>> from zoolab.tools import Tool
    >>> tools = ToolRegistry([Tool(name, "", {}) for name in ("ping_host", "list_disks")])
    >>> with_search(tools, BM25(k=1)).execute("find_tools", {"query": "ping"})[0]["name"]
    'ping_host'
    """
    if retriever is None:
        raise InvalidInput("find_tools needs retrieve", advice="give retrieve=BM25(k=8)")
    own = tools.get(FIND_TOOLS)
    if own is not None and not _is_search(own):
        raise InvalidInput("a tool is named find_tools already", advice="rename it, or leave out find_tools=")
    search = ToolSearch(retriever, (tool for tool in tools if tool is not own))
    made = Tool.build(FIND_TOOLS, _FIND).param("query", "string", "What the tool has to do.").call(search)
    return tools.fixed(made)


def _is_search(tool: Tool | None) -> bool:
    return tool is not None and isinstance(tool.function, ToolSearch)


def _found(messages: Iterable[Message]) -> set[str]:
    """The names of the tools that `find_tools` found, as its results in the conversation say."""
    asked: set[Any] = set()
    names: set[str] = set()
    for message in messages:
        for call in message.get("tool_calls") or ():
            if call["function"]["name"] == FIND_TOOLS:
                asked.add(call.get("id"))
        if message.get("role") == "tool" and message.get("tool_call_id") in asked:
            with suppress(ValueError, LookupError, TypeError, RecursionError):
                said = json.loads(message["content"])
                found = said["data"] if isinstance(said, dict) else said
                names.update(str(each["name"]) for each in found)
    return names


def tool_text(tool: Tool) -> str:
    """What a retriever compares with the question: name, description, and what the parameters say.

    >>> from zoolab.tools import Tool
    >>> tool_text(Tool.build("check_disk", "How full?").param("host", "string", "Its name.").call(dict))
    'check disk How full? host Its name.'
    """
    properties = tool.parameters.get("properties")
    parts = [tool.name.replace("_", " ").replace("-", " "), tool.description]
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        parts += [name, str(schema.get("description", "")) if isinstance(schema, dict) else ""]
    return " ".join(part for part in parts if part)
