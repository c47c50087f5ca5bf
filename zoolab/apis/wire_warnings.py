"""What is told of a request or a reply that a format cannot say as it is; warnings.toml has the codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from zoolab.files import read_table
from zoolab.jsontext import pointer_to

#: The codes of warnings, and what each says.
CODES = read_table("zoolab.apis", "warnings.toml")


@dataclass(frozen=True, slots=True)
class WireWarning:
    """One part of a request or reply that a format cannot say, or says in another way.

    `pointer` is a JSON Pointer (RFC 6901) into the request in OpenAI's form, or into the reply.
    """

    code: str
    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.code} at {self.pointer}: {self.message}"


def warning(code: str, path: Iterable[str | int], message: str = "") -> WireWarning:
    """Return a warning of a part; without a message it says what its code says."""
    return WireWarning(code, pointer_to(path), message or CODES[code])
