"""One message, read; and `messages[]` as it was at any step.

ends.py      how a reply ended
notes.py     what to know of a reply: calls that are not read, and what looks like one
outgoing.py  messages in a form that every server takes
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple, cast, overload

from zoolab.jsontext.readonly import read_only
from zoolab.jsontext.values import text_or_json

__all__ = ["Condensed", "Message", "Messages", "WrittenCall", "calls_of", "free_ids", "text_of"]

Message = dict[str, Any]
#: The types of parts that are what a message says; others hold thoughts, images or sound.
_TEXTS = (None, "text", "input_text", "output_text")


def text_of(message: Message) -> str:
    """Join the texts of a message's parts; empty if it says nothing. Never raises.

    >>> text_of({"content": [{"type": "text", "text": "It is "}, {"type": "text", "text": "100."}]})
    'It is 100.'
    """
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(map(_text_in, content)) if isinstance(content, list) else ""


def _text_in(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, dict) and part.get("type") in _TEXTS else ""
    return text if isinstance(text, str) else ""


class WrittenCall(NamedTuple):
    """A call as it stands in a message; what is missing is empty."""

    name: str
    id: str
    #: As the model wrote them; as JSON if they came as an object.
    arguments: str


def calls_of(message: Message) -> list[WrittenCall]:
    """Read the calls in the `tool_calls` of a message, each as far as possible. Never raises.

    >>> calls_of({"tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": {"a": 1}}}]})
    [WrittenCall(name='add', id='c1', arguments='{"a":1}')]
    """
    calls = message.get("tool_calls")
    return [_written(call) for call in calls] if isinstance(calls, list) else []


def _written(call: Any) -> WrittenCall:
    outer = cast("dict[str, Any]", call) if isinstance(call, dict) else {}
    function = outer.get("function")
    inner = cast("dict[str, Any]", function) if isinstance(function, dict) else {}
    given = (inner.get("name"), outer.get("id"), inner.get("arguments"))
    return WrittenCall(*("" if each is None else text_or_json(each) for each in given))


def free_ids(taken: Container[object]) -> Iterator[str]:
    """Yield ids for calls, of nine letters and digits, because Mistral takes no others; none is `taken`.

    >>> ids = free_ids({"call00001"})
    >>> next(ids), next(ids)
    ('call00002', 'call00003')
    """
    return (made for number in count(1) if (made := f"call{number:05d}") not in taken)


#: Makes of a message, given with its number, the one that goes on, or None; and lines that tell of changes.
Change = Callable[[int, Message], "tuple[Message | None, tuple[str, ...]]"]


class _Log(list[Message]):
    """A list of messages that only grows, and what was made of them."""

    def __init__(self, messages: Iterable[Message]) -> None:
        super().__init__(messages)
        self._changed: dict[Change, _Changed] = {}

    def changed(self, change: Change, length: int) -> tuple[list[Message], tuple[str, ...]]:
        """Apply a change to the first `length` messages; each is looked at once."""
        known = self._changed.setdefault(change, _Changed())
        for index in range(len(known.sizes), length):
            known.add(*change(index, self[index]))
        kept, told = known.sizes[length - 1] if length else (0, 0)
        return known.messages[:kept], tuple(known.lines[:told])


class _Changed:
    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.lines: list[str] = []
        #: How many messages and lines there are after each message.
        self.sizes: list[tuple[int, int]] = []

    def add(self, message: Message | None, lines: tuple[str, ...]) -> None:
        if message is not None:
            self.messages.append(message)
        self.lines += lines
        self.sizes.append((len(self.messages), len(self.lines)))


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
        self._log = _Log(read_only(message) for message in messages)
        self._length = len(self._log)

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
        if isinstance(other, Messages):
            length = self._length
            return length == other._length and self._log[:length] == other._log[:length]
        return (
            self.tolist() == list(cast("Iterable[Message]", other))
            if isinstance(other, Sequence)
            else NotImplemented
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.tolist())

    def tolist(self) -> list[Message]:
        """Return a list of the same messages, which stay read-only."""
        messages: list[Message] = read_only(self._log[: self._length])
        return messages

    def first(self, length: int) -> Messages:
        """Return the first `length` of them, at no cost."""
        return _moment(self._log, min(length, self._length))

    def since(self, index: int) -> list[Message]:
        """Return the messages from `index` on, in a list of the caller's own."""
        return self._log[index : self._length]

    def with_next(self, message: Message) -> Messages:
        """Return the moment after this one, with one more message."""
        log = self._log
        length = self._length
        if len(log) != length:
            log = _Log(log[:length])
        log.append(read_only(message))
        return _moment(log, length + 1)

    def changed(self, change: Change) -> tuple[list[Message], tuple[str, ...]]:
        """Return the messages after a change, and what it tells; each message is looked at once."""
        messages, lines = self._log.changed(change, self._length)
        return read_only(messages), lines

    def shares(self, other: Messages) -> bool:
        """Tell whether both are moments of the same growing list."""
        return self._log is other._log


def _moment(log: _Log, length: int) -> Messages:
    made = object.__new__(Messages)
    made._log = log
    made._length = length
    return made


class Condensed(Messages):
    """`messages[]` after it was condensed; `before` is what it was condensed from."""

    __slots__ = ("before",)

    def __init__(self, messages: Iterable[Message], before: Messages) -> None:
        super().__init__(messages)
        self.before = before
