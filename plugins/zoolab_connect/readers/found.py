"""What every reader gives back: conversations, each with what was not understood of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoolab.jsontext import one_line, visible
from zoolab.records import Message

#: Lines that are kept; the rest is counted.
MOST = 100


class Unread:
    """What a reader did not understand: a place and a reason each.

    >>> unread = Unread()
    >>> unread.add("messages[0]", "it is 7")
    >>> unread.lines()
    ['messages[0]: it is 7']
    """

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}
        self._more = 0

    def add(self, place: str, reason: str) -> None:
        """Say that what stands at a place was not understood, and why."""
        if len(self._lines) < MOST:
            self._lines[one_line(visible(f"{place}: {reason}"), 300)] = None
        else:
            self._more += 1

    def lines(self) -> list[str]:
        """Return all of it, each once."""
        return [*self._lines, *([f"and {self._more:,} more"] if self._more else [])]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation in OpenAI's form, as another program wrote it down."""

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    unread: Unread = field(default_factory=Unread)
    #: How it ended, if the file says so: an outcome of a trace, and why.
    outcome: str = ""
    error: str = ""
