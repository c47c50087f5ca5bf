"""The public cases of a lab: `check("l1")` for the student, `passes` for the tests of otter and nbgrader."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from operator import itemgetter
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput, ZoolabError
from zoolab.jsontext import visible
from zoolab.runs import read_conversation
from zoolab_grader.isolation import Direct, InProcess, kept_warm
from zoolab_grader.judge import DEFAULT_SEED, CaseGrade, Grade, grade_case, grade_cells
from zoolab_grader.labs import load_lab
from zoolab_grader.missing import NO_REST, Rest
from zoolab_grader.process import Process
from zoolab_grader.report import prose
from zoolab_grader.student import Student
from zoolab_grader.submissions import SUFFIXES, hand_in, read_cells
from zoolab_grader.worker.cells import without_magics

_CHECKS = re.compile(r"(?:\w++ *+= *+)?(?:zoolab\.)?check\(|(?:from|import) zoolab\b")
# JupyterLab aligns the cells of a table to the right; colours are the page's own, light or dark.
_CELL = "text-align:left;vertical-align:top;white-space:normal;max-width:44em"
_MOST_STATES = 6
_WANTED = "a notebook, a .py file, or code"
_IN_PROCESS = (
    "Your code ran in this process, because no other one can be started here. Code that never ends is not"
    " stopped: interrupt it, or restart the kernel. Your teacher's grader runs your code in another process."
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the public cases say of a submission: a table, hints, and the first walk that went wrong."""

    grade: Grade
    #: Where the code came from, in words.
    source: str
    #: Saved cells that were not run, or failed.
    states: tuple[str, ...] = ()
    #: What was run and is not in the notebook's file: said before everything else.
    unsaved: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[CaseGrade, ...]:
        """The cases that did not pass."""
        return tuple(case for case in self.grade.cases if not case.passed)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be run, what was odd, if something failed, and what this system cannot keep the
        code from."""
        missing = ", ".join(self.grade.missing)
        here = f"Protections that this computer cannot give: {missing}. It is your own code, so this is fine."
        return (*self.states, *(self.grade.notes if self.failed else ()), *((here,) if missing else ()))

    def inspect(self, case: str | None = None) -> Any:
        """Return the inspector on the walk of a failing case, by default the first; None without one."""
        found = next((each for each in self.failed if each.walk and case in (None, each.name)), None)
        if found is None:
            return None
        from zoolab.runs import inspect

        try:
            return inspect(read_conversation(found.walk, meta={"agent": f"your loop in {found.name}"}))
        except ZoolabError:
            return None  # the student's code may have said something that is not a conversation

    def _head(self) -> str:
        grade = self.grade
        points = f"{grade.points:g} of {grade.out_of:g} points of the public cases"
        return visible(f"{grade.lab}: {points} ({self.source})")

    def __str__(self) -> str:
        lines = [*self.unsaved, self._head()]
        for case in self.grade.cases:
            lines.append(f"{'passed' if case.passed else 'FAILED'}  {case.asks}")
            if not case.passed:
                lines += [f"        what happened: {case.happened}", f"        hint: {case.hint}"]
        return "\n".join(visible(line) for line in (*lines, *self.notes))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = []
        for case in self.grade.cases:
            asks: str = prose(visible(case.asks))
            for by, text in (("What happened", case.happened), ("Hint", case.hint)):
                asks += f"<br><b>{by}:</b> {prose(visible(text))}" if text else ""
            went = "✓ passed" if case.passed else "✗ failed"
            cells = (went, f"{case.points:g} of {case.out_of:g}", asks)
            rows.append("".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells))
        table = "".join(f"<tr>{row}</tr>" for row in rows)
        notes = "".join(f"<p>{escape(visible(note))}</p>" for note in self.notes)
        first = "".join(f"<p><b>{prose(visible(each))}</b></p>" for each in self.unsaved)
        return f"{first}<p><b>{escape(self._head())}</b></p><table>{table}</table>{notes}"

    def _ipython_display_(self) -> None:
        display = _display()
        display({"text/html": self._repr_html_(), "text/plain": str(self)}, raw=True)
        in_notebook = hasattr(_shell(), "kernel")  # and not in a terminal
        inspector = self.inspect() if in_notebook else None
        if inspector is not None:
            case = next(found for found in self.failed if found.walk)
            which = prose(visible(f"Here is the conversation in which this case failed: {case.asks}"))
            happened = prose(visible(case.happened))
            rebuilt = "Rebuilt from the messages, so it does not show the tools."
            above = f"<p><b>{which}</b><br>{happened}.<br>{rebuilt}</p>"
            display({"text/html": above, "text/plain": ""}, raw=True)
            display(inspector)


def check(lab: str, submission: str | Path | None = None) -> Checked:
    """Run the public cases of a lab, just as the grader runs all of them.

    Args:
        lab: The lab's name, or the path of a folder of your own with a `cases.py`.
        submission: A notebook, a .py file, or code; by default this notebook as it is saved, since that is
            what will be handed in. If its file is not known, the cells that were run, in that order.

    Where no process can be started, as in a browser, the code runs in this one, and the result says so.

    Raises:
        InvalidInput: There is no such lab, or nothing to check.

    >>> print(check("l1", "def run_loop(*args): return 1 / 0").failed[0].happened)
    `run_loop` raised ZeroDivisionError: division by zero (cell 1, line 1)
    """
    found = load_lab(lab)
    shown = replace(found, cases=tuple(found.public))
    states: tuple[str, ...] = ()
    unsaved: tuple[str, ...] = ()
    if submission is None and (submission := _own_file()) is not None:
        saved = [cell.strip() for cell in read_cells(submission)]
        unsaved = tuple(_unsaved(saved, submission.name, found.functions))
        states = tuple(_states(saved))
    cells, source, rest = _cells_of(submission)
    with kept_warm(found, unprotected=True) as isolation:
        grade = grade_cells(shown, cells, isolation, DEFAULT_SEED, "check", watch=_progress_line(), rest=rest)
    if isinstance(isolation, InProcess):
        states = (*states, _IN_PROCESS)
    return Checked(grade, source, states, unsaved)


def _own_file() -> Path | None:
    """Return the file of this notebook, as Jupyter Server or VS Code names it."""
    shell = _shell()
    if shell is None:
        return None
    names = shell.user_ns.get("__vsc_ipynb_file__"), os.environ.get("JPY_SESSION_NAME")
    places = [Path(name) for name in names if isinstance(name, str) and name.endswith(".ipynb")]
    return next((place for place in places if place.is_file()), None)


def _unsaved(saved: list[str], file: str, asked: Sequence[str]) -> Iterator[str]:
    """Yield what was run and is not in the saved cells; `asked` names what is graded."""
    raw, _ = _history()
    ran = {cell.strip(): number for number, cell in enumerate(raw, 1)}
    known = set(asked).union(*map(_names_made_by, saved))
    made: dict[str, tuple[int, str]] = {}
    for cell, number in sorted(ran.items(), key=itemgetter(1)):
        names = [name for name, defined in _names_made_by(cell).items() if defined or name in known]
        if cell in saved:  # what older versions of it made besides is gone
            older = [made[name] for name in names if name in made]
            made = {name: place for name, place in made.items() if place not in older}
        made |= dict.fromkeys(names, (number, cell))
    unsaved: dict[int, list[str]] = {}
    for name, (number, cell) in made.items():
        if cell not in saved:
            unsaved.setdefault(number, []).append(name)
    for number, names in unsaved.items():
        told = ", ".join(f"`{name}`" for name in names if name in asked or not set(asked) & set(names))
        yield (
            f"Not saved yet: {told}, as run in [{number}], is not in {file}. Save (Ctrl+S), or mend the cell"
            " with an error, then run this cell again."
        )


def _states(saved: list[str]) -> Iterator[str]:
    """Yield how the saved cells stand to those that were run."""
    raw, failed = _history()
    ran = {cell.strip(): number for number, cell in enumerate(raw, 1)}
    made = set().union(*map(_names_made_by, ran))
    told = []
    for number, cell in enumerate(saved, 1):
        if _only_checks(cell) or (cell in ran and ran[cell] not in failed):
            continue
        what = "ended with an error" if cell in ran else "was never run"
        if cell not in ran and made & _names_made_by(cell).keys():
            what = "was edited after it was run"
        told.append(f"Code cell {number} (`{_first_line(cell)}`) {what}.")
    yield from told[:_MOST_STATES]
    if len(told) > _MOST_STATES:
        more = len(told) - _MOST_STATES
        yield f"{more} more code cells were not run as they are saved, or ended with an error."


def _first_line(cell: str) -> str:
    lines = [line.strip() for line in cell.splitlines()]
    line = next((line for line in lines if line and not line.startswith("#")), lines[0])
    return line if len(line) <= 40 else f"{line[:37]}..."


def _names_made_by(cell: str) -> dict[str, bool]:
    """Return the names that a cell makes, and whether as a function or a class."""
    try:
        statements = ast.parse(without_magics(cell)).body
    except (SyntaxError, ValueError, RecursionError):
        return {}
    made: dict[str, bool] = {}
    for each in statements:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made[each.name] = True
        elif isinstance(each, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            named = (node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            made |= {node.id: False for node in named}
    return made


def _progress_line() -> Callable[[int, int], None] | None:
    if not hasattr(_shell(), "kernel"):
        return None
    line = _display()({"text/plain": "checking …"}, raw=True, display_id=True)

    def show(done: int, total: int) -> None:
        line.update({"text/plain": f"checked {done} of {total} cases"}, raw=True)

    return show


def _cells_of(submission: str | Path | None) -> tuple[list[str], str, Rest]:
    """Return the cells, where they came from in words, and what the notebook has besides."""
    if submission is None:
        return *_cells_that_ran(), NO_REST
    given: object = submission  # a student may pass anything
    if not isinstance(given, (str, Path)):
        kind = "the function itself" if callable(given) else f"a value of type {type(given).__name__}"
        raise InvalidInput(f"{kind} cannot be checked", expected=_WANTED)
    text = str(submission)
    if not text.strip():
        raise InvalidInput("there is no code in what was given", expected=_WANTED)
    if isinstance(submission, Path) or _is_path(text):
        path = Path(text.strip())
        if path.is_dir():
            raise InvalidInput(f"{path} is a folder", expected=_WANTED)
        if not path.is_file():
            raise InvalidInput(f"no file {path}", expected=_WANTED)
        if path.suffix.lower() not in SUFFIXES:
            raise InvalidInput(f"{path} is not a notebook", expected=_WANTED)
        saved = datetime.fromtimestamp(path.stat().st_mtime)
        handed = hand_in(path.name, path)
        return handed.cells(), f"{path.name} as saved at {saved:%H:%M on %d %B}", handed.rest()
    return [text], "the code given", NO_REST


def _is_path(text: str) -> bool:
    """Tell a path from code: it has one line, and ends as one or exists."""
    path = text.strip()
    # `Path.exists` raises an error if the text is too long for a path.
    exists = "/" in path and os.path.exists(path)  # noqa: PTH110
    return "\n" not in path and (exists or path.lower().endswith(SUFFIXES))


def _cells_that_ran() -> tuple[list[str], str]:
    """Return the cells that ran in this notebook, in Jupyter's numbering; those that do not count are blank.

    A cell does not count if it only checks, or if the student interrupted it: it would not end here either.
    """
    shell = _shell()
    if shell is None:
        raise InvalidInput("this is not a notebook", expected="check(lab, submission)", advice="name a file")
    raw, ended = _history()
    stopped = [number for number, how in ended.items() if "KeyboardInterrupt" in str(how.get("ename"))]
    cells = [
        "" if number in stopped or _only_checks(cell) else cell for number, cell in enumerate(raw, start=1)
    ]
    without = f", without {', '.join(map(str, stopped))}, which you interrupted" if stopped else ""
    if any(cells):
        return cells, f"the cells that you ran, in that order, not the saved notebook{without}"
    return cells, f"no other cell was run since the kernel started: run them from the top{without}"


def _history() -> tuple[Sequence[str], dict[int, Any]]:
    """Return the cells that ran, and which of them ended with an exception."""
    history = _shell().history_manager
    # As it was typed: IPython's own form of a cell below %%time is a text in a call.
    return history.input_hist_raw[1:], getattr(history, "exceptions", {})


def _only_checks(cell: str) -> bool:
    lines = [line for line in cell.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return all(map(_CHECKS.match, lines))


def _display() -> Any:
    from IPython import display

    return display.display


def _shell() -> Any:
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def passes(lab: str, case: str, names: dict[str, Any]) -> bool:
    """Play one public case of a lab against the functions in `names`, say `globals()`; True if it passes.

    The student's code runs in this process and may have changed it, so `zoolab grade` decides in another
    process. Values go through JSON here, too. A call that never returns is not stopped: otter and nbgrader
    have time limits of their own.

    Raises:
        AssertionError: It does not pass. The message has the task, what happened, and the hint.
        InvalidInput: There is no such lab, or no such public case.
    """
    found = load_lab(lab)
    public = {each.name: each for each in found.public}
    if case not in public:
        raise InvalidInput(f"{lab} has no public case {case!r}", expected=f"one of {', '.join(public)}")
    student = Student(lambda _: Process(Direct(names)), found.seconds)
    made = grade_case(public[case], student, f"{DEFAULT_SEED}/here")
    if made.passed:
        return True
    raise AssertionError(f"{made.asks}\nWhat happened: {made.happened}\nHint: {made.hint}")
