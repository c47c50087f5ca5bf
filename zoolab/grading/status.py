"""How far a student has come: each point of the checklist is earned by cases that pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Literal

from zoolab.errors import InvalidInput
from zoolab.files import read_table
from zoolab.grading.building import for_student
from zoolab.grading.isolation import shut_in
from zoolab.grading.judge import CaseGrade, grade
from zoolab.grading.labs import labs_folder, load_lab
from zoolab.grading.submissions import cells_of_script, read_cells
from zoolab.jsontext import visible

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Point:
    """Something to be able to do, decided by public cases of one lab."""

    says: str
    lab: str
    cases: tuple[str, ...]


#: What a tool of one's own needs, in the order in which it is learned.
POINTS = tuple(
    Point(row["says"], row["lab"], tuple(row["cases"]))
    for row in read_table("zoolab.grading", "points.toml")["point"]
)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a point stands, what to do next, and the cases that failed.

    It is `untouched` if the code is the one that students are given; then no case was played.
    """

    point: Point
    state: Literal["earned", "open", "untouched"]
    next: str = ""
    failed: tuple[CaseGrade, ...] = ()


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
        advice = f"Do lab {name}: there is no {name}.ipynb or {name}.py here."
        return [Standing(point, "open", advice) for point in points]
    if _is_as_given(name, submission):
        advice = f"Open {submission.name}, write your code, and save it."
        return [Standing(point, "untouched", advice) for point in points]
    lab, wanted = load_lab(name), {case for point in points for case in point.cases}
    lab = replace(lab, cases=tuple(case for case in lab.cases if case.name in wanted))
    with shut_in(lab, unprotected=True) as isolation:
        found = grade(lab, submission, isolation)
    cases = {case.name: case for case in found.cases if not case.passed}
    standings = []
    for point in points:
        failed = tuple(cases[name] for name in point.cases if name in cases)
        standings.append(
            Standing(point, "open", failed[0].hint, failed) if failed else Standing(point, "earned")
        )
    return standings


def _is_as_given(name: str, submission: Path) -> bool:
    """Whether all of the code is in what students are given; in a checkout that is read from the master."""
    folder = labs_folder() / name
    master, given = folder / "master.py", folder / f"{name}.ipynb"
    try:
        if master.is_file():
            before = cells_of_script(for_student(master.read_text(encoding="utf-8")))
        else:
            before = read_cells(given)
        written = read_cells(submission)
    except InvalidInput:
        return False
    known = {cell.strip() for cell in before}
    return bool(written) and all(cell.strip() in known for cell in written)
