"""An estimate of the tokens of messages and tools, and their cost.

Each model counts in a way of its own, and endpoints count whole requests only. Here a token is four
characters: of a message, those of its text and of its calls as JSON; of a tool, those of its schema.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt

__all__ = ["Price", "Tokens", "tokens_in"]

CHARACTERS_A_TOKEN = 4
_TOO_MANY = 1 << 50


def tokens_in(messages: Iterable[Mapping[str, Any]] = (), tools: Iterable[Mapping[str, Any]] = ()) -> int:
    """Return about how many tokens messages take, and tools as a request holds them.

    >>> tokens_in([{"role": "user", "content": "What is 42 + 58?"}])
    4
    """
    characters = sum(map(characters_of, messages)) + sum(map(characters_of_tool, tools))
    return round(characters / CHARACTERS_A_TOKEN)


def characters_of(message: Mapping[str, Any]) -> int:
    """Return how many characters a message has: its text and its calls. Never fails, whatever it holds."""
    content = message.get("content")
    calls = message.get("tool_calls")
    return (len(_text(content)) if content else 0) + (len(_text(calls)) if calls else 0)


def characters_of_tool(schema: Mapping[str, Any]) -> int:
    """Return how many characters a tool has in a request."""
    return len(_text(schema))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else excerpt(value, 1 << 30)


#: The counts whose sums are `input`, `cached`, `output`, `reasoning` and `cache_write`: Chat Completions,
#: Responses and Anthropic (whose input is only what its cache neither had nor received), Gemini, Ollama.
_IN_WORDS_OF = (
    (
        *("prompt_tokens", "prompt_tokens_details.cached_tokens"),
        *("completion_tokens", "completion_tokens_details.reasoning_tokens"),
        "prompt_tokens_details.cache_write_tokens",
    ),
    (
        "input_tokens cache_read_input_tokens cache_creation_input_tokens",
        "input_tokens_details.cached_tokens cache_read_input_tokens",
        *("output_tokens", "output_tokens_details.reasoning_tokens"),
        "input_tokens_details.cache_write_tokens cache_creation_input_tokens",
    ),
    (
        *("promptTokenCount toolUsePromptTokenCount", "cachedContentTokenCount"),
        *("candidatesTokenCount thoughtsTokenCount", "thoughtsTokenCount"),
        "",
    ),
    ("prompt_eval_count", "", "eval_count", "", ""),
)


def _sum_of(usage: Mapping[str, Any] | None, names: Iterable[str]) -> int | None:
    """Return the sum of counts, of which `a.b` is b in the object a; None if the endpoint gave none of
    them.
    """
    counts = []
    for name in names:
        outer, dot, inner = name.rpartition(".")
        within = usage.get(outer) if dot and isinstance(usage, Mapping) else usage
        count = within.get(inner) if isinstance(within, Mapping) else None
        if type(count) is int and 0 <= count < _TOO_MANY:
            counts.append(count)
    return sum(counts) if counts else None


class Tokens(NamedTuple):
    """The tokens of a reply as the endpoint counted them; None for a number that it did not give.

    `cached` are those of `input` that the endpoint had in its cache, `cache_write` those that it wrote into
    it, `reasoning` those of `output` that the model thought with.

    >>> Tokens.of({"input_tokens": 5, "cache_read_input_tokens": 95, "output_tokens": 7})
    Tokens(input=100, cached=95, output=7, reasoning=None, cache_write=None)
    """

    input: int | None = None
    cached: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache_write: int | None = None

    @classmethod
    def of(cls, usage: Mapping[str, Any] | None) -> Tokens:
        """Return what a `usage` says, in the words of Chat Completions, Responses, Anthropic, Gemini or
        Ollama.
        """
        found = (cls(*(_sum_of(usage, names.split()) for names in each)) for each in _IN_WORDS_OF)
        return next((tokens for tokens in found if tokens.known is not None), cls())

    @classmethod
    def total(cls, usages: Iterable[Mapping[str, Any] | None]) -> Tokens:
        """Return the sums over many replies; None for a number that no reply has."""
        columns = zip(*map(cls.of, usages), strict=True)
        known = ([count for count in column if count is not None] for column in columns)
        return cls(*(sum(counts) if counts else None for counts in known))

    @property
    def known(self) -> int | None:
        """Tokens sent and received together; None if the endpoint counted none."""
        return None if self.input is None and self.output is None else (self.input or 0) + (self.output or 0)

    @property
    def usage(self) -> dict[str, Any] | None:
        """The same in the words of Chat Completions; None if the endpoint counted none."""
        if self.known is None:
            return None
        usage: dict[str, Any] = {"prompt_tokens": self.input or 0, "completion_tokens": self.output or 0}
        sent = {"cached_tokens": self.cached, "cache_write_tokens": self.cache_write}
        if details := {name: number for name, number in sent.items() if number is not None}:
            usage["prompt_tokens_details"] = details
        if self.reasoning is not None:
            usage["completion_tokens_details"] = {"reasoning_tokens": self.reasoning}
        return {**usage, "total_tokens": self.known}


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in money for a million tokens.

    Args:
        input: For tokens that are sent.
        output: For tokens that are received.
        cached: For tokens that are sent and that the endpoint had in its cache; by default as `input`.
        cache_write: For tokens that are sent and that the endpoint wrote into its cache; as `input`.

    >>> Price(input=2.5, output=10.0).of({"prompt_tokens": 1_000_000, "completion_tokens": 200_000})
    4.5
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached", "cache_write"):
            value = getattr(self, name)
            if not (value is None and name.startswith("cache")) and not is_number(value, least=0):
                raise InvalidInput(f"Price({name}={excerpt(value)})", expected="a number of at least 0")

    def of(self, usage: Mapping[str, Any]) -> float:
        """Return what the tokens of one reply cost; tokens that `usage` does not name cost nothing."""
        tokens = Tokens.of(usage)
        sent = tokens.input or 0
        received = tokens.output or 0
        cached = min(sent, tokens.cached or 0)
        written = min(sent - cached, tokens.cache_write or 0)
        read_price = self.input if self.cached is None else self.cached
        write_price = self.input if self.cache_write is None else self.cache_write
        plain = (sent - cached - written) * self.input
        return (plain + cached * read_price + written * write_price + received * self.output) / 1e6


def is_number(value: Any, least: float) -> bool:
    """Return whether a value is a finite number, no boolean, and at least `least`."""
    if type(value) is int:
        return bool(value >= least)
    from numbers import Integral, Real

    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    number: Any = value
    return bool(number >= least and (isinstance(value, Integral) or math.isfinite(number)))
