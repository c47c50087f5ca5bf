"""A check of an exercise says "not yet" until the student writes something, and "right" to the solution."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import jupytext
import matplotlib as mpl
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

FOLDER = Path(__file__).parents[1] / "notebooks"
SOLUTION = re.compile(r"^<details><summary>Solution</summary>.*?^```python\n(.*?)^```", re.M | re.S)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    InteractiveShell.clear_instance()


def printed_by(shell: Any, code: str) -> str:
    """What a cell prints; raises what it raises."""
    out = StringIO()
    with redirect_stdout(out):
        shell.run_cell(code, store_history=True).raise_error()
    return out.getvalue()


@pytest.mark.parametrize(("notebook", "exercises"), [("08-execution", 2), ("09-traces", 3)])
def test_checks_fail_untouched_and_pass_with_the_solution(shell: Any, notebook: str, exercises: int) -> None:
    check, untouched, solved = "", "", 0
    for cell in jupytext.read(FOLDER / f"{notebook}.py").cells:
        if cell.cell_type == "code":
            check, untouched = cell.source, printed_by(shell, cell.source)
        for solution in SOLUTION.findall(cell.source if cell.cell_type == "markdown" else ""):
            assert "not yet" in untouched
            assert not re.search(r"^right", untouched, re.M)
            printed_by(shell, solution)
            told = printed_by(shell, check)
            assert "right" in told
            assert "not yet" not in told
            solved += 1
    assert solved == exercises
