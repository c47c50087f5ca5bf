"""The records of an experiment: a case, what a variant changes, and a run that is over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.records import Limits, Message
from zoolab.registry import ToolRegistry

if TYPE_CHECKING:
    from zoolab.policy import Policy
    from zoolab.runs import Trace

__all__ = ["UNSAID", "Case", "Run", "Score", "Scorer", "Setup", "Unsaid"]


class Unsaid(Enum):
    """What a case does not say, where None says something already."""

    UNSAID = "unsaid"

    def __bool__(self) -> bool:
        return False


UNSAID: Final = Unsaid.UNSAID


@dataclass(frozen=True, slots=True)
class Case:
    """One question, the tools that are at hand, and what is expected.

    >>> Case("sum-1", "What is 42 + 58?", expected_tool="add").expected_tool
    'add'
    >>> Case("chat-1", "Hello!", expected_tool="").expected_tool is None
    True
    """

    id: str
    #: What the user says; None to go on from `messages` alone.
    prompt: str | None = None
    #: A `ToolRegistry`, or tools and functions.
    tools: Any = ()
    #: The tool that has to be called; None where none is needed ("" is the same); UNSAID where any will do.
    expected_tool: str | Unsaid | None = UNSAID
    #: The calls that have to be made, each with `name` and `arguments`; a scorer says what it understands.
    expected_calls: Any = UNSAID
    #: The answer that has to be given; a scorer says what it understands.
    expected_answer: Any = UNSAID
    #: The system prompt.
    system: str | None = None
    #: An earlier conversation, to be continued.
    messages: tuple[Message, ...] = ()
    #: Whatever else is known of the case, for scorers and variants.
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise InvalidInput(f"a case has the id {excerpt(self.id)}", expected="text")
        if self.prompt is None and not self.messages:
            raise InvalidInput(f"the case {excerpt(self.id)} asks nothing", advice="give prompt or messages")
        if self.expected_tool == "":
            object.__setattr__(self, "expected_tool", None)


@dataclass(slots=True)
class Setup:
    """All that a walk is made from. Each run has its own: a variant may change it, or return another.

    The fields are the keyword arguments of `zoolab.walk`, except `case`, which a variant reads; `model`,
    which it may wrap or replace; `faults`, names or rates for `Faulty`, seeded for each run; and `seed`,
    the seed of the run.
    """

    case: Case
    prompt: str | None
    tools: ToolRegistry
    model: Any
    seed: int = 0
    system: str | None = None
    messages: tuple[Message, ...] = ()
    tool_choice: str = "auto"
    policy: Policy | None = None
    repair: Any = None
    retrieve: Any = None
    limits: Limits | None = None
    parallel: bool = True
    context: Any = None
    deny: Collection[str] = ()
    calls: Literal["native", "text", "auto"] | None = None
    envelope: Literal["json", "plain"] = "json"
    validator: Literal["jsonschema", "rs"] = "jsonschema"
    faults: Iterable[str] | Mapping[str, float] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is over: which one it was, and its trace. What scorers are given.

    `trace.outcome` says how it ended, and `trace.error` why, where it did not come to an answer.
    """

    case: Case
    trace: Trace
    variant: str = ""
    model: str = ""
    repeat: int = 0
    seed: int = 0


#: None where the case does not say what would be right.
Score = float | bool | int | None
#: One score, which has the scorer's name, or several by name.
Scorer = Callable[[Run], Mapping[str, Score] | Score]
