"""The journal: every revision of `messages[]` that ever was.

A revision is the first `length` messages of a branch, a list that only grows; an edit begins another
branch. Recording a change costs the same however long the conversation is, and any revision can be rebuilt.

Messages are read-only, so the journal keeps them as they are, and writes the JSON of each one when it is
first asked for. A message that JSON cannot express is written at once, because what is in it may change.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
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
            branch = self._continue_from(_common(self.latest, messages))
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
        for index, pair in enumerate(zip(self._kept(old), self._kept(new), strict=False)):
            if pair[0] is not pair[1] and _json(pair[0]) != _json(pair[1]):
                return index
        return shorter

    def _kept(self, revision: Revision) -> list[Message | str]:
        return self._branches[revision.branch][: revision.length]

    def _continue_from(self, length: int) -> list[Message | str]:
        if length < len(self._branches[-1]):
            self._branches.append(self._branches[-1][:length])
        return self._branches[-1]


def _json(kept: Message | str) -> str:
    return kept if isinstance(kept, str) else encode_any(kept)


def _common(old: Messages, new: Messages) -> int:
    """How many messages both begin with; the same objects, since an edit copies the list alone."""
    same = 0
    for a, b in zip(old.tolist(), new.tolist(), strict=False):
        if a is not b:
            break
        same += 1
    return same
