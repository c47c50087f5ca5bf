"""`check("l3")`: the public cases of a lab, for the student who is working on it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.grading.isolation import shut_in
from zoolab.grading.judge import DEFAULT_SEED, grade_cells
from zoolab.grading.labs import load_lab
from zoolab.grading.records import CaseGrade, Grade
from zoolab.grading.source import read_cells, without_magics
from zoolab.trace.conversation import read_conversation
from zoolab.trace.lines import visible

_CHECKS = ("check(", "zoolab.check(")


@dataclass(frozen=True, slots=True)
class Checked:
    """What the public cases say of a submission: a table, hints, and the first walk that went wrong."""

    grade: Grade
    #: Where the code came from, in words.
    source: str

    @property
    def failed(self) -> tuple[CaseGrade, ...]:
        """The cases that did not pass."""
        return tuple(case for case in self.grade.cases if not case.passed)

    def inspect(self, case: str | None = None) -> Any:
        """The inspector on the walk of a failing case, by default the first; None without one."""
        walks = [found for found in self.failed if found.walk and case in (None, found.name)]
        if not walks:
            return None
        from zoolab.inspector.inspector import inspect

        return inspect(read_conversation(walks[0].walk, agent=f"your loop in {walks[0].name}"))

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(_row(case) for case in self.grade.cases)
        head = escape(f"{self.grade.lab}: {_score(self.grade)} ({self.source})")
        style = "text-align:left;white-space:normal;max-width:40em"
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return f"<p><b>{head}</b></p><table style='{style}'>{rows}</table>{notes}"

    def _ipython_display_(self) -> None:
        from IPython import display as shown

        display: Any = shown.display

        display({"text/html": self._repr_html_(), "text/plain": str(self)}, raw=True)
        inspector = self.inspect()
        if inspector is not None:
            display(inspector)

    def _notes(self) -> tuple[str, ...]:
        return self.grade.notes if self.failed else ()


def check(lab: str, submission: str | Path | None = None) -> Checked:
    """Run the public cases of a lab, just as the grader runs all of them.

    Args:
        lab: The lab's name.
        submission: A notebook, a .py file, or code; by default the cells that were run in this notebook,
            in the order in which they were run.

    Raises:
        InvalidInput: There is no such lab, or nothing to check.

    >>> print(check("l3", "def run_loop(*args): return 1 / 0").failed[0].happened)
    `run_loop` raised ZeroDivisionError: division by zero (cell 1, line 1)
    """
    found = load_lab(lab)
    cells, source = _cells_of(submission)
    with shut_in(found) as isolation:
        grade = grade_cells(found, cells, isolation, DEFAULT_SEED, "check", public=True)
    return Checked(grade, source)


def _cells_of(submission: str | Path | None) -> tuple[list[str], str]:
    if submission is None:
        return _cells_that_ran(), "the cells that you ran"
    text = str(submission)
    if isinstance(submission, Path) or (text.endswith((".ipynb", ".py")) and "\n" not in text):
        path = Path(submission)
        if not path.is_file():
            raise InvalidInput(f"no file {text}", expected="a notebook, a .py file, or code")
        return read_cells(path), f"{path.name} as it is saved"
    return [without_magics(text)], "the code given"


def _cells_that_ran() -> list[str]:
    """What was run in this notebook; the cells that only check are no part of the answer."""
    shell = _shell()
    if shell is None:
        raise InvalidInput(
            "there is no notebook here", expected="check(lab, submission)", advice="name a file"
        )
    cells: Sequence[str] = shell.user_ns.get("In", [])
    return [without_magics(cell) for cell in cells if cell.strip() and not _only_checks(cell)]


def _only_checks(cell: str) -> bool:
    lines = [line for line in cell.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return all(line.startswith((*_CHECKS, "from zoolab import")) for line in lines)


def _shell() -> Any:
    interactive = sys.modules.get("IPython")
    return None if interactive is None else interactive.get_ipython()


def _score(grade: Grade) -> str:
    return f"{grade.points:g} of {grade.out_of:g} points of the public cases"


def _lines(checked: Checked) -> list[str]:
    lines = [f"{checked.grade.lab}: {_score(checked.grade)} ({checked.source})"]
    for case in checked.grade.cases:
        lines.append(f"{'passed' if case.passed else 'FAILED'}  {case.asks}")
        if not case.passed:
            lines += [f"        what happened: {case.happened}", f"        hint: {case.hint}"]
    return [visible(line) for line in (*lines, *checked._notes())]


def _row(case: CaseGrade) -> str:
    mark = "✓" if case.passed else "✗"
    told = ""
    if not case.passed:
        told = f"<br>What happened: {escape(visible(case.happened))}<br><i>Hint: {escape(case.hint)}</i>"
    points = escape(f"{case.points:g}/{case.out_of:g}")
    return f"<tr><td>{mark}</td><td>{points}</td><td>{escape(case.asks)}{told}</td></tr>"
