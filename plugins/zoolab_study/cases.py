"""The cases of an experiment, what a run starts from (`Setup`), and a run that has ended (`Run`).

Cases come from records, dicts, questions, or the rows of a data frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, digest, excerpt
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.options import Options
from zoolab.records import Message
from zoolab.steps.define import as_registry
from zoolab.tools import ToolRegistry

if TYPE_CHECKING:
    from zoolab.runs import Trace


_EXPECTED = ("expected_tool", "expected_calls", "expected_answer")
_ALSO_CALLED = {"case_id": "id", "question": "prompt"}


class Unsaid(Enum):
    """What a case does not say, where None says something already."""

    UNSAID = "unsaid"


UNSAID: Final = Unsaid.UNSAID


class WrongCase(InvalidInput):
    """A row is not a case; `key` is the key of the row that is wrong."""

    def __init__(self, what: str, *, key: str, expected: str = "", advice: str = "") -> None:
        super().__init__(what, expected=expected, advice=advice)
        self.key = key


@dataclass(frozen=True, slots=True)
class Case:
    """One question, the tools that are at hand, and what is expected."""

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
            raise WrongCase(f"the id of a case is {excerpt(self.id)}", key="id", expected="text")
        if self.prompt is None and not self.messages:
            what = f"the case {excerpt(self.id)} has no question"
            raise WrongCase(what, key="prompt", advice="give prompt or messages")
        if self.expected_tool == "":
            object.__setattr__(self, "expected_tool", None)


@dataclass(slots=True)
class Setup(Options):
    """All that a walk is made from. Each run has its own: a variant may change it, or return another.

    The fields are the options of `zoolab.walk`; `prompt` and `tools`; `case`, which a variant reads; `model`,
    which it may wrap or replace; `faults`, names or rates for `Faulty`, seeded for each run; and `seed`,
    the seed of the run.
    """

    case: Case
    prompt: str | None
    tools: ToolRegistry
    model: Any
    seed: int = 0
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


_FIELDS = {field.name for field in fields(Case)}


def cases_in(given: Any, tools: Any = None) -> list[Case]:
    """Return the cases of a list or of a data frame, with `tools` where a case brings none.

    Raises `InvalidInput` if there are none, one is no case, or two have the same id.
    """
    rows = given
    if hasattr(given, "to_dict") and hasattr(given, "columns"):
        # The rows of a data frame; an empty cell is NaN, whatever pandas has in it.
        rows = given.astype(object).where(given.notna(), float("nan")).to_dict("records")
    if isinstance(rows, str | Mapping | Case) or not isinstance(rows, Iterable):
        raise InvalidInput(f"cases are {excerpt(given)}", expected="a list of cases, dicts or questions")
    registries: dict[int, tuple[Any, ToolRegistry]] = {}
    cases = [_equipped(as_case(row, number), tools, registries) for number, row in enumerate(rows, 1)]
    twice = next((name for name, uses in Counter(case.id for case in cases).items() if uses > 1), None)
    if not cases or twice is not None:
        what = "there are no cases" if twice is None else f"two cases have the id {excerpt(twice)}"
        raise InvalidInput(what, expected="one case or more, each with its own id")
    return cases


def as_case(row: Any, number: int = 1) -> Case:
    """Return a case; keys of a dict that are no fields of `Case` become its `data`."""
    if isinstance(row, Case):
        return row
    if isinstance(row, str):
        return Case(str(number), row)
    if not isinstance(row, Mapping):
        raise InvalidInput(f"case {number} is {excerpt(row)}", expected="a Case, a dict or a question")
    named = {_ALSO_CALLED.get(str(key), str(key)): value for key, value in row.items()}
    told = {key: value for key, value in named.items() if not (isinstance(value, float) and value != value)}
    name = str(told.get("id", number))
    own = {key: value for key, value in told.items() if key in _FIELDS}
    data = {key: value for key, value in told.items() if key not in _FIELDS}
    # What is expected decides what counts as right: nothing of it may get lost unseen.
    strange = next(filter(_looks_expected, data), None)
    if strange is not None:
        what = f"the case {excerpt(name)} has {excerpt(strange)}"
        raise WrongCase(what, key=strange, expected=", ".join(_EXPECTED))
    if "expected_tool" in named and "expected_tool" not in told:
        raise WrongCase(
            f"the case {excerpt(name)} has an empty expected_tool",
            key="expected_tool",
            expected='a name, "" if no tool is needed, or UNSAID',
            advice='frame["expected_tool"].fillna("") writes "" into empty cells',
        )
    more = {
        "id": name,
        "messages": tuple(told.get("messages") or ()),
        "data": (told.get("data") or {}) | data,
    }
    return Case(**(own | more))


@lru_cache(maxsize=1024)
def _looks_expected(key: str) -> bool:
    """Return whether it may be one of the expectations, written wrongly."""
    return key.lower() in ("expected", "expect") or bool(get_close_matches(key.lower(), _EXPECTED, 1, 0.85))


def _equipped(case: Case, tools: Any, registries: dict[int, tuple[Any, ToolRegistry]]) -> Case:
    """Return the case with a registry; what brings the same tools shares it."""
    given = case.tools
    if tools is not None and isinstance(given, list | tuple) and not given:
        given = tools
    if isinstance(given, ToolRegistry) and given is case.tools:
        return case
    known = registries.setdefault(id(given), (given, as_registry(given)))
    return replace(case, tools=known[1])


def digest_of(case: Case) -> str:
    """Return a name for what a case asks and expects: a case that was changed has another."""
    said: list[Any] = [
        case.id,
        case.prompt,
        case.system,
        list(case.messages),
        as_registry(case.tools).schemas(),
    ]
    for value in (case.expected_tool, case.expected_calls, case.expected_answer):
        said.append("unsaid" if value is UNSAID else [json_form(repr, value)])
    return digest(canonical(said))


def json_form(other: Callable[[Any], Any], value: Any) -> Any:
    """Return a value as JSON, or what `other` makes of it if it is not JSON."""
    try:
        return to_json_value(value)
    except (NotJSON, RecursionError):
        return other(value)
