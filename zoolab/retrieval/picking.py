"""Which tools a request offers: those that a retriever finds nearest to the question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from zoolab.records import Message, Withheld
from zoolab.tools import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from zoolab.tools import Tool


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

    A forced tool, and tools that the conversation has called already, are always sent.
    """
    everything = list(tools)
    if len(everything) <= retriever.k:
        return everything, ()
    said = (m.get("content") for m in reversed(messages) if m.get("role") == "user")
    question = str(next(said, ""))
    scores = [float(score) for score in retriever.scores(question, [*map(tool_text, everything)])]
    kept = {tool_choice} | {call["function"]["name"] for m in messages for call in m.get("tool_calls") or ()}
    ranking = sorted(range(len(everything)), key=lambda i: (everything[i].name not in kept, -scores[i], i))
    sent = set(ranking[: max(retriever.k, sum(tool.name in kept for tool in everything))])
    why = f"of {len(everything)}, the best {len(sent)} are sent"
    withheld = tuple(
        Withheld(everything[i].name, rank, scores[i], f"rank {rank} {why}")
        for rank, i in enumerate(ranking, 1)
        if i not in sent
    )
    return [everything[i] for i in sorted(sent)], withheld


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
