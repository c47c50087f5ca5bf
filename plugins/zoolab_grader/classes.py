"""Grade a class: many submissions of one lab, on several processes, into a folder that keeps the grades.

`grade_task` is what runs where a submission is graded: on this machine or another, always in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from random import Random
from secrets import token_bytes
from tempfile import TemporaryDirectory
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import digest, encode_line
from zoolab.running.interrupts import Hold
from zoolab_grader.gradebook import ClassGrades, GradeTerms, Kept, NotGraded, Store, own_key, read_manual
from zoolab_grader.isolation import Isolation, kept_warm, shut_in
from zoolab_grader.judge import grade_cells
from zoolab_grader.labs import Lab, case, folder_of, lab_names, lab_version, load_lab
from zoolab_grader.likeness import shape_of
from zoolab_grader.student import Student
from zoolab_grader.submissions import Handed, find_submissions, hand_in, names_made
from zoolab_study.jobs import Jobs, Lost, Workers

# A submission that has ended a worker this often, with no other beside it, is given up.
_TRIES = 3
#: Characters that are kept of the conversation of a case that failed.
MAX_WALK = 40_000


#: Is told one more result, how many there are now, and how many there will be.
Watch = Callable[[Kept | NotGraded, int, int], None]


def grade_class(
    lab: Lab | str | Path,
    paths: str | Path | Sequence[str | Path],
    folder: str | Path | None = None,
    *,
    executor: Executor | None = None,
    jobs: int | None = None,
    seed: str | None = None,
    again: bool = False,
    unprotected: bool = False,
    watch: Watch | None = None,
) -> ClassGrades:
    """Grade the submissions at `paths`; what `folder` has of them already is not graded again.

    Args:
        lab: A lab, its name, or the path of a folder with a `cases.py`.
        paths: Submissions, and folders that are searched for them.
        folder: Keeps the results as they come; by default they last as long as what is returned.
        executor: Grades them; by default processes of this machine. Its workers need zoolab and the lab.
        seed: What the values of the cases depend on; by default a random one, which the folder keeps.
        watch: Is called after each submission. The other options are those of `zoolab grade`.

    Raises:
        InvalidInput: There is no such lab or place, or no submission, or the folder is not to be used, or
            this system cannot isolate a submission.
    """
    named = lab.name if isinstance(lab, Lab) else str(lab)
    place = named if named in lab_names() else str(folder_of(named))  # a worker may run in another folder
    places = [paths] if isinstance(paths, (str, Path)) else paths
    submissions, skipped = find_submissions([Path(each) for each in places])
    if not submissions:
        others = "; ".join(f"{name}: {why}" for name, why in skipped[:4])
        raise InvalidInput(
            "no submission was found", expected="notebooks (.ipynb) or .py files", advice=others
        )
    found = load_lab(place)
    if executor is None:
        with shut_in(replace(found, uses=()), unprotected=unprotected) as isolation:
            _ = isolation.missing  # starts it, or says why it cannot
    temporary = TemporaryDirectory(prefix="zoolab-grades-") if folder is None else None
    store = Store(
        Path(temporary.name if temporary else folder or ""), own_key() if folder else token_bytes(32)
    )
    read_manual(store.folder)  # what is wrong in it is said before an hour of grading
    terms = GradeTerms(place, lab_version(place), seed or store.seed(), unprotected)
    failed: list[NotGraded] = []
    with Hold(), store.locked(), Workers(executor or "processes", jobs) as workers:
        before = _graded_before(store, terms, found.name, submissions)
        if again:
            before.clear()
        kept = filter(None, map(store.find, before))
        waiting = (hand_in(name, path) for name, path in submissions.items() if name not in before)
        for done, result in enumerate(chain(kept, grade_all(workers, terms, waiting)), 1):
            if isinstance(result, NotGraded):
                failed.append(result)
            elif done > len(before):
                store.save(result)
            if watch:
                watch(result, done, len(submissions))
    return ClassGrades(
        found,
        terms,
        (),
        store,
        failed=tuple(sorted(failed, key=lambda each: each.name)),
        skipped=skipped,
        before=len(before),
        given=frozenset(submissions),
        temporary=temporary,
    ).up_to_date()


def _graded_before(store: Store, terms: GradeTerms, lab: str, submissions: dict[str, Path]) -> list[str]:
    """Return those whose grade would be the same again. Raises `InvalidInput` for a folder of another lab."""
    found = []
    for kept in store.all():
        if kept.grade.lab != lab:
            advice = f"choose another folder for {lab}"
            raise InvalidInput(f"{store.folder} has the grades of {kept.grade.lab}", advice=advice)
        path = submissions.get(kept.name)
        if path and kept.under(terms, lab) and kept.content == hand_in(kept.name, path).content:
            found.append(kept.name)
    return found


def grade_all(workers: Workers, terms: GradeTerms, handed: Iterable[Handed]) -> Iterator[Kept | NotGraded]:
    """Yield results in the order in which they come; at most two submissions a worker are in memory."""
    jobs: Jobs[Handed, Kept | NotGraded] = Jobs(
        workers, lambda batch: workers.submit(grade_task, terms, batch[0]), tries=_TRIES
    )
    for found in jobs.run(handed):
        if isinstance(found, Lost):
            why = f"the worker was lost: {type(found.error).__name__}: {found.error}"[:500]
            if found.killed:
                why = f"the grader's own process ended {found.times} times while grading it"
            yield NotGraded(found.item.name, why)
        else:
            yield found


def grade_task(terms: GradeTerms, handed: Handed) -> Kept | NotGraded:
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


def _graded(terms: GradeTerms, handed: Handed) -> Kept:
    lab = _lab_in_version(terms.place, terms.version)
    cells = []
    unreadable = ""
    try:
        cells = handed.cells()
    except InvalidInput as error:
        unreadable = str(error)
    empty = "" if cells or unreadable else f"{handed.name} has no code"
    # Values are drawn for the work: a file's name wins nothing, and loses nothing.
    work = digest("\0".join(cells)) if cells else ""
    with kept_warm(lab, terms.unprotected) as isolation:
        found = grade_cells(
            lab, cells, isolation, terms.seed, work, unreadable=unreadable or empty, rest=handed.rest()
        )
        if found.points < found.out_of:
            _check(lab, isolation)
    if cells and not found.points and (other := _meant_for(cells, lab)):
        note = f"it has what {other} asks for: `zoolab grade {other}` grades it"
        found = replace(found, notes=(note, *found.notes))
    cases = tuple(replace(each, walk=_bounded(each.walk)) for each in found.cases)
    grade = replace(found, submission=handed.name, cases=cases, seed=terms.seed_name)
    beside = bool(cells) and not found.points and names_made(cells).isdisjoint(lab.functions)
    kept = handed.content, bool(unreadable), work, shape_of(cells), beside
    return Kept(grade, terms.version, *kept)


def _meant_for(cells: Sequence[str], lab: Lab) -> str:
    """Return the lab whose functions all stand in a submission that has none of this one's; else empty."""
    defined = set(re.findall(r"^(?:def )?(\w+) *[(:=]", "\n".join(cells), re.MULTILINE))
    if defined.isdisjoint(lab.functions):
        return next((name for name in lab_names() if defined.issuperset(load_lab(name).functions)), "")
    return ""


def _bounded(walk: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return the first messages of a conversation, no more than a person reads."""
    kept = []
    left = MAX_WALK
    for message in walk:
        left -= len(encode_line(message))
        if left < 0:
            break
        kept.append(message)
    return tuple(kept)


@lru_cache(maxsize=4)
def _lab_in_version(place: str, version: str) -> Lab:
    if lab_version(place) != version:
        raise InvalidInput(
            f"the lab {place} has another version on this worker", advice="install the same version"
        )
    return load_lab(place)


def _check(lab: Lab, isolation: Isolation) -> None:
    """Raise unless a right submission still passes here: what failed must not be the grader's own."""

    @case(points=1, hint="")
    def lives(student: Student, _random: Random) -> None:
        """Check that the simplest submission is right."""
        student.call("lives")

    found = grade_cells(replace(lab, cases=(lives,)), ["def lives():\n    return True\n"], isolation)
    if not found.cases[0].passed:
        raise RuntimeError(f"nothing can be graded here: {found.cases[0].happened}")
