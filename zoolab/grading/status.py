"""How far a student has come: each point of the checklist is earned by cases that pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Literal

from zoolab.errors import InvalidInput
from zoolab.grading.isolation import shut_in
from zoolab.grading.judge import CaseGrade, grade
from zoolab.grading.labs import labs_folder, load_lab
from zoolab.grading.submissions import read_cells
from zoolab.jsontext import visible

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Point:
    """Something to be able to do, decided by public cases of one lab."""

    says: str
    lab: str
    cases: tuple[str, ...]


#: What a tool of one's own needs, in the order in which it is learned; below it the cases that decide.
_CHECKLIST = """
l1 The description says what the tool does, and the tool is found by it
reads_as_text is_found_for_its_words
l1 The JSON Schema is right: it takes right calls and nothing that is not described
are_tools accepts_right_calls refuses_extras
l1 What a call cannot do without is in `required`
requires_what_is_needed
l2 Arguments are validated before anything runs
lets_right_calls_run knows_the_tools reads_json misses_required refuses_extras
l3 Errors are caught, and the model reads them
errors_go_back
l3 Critical tools run after a yes only
critical_calls_are_confirmed
l6 A model calls the tools: the right one, and none where none fits
chooses_for_the_notebook
"""


def _points() -> Iterator[Point]:
    lines = _CHECKLIST.strip().split("\n")
    for head, cases in zip(lines[::2], lines[1::2], strict=True):
        lab, says = head.split(" ", 1)
        yield Point(says, lab, tuple(cases.split()))


POINTS = tuple(_points())


@dataclass(frozen=True, slots=True)
class Standing:
    """A point and what the cases say of it; `submission` is None if there is no file for its lab."""

    point: Point
    submission: Path | None
    failed: tuple[CaseGrade, ...] = ()
    #: The code is the one that students are given; no case was played.
    untouched: bool = False

    @property
    def state(self) -> Literal["earned", "open", "untouched"]:
        """How it stands, in a word."""
        if self.untouched:
            return "untouched"
        return "open" if self.submission is None or self.failed else "earned"

    @property
    def next(self) -> str:
        """What to do now, in a line; nothing if it is earned."""
        if self.submission is None:
            return f"Do lab {self.point.lab}: there is no {self.point.lab}.ipynb or {self.point.lab}.py here."
        if self.untouched:
            return f"Open {self.submission.name}, write your code, and save it."
        return self.failed[0].hint if self.failed else ""


@dataclass(frozen=True, slots=True)
class Status:
    """Where a student stands, by the notebooks in one folder."""

    folder: Path
    points: tuple[Standing, ...]

    @property
    def earned(self) -> int:
        """How many points are earned."""
        return sum(standing.state == "earned" for standing in self.points)

    def lines(self) -> Iterator[str]:
        """The status for a terminal."""
        folder = visible(str(self.folder))
        yield f"{self.earned} of {len(self.points)} points earned, with the notebooks in {folder}"
        yield ""
        for standing in self.points:
            yield f"{standing.state:<11}{standing.point.says}"
            yield f"    by {standing.point.lab}: {', '.join(standing.point.cases)}"
            if standing.state != "earned":
                yield f"    next: {shorten(visible(standing.next), _LONGEST, placeholder='…')}"
        if any(standing.failed for standing in self.points):
            yield from ("", "What happened is told by the last cell of a notebook, check(...).")


def status_of(folder: Path | None = None) -> Status:
    """Play the cases of the checklist on the notebooks in `folder`; nothing is stored.

    By default that is the current folder if it holds a lab's notebook, else the folder of the labs.
    A lab's file is `l1.ipynb` or `l1.py`, in the folder or in a folder `l1` of it. Raises `InvalidInput`
    if there is no such folder.
    """
    labs = sorted({point.lab for point in POINTS})
    if folder is None:
        folder = Path() if any(submission_in(Path(), lab) for lab in labs) else labs_folder()
    if not folder.is_dir():
        raise InvalidInput(f"no folder {folder}", expected="a folder with your notebooks")
    found: list[Standing] = []
    for lab in labs:
        found += _played(lab, submission_in(folder, lab), [point for point in POINTS if point.lab == lab])
    return Status(folder.resolve(), tuple(found))


def submission_in(folder: Path, lab: str) -> Path | None:
    """The student's file for a lab: a notebook goes before a script, the folder before a folder in it."""
    places = [place / f"{lab}{suffix}" for place in (folder, folder / lab) for suffix in (".ipynb", ".py")]
    return next((place for place in places if place.is_file()), None)


def _played(name: str, submission: Path | None, points: list[Point]) -> list[Standing]:
    """How the points of one lab stand."""
    if submission is None:
        return [Standing(point, None) for point in points]
    if _is_as_given(name, submission):
        return [Standing(point, submission, untouched=True) for point in points]
    lab, wanted = load_lab(name), {case for point in points for case in point.cases}
    lab = replace(lab, cases=tuple(case for case in lab.cases if case.name in wanted))
    with shut_in(lab, unprotected=True) as isolation:
        found = grade(lab, submission, isolation, public=True)
    failed = {case.name: case for case in found.cases if not case.passed}
    return [
        Standing(point, submission, tuple(failed[case] for case in point.cases if case in failed))
        for point in points
    ]


def _is_as_given(name: str, submission: Path) -> bool:
    """Whether the code is that of the notebook that students are given."""
    given = labs_folder() / name / f"{name}.ipynb"
    try:
        written, before = ([cell.strip() for cell in read_cells(path)] for path in (submission, given))
    except (InvalidInput, OSError):
        return False
    return written == before
