"""How far a student has come: each point of the checklist is earned by cases that pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal

from zoolab.errors import InvalidInput
from zoolab.grading.isolation import shut_in
from zoolab.grading.judge import CaseGrade, grade
from zoolab.grading.labs import labs_folder, load_lab
from zoolab.grading.submissions import read_cells
from zoolab.jsontext import visible

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Point:
    """Something to be able to do, or something that goes wrong: decided by public cases of one lab."""

    says: str
    lab: str
    cases: tuple[str, ...]


#: What a tool of one's own needs, in the order in which it is learned.
POINTS = (
    Point(
        "The description says what the tool does, and the tool is found by it",
        "l1",
        ("reads_as_text", "is_found_for_its_words"),
    ),
    Point(
        "The JSON Schema is right: it takes right calls and nothing that is not described",
        "l1",
        ("are_tools", "accepts_right_calls", "refuses_extras"),
    ),
    Point("What a call cannot do without is in `required`", "l1", ("requires_what_is_needed",)),
    Point(
        "Arguments are validated before anything runs",
        "l2",
        ("lets_right_calls_run", "knows_the_tools", "reads_json", "misses_required", "refuses_extras"),
    ),
    Point("Errors are caught, and the model reads them", "l3", ("errors_go_back",)),
    Point("Critical tools run after a yes only", "l3", ("critical_calls_are_confirmed",)),
    Point(
        "A model calls the tools: the right one, and none where none fits",
        "l6",
        ("chooses_for_the_notebook",),
    ),
)
#: What goes wrong in a program if the case fails.
TROUBLES = (
    Point("A model makes no call, or the wrong one", "l6", ("chooses_for_the_notebook",)),
    Point("Broken JSON in the arguments goes unnoticed", "l2", ("reads_json",)),
    Point("A call of a tool that does not exist goes unnoticed", "l2", ("knows_the_tools",)),
    Point("Descriptions are too general to tell the tools apart", "l1", ("is_found_for_its_words",)),
)


@dataclass(frozen=True, slots=True)
class Standing:
    """A point and what the cases say of it; `submission` is None if there is no file for its lab."""

    point: Point
    submission: Path | None
    failed: tuple[CaseGrade, ...]
    #: The code is the one that students are given; no case was played.
    untouched: bool = False

    @property
    def state(self) -> Literal["earned", "open", "untouched"]:
        """How it stands, in a word."""
        if self.untouched:
            return "untouched"
        return "open" if self.submission is None or self.failed else "earned"

    @property
    def earned(self) -> bool:
        """Whether there is a submission with which every case passed."""
        return self.state == "earned"

    @property
    def next(self) -> str:
        """What to do now, in a line; nothing if it is earned."""
        if self.submission is None:
            return f"Do lab {self.point.lab}: there is no {self.point.lab}.ipynb or {self.point.lab}.py here."
        if self.untouched:
            return f"Open {self.submission.name}, write your code, and save it."
        return self.failed[0].hint if self.failed else ""

    @property
    def happened(self) -> str:
        """What the first case asks that did not pass, and what happened; nothing if none was played."""
        return f"{self.failed[0].asks} What happened: {self.failed[0].happened}." if self.failed else ""


@dataclass(frozen=True, slots=True)
class Status:
    """Where a student stands, by the notebooks in one folder."""

    folder: Path
    points: tuple[Standing, ...]
    troubles: tuple[Standing, ...]

    @property
    def earned(self) -> int:
        """How many points are earned."""
        return sum(standing.earned for standing in self.points)

    @property
    def done(self) -> bool:
        """Whether all of them are."""
        return self.earned == len(self.points)

    @property
    def open_troubles(self) -> list[str]:
        """What goes wrong as long as the cases do not pass."""
        return [standing.point.says for standing in self.troubles if not standing.earned]

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        points = [
            {
                "point": standing.point.says,
                "earned": standing.earned,
                "lab": standing.point.lab,
                "cases": list(standing.point.cases),
                "submission": None if standing.submission is None else str(standing.submission),
                "failed": [case.name for case in standing.failed],
                "untouched": standing.untouched,
                "next": standing.next,
                "happened": standing.happened,
            }
            for standing in self.points
        ]
        return {
            "folder": str(self.folder),
            "earned": self.earned,
            "out_of": len(points),
            "points": points,
            "troubles": self.open_troubles,
        }

    def lines(self) -> Iterator[str]:
        """The status for a terminal."""
        folder = visible(str(self.folder))
        yield f"{self.earned} of {len(self.points)} points earned, with the notebooks in {folder}"
        yield ""
        for standing in self.points:
            yield f"{standing.state:<11}{standing.point.says}"
            yield f"    by {standing.point.lab}: {', '.join(standing.point.cases)}"
            if not standing.earned:
                yield f"    next: {shorten(visible(standing.next), _LONGEST, placeholder='…')}"
        if any(standing.failed for standing in self.points):
            yield from ("", "What happened is told by the last cell of a notebook, check(...).")
        if self.open_troubles:
            yield from ("", "What goes wrong until then:")
            yield from (f"    {trouble}" for trouble in self.open_troubles)


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
    standing: dict[Point, Standing] = {}
    for lab in labs:
        decided = [point for point in (*POINTS, *TROUBLES) if point.lab == lab]
        standing |= {each.point: each for each in _played(lab, submission_in(folder, lab), decided)}
    points, troubles = (tuple(standing[point] for point in which) for which in (POINTS, TROUBLES))
    return Status(folder.resolve(), points, troubles)


def submission_in(folder: Path, lab: str) -> Path | None:
    """The student's file for a lab: a notebook goes before a script, the folder before a folder in it."""
    places = [place / f"{lab}{suffix}" for place in (folder, folder / lab) for suffix in (".ipynb", ".py")]
    return next((place for place in places if place.is_file()), None)


def _played(name: str, submission: Path | None, points: list[Point]) -> list[Standing]:
    """How the points of one lab stand."""
    if submission is None:
        return [Standing(point, None, ()) for point in points]
    if _is_as_given(name, submission):
        return [Standing(point, submission, (), untouched=True) for point in points]
    lab, wanted = load_lab(name), {case for point in points for case in point.cases}
    lab = replace(lab, cases=tuple(case for case in lab.cases if case.name in wanted))
    with shut_in(lab) as isolation:
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
