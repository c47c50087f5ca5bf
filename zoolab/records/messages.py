"""`messages[]` as it was at any step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast, overload

from zoolab.jsontext.readonly import read_only

Message = dict[str, Any]
#: Parts of a message's content that hold what a model only thought.
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking")


def text_of(message: Message) -> str:
    """Return the text of a message, its parts joined, without what is only thought; empty if it has none.

    >>> parts = [{"type": "text", "text": "It is 1"}, {"type": "text", "text": "00."}]
    >>> text_of({"role": "user", "content": parts})
    'It is 100.'
    """
    content = message.get("content")
    if isinstance(content, list):
        spoken = (part for part in content if isinstance(part, dict) and part.get("type") not in _THOUGHTS)
        texts = (part.get("text") for part in spoken)
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


class Messages(Sequence[Message]):
    """`messages[]` as it stood at one moment: the first `length` of a list that only grows.

    Taking one costs nothing, however long the conversation is. Reads and compares like a list. Each
    message is a read-only copy of the one that was given.

    >>> before = Messages([{"role": "user", "content": "Hi"}])
    >>> after = before.with_next({"role": "assistant", "content": "Hello"})
    >>> len(before), len(after), before == [{"role": "user", "content": "Hi"}]
    (1, 2, True)
    """

    __slots__ = ("_length", "_log")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._log: list[Message] = [read_only(message) for message in messages]
        self._length = len(self._log)

    @classmethod
    def _moment(cls, log: list[Message], length: int) -> Messages:
        made = cls.__new__(cls)
        made._log, made._length = log, length
        return made

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return self.tolist()[index]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._log[index if index >= 0 else self._length + index]

    def __eq__(self, other: object) -> bool:
        return (
            self.tolist() == list(cast("Iterable[Message]", other))
            if isinstance(other, Sequence)
            else NotImplemented
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.tolist())

    def tolist(self) -> list[Message]:
        """A list of the same messages, read-only as they are."""
        messages: list[Message] = read_only(self._log[: self._length])
        return messages

    def first(self, length: int) -> Messages:
        """The first `length` of them, at no cost."""
        return Messages._moment(self._log, min(length, self._length))

    def since(self, index: int) -> list[Message]:
        """The messages from `index` on, in a list of the caller's own."""
        return self._log[index : self._length]

    def with_next(self, message: Message) -> Messages:
        """The moment after this one, with one more message."""
        log, length = self._log, self._length
        if len(log) != length:
            log = log[:length]
        log.append(read_only(message))
        return Messages._moment(log, length + 1)

    def shares(self, other: Messages) -> bool:
        """Whether both are moments of the same growing list."""
        return self._log is other._log


class Condensed(Messages):
    """`messages[]` after it was condensed; `before` is what it was condensed from."""

    __slots__ = ("before",)

    def __init__(self, messages: Iterable[Message], before: Messages) -> None:
        super().__init__(messages)
        self.before = before
