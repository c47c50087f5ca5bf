"""The grader's records: a case, what it gave, and the grade of one submission."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoolab.grading.student import Student

Check = Callable[["Student", Random], None]


class Wrong(Exception):
    """What the student's code did that the task does not ask for, in words that give no hidden value away.

    A case raises it; so does whatever the student's code could not do at all. `walk` is the conversation as
    far as it went, for the inspector, where there was one.
    """

    def __init__(self, happened: str, walk: list[dict[str, Any]] | None = None) -> None:
        super().__init__(happened)
        self.happened = happened
        self.walk = walk


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a lab: a function that has the student's code work, and raises `Wrong` if it fell short.

    `name` is the function's name, `asks` its docstring: the sentence of the task that the student reads.
    """

    name: str
    asks: str
    hint: str
    points: float
    public: bool
    check: Check


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab as its `cases.py` describes it, and its cases in the order of the file.

    `uses` names the modules that a submission may expect beside the standard library; they are imported
    before it starts. `seconds` is what one call of the student's code may take.
    """

    name: str
    title: str
    functions: tuple[str, ...]
    uses: tuple[str, ...] = ()
    seconds: float = 5.0
    cases: tuple[Case, ...] = ()

    @property
    def points(self) -> float:
        """What a right submission gets."""
        return sum(case.points for case in self.cases)


@dataclass(frozen=True, slots=True)
class CaseGrade:
    """What a submission got for one case; `happened` and `hint` are empty for a case that passed."""

    name: str
    asks: str
    points: float
    out_of: float
    public: bool
    happened: str = ""
    hint: str = ""
    walk: tuple[dict[str, Any], ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the case gave all of its points."""
        return self.points == self.out_of


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of one submission: the same bytes, lab and seed give the same grade.

    `notes` says what was odd about the submission as a whole (a cell that does not compile, output that
    was cut); `missing` names the protections that this system could not give; `printed` is the first and
    the last of what it wrote to stdout and stderr, and does not count when grades are compared.
    """

    lab: str
    submission: str
    seed: str
    cases: tuple[CaseGrade, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    printed: str = field(default="", compare=False)

    @property
    def points(self) -> float:
        """What the submission got."""
        return sum(case.points for case in self.cases)

    @property
    def out_of(self) -> float:
        """What it could get."""
        return sum(case.out_of for case in self.cases)

    @property
    def nothing(self) -> str:
        """Why there is no point at all, if every case failed for one reason; else empty."""
        told = {case.happened for case in self.cases}
        if self.points or len(told) != 1:
            return ""
        return "; ".join(dict.fromkeys([*told, *self.notes[:1]]))


def case(points: float, hint: str, public: bool = False) -> Callable[[Check], Case]:
    """Make a function of `(student, chance)` a case; its docstring is the sentence that the student reads.

    >>> @case(points=2, hint="Look at the sign.")
    ... def adds_negatives(student, chance):
    ...     "`add` also adds negative numbers."
    >>> adds_negatives.name, adds_negatives.asks, adds_negatives.points
    ('adds_negatives', '`add` also adds negative numbers.', 2)
    """

    def described(check: Check) -> Case:
        words = " ".join((check.__doc__ or "").split())
        name: Any = getattr(check, "__name__", "case")
        return Case(name, words, hint, points, public, check)

    return described
