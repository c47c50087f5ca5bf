"""A trace as OpenTelemetry spans, by the conventions for generative AI. The whole mapping is in this file.

    a walk                             invoke_agent {agent}
    a request and its reply            chat {model}
    a call that ran                    execute_tool {tool}    within it the walk of a sub-agent
    a call that did not pass           validate {tool}        zoolab's own: the convention has no such span
    a call that nobody allowed         permission {tool}      zoolab's own, too

What the convention has no name for is in `zoolab.*`. A span that ended in an error says so by its status
and by `error.type`, a code of `zoolab.errors.ERROR_CODES` (or how the run ended). What people, models
and tools said is private: it is left out, unless it is asked for with `content=True`, and then it is cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import NotStrictJSON, encode, excerpt, parse_json
from zoolab.records import Decision, Fault, Message, Outcome, Reply, Request, Result, ToolCall, Verdict
from zoolab.registry import ToolRegistry
from zoolab.trace.marks import marks_by_step

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span, Tracer, TracerProvider

    from zoolab.trace.trace import Trace

#: The last release of the conventions that defines `gen_ai.*`; they have moved on to a repository of
#: their own, which has released nothing yet.
SEMCONV = "1.41.1"
SCHEMA_URL = f"https://opentelemetry.io/schemas/{SEMCONV}"

#: Characters of one text, and of all the messages of one request.
MAX_TEXT = 4_096
MAX_MESSAGES = 32_768
#: Sub-agents within sub-agents.
MAX_DEPTH = 8

_MAX_NAME = 128
_MAX_SECONDS = 4_000_000_000

#: Settings of a request's body: the attribute, and the type that it must have.
_SETTINGS: dict[str, tuple[str, type]] = {
    "frequency_penalty": ("gen_ai.request.frequency_penalty", float),
    "max_completion_tokens": ("gen_ai.request.max_tokens", int),
    "max_tokens": ("gen_ai.request.max_tokens", int),
    "n": ("gen_ai.request.choice.count", int),
    "presence_penalty": ("gen_ai.request.presence_penalty", float),
    "seed": ("gen_ai.request.seed", int),
    "temperature": ("gen_ai.request.temperature", float),
    "top_p": ("gen_ai.request.top_p", float),
}
#: What an endpoint counts: its name in `usage`, with the group that it is in, and the attribute.
_USAGE: tuple[tuple[str, str, str], ...] = (
    ("", "prompt_tokens", "gen_ai.usage.input_tokens"),
    ("", "completion_tokens", "gen_ai.usage.output_tokens"),
    ("prompt_tokens_details", "cached_tokens", "gen_ai.usage.cache_read.input_tokens"),
    ("completion_tokens_details", "reasoning_tokens", "gen_ai.usage.reasoning.output_tokens"),
)
_OF_THE_RUN = ("case_id", "variant", "seed", "expected_tool")

Attributes = dict[str, Any]


def to_otel(
    trace: Trace, provider: TracerProvider | None = None, *, content: bool = False
) -> list[ReadableSpan]:
    """The spans of a trace, in the order of its steps; see `Trace.to_otel`.

    >>> from zoolab import Scripted, run
    >>> [span.name for span in to_otel(run("Hi", [], Scripted(["Hello"])))]
    ['invoke_agent', 'chat scripted']
    """
    export = _Export(_tracer(trace.run_id, provider), content)
    moments, length = _moments(trace)
    began = time.time() - length / 1e9 if trace.began is None else trace.began
    window = _Window(_nanoseconds(began), _nanoseconds(began) + length)
    if moments:
        window = window.part(window.start + _nanoseconds(trace.started[0]), window.end)
    _Walk(export, trace, window).emit(_text(trace.meta.get("agent")))
    return export.spans


class _Window(NamedTuple):
    """From when to when, nanoseconds since 1970."""

    start: int
    end: int

    def part(self, start: int, end: int) -> _Window:
        """A part of it, whatever is asked for."""
        start = min(max(start, self.start), self.end)
        return _Window(start, min(max(end, start), self.end))
