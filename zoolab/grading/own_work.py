"""The student's own files for the labs: where they are, and what their cases say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zoolab.errors import InvalidInput
from zoolab.grading.isolation import shut_in
from zoolab.grading.judge import CaseGrade, grade
from zoolab.grading.labs import lab_names, labs_folder, load_lab
from zoolab.grading.masters import for_student
from zoolab.grading.submissions import cells_of_script, read_cells

#: The names of the course's notebooks.
LESSONS = "[0-9][0-9]-*.ipynb"


@dataclass(frozen=True, slots=True)
class Played:
    """The grades of a lab's cases; if none was played, `advice` says what the student can do about it."""

    cases: tuple[CaseGrade, ...] = ()
    advice: str = ""


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
            return Played(advice=advice)
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
