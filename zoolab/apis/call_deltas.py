"""The calls of a stream, put together from the deltas of Chat Completions."""

from __future__ import annotations

from typing import Any

from zoolab.apis.merging import merge
from zoolab.apis.reading import as_dict, dicts_in
from zoolab.jsontext import encode
from zoolab.jsontext.values import without

Body = dict[str, Any]


class CallsBySlot:
    """Calls under construction, in the order in which they began.

    A delta without an index goes on with the call that has its id, or with the last one. A delta with a new
    id, or with a name where no id and no index say whose it is, begins another call; so does one with a name
    after arguments that are whole. Some endpoints repeat the name in each delta, some give all calls the same
    index or id, some send the name after the first arguments, and some send these at an index of their own.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._at_index: dict[int, list[_Call]] = {}
        #: The calls that began in one event, and nothing else in it: their arguments may come in this order.
        self._together: list[_Call] = []

    def add_all(self, parts: Any) -> None:
        """Add what one event says of calls: a list of deltas, or one alone."""
        given = [parts] if isinstance(parts, dict) else dicts_in(parts)
        if not any(_says_whose(part) for part in given) and 1 < len(given) == len(self._together):
            for call, part in zip(self._together, given, strict=True):
                call.add(part)
            return
        known = len(self._calls)
        for part in given:
            self._add(part)
        if len(self._calls) > known:
            begun = self._calls[known:]
            self._together = begun if len(begun) == len(given) and all(call.id for call in begun) else []

    def _add(self, part: Body) -> None:
        """Add a delta to the call that it belongs to."""
        index = _number(part.get("index"))
        own = part.get("id")
        known = self._calls if index is None else self._at_index.setdefault(index, [])
        named = as_dict(part.get("function")).get("name")
        same = next((call for call in reversed(known) if own and call.id == own), None)
        call = same or (known[-1] if known else None)
        if call is None and not own and not named and self._calls and not self._calls[-1].is_whole:
            call = self._calls[-1]
            known.append(call)
        if call is None or call.is_followed_by(part, index is not None):
            call = _Call(call.named_again if call and not named else "")
            self._calls.append(call)
            if known is not self._calls:
                known.append(call)
        call.add(part)

    def whole(self) -> list[Body]:
        """Return the calls, as they are in a completion that was not streamed."""
        return [call.whole() for call in self._calls]


def _says_whose(part: Body) -> bool:
    """Return whether a delta says which call it belongs to."""
    named = as_dict(part.get("function")).get("name")
    return bool(part.get("id") or named) or _number(part.get("index")) is not None


def _number(index: Any) -> int | None:
    """Return the index of a call; None if it is none. Some endpoints write it as text."""
    if isinstance(index, str) and index.isdecimal() and len(index) < 9:
        return int(index)
    return index if isinstance(index, int) else None


class _Call:
    """One call under construction."""

    def __init__(self, name: str = "") -> None:
        self.id: Any = None
        self._name = name
        #: The name that came again after whole arguments: the next arguments are those of another call.
        self.named_again = ""
        self._pieces: list[str] = []
        self._function: Body = {}
        self._others: Body = {}
        self._progress = _Progress()

    def add(self, part: Body) -> None:
        """Add what a delta says."""
        given = as_dict(part.get("function"))
        again = bool(self.id) and part.get("id") == self.id
        self.id = self.id or part.get("id")
        name = given.get("name") or ""
        if name != self._name:
            self._name += str(name)
        arguments = given.get("arguments")
        if arguments is not None:
            text = arguments if isinstance(arguments, str) else encode(arguments)
            if again and text.strip() and self.is_whole and text == "".join(self._pieces):
                return  # some endpoints send the whole call once more at the end
            self._pieces.append(text)
            if name and not text.strip() and not self.id and self.is_whole:
                self.named_again = str(name)
        merge(self._function, without(given, ("name", "arguments")))
        merge(self._others, without(part, ("id", "index", "function")))

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a whole object already."""
        return self._progress.ended(self._pieces)

    def is_followed_by(self, part: Body, indexed: bool) -> bool:
        """Return whether a delta that seems to belong to this call is the first of another one."""
        function = as_dict(part.get("function"))
        own = part.get("id")
        name = function.get("name")
        says = bool(str(function.get("arguments") or "").strip())
        if own and self.id and own != self.id:
            return bool(name) or not indexed or (says and self.is_whole)
        if not name:
            return bool(self.named_again) and says
        if not (indexed or (own and self.id)):
            # Endpoints that give ids give one to each call.
            return bool(self._name) and not (self.id and name == self._name)
        if not self._name or not any(self._pieces):
            return False
        return name != self._name or (says and not (own or self.id) and self.is_whole)

    def whole(self) -> Body:
        """Return the call, as it is in a completion that was not streamed."""
        made: Body = {"id": self.id, "type": "function", **self._others}
        if made["type"] == "function" or self._function or self._name or self._pieces:
            arguments = "".join(self._pieces)
            made["function"] = {**self._function, "name": self._name, "arguments": arguments}
        return made


class _Progress:
    """How far arguments have come, without reading a piece twice."""

    def __init__(self) -> None:
        self._read = 0
        self._depth = 0
        self._quoted = self._escaped = self._ended = False

    def ended(self, pieces: list[str]) -> bool:
        """Return whether the pieces are one whole object, as far as brackets and quotes say."""
        for piece in pieces[self._read :]:
            for character in piece:
                self._step(character)
        self._read = len(pieces)
        return self._ended

    def _step(self, character: str) -> None:
        if self._escaped:
            self._escaped = False
        elif self._quoted:
            self._escaped = character == "\\"
            self._quoted = character != '"'
        elif character == '"':
            self._quoted = True
        elif character in "{[":
            self._depth += 1
        elif character in "}]":
            self._depth -= 1
            self._ended = self._depth == 0
