"""Requests that tell a conversation from its beginning: only the longest of each is one of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from zoolab.jsontext import canonical, digest
from zoolab.records import Message
from zoolab_connect.readers.found import Conversation, Unread


def name_of_message(message: Message) -> str:
    """Return a name for what a message says; why it ended is told only where it was written."""
    return digest(canonical({key: value for key, value in message.items() if key != "finish_reason"}))


def beginnings_of(messages: Sequence[Message]) -> list[str]:
    """Return a name for each beginning of a conversation; the last one is the name of all of it."""
    names = map(name_of_message, messages)
    return [*accumulate(names, lambda before, name: digest(before + name))]


def longest(found: Sequence[Conversation], unread: Unread) -> Iterator[Conversation]:
    """Yield the conversations that are not the beginning of another one; repeated ones are counted.

    One that has nothing but an error is yielded as it is.
    """
    names = [beginnings_of(each.messages) for each in found]
    begun = {name for each in names for name in each[:-1]}
    seen: set[str] = set()
    again = 0
    for each, named in zip(found, names, strict=True):
        if named and not each.error:
            again += named[-1] in seen
            if named[-1] in begun or named[-1] in seen:
                continue
            seen.add(named[-1])
        yield each
    if again:
        unread.add("the file", f"{again:,} requests say the same as another one; each is shown once")
