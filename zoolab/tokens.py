"""About how many tokens messages and tools take. One estimate for everybody, so that numbers agree.

Each model counts in a way of its own, and endpoints count whole requests only. Here a token is four
characters: of a message, those of its text and of its calls as JSON; of a tool, those of its schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zoolab.jsontext import excerpt

__all__ = ["CHARACTERS_A_TOKEN", "characters_of", "characters_of_tool", "tokens_in"]

CHARACTERS_A_TOKEN = 4


def tokens_in(messages: Iterable[Mapping[str, Any]] = (), tools: Iterable[Mapping[str, Any]] = ()) -> int:
    """About how many tokens messages take, and tools as a request holds them.

    >>> tokens_in([{"role": "user", "content": "What is 42 + 58?"}])
    4
    """
    characters = sum(map(characters_of, messages)) + sum(map(characters_of_tool, tools))
    return round(characters / CHARACTERS_A_TOKEN)


def characters_of(message: Mapping[str, Any]) -> int:
    """How many characters a message has: its text and its calls. Never fails, whatever it holds.

    >>> characters_of({"role": "assistant", "content": "Hi", "tool_calls": []})
    2
    """
    content, calls = message.get("content"), message.get("tool_calls")
    return (len(_text(content)) if content else 0) + (len(_text(calls)) if calls else 0)


def characters_of_tool(schema: Mapping[str, Any]) -> int:
    """How many characters a tool has in a request.

    >>> characters_of_tool({"type": "function"})
    19
    """
    return len(_text(schema))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else excerpt(value, 1 << 30)
