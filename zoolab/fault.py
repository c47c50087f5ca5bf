"""What was broken on purpose: the mark that a reply, an outcome or an error carries."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeVar

_Error = TypeVar("_Error", bound=BaseException)


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
    #: The step of the turn that it belongs to.
    step: Literal["define", "request", "tool_call", "execute"] = "tool_call"
    #: The call of the reply that it belongs to; None for what concerns all of it.
    slot: int | None = None

    def __str__(self) -> str:
        return f"{self.name} in {self.where}"


#: The fault that is going on in a tool, for whoever gives that tool up before it returns.
GOING_ON: ContextVar[Fault | None] = ContextVar("zoolab_fault", default=None)


def marked(error: _Error, fault: Fault) -> _Error:
    """Mark an error with the fault that it comes from, in its attribute `fault`, and return it.

    >>> marked(OSError("no disk"), Fault("secret_in_error", "run of add")).fault.name
    'secret_in_error'
    """
    vars(error)["fault"] = fault
    return error
