"""The options of a walk, checked once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.records import Limits, Message
from zoolab.steps.result import Envelope
from zoolab.steps.validate import Repairer
from zoolab.tapes import Tape

if TYPE_CHECKING:
    from zoolab.policy import Permissions, Policy
    from zoolab.retrieval import Retriever

__all__ = ["ForkOptions", "Options", "SharedOptions", "WalkOptions"]


class ForkOptions(TypedDict, total=False):
    """The options of `Trace.fork` for type checkers: those of what comes after a step."""

    tool_choice: str
    policy: Policy | Permissions | None
    repair: Repairer | None
    retrieve: Retriever | None
    limits: Limits | None
    parallel: bool
    context: Any
    deny: Collection[str]
    calls: Literal["native", "text", "auto"] | None
    envelope: Envelope
    find_tools: bool
    answer_schema: Any
    condense: Callable[[list[Message]], Iterable[Message]] | None
    on_delta: Callable[[dict[str, Any]], object] | None


class SharedOptions(ForkOptions, total=False):
    """The options of `walk` and of `run` that are the same, for type checkers."""

    system: str | None
    messages: Iterable[Message]
    first_turn: int


class WalkOptions(SharedOptions, total=False):
    """The options of `walk` for type checkers: `**options: Unpack[WalkOptions]`."""

    tape: Tape | None


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Options:
    """The options of one walk, checked. `walk` says what each one means."""

    system: str | None = None
    messages: Iterable[Message] = ()
    tool_choice: str = "auto"
    policy: Policy | Permissions | None = None
    repair: Repairer | None = None
    retrieve: Retriever | None = None
    limits: Limits | None = None
    parallel: bool = True
    context: Any = None
    deny: Collection[str] = ()
    calls: Literal["native", "text", "auto"] | None = None
    envelope: Envelope = "json"
    first_turn: int = 1
    find_tools: bool = False
    answer_schema: Any = None
    condense: Callable[[list[Message]], Iterable[Message]] | None = None
    on_delta: Callable[[dict[str, Any]], object] | None = None
    tape: Tape | None = None

    def __post_init__(self) -> None:
        for name, (fits, wanted) in _WANTED.items():
            value = getattr(self, name)
            if value is None and name != "envelope":
                continue  # as if it had been left out
            if not fits(value):
                raise InvalidInput(f"{name} is {excerpt(value)}", expected=wanted)


def check_model(model: object) -> None:
    """Raise `InvalidInput` for a model that cannot be called."""
    if not callable(model) or isinstance(model, type):
        raise InvalidInput(f"model is {excerpt(model)}", expected="something to call with a Request")


def _has(given: object, method: str) -> bool:
    return not isinstance(given, type) and callable(getattr(given, method, None))


def _is_policy(given: object) -> bool:
    from zoolab.policy import Permissions, Policy

    return isinstance(given, Policy | Permissions)


_WANTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "policy": (_is_policy, "a Policy, or Permissions"),
    "repair": (lambda it: _has(it, "propose"), "something with propose(), as RuleRepair()"),
    "retrieve": (lambda it: _has(it, "scores"), "something with scores(), as BM25(k=8)"),
    "limits": (lambda it: isinstance(it, Limits), "Limits, as Limits(turns=5)"),
    "calls": (lambda it: it in ("native", "text", "auto"), "native, text or auto"),
    "envelope": (lambda it: it in ("json", "plain"), "json or plain"),
    "condense": (callable, "a function from messages to messages"),
    "tape": (lambda it: _has(it, "take"), "a tape; run(tape=...) takes the path of a file"),
    "on_delta": (callable, "a function that takes a delta, a dict"),
}
