"""Labs as assignments for otter-grader and nbgrader, made from their masters: `zoolab labs export`.

The tests in them are a lab's public cases, and run in the notebook's own process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import indent
from typing import Any

from tools.building import NBGRADER_CONFIG, Cell, cells_of, new_cell, notebook_of, write_new
from tools.masters import BEGIN, END, Marked, rewritten
from zoolab.errors import InvalidInput
from zoolab.files import course_folder
from zoolab_grader import Case, Lab, lab_names, load_lab

Files = dict[str, str]

NOTE = """## Who decides

The tests below run in **this notebook's own process**. They are a help, and honest with honest code, but
code that changes Python or zoolab itself can make them say anything. `zoolab grade {lab}` decides elsewhere:
it runs the same code in a process of its own, shut in, and asks more of it than you see here.
Left out: {left_out}.

The tests need zoolab to be installed where they run."""

# The stubs of a lab stand before its solutions already; nbgrader's own stub would raise an exception.
_NBGRADER = """c = get_config()

c.CourseDirectory.course_id = "zoolab"
c.ClearSolutions.code_stub = {"python": "...  # your code"}
"""

_QUOTES = '"""'
_OTTER = """# ASSIGNMENT CONFIG
name: {lab}
init_cell: true
solutions_pdf: false
strip_solutions_from_all_cells: true
export_cell:
  pdf: false
tests:
  ok_format: false"""


def print_exported(labs: Iterable[str], kind: str, out: Path) -> int:
    """Export labs, and print the new files and what they leave out."""
    wanted = list(labs)
    for path in export_labs(wanted, kind, out):
        print(path)
    for each in map(load_lab, wanted or lab_names()):
        print(f"{each.name}: {left_out(each)}")
    print("These tools decide in the student's process; `zoolab grade` does not.")
    return 0


def export_labs(names: Iterable[str], kind: str, out: Path) -> list[Path]:
    """Write labs, by default all, for otter-grader or nbgrader, and return the files that are new.

    A file that a teacher has changed is not written over. Raises `InvalidInput` for a notebook that exists
    and differs, for an unknown lab or format, and if the masters are not there.
    """
    if kind not in FORMATS:
        raise InvalidInput(f"there is no format {kind!r}", expected=f"one of {', '.join(FORMATS)}")
    wanted = list(names) or lab_names()
    for name in wanted:
        if name not in lab_names():
            raise InvalidInput(f"there is no lab {name!r}", expected=f"one of {', '.join(lab_names())}")
    return write_new({out / place: text for name in wanted for place, text in FORMATS[kind](name).items()})


def nbgrader_files(name: str) -> Files:
    """Return the files of a lab for nbgrader, by their path below the folder of the course."""
    lab = load_lab(name)
    cells = _cells(lab, _for_nbgrader)
    for number, cell in enumerate(cells):
        if BEGIN in "".join(cell["source"]):
            _tell_nbgrader(cell, f"{name}-{number}", grade=False, solution=True, locked=False)
    for case in lab.public:
        cells.append(new_cell("code", case.name, _test_of(lab, case, "globals()")))
        about = {"grade": True, "solution": False, "locked": True, "points": case.points}
        _tell_nbgrader(cells[-1], f"{name}-{case.name}", **about)
    return {NBGRADER_CONFIG: _NBGRADER, f"source/{name}/{name}.ipynb": notebook_of(cells)}


def _for_nbgrader(before: str, prompt: list[str], solution: list[str]) -> list[str]:
    """Return a cell for nbgrader: a stub of the lab's own goes before the solution, which overrides it."""
    return [*prompt, f"{before}##{BEGIN}", *solution, f"{before}##{END}"]


def _tell_nbgrader(cell: Cell, name: str, **about: Any) -> None:
    cell["metadata"]["nbgrader"] = {"grade_id": name, "schema_version": 3, "task": False, **about}


def otter_files(name: str) -> Files:
    """Return the files of a lab for otter-grader, by their path below the output folder."""
    lab = load_lab(name)
    cases = lab.public
    points = sum(case.points for case in cases)
    cells = [
        new_cell("raw", "config", _OTTER.format(lab=name)),
        *_cells(lab, _for_otter),
        new_cell("raw", "question", f"# BEGIN QUESTION\nname: {name}\npoints: {points:g}"),
        new_cell("raw", "tests", "# BEGIN TESTS"),
        *(new_cell("code", case.name, _otter_test(lab, case)) for case in cases),
        new_cell("raw", "tests-end", "# END TESTS"),
        new_cell("raw", "question-end", "# END QUESTION"),
    ]
    return {f"{name}/{name}.ipynb": notebook_of(cells)}


def _for_otter(before: str, prompt: list[str], solution: list[str]) -> list[str]:
    """Return a cell for otter: a stub of the lab's own is otter's prompt; the usual stub is otter's own three
    dots.
    """
    if not prompt:
        return [before + BEGIN, *solution, before + END]
    return [
        f"{before}{BEGIN} NO PROMPT",
        *solution,
        before + END,
        f"{before}{_QUOTES} # BEGIN PROMPT",
        *prompt,
        f"{before}{_QUOTES} # END PROMPT",
    ]


def _otter_test(lab: Lab, case: Case) -> str:
    config = f"{_QUOTES} # BEGIN TEST CONFIG\npoints: {case.points:g}\n{_QUOTES} # END TEST CONFIG"
    return f"{config}\ndef {case.name}(env):\n{indent(_test_of(lab, case, 'env'), '    ')}"


#: What each format writes for a lab: a path below the output folder, and the text.
FORMATS: dict[str, Callable[[str], Files]] = {"nbgrader": nbgrader_files, "otter": otter_files}


def _cells(lab: Lab, marked: Marked) -> list[Cell]:
    """Return the cells of a lab's master, up to those that call `check`, and a note about the tests."""
    try:
        master = (course_folder("labs") / lab.name / "master.py").read_text(encoding="utf-8")
    except OSError as error:
        advice = "export from a checkout of zoolab"
        raise InvalidInput(f"{lab.name} has no master: {error.strerror}", advice=advice) from None
    cells = cells_of(rewritten(master, marked))
    last = next((n for n, cell in enumerate(cells) if "## Check it" in "".join(cell["source"])), len(cells))
    return [
        *cells[:last],
        new_cell("markdown", "who-decides", NOTE.format(lab=lab.name, left_out=left_out(lab))),
    ]


def left_out(lab: Lab) -> str:
    """Return what other tools are not given of a lab, in words: its hidden cases would be where students
    read.
    """
    hidden = [case for case in lab.cases if not case.public]
    points = sum(case.points for case in hidden)
    return f"{len(hidden)} hidden cases for {points:g} points; all {len(lab.public)} public ones are here"


def _test_of(lab: Lab, case: Case, names: str) -> str:
    """Return the code that plays a public case against the namespace that the expression `names` gives."""
    played = f'assert passes("{lab.name}", "{case.name}", {names})'
    return f"from zoolab_grader.checking import passes\n\n{played}"
