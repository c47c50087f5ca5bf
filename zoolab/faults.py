"""The mark of an injected fault, as the trace keeps it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """What was broken on purpose: its name, where, and the text before and after.

    >>> print(Fault("trailing_comma", "arguments of add", '{"a": 1}', '{"a": 1,}'))
    trailing_comma in arguments of add
    """

    name: str
    where: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.name} in {self.where}"
