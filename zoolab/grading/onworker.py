"""What runs where a submission is graded: on this machine or another, always in the same way."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from zoolab.errors import InvalidInput
from zoolab.grading.isolation import Isolation, in_kernel, shut_in
from zoolab.grading.judge import CaseGrade, Grade, grade_cells
from zoolab.grading.labs import Lab, case, lab_version, load_lab
from zoolab.grading.student import Student
from zoolab.grading.submissions import Handed, read_cells
from zoolab.jsontext import digest

#: Characters of a text that is kept of a submission's case, and how many notes of the submission.
MAX_TEXT, MAX_NOTES = 2_000, 20


@dataclass(frozen=True, slots=True)
class Terms:
    """What a grade depends on besides the submission: the lab, its version, the seed, how it is run."""

    place: str
    version: str
    seed: str
    faithful: bool = False


@dataclass(frozen=True, slots=True)
class Graded:
    """The grade of one submission; `content` is the hash of the bytes that were graded, `work` that of the
    code in them, empty where there is none."""

    grade: Grade
    content: str
    unreadable: bool = False
    work: str = ""


@dataclass(frozen=True, slots=True)
class NotGraded:
    """A submission that the grader could not grade, and why; it has no points, neither zero nor more."""

    name: str
    why: str


def content_of(handed: Handed) -> str:
    """The hash of what was handed in.

    >>> content_of(Handed("a.py", ".py", b"x = 1"))[:8]
    '1d531fd4'
    """
    head = f"{handed.suffix}\n{'unreadable' if handed.unreadable else ''}\n"
    return sha256(head.encode() + handed.data).hexdigest()


def grade_task(terms: Terms, handed: Handed) -> Graded | NotGraded:
    """Grade one submission; whatever goes wrong on the grader's own side is in what comes back.

    The isolation of a thread's first submission serves all that follow. Where it fails itself, a new one
    gets a second try, so that its end costs no submission anything.

    >>> terms = Terms("l3", lab_version("l3"), "seed")
    >>> grade_task(terms, Handed("a.py", ".py", b"x = 1")).grade.points
    0
    """
    try:
        try:
            return _graded(terms, handed)
        except Exception:
            release()
            return _graded(terms, handed)
    except Exception as error:
        release()
        return NotGraded(handed.name, f"{type(error).__name__}: {error}"[:500])


def grade_in_process(terms: Terms, handed: Handed) -> Graded | NotGraded:
    """As `grade_task`, in a process of a pool. When it is told to end, it first ends what it holds.

    >>> grade_in_process(Terms("l3", lab_version("l3"), "seed"), Handed("a.py", ".py", b"x = 1")).grade.points
    0
    """
    try:
        return grade_task(terms, handed)
    except SystemExit:
        try:
            release()
        finally:
            os._exit(1)


def release() -> None:
    """Give up the isolation that this thread holds, if it does.

    >>> release()
    """
    if _HERE.held is not None:
        _HERE.held.close()
        _HERE.held = None


def _graded(terms: Terms, handed: Handed) -> Graded:
    held = _held(terms)
    cells, unreadable = _cells_of(handed)
    empty = "" if cells or unreadable else f"{handed.name} has no code"
    # Values are drawn for the work: a file's name wins nothing, and loses nothing.
    work = digest("\0".join(cells)) if cells else ""
    found = grade_cells(held.lab, cells, held.isolation, terms.seed, work, False, unreadable or empty)
    grade = replace(found, submission=handed.name)
    if grade.points < grade.out_of:
        held.check()
    return Graded(_bounded(grade), content_of(handed), bool(unreadable), work)


def _cells_of(handed: Handed) -> tuple[list[str], str]:
    """The cells, or why there are none."""
    if handed.unreadable:
        return [], handed.unreadable
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"submission{handed.suffix}"
        path.write_bytes(handed.data)
        try:
            return read_cells(path), ""
        except (InvalidInput, OSError) as error:
            return [], str(error).replace(path.name, handed.name)


def _bounded(grade: Grade) -> Grade:
    """What a class needs of a grade: conversations are left out, texts have an end."""
    cases = tuple(_brief(each) for each in grade.cases)
    notes = tuple(note[:MAX_TEXT] for note in grade.notes[:MAX_NOTES])
    return replace(grade, cases=cases, notes=notes)


def _brief(found: CaseGrade) -> CaseGrade:
    return replace(found, happened=found.happened[:MAX_TEXT], walk=())


class _Held:
    """A lab with its isolation, which ends with the thread that holds it, or with the process."""

    def __init__(self, terms: Terms) -> None:
        self.key = _key(terms)
        if lab_version(terms.place) != terms.version:
            raise InvalidInput(
                f"the lab {terms.place} is here in another version", advice="install the same version"
            )
        self.lab: Lab = load_lab(terms.place)
        stack, made = ExitStack(), in_kernel if terms.faithful else shut_in
        self.isolation: Isolation = stack.enter_context(made(self.lab))
        self.close = weakref.finalize(self, stack.close)
        self.check()

    def check(self) -> None:
        """Raise unless a right submission still passes here: what fails must not be the grader's own."""
        found = grade_cells(replace(self.lab, cases=(_lives,)), [_RIGHT], self.isolation)
        if not found.cases[0].passed:
            raise RuntimeError(f"nothing can be graded here: {found.cases[0].happened}")


_RIGHT = "def lives():\n    return True\n"


@case(points=1, hint="")
def _lives(student: Student, _chance: Random) -> None:
    """The simplest submission is right."""
    student.call("lives")


class _Here(threading.local):
    """A process holds one isolation a thread, since a task says nothing of the tasks before it."""

    held: _Held | None = None


_HERE = _Here()


def _key(terms: Terms) -> tuple[str, str, bool]:
    return terms.place, terms.version, terms.faithful


def _held(terms: Terms) -> _Held:
    if _HERE.held is None or _HERE.held.key != _key(terms):
        release()
        _HERE.held = _Held(terms)
    return _HERE.held
