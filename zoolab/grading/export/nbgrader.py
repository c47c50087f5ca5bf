"""A lab for nbgrader: a source notebook with its metadata, and the configuration of a course."""

from __future__ import annotations

from typing import Any

from zoolab.grading.building import BEGIN, END, parts
from zoolab.grading.export.cells import (
    Cell,
    cells_of,
    master_of,
    new_cell,
    note_of,
    notebook_of,
    public_cases,
    solution_of,
    source_of,
    test_of,
)
from zoolab.grading.labs import load_lab
from zoolab.grading.records import Case, Lab

CONFIG = "nbgrader_config.py"
# The stubs of a lab stand before its solutions already; nbgrader's own would raise an exception.
_CONFIGURATION = """c = get_config()

c.CourseDirectory.course_id = "zoolab"
c.ClearSolutions.code_stub = {"python": "...  # your code"}
"""


def files_of(name: str) -> dict[str, str]:
    """The files of a lab for nbgrader, by their path below the folder of the course.

    >>> list(files_of("l3"))
    ['nbgrader_config.py', 'source/l3/l3.ipynb']
    """
    lab, master = load_lab(name), master_of(name)
    text = "\n".join(line for inside, lines in parts(master) for line in _marked(inside, lines))
    cells = [_with_metadata(cell, lab, number) for number, cell in enumerate(cells_of(text))]
    tests = [_test(lab, case) for case in public_cases(lab)]
    book = notebook_of([*cells, note_of(lab), *tests])
    return {CONFIG: _CONFIGURATION, f"source/{name}/{name}.ipynb": book}


def _marked(inside: bool, lines: list[str]) -> list[str]:
    """A part of the master; a stub of the lab's own goes before the solution, which overrides it."""
    if not inside:
        return lines
    before = lines[0].partition("#")[0]
    stub, solution = solution_of(lines)
    return [*stub, f"{before}##{BEGIN}", *solution, f"{before}##{END}"]


def _with_metadata(cell: Cell, lab: Lab, number: int) -> Cell:
    if BEGIN not in source_of(cell):
        return cell
    about = _about(f"{lab.name}-{number}", grade=False, solution=True, locked=False)
    return {**cell, "metadata": {**cell["metadata"], "nbgrader": about}}


def _test(lab: Lab, case: Case) -> Cell:
    about = _about(f"{lab.name}-{case.name}", grade=True, solution=False, locked=True, points=case.points)
    return new_cell("code", case.name, test_of(lab, case, "globals()"), nbgrader=about)


def _about(name: str, **more: Any) -> dict[str, Any]:
    return {"grade_id": name, "schema_version": 3, "task": False, **more}
