"""Condenses `messages[]` between turns, by a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.records import Message, Messages
from zoolab.records.messages import Condensed
from zoolab.running.interrupts import interruptible
from zoolab.wire.pairing import check_conversation


def condensed(condense: Callable[[list[Message]], Iterable[Message]], messages: Messages) -> Messages:
    """What `condense` makes of a conversation.

    Raises `InvalidInput` for what endpoints refuse, for instance if a call has lost its result.
    """
    before = messages.tolist()
    made: Any = interruptible(condense, before)
    expected = "a list of messages in which each call stands before its result"
    if not isinstance(made, list | tuple):
        raise InvalidInput(f"condense returned {excerpt(made, 60)}", expected=expected)
    if [*made] == messages.tolist():
        return messages
    for problem in check_conversation(made):
        advice = "leave out a call together with all of its results"
        raise InvalidInput(f"condense returned messages with {problem}", expected=expected, advice=advice)
    return Condensed(made, messages)
