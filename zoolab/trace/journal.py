"""The JSON of each message of a trace.

A step keeps `messages[]` as a moment of a list that only grows, so that recording one costs the same however
long the conversation is. Messages are read-only: the JSON of each one is written when it is first asked for.
A message that JSON cannot express is written at once, because what is in it may change.
"""

from __future__ import annotations

import json

from zoolab.jsontext.values import encode_any, is_strict
from zoolab.records import Message, Messages


class Journal:
    """The messages of a conversation as JSON."""

    def __init__(self) -> None:
        #: The JSON that is written already, by the id of its message; the message is kept, and so its id.
        self._written: dict[int, tuple[Message, str]] = {}
        #: What was committed last.
        self.latest = Messages()

    def commit(self, messages: Messages) -> None:
        """Record `messages[]` as it is now.

        What is not JSON in a message gets the form that `zoolab.jsontext.values` documents.
        """
        known = len(self.latest) if messages.shares(self.latest) else 0
        for message in messages.since(known):
            if not is_strict(message):
                self._json(message)
        self.latest = messages

    def rebuild(self, messages: Messages, start: int = 0) -> list[Message]:
        """The messages from `start` on, exactly as they were recorded."""
        return [json.loads(text) for text in self.frozen(messages, start)]

    def frozen(self, messages: Messages, start: int = 0) -> list[str]:
        """The same messages as the JSON that they were frozen to."""
        return [self._json(message) for message in messages.since(start)]

    def common(self, old: Messages, new: Messages) -> int:
        """How many messages both begin with."""
        shorter = min(len(old), len(new))
        if old.shares(new):
            return shorter
        for index, (a, b) in enumerate(zip(old.since(0), new.since(0), strict=False)):
            if a is not b and self._json(a) != self._json(b):
                return index
        return shorter

    def _json(self, message: Message) -> str:
        kept = self._written.get(id(message))
        if kept is None or kept[0] is not message:
            kept = self._written[id(message)] = message, encode_any(message)
        return kept[1]
