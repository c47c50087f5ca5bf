"""How far a student has come: each point of the checklist is earned by cases that pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Literal

from zoolab.errors import InvalidInput
from zoolab.files import read_table
from zoolab.grading.building import for_student
from zoolab.grading.isolation import shut_in
from zoolab.grading.judge import CaseGrade, grade
from zoolab.grading.labs import lab_names, labs_folder, load_lab
from zoolab.grading.submissions import cells_of_script, read_cells
from zoolab.jsontext import visible

#: The names of the course's notebooks.
LESSONS = "[0-9][0-9]-*.ipynb"
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


#: It is `untouched` if the code is the one that students are given; then no case was played.
State = Literal["earned", "open", "untouched"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a point stands, what to do next, and the cases that failed."""

    point: Point
    state: State
    next: str = ""
    failed: tuple[CaseGrade, ...] = ()


@dataclass(frozen=True, slots=True)
class Played:
    """The grades of a lab's cases; if none was played, `advice` says what the student can do about it."""

    cases: tuple[CaseGrade, ...] = ()
    advice: str = ""
    state: State = "open"


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
    """Play the cases of the checklist on the notebooks in `own_folder(folder)`; nothing is stored."""
    folder, found = own_folder(folder), list[Standing]()
    for lab in sorted({point.lab for point in POINTS}):
        points = [point for point in POINTS if point.lab == lab]
        played = play(folder, lab, {case for point in points for case in point.cases})
        for point in points:
            failed = tuple(case for case in played.cases if case.name in point.cases and not case.passed)
            advice = played.advice or "".join(case.hint for case in failed[:1])
            found.append(Standing(point, played.state if advice else "earned", advice, failed))
    return Status(folder, tuple(found))


def own_folder(folder: Path | None = None) -> Path:
    """The folder of the student's work: of the current folder and those above it, the first that holds any.

    It is a checkout, a copy made by `zoolab course`, a folder with handouts, or one with the files of labs.
    A folder that is named must exist, else this raises `InvalidInput`.
    """
    if folder is not None and not folder.is_dir():
        raise InvalidInput(f"no folder {folder}", expected="a folder with your notebooks")
    here = (folder or Path()).resolve()
    for place in (here, *here.parents) if folder is None else ():
        lessons = any(place.glob(LESSONS)) or any(place.glob(f"notebooks/{LESSONS}"))
        if lessons or any(submission_in(place, lab) for lab in lab_names() if lab != place.name):
            return place.parent if place.name in ("labs", "notebooks") else place
    return here


def submission_in(folder: Path, lab: str) -> Path | None:
    """The student's file for a lab, `l1.ipynb` or `l1.py`: in the folder, in its `l1`, or in its `labs/l1`.

    A notebook goes before a script, and the folder before a folder in it.
    """
    folders = (folder, folder / lab, folder / "labs" / lab)
    places = [place / f"{lab}{suffix}" for place in folders for suffix in (".ipynb", ".py")]
    return next((place for place in places if place.is_file()), None)


def play(folder: Path, lab: str, names: Collection[str]) -> Played:
    """Play these cases of a lab on the student's file; a file that cannot be read is left as it is."""
    submission = submission_in(folder, lab)
    if submission is None:
        return Played(advice=f"Do lab {lab}: there is no {lab}.ipynb or {lab}.py here.")
    try:
        if _is_as_given(lab, read_cells(submission)):
            advice = f"Open {submission.name}, write your code, and save it."
            return Played(advice=advice, state="untouched")
    except InvalidInput as error:
        return Played(advice=str(error))
    found = load_lab(lab)
    found = replace(found, cases=tuple(case for case in found.cases if case.name in names))
    with shut_in(found, unprotected=True) as isolation:
        return Played(grade(found, submission, isolation).cases)


def _is_as_given(name: str, written: Sequence[str]) -> bool:
    """Whether all of the code is in what students are given; in a checkout that is read from the master."""
    given = labs_folder() / name / f"{name}.ipynb"
    master = given.with_name("master.py")
    source = for_student(master.read_text(encoding="utf-8")) if master.is_file() else None
    before = read_cells(given) if source is None else cells_of_script(source)
    known = {cell.strip() for cell in before}
    return bool(written) and all(cell.strip() in known for cell in written)
