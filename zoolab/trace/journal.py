"""The journal: every message once, and every revision of `messages[]` that ever was.

A message is frozen as JSON under the digest of that text. A revision is the first `length` entries
of a branch, a list of digests that only grows; an edit begins another branch. Recording a change
costs the same however long the conversation is, and any revision can be rebuilt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from zoolab.jsontext import digest, encode
from zoolab.records import Message, Messages


@dataclass(frozen=True, slots=True)
class Revision:
    """`messages[]` at one moment: the first `length` entries of a branch."""

    branch: int
    length: int


class Journal:
    """An append-only record of conversations.

    >>> journal, log = Journal(), [{"role": "user", "content": "Hi"}]
    >>> first = journal.commit(Messages(log))
    >>> log.append({"role": "assistant", "content": "Hello"})
    >>> second = journal.commit(Messages(log))
    >>> [len(journal.rebuild(revision)) for revision in (first, second)]
    [1, 2]
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._branches: list[list[str]] = [[]]
        self._latest = Messages()

    def commit(self, messages: Messages) -> Revision:
        """Record `messages[]` as it is now, and return the name of that revision."""
        branch = self._branches[-1]
        if not messages.shares(self._latest):
            branch = self._continue_from(_common(self._latest, messages))
        for message in messages.since(len(branch)):
            branch.append(self.freeze(message))
        self._latest = messages
        return Revision(len(self._branches) - 1, len(messages))

    def freeze(self, message: Message) -> str:
        """Keep a message as it is now; returns the digest that names it."""
        text = encode(message)
        name = digest(text)
        self._texts.setdefault(name, text)
        return name

    def rebuild(self, revision: Revision) -> list[Message]:
        """The messages of a revision, exactly as they were recorded."""
        return list(self.thaw(self.names(revision)))

    def names(self, revision: Revision, start: int = 0) -> Sequence[str]:
        """The digests of a revision's messages, in order, from `start` on."""
        return self._branches[revision.branch][start : revision.length]

    def common(self, old: Revision, new: Revision) -> int:
        """How many messages both revisions begin with."""
        shorter = min(old.length, new.length)
        if old.branch == new.branch:
            return shorter
        pairs = enumerate(zip(self.names(old), self.names(new), strict=False))
        return next((i for i, (a, b) in pairs if a != b), shorter)

    def thaw(self, names: Sequence[str]) -> tuple[Message, ...]:
        """The messages that these digests name."""
        return tuple(json.loads(self._texts[name]) for name in names)

    def _continue_from(self, length: int) -> list[str]:
        if length < len(self._branches[-1]):
            self._branches.append(self._branches[-1][:length])
        return self._branches[-1]


def _common(old: Messages, new: Messages) -> int:
    """How many messages both begin with; the same objects, since an edit copies the list alone."""
    pairs = enumerate(zip(old.tolist(), new.tolist(), strict=False))
    return next((i for i, (a, b) in pairs if a is not b), min(len(old), len(new)))
