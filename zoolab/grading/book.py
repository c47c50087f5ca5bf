"""The grade book of a class: its rows, and the few numbers that there are to say of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import fmean, median
from tempfile import TemporaryDirectory

from zoolab.errors import InvalidInput
from zoolab.grading.onworker import NotGraded, Terms
from zoolab.grading.records import Lab
from zoolab.grading.store import Kept, Store


@dataclass(frozen=True, slots=True)
class Row:
    """A submission in the grade book: its points, those of each case in the lab's order, why there are none,
    where one reason says it, and the hash of its code."""

    name: str
    points: float
    by_case: tuple[float, ...]
    unreadable: bool = False
    nothing: str = ""
    work: str = ""


@dataclass(frozen=True, slots=True)
class ClassGrades:
    """The grade book of a class, by name. What a grade consists of is read from the folder when asked for.

    It has all that was ever graded into the folder under the same terms; `left` says how many results there
    are of others. `failed` names what the grader could not grade, `skipped` what was passed over in the
    folders, each with the reason; `before` says how many grades were there already, `given` which
    submissions were asked for.
    """

    lab: Lab
    terms: Terms
    rows: tuple[Row, ...]
    store: Store
    failed: tuple[NotGraded, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    before: int = 0
    given: frozenset[str] = frozenset()
    left: int = 0
    temporary: TemporaryDirectory[str] | None = field(default=None, repr=False)

    @property
    def mean(self) -> float:
        """The mean of the points; 0 for an empty class."""
        return fmean(row.points for row in self.rows) if self.rows else 0.0

    @property
    def median(self) -> float:
        """The median of the points; 0 for an empty class."""
        return float(median(row.points for row in self.rows)) if self.rows else 0.0

    def grade_of(self, name: str) -> Kept:
        """Everything about a submission's grade; raises `InvalidInput` for an unknown name."""
        kept = self.store.find(name)
        if kept is None:
            raise InvalidInput(f"there is no grade of {name!r}", expected="the name of a submission")
        return kept

    def passed(self) -> dict[str, int]:
        """For each case, in the lab's order, how many submissions have all of its points."""
        return {
            case.name: sum(row.by_case[number] == case.points for row in self.rows)
            for number, case in enumerate(self.lab.cases)
        }

    def same(self) -> list[list[Row]]:
        """The submissions that have the same code to the letter, those of each in one list."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.work, []).append(row)
        return [rows for work, rows in found.items() if work and len(rows) > 1]

    def up_to_date(self) -> ClassGrades:
        """The book with what the folder has now, which another grader may have added to.

        What could not be graded has no row, not even that of an earlier version.
        """
        failed = {each.name for each in self.failed}
        kept_rows = [(kept.name, self._row(kept)) for kept in self.store.all()]
        rows = [row for name, row in kept_rows if row is not None and name not in failed]
        left = sum(row is None for _, row in kept_rows)
        return replace(self, rows=tuple(sorted(rows, key=lambda row: row.name)), left=left)

    def _row(self, kept: Kept) -> Row | None:
        """None for a grade that was given under other terms."""
        cases = kept.grade.cases
        same = [case.name for case in cases] == [case.name for case in self.lab.cases]
        if not same or not kept.under(self.terms, self.lab.name):
            return None
        by_case = tuple(case.points for case in cases)
        return Row(kept.name, kept.grade.points, by_case, kept.unreadable, kept.grade.nothing, kept.work)
