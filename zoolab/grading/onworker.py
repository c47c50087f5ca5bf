"""What runs where a submission is graded: on this machine or another, always in the same way."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from random import Random

from zoolab.errors import InvalidInput
from zoolab.grading.gradebook import Kept, NotGraded, Terms
from zoolab.grading.isolation import Isolation, kept_warm
from zoolab.grading.judge import grade_cells
from zoolab.grading.labs import Lab, case, lab_version, load_lab
from zoolab.grading.student import Student
from zoolab.grading.submissions import Handed, cells_of
from zoolab.jsontext import digest


def grade_task(terms: Terms, handed: Handed) -> Kept | NotGraded:
    """Grade one submission; whatever goes wrong on the grader's own side is in what comes back.

    The worker of a thread's first submission serves all that follow. If it fails itself, a new one gets a
    second try, so that its end costs no submission anything.
    """
    try:
        try:
            return _graded(terms, handed)
        except Exception:
            return _graded(terms, handed)
    except Exception as error:
        return NotGraded(handed.name, f"{type(error).__name__}: {error}"[:500])


def _graded(terms: Terms, handed: Handed) -> Kept:
    lab = _lab_in_version(terms.place, terms.version)
    cells, unreadable = [], handed.unreadable
    if not unreadable:
        try:
            cells = cells_of(handed.data, handed.suffix, handed.name)
        except InvalidInput as error:
            unreadable = str(error)
    empty = "" if cells or unreadable else f"{handed.name} has no code"
    # Values are drawn for the work: a file's name wins nothing, and loses nothing.
    work = digest("\0".join(cells)) if cells else ""
    with kept_warm(lab, terms.faithful) as isolation:
        found = grade_cells(lab, cells, isolation, terms.seed, work, unreadable=unreadable or empty)
        if found.points < found.out_of:
            _check(lab, isolation)
    cases = tuple(replace(each, walk=()) for each in found.cases)
    grade = replace(found, submission=handed.name, cases=cases)
    return Kept(grade, terms.version, terms.faithful, handed.content, bool(unreadable), work)


@lru_cache(maxsize=4)
def _lab_in_version(place: str, version: str) -> Lab:
    if lab_version(place) != version:
        raise InvalidInput(
            f"the lab {place} has another version on this worker", advice="install the same version"
        )
    return load_lab(place)


@case(points=1, hint="")
def _lives(student: Student, _chance: Random) -> None:
    """The simplest submission is right."""
    student.call("lives")


def _check(lab: Lab, isolation: Isolation) -> None:
    """Raise unless a right submission still passes here: what failed must not be the grader's own."""
    right = ["def lives():\n    return True\n"]
    found = grade_cells(replace(lab, cases=(_lives,)), right, isolation)
    if not found.cases[0].passed:
        raise RuntimeError(f"nothing can be graded here: {found.cases[0].happened}")
