"""The journal: every revision of `messages[]`.

A revision is the first `length` messages of a branch, a list that only grows; an edit begins another
branch. Recording a change costs the same however long the conversation is, and any revision can be rebuilt.

Messages are read-only, so the journal keeps them as they are, and writes the JSON of each one when it is
first asked for. A message that JSON cannot express is written at once, because what is in it may change.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple, cast

from zoolab.jsontext.values import encode_any, is_strict
from zoolab.records import Message, Messages


class Revision(NamedTuple):
    """`messages[]` at one moment: the first `length` entries of a branch."""

    branch: int
    length: int


class Journal:
    """An append-only record of conversations.

    >>> journal, messages = Journal(), Messages([{"role": "user", "content": "Hi"}])
    >>> first = journal.commit(messages)
    >>> second = journal.commit(messages.with_next({"role": "assistant", "content": "Hello"}))
    >>> [len(journal.rebuild(revision)) for revision in (first, second)]
    [1, 2]
    """

    def __init__(self) -> None:
        #: The messages, or their JSON once it is written.
        self._branches: list[list[Message | str]] = [[]]
        #: What was committed last, and the name of its revision.
        self.latest, self.revision = Messages(), Revision(0, 0)

    def commit(self, messages: Messages) -> Revision:
        """Record `messages[]` as it is now, and return the name of that revision.

        What is not JSON in a message gets the form that `zoolab.jsontext.values` documents.
        """
        branch = self._branches[-1]
        if not messages.shares(self.latest):
            # An edit copies the list alone, so what both begin with are the same objects.
            pairs = zip(self.latest.tolist(), messages.tolist(), strict=False)
            same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
            if same < len(branch):
                self._branches.append(branch[:same])
            branch = self._branches[-1]
        branch += [
            message if is_strict(message) else encode_any(message) for message in messages.since(len(branch))
        ]
        self.latest, self.revision = messages, Revision(len(self._branches) - 1, len(messages))
        return self.revision

    def rebuild(self, revision: Revision, start: int = 0) -> list[Message]:
        """The messages of a revision from `start` on, exactly as they were recorded."""
        return [json.loads(text) for text in self.frozen(revision, start)]

    def frozen(self, revision: Revision, start: int = 0) -> Sequence[str]:
        """The same messages as the JSON that they were frozen to."""
        branch = self._branches[revision.branch]
        for index in range(start, revision.length):
            branch[index] = _json(branch[index])
        return cast("list[str]", branch[start : revision.length])

    def common(self, old: Revision, new: Revision) -> int:
        """How many messages both revisions begin with."""
        shorter = min(old.length, new.length)
        if old.branch == new.branch:
            return shorter
        kept = (self._branches[revision.branch][:shorter] for revision in (old, new))
        for index, (a, b) in enumerate(zip(*kept, strict=True)):
            if a is not b and _json(a) != _json(b):
                return index
        return shorter


def _json(kept: Message | str) -> str:
    return kept if isinstance(kept, str) else encode_any(kept)
