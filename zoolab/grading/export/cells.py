"""What the formats have in common: the cells of a lab's master, and the words about who decides."""

from __future__ import annotations

import json
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.grading.building import YOUR_CODE, rendered, stub
from zoolab.grading.labs import lab_names, labs_folder
from zoolab.grading.records import Case, Lab

Cell = dict[str, Any]
Part = tuple[list[str], list[str]]

NOTE = """## Who decides

The tests below run in **this notebook's own process**. They are a help, and honest with honest code, but
code that changes Python or zoolab itself can make them say anything. `zoolab grade {lab}` decides elsewhere:
it runs the same code in a process of its own, shut in, and asks more of it than you see here.

The tests need zoolab to be installed where they run."""
_CHECK_IT = "## Check it"


def master_of(name: str) -> str:
    """The text of a lab's master; raises `InvalidInput` for an unknown lab, or where there is none.

    >>> "BEGIN SOLUTION" in master_of("l3")
    True
    """
    if name not in lab_names():
        raise InvalidInput(f"there is no lab {name!r}", expected=f"one of {', '.join(lab_names())}")
    try:
        return (labs_folder() / name / "master.py").read_text(encoding="utf-8")
    except OSError as error:
        advice = "export from a checkout of zoolab"
        raise InvalidInput(f"{name} has no master: {error.strerror}", advice=advice) from None


def solution_of(lines: list[str]) -> Part:
    """A marked part of a master as its stub, empty where it is the usual one, and the solution itself.

    >>> solution_of(["# BEGIN SOLUTION", "# STUB: x = None", "x = 1", "# END SOLUTION"])
    (['x = None'], ['x = 1'])
    """
    kept = [line for line in lines[1:-1] if not line.strip().startswith("# STUB:")]
    found = stub(True, lines)
    return ([] if [line.strip() for line in found] == [YOUR_CODE] else found), kept


def cells_of(text: str) -> list[Cell]:
    """The cells of a master whose marks were rewritten; the last two, which call `check`, are left out.

    >>> [cell["cell_type"] for cell in cells_of("# %%\\nx = 1\\n\\n# %% [markdown]\\n# ## Check it")]
    ['code']
    """
    cells: list[Cell] = json.loads(rendered(text))["cells"]
    last = next((n for n, cell in enumerate(cells) if _CHECK_IT in source_of(cell)), len(cells))
    return cells[:last]


def source_of(cell: Cell) -> str:
    """The text of a cell.

    >>> source_of({"source": ["a\\n", "b"]})
    'a\\nb'
    """
    return "".join(cell["source"])


def new_cell(kind: str, name: str, text: str, **metadata: Any) -> Cell:
    """A cell of its own; `name` is its id.

    >>> new_cell("markdown", "note", "Hello.")["id"]
    'note'
    """
    code: Cell = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": metadata, "source": text, **code}


def note_of(lab: Lab) -> Cell:
    """What a student is told about the tests of these tools.

    >>> "decides elsewhere" in note_of(Lab("l0", "Sums", ("add",)))["source"]
    True
    """
    return new_cell("markdown", "who-decides", NOTE.format(lab=lab.name))


def test_of(lab: Lab, case: Case, names: str) -> str:
    """The code that plays a public case against the namespace that the expression `names` gives.

    >>> from zoolab.grading import load_lab
    >>> print(test_of(load_lab("l3"), load_lab("l3").cases[0], "env"))
    from zoolab.grading.here import passes
    <BLANKLINE>
    assert passes("l3", "answers_without_tools", env)
    """
    return f'from zoolab.grading.here import passes\n\nassert passes("{lab.name}", "{case.name}", {names})'


def public_cases(lab: Lab) -> list[Case]:
    """The cases that may leave the house.

    >>> from zoolab.grading import load_lab
    >>> public_cases(load_lab("l3"))[0].name
    'answers_without_tools'
    """
    return [case for case in lab.cases if case.public]


def notebook_of(cells: list[Cell]) -> str:
    """A notebook file of these cells.

    >>> json.loads(notebook_of([]))["nbformat"]
    4
    """
    spec = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    metadata = {"kernelspec": spec, "language_info": {"name": "python"}}
    book = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"
