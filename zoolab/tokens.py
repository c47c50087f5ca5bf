"""An estimate of the tokens of messages and tools, and their cost.

Each model counts in a way of its own, and endpoints count whole requests only. Here a token is four
characters: of a message, those of its text and of its calls as JSON; of a tool, those of its schema.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt

__all__ = ["Price", "tokens_in"]

CHARACTERS_A_TOKEN = 4
_TOO_MANY = 1 << 50


def tokens_in(messages: Iterable[Mapping[str, Any]] = (), tools: Iterable[Mapping[str, Any]] = ()) -> int:
    """About how many tokens messages take, and tools as a request holds them.

    >>> tokens_in([{"role": "user", "content": "What is 42 + 58?"}])
    4
    """
    characters = sum(map(characters_of, messages)) + sum(map(characters_of_tool, tools))
    return round(characters / CHARACTERS_A_TOKEN)


def characters_of(message: Mapping[str, Any]) -> int:
    """How many characters a message has: its text and its calls. Never fails, whatever it holds."""
    content, calls = message.get("content"), message.get("tool_calls")
    return (len(_text(content)) if content else 0) + (len(_text(calls)) if calls else 0)


def characters_of_tool(schema: Mapping[str, Any]) -> int:
    """How many characters a tool has in a request."""
    return len(_text(schema))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else excerpt(value, 1 << 30)


def counted(usage: Mapping[str, Any] | None, name: str) -> int | None:
    """A number of tokens as the endpoint counted them; None if it did not."""
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if type(value) is int and 0 <= value < _TOO_MANY else None


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in money for a million tokens.

    Args:
        input: For tokens that are sent.
        output: For tokens that are received.
        cached: For tokens that are sent and that the endpoint had in its cache; by default as `input`.

    >>> Price(input=2.5, output=10.0).of({"prompt_tokens": 1_000_000, "completion_tokens": 200_000})
    4.5
    """

    input: float
    output: float
    cached: float | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached"):
            value = getattr(self, name)
            if not (value is None and name == "cached") and not is_number(value, least=0):
                raise InvalidInput(f"Price({name}={excerpt(value)})", expected="a number of at least 0")

    def of(self, usage: Mapping[str, Any]) -> float:
        """What the tokens of one reply cost; tokens that `usage` does not name cost nothing."""
        sent = counted(usage, "prompt_tokens") or 0
        cached = min(sent, counted(usage.get("prompt_tokens_details"), "cached_tokens") or 0)
        cached_price = self.input if self.cached is None else self.cached
        received = counted(usage, "completion_tokens") or 0
        return ((sent - cached) * self.input + cached * cached_price + received * self.output) / 1e6


def is_number(value: Any, least: float) -> bool:
    """Whether a value is a finite number, no boolean, and at least `least`."""
    from numbers import Integral, Real

    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    number: Any = value
    return bool(number >= least and (isinstance(value, Integral) or math.isfinite(number)))
