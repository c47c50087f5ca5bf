"""A lab for otter-grader: a master notebook, as `otter assign` reads it."""

from __future__ import annotations

from textwrap import indent

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
    test_of,
)
from zoolab.grading.labs import load_lab
from zoolab.grading.records import Case, Lab

_QUOTES = '"""'
_CONFIG = """# ASSIGNMENT CONFIG
name: {lab}
init_cell: true
solutions_pdf: false
strip_solutions_from_all_cells: true
export_cell:
  pdf: false
tests:
  ok_format: false"""


def files_of(name: str) -> dict[str, str]:
    """The files of a lab for otter-grader, by their path below the output folder.

    >>> list(files_of("l3"))
    ['l3/l3.ipynb']
    """
    lab, master = load_lab(name), master_of(name)
    text = "\n".join(line for inside, lines in parts(master) for line in _marked(inside, lines))
    cells = [_raw("config", _CONFIG.format(lab=name)), *cells_of(text), note_of(lab), *_question(lab)]
    return {f"{name}/{name}.ipynb": notebook_of(cells)}


def _marked(inside: bool, lines: list[str]) -> list[str]:
    """A part of the master; a stub of the lab's own is otter's prompt, the usual one its three dots."""
    if not inside:
        return lines
    before = lines[0].partition("#")[0]
    prompt, solution = solution_of(lines)
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


def _question(lab: Lab) -> list[Cell]:
    """One question, whose tests are the public cases."""
    cases = public_cases(lab)
    points = sum(case.points for case in cases)
    return [
        _raw("question", f"# BEGIN QUESTION\nname: {lab.name}\npoints: {points:g}"),
        _raw("tests", "# BEGIN TESTS"),
        *(new_cell("code", case.name, _test(lab, case)) for case in cases),
        _raw("tests-end", "# END TESTS"),
        _raw("question-end", "# END QUESTION"),
    ]


def _test(lab: Lab, case: Case) -> str:
    config = f"{_QUOTES} # BEGIN TEST CONFIG\npoints: {case.points:g}\n{_QUOTES} # END TEST CONFIG"
    return f"{config}\ndef {case.name}(env):\n{indent(test_of(lab, case, 'env'), '    ')}"


def _raw(name: str, text: str) -> Cell:
    return new_cell("raw", name, text)
