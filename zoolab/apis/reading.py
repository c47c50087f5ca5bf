"""Checks the parts of a body while it is read. The body of a request and a response are read in the same way;
only the errors differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from zoolab.errors import ZoolabError
from zoolab.jsontext import MAX_DEPTH, digest, encode, excerpt, one_line
from zoolab.messages.outgoing import RAW

_LONGEST_SHOWN = 300
_LONGEST_LEFT = 80


@dataclass(frozen=True, slots=True)
class Reading:
    """Checks the type of each part of a body, or raises an error that shows the whole body."""

    whole: Any
    opening: str
    error: type[ZoolabError]
    #: Where parts that zoolab has no form for are named; None if such a part is an error.
    left: list[str] | None = None

    def junk(self, expected: str) -> ZoolabError:
        """Return the error for a part that is not what was expected."""
        return self.error(f"{self.opening} {excerpt(self.whole, _LONGEST_SHOWN)}", expected=expected)

    def leave(self, what: str, expected: str) -> None:
        """Leave out a part of the body and name it, or raise the error for it."""
        if self.left is None:
            raise self.junk(expected)
        self.left.append(one_line(what, _LONGEST_LEFT))

    def stand_in(self, kind: object, part: Any, expected: str) -> str:
        """Return the text in place of a part that is not shown: another one for another part."""
        self.leave(f"{kind} is not shown", expected)
        return f"[{one_line(str(kind), _LONGEST_LEFT)}, not shown: {digest(self.json(part))[:8]}]"

    def object(self, value: Any, expected: str) -> dict[str, Any]:
        """Return `value` as a dict."""
        if not isinstance(value, dict):
            raise self.junk(expected)
        return value

    def items(self, value: Any, expected: str) -> list[Any]:
        """Return `value` as a list; None is an empty one."""
        if value is not None and not isinstance(value, list):
            raise self.junk(expected)
        return value or []

    def objects(self, value: Any, expected: str) -> list[dict[str, Any]]:
        """Return `value` as a list of dicts; None is an empty one."""
        return [self.object(item, expected) for item in self.items(value, expected)]

    def text(self, value: Any, expected: str = "text") -> str:
        """Return `value` as text."""
        if not isinstance(value, str):
            raise self.junk(expected)
        return value

    def json(self, value: Any) -> str:
        """Return `value` as JSON text."""
        try:
            return encode(value)
        except (TypeError, ValueError, RecursionError):
            raise self.error(
                "a part of the body is not JSON", expected=f"at most {MAX_DEPTH} levels"
            ) from None

    def call(self, id: Any, name: Any, arguments: Any) -> dict[str, Any]:
        """Return a call in OpenAI's form: arguments as text, and no id where none came.

        Arguments under `_raw` become the text that they were.
        """
        own = {"id": id} if isinstance(id, str) and id else {}
        if isinstance(arguments, dict) and arguments.keys() == {RAW} and isinstance(arguments[RAW], str):
            arguments = arguments[RAW]
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else self.json(arguments)
        function = {"name": name if isinstance(name, str) else "", "arguments": arguments}
        return {**own, "type": "function", "function": function}


def as_dict(value: object) -> dict[str, Any]:
    """Return `value` if it is a dict, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def dicts_in(value: object) -> list[dict[str, Any]]:
    """Return the dicts in `value` if it is a list, else none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
