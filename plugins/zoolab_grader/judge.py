"""Grade one submission: the cases run on the trusted side, against a process with the student's code."""

from __future__ import annotations

import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.running.interrupts import cpu_time
from zoolab.text.wording import listed
from zoolab_grader.channel import Closed, Gone, Late
from zoolab_grader.isolation import Isolation
from zoolab_grader.labs import Case, Lab
from zoolab_grader.missing import NO_REST, Known, Rest
from zoolab_grader.process import UNEXPLAINED, Process, Wait, seconds_in_words
from zoolab_grader.student import Student, Wrong, cleaned
from zoolab_grader.submissions import hand_in
from zoolab_grader.worker.jail import UNPROTECTED

DEFAULT_SEED = "zoolab"

MAX_DEADLY = 3
MAX_NOTES = 20
#: Lines of a cell that are named if they were left out.
MAX_LINES = 5
MAX_HAPPENED = 2_000
#: The part of the cases from which on their reason is that of the whole submission.
MOST = 0.9
#: The part of the time for all cells from which on one cell has taken all of it.
ALONE = 0.9


@dataclass(frozen=True, slots=True)
class CaseGrade:
    """What a submission got for one case; `happened` and `hint` are empty for a case that passed."""

    name: str
    asks: str
    points: float
    out_of: float
    public: bool
    happened: str = ""
    hint: str = ""
    walk: tuple[dict[str, Any], ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the case gave all of its points."""
        return self.points == self.out_of


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of one submission: the same bytes, lab and seed give the same grade.

    `notes` says what was odd about the submission as a whole, such as a cell that does not compile;
    `missing` names the protections that this system could not give.
    """

    lab: str
    submission: str
    seed: str
    cases: tuple[CaseGrade, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def points(self) -> float:
        """What the submission got."""
        return sum(case.points for case in self.cases)

    @property
    def out_of(self) -> float:
        """What it could get."""
        return sum(case.out_of for case in self.cases)

    @property
    def unprotected(self) -> bool:
        """Whether nothing kept the submission from anything."""
        return set(UNPROTECTED) <= set(self.missing)

    @property
    def nothing(self) -> str:
        """Why there is no point at all: the reason of most cases, what was odd, or both; may be empty."""
        if self.points:
            return ""
        told = Counter(case.happened for case in self.cases)
        reason, times = next(iter(told.most_common(1)), ("", 0))
        reason = reason if times > MOST * len(self.cases) else ""
        return "; ".join(filter(None, [reason, *(note for note in self.notes[:1] if note not in reason)]))


def grade(lab: Lab, path: Path, isolation: Isolation, seed: str = DEFAULT_SEED) -> Grade:
    """Grade the submission at `path` by the cases of the lab.

    Whatever the submission does, a grade comes back. Raises `InvalidInput` or `OSError` if it has no process.

    >>> from zoolab_grader.isolation import Plain
    >>> nothing = Lab("l0", "Nothing", ())
    >>> grade(nothing, Path("gone.py"), Plain(nothing)).notes
    ('gone.py cannot be read: No such file or directory',)
    """
    handed = hand_in(path.name, path)
    cells = list[str]()
    try:
        cells = handed.cells()
        unreadable = "" if cells else f"{path.name} has no code"
    except InvalidInput as error:
        unreadable = str(error)
    return grade_cells(lab, cells, isolation, seed, path.name, unreadable, rest=handed.rest())


def grade_cells(
    lab: Lab,
    cells: Sequence[str],
    isolation: Isolation,
    seed: str = DEFAULT_SEED,
    name: str = "cells",
    unreadable: str = "",
    watch: Callable[[int, int], None] | None = None,
    rest: Rest = NO_REST,
) -> Grade:
    """Grade cells that were read already, as `grade` does; `unreadable` says why there are none.

    `watch` is told how many cases are done, and of how many. `rest` is what the notebook has besides.

    >>> from zoolab_grader.isolation import Plain
    >>> nothing = Lab("l0", "Nothing", ())
    >>> grade_cells(nothing, [], Plain(nothing), unreadable="it is a picture").notes
    ('it is a picture',)
    """
    loading = _Loading(lab, cells, isolation, rest)
    missing = isolation.missing
    known = Known(cells, rest.texts, lab.functions)
    student = Student(loading.start, lab.seconds, known)
    found = list[CaseGrade]()
    try:
        for case in lab.cases:
            began = cpu_time()
            found.append(grade_case(case, student, f"{seed}/{name}", unreadable))
            student.left -= cpu_time() - began  # a submission can make judging slow, too
            if watch:
                watch(len(found), len(lab.cases))
    finally:
        student.stop()
    if loading.broken is not None:
        raise loading.broken
    notes = (unreadable,) if unreadable else (*loading.notes, *loading.not_run)
    return Grade(lab.name, name, seed, tuple(found), notes, missing)


def grade_case(case: Case, student: Student, seed: str, unreadable: str = "") -> CaseGrade:
    """Return what a submission gets for a case; `unreadable` says why there is no submission.

    A case in which a process ended and nothing says why is judged once more.
    """
    failed = CaseGrade(case.name, case.asks, 0, case.points, case.public, hint=case.hint)
    if unreadable:
        hint = "Run your notebook from top to bottom, save it, and hand that in."
        return replace(failed, happened=cleaned(unreadable, MAX_HAPPENED), hint=hint)
    student.unexplained = False
    found = _judged(case, student, seed, failed)
    return _judged(case, student, seed, failed) if student.unexplained else found


def _judged(case: Case, student: Student, seed: str, failed: CaseGrade) -> CaseGrade:
    try:
        case.check(student, random.Random(f"{seed}/{case.name}"))
    except Wrong as wrong:
        return replace(failed, happened=cleaned(wrong.happened, MAX_HAPPENED), walk=tuple(wrong.walk or ()))
    except Exception as error:
        student.stop()
        # For the lab's author: the kind and the line, and not the message, which may hold what is hidden.
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at line {last.lineno} of {Path(last.filename).name}"
        return replace(failed, happened=f"the result has a form that cannot be judged ({where})")
    return replace(failed, points=case.points, hint="")


@dataclass(slots=True)
class _Loading:
    """Starts processes with the submission loaded; what was odd while loading is noted once.

    A cell that its process does not survive is left out from then on, so that the others count. If all cells
    have been loaded before, or nobody knows what ended the process, it is tried once more first: the machine
    may have been the reason. If the cells take too long together, the slowest are left out.
    """

    lab: Lab
    cells: Sequence[str]
    isolation: Isolation
    rest: Rest
    notes: list[str] = field(default_factory=list)
    #: The lines that are not Python, and were not run.
    not_run: list[str] = field(default_factory=list)
    deadly: set[int] = field(default_factory=set)
    #: How many processes have ended over cells that were left out then.
    ends: int = 0
    doubtful: set[int] = field(default_factory=set)
    noted: bool = False
    broken: Exception | None = None

    def start(self, student: Student) -> Process:
        while self.ends < MAX_DEADLY and student.left > 0:
            try:
                process = self.isolation.start()
            except (OSError, InvalidInput) as error:
                # That there is no process is not the submission's doing, and must not cost it a case.
                self.broken = error
                raise
            try:
                loaded = self._load(process, student)
            except BaseException:  # whoever interrupts it may keep the traceback, and with it the process
                process.ended()
                raise
            if loaded:
                self.noted = True
                return process
        raise Wrong(f"{len(self.deadly)} cells of the submission ended its process: {self.notes[-1]}")

    def _load(self, process: Process, student: Student) -> bool:
        """Run the cells, one message each; False if one of them was too much for the process."""
        wait = Wait(process, min(self.lab.seconds * 2, student.left))
        took: dict[int, float] = {}
        for number, cell in enumerate(self.cells, start=1):
            if number in self.deadly:
                continue
            before = wait.charged
            try:
                wait.send({"do": "load", "cell": cell, "call": number})
                reply = wait.message()
                if reply.get("call") != number:
                    raise Gone("answered a call that was not made")
            except (Gone, Late) as error:
                took[number] = wait.charged - before
                how = wait.end()
                late = isinstance(error, Late)
                student.left -= wait.charged
                student.late = student.late or late
                left_out = _slowest(took, wait.seconds, student.left) if late else {number}
                if (self.noted or how is None) and not left_out <= self.doubtful:
                    self.doubtful |= left_out
                elif late:
                    self._leave_out(left_out, _too_slow(took, number, left_out, wait.seconds), student)
                else:
                    why = UNEXPLAINED if how is None else how or error
                    what = f"ended its process: {why}" if isinstance(error, Closed) else str(error)
                    self._leave_out(left_out, f"cell {number} {what}; it is left out", student)
                return False
            took[number] = wait.charged - before
            self._note(reply.get("problem"), number, student)
            self._note_left_out(reply.get("left_out"), number, student)
        student.left -= wait.charged
        return True

    def _leave_out(self, numbers: set[int], note: str, student: Student) -> None:
        self.ends += 1
        self.deadly |= numbers
        self.notes.append(note)
        student.known.broken |= {self.cells[number - 1]: note for number in numbers}

    def _note(self, problem: object, number: int, student: Student) -> None:
        if self.noted or not isinstance(problem, dict) or len(self.notes) >= MAX_NOTES:
            return
        where = cleaned(problem.get("at") or f"cell {number}", 100)
        note = f"{where}: {cleaned(problem.get('type'), 100)}: {cleaned(problem.get('message'))}"
        here = sys.version_info[:2]
        if problem.get("type") == "SyntaxError" and (newer := self.rest.newer_than(here)):
            note += f" (written with Python {newer}, graded with {here[0]}.{here[1]})"
        if "module" in problem:
            note += f" (this lab offers only {' and '.join(('the standard library', *self.lab.uses))})"
        cell = self.cells[number - 1]
        student.known.broken[cell] = note
        if isinstance(problem.get("undefined"), str):
            student.known.undefined[cell] = problem["undefined"]
        if note not in self.notes:
            self.notes.append(note)

    def _note_left_out(self, left_out: object, number: int, student: Student) -> None:
        """Note which lines of a cell did nothing. The process says so: a claim, and bounded."""
        if self.noted or not isinstance(left_out, list) or not left_out or len(self.not_run) >= MAX_NOTES:
            return
        lines: list[str] = []
        for each in left_out[:MAX_LINES]:
            if not isinstance(each, list) or len(each) != 3:
                return
            line = cleaned(each[0], 10)
            text = cleaned(each[1], 60)
            count = cleaned(each[2], 10)
            more = f" and what belongs to it, {count} lines" if count != "1" else ""
            lines.append(f"line {line} (`{text.replace('`', chr(39))}`{more})")
        if len(left_out) > MAX_LINES:
            lines.append("others")
        note = f"cell {number}: not run here, because it is not Python: {', '.join(lines)}"
        self.not_run.append(note)
        student.known.not_run[self.cells[number - 1]] = note


def _slowest(took: dict[int, float], seconds: float, left: float) -> set[int]:
    """Return the slowest cells, so many that the others take at most half of the time that is left.

    `took` has a measure of each cell's time up to `seconds` together, however this system measures it.

    >>> _slowest({1: 4.0, 2: 0.1, 3: 3.9, 4: 2.0}, 10, left=8)
    {1, 3}
    """
    each = _scaled(took, seconds)
    slow = set[int]()
    enough = max(left / 2, seconds / 10)
    for number in sorted(each, key=lambda number: (-each[number], -number)):
        if slow and sum(each.values()) - sum(each[one] for one in slow) <= enough:
            break
        slow.add(number)
    return slow


def _scaled(took: dict[int, float], seconds: float) -> dict[int, float]:
    whole = sum(took.values())
    return {number: each * seconds / whole if whole else 0 for number, each in took.items()}


def _too_slow(took: dict[int, float], running: int, left_out: set[int], seconds: float) -> str:
    """Say which cells were the slowest; the one that was running is named alone if it took all of the time.

    >>> _too_slow({1: 4.0, 2: 0.1, 3: 5.9}, 3, {3}, 10)
    'the cells took 10 seconds together, the longest were cell 3 (5.9), cell 1 (4); cell 3 is left out'
    """
    each = _scaled(took, seconds)
    if left_out == {running} and each[running] > ALONE * seconds:
        return f"cell {running} did not finish within {seconds_in_words(seconds, 1)}; it is left out"
    order = sorted((one for one in each if each[one] >= seconds / 20), key=lambda one: -each[one])
    longest = [f"cell {one} ({each[one]:.1f})".replace(".0)", ")") for one in order]
    took_in_all = f"the cells took {seconds_in_words(seconds, 1)} together"
    together = f"{took_in_all}, the longest were {listed(longest, MAX_LINES)}"
    gone = listed([f"cell {one}" for one in sorted(left_out)], MAX_LINES)
    return f"{together}; {gone} {'is' if len(left_out) == 1 else 'are'} left out"
