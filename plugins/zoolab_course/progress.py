"""How far a student has come in the course, by the notebooks as they are saved. Nothing else is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.files import course_folder
from zoolab.text.markup import pictured
from zoolab_grader.isolation import shut_in
from zoolab_grader.judge import CaseGrade, grade
from zoolab_grader.labs import lab_names, load_lab
from zoolab_grader.scripts import cells_of_script
from zoolab_grader.submissions import read_cells

#: The names of the course's notebooks.
LESSONS = "[0-9][0-9]-*.ipynb"
_EXERCISE = re.compile(r"^\*\*(\d)\.", re.MULTILINE)
#: How a line begins that the check of an exercise prints.
_VERDICT = re.compile(r"^['\"]?(right|not yet)\b", re.MULTILINE)
_TASKS = "\n## Your turn"
_END = "\n## What to keep"
_STORED = "This counts what the notebooks show as they are saved. Nothing is stored anywhere else."


@dataclass(frozen=True, slots=True)
class Part:
    """A notebook or a lab: how many of its exercises or public cases are right, and what to do next."""

    name: str
    right: int
    of: int
    next: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The notebooks and the labs of the course, as the student's files in `folder` stand."""

    folder: Path
    notebooks: tuple[Part, ...]
    labs: tuple[Part, ...]

    @property
    def summary(self) -> str:
        """How many exercises are right, and how many labs pass all of their public cases."""
        right = sum(part.right for part in self.notebooks)
        of = sum(part.of for part in self.notebooks)
        done = sum(part.right == part.of for part in self.labs)
        return f"{right} of {of} exercises right, {done} of {len(self.labs)} labs done"

    def __str__(self) -> str:
        lines = [f"{self.summary}, in {self.folder}", _STORED]
        for heading, parts in (("Exercises", self.notebooks), ("Labs, by their public cases", self.labs)):
            lines += ["", heading]
            lines += [f"{p.right:>4} of {p.of:<3} {p.name:<26} {p.next}" for p in parts]
        return "\n".join(pictured(line).rstrip() for line in lines)

    __repr__ = __str__


def progress(folder: str | Path | None = None) -> Progress:
    """Count the exercises and labs of the course that are right, by the notebooks as they are saved.

    An exercise is right if its checks printed "right", and nothing else, when they were run last. A lab is
    right if it passes its public cases; they are played now. Nothing is written.

    Args:
        folder: A checkout, a copy made by `zoolab course`, or a folder with handouts; by default the one that
            holds the current folder. Raises `InvalidInput` if there is no such folder.

    >>> from tempfile import mkdtemp
    >>> progress(mkdtemp()).summary[:5]
    '0 of '
    """
    where = own_folder(None if folder is None else Path(folder))
    lessons = [_lesson(where, path) for path in sorted(course_folder("notebooks").glob(LESSONS))]
    return Progress(where, tuple(lessons), tuple(_lab(where, name) for name in lab_names()))


def own_folder(folder: Path | None = None) -> Path:
    """Return the folder of the student's work: of the current folder and those above it, the first that holds
    any.

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
    """Return the student's file for a lab, `l3.ipynb` or `l3.py`: in the folder, in its `l3`, or in its
    `labs/l3`.

    A notebook goes before a script, and the folder before a folder in it.
    """
    folders = (folder, folder / lab, folder / "labs" / lab)
    places = [place / f"{lab}{suffix}" for place in folders for suffix in (".ipynb", ".py")]
    return next((place for place in places if place.is_file()), None)


def _lab(folder: Path, name: str) -> Part:
    """Return how the public cases of a lab stand; they are played on the student's file, if anything was
    written.
    """
    lab = load_lab(name)
    own = submission_in(folder, name)
    cases: tuple[CaseGrade, ...] = ()
    advice = f"Do lab {name}: there is no {name}.ipynb or {name}.py here."
    try:
        if own is not None and _is_as_given(name, read_cells(own)):
            advice = f"Open {own.name}, write your code, and save it."
        elif own is not None:
            public = replace(lab, cases=tuple(lab.public))
            with shut_in(public, unprotected=True) as isolation:
                cases = grade(public, own, isolation).cases
            advice = next((case.hint for case in cases if not case.passed), "")
    except InvalidInput as error:
        advice = str(error)
    return Part(f"{name} {lab.title}", sum(case.passed for case in cases), len(lab.public), advice)


def _is_as_given(name: str, written: Sequence[str]) -> bool:
    """Return whether all of the code is in what students are given; in a checkout that is read from the
    master.
    """
    given = course_folder("labs") / name / f"{name}.ipynb"
    master = given.with_name("master.py")
    if master.is_file():
        given_code = import_module("tools.masters").for_student(master.read_text(encoding="utf-8"))
        before = cells_of_script(given_code)
    else:
        before = read_cells(given)
    known = {cell.strip() for cell in before}
    return bool(written) and all(cell.strip() in known for cell in written)


def _lesson(folder: Path, original: Path) -> Part:
    name = original.name
    own = next((p for p in (folder / name, folder / "notebooks" / name) if p.is_file()), None)
    try:
        said = _verdicts(own or original)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Part(original.stem, 0, len(_verdicts(original)), _why_unread(own or original))
    if own is None:
        return Part(original.stem, 0, len(said), f"there is no {name} here")
    left = {number: words for number, words in said.items() if words != {"right"}}
    told = [f"{number} {'not yet' if words else 'not run'}" for number, words in left.items()]
    return Part(original.stem, len(said) - len(left), len(said), ", ".join(told))


def _why_unread(notebook: Path) -> str:
    """Say why a notebook cannot be read, as the grader does."""
    head = f"{notebook.name} cannot be read as a notebook: "
    why = "its cells are not as Jupyter saves them"
    try:
        read_cells(notebook)
    except InvalidInput as error:
        why = str(error).removeprefix(head).removeprefix(f"{notebook.name} ")
    return f"{head}{why}"


def _verdicts(notebook: Path) -> dict[str, set[str]]:
    """Return for each exercise, what its checks printed when they were run: "right", "not yet", both, or
    nothing.
    """
    said: dict[str, set[str]] = {}
    number = ""
    asks = False
    for cell in json.loads(notebook.read_text(encoding="utf-8-sig"))["cells"]:
        text = "\n" + "".join(cell["source"] or "")
        if cell["cell_type"] == "markdown":
            asks = _END not in text and (asks or _TASKS in text)
            begun = _EXERCISE.findall(text) if asks else []
            said |= {each: set() for each in begun}
            if begun or not asks:
                number = begun[-1] if begun else ""
        elif number:
            said[number] |= {word for each in cell["outputs"] for word in _words(each)}
    return said


def _words(output: dict[str, Any]) -> list[str]:
    """Return what a check said; an error stands for "not yet"."""
    if output["output_type"] == "error":
        return ["not yet"]
    shown = output.get("text") or output.get("data", {}).get("text/plain", "")
    return _VERDICT.findall("".join(shown).lower())
