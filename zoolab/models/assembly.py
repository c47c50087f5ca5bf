"""A streamed reply of Chat Completions, told while it arrives."""

from __future__ import annotations

from collections.abc import Iterable

from zoolab.apis import APIS
from zoolab.models.deltas import tell_delta
from zoolab.records import Reply


def assemble(chunks: Iterable[object]) -> Reply:
    """Put the chunks of a streamed reply together, and tell each delta when it arrives."""
    return APIS["openai"].streamed(chunks, tell_delta)
