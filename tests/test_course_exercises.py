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

from zoolab.retrieval import words_of
from zoolab_study import datasets

FOLDER = Path(__file__).parents[1] / "notebooks"
HINT = re.compile(r"^<details><summary>Hint</summary>(.*?)^</details>", re.M | re.S)
#: Words without a meaning of their own.
SMALL = words_of(
    "a about all and but can for has have its that the they what with who no in is on of or use it not be"
)
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


def test_the_hint_of_the_measured_descriptions_has_no_word_of_the_unseen_requests() -> None:
    cells = jupytext.read(FOLDER / "04-selection.py").cells
    hints = [HINT.findall(cell.source) for cell in cells if cell.cell_type == "markdown"]
    *_, hint = [text for found in hints for text in found]
    cases = datasets.load("selection-cases")
    asked = cases[(cases["split"] == "public") & (cases["domain"] == "devops") & cases["tool"].notna()]
    asked = asked.groupby(["tool", "difficulty"]).head(1)
    plain = asked["difficulty"] == "plain"
    seen, unseen = (
        {w for text in asked["prompt"][which] for w in words_of(text)} for which in (plain, ~plain)
    )
    assert not set(words_of(hint)) & (unseen - seen - {*SMALL})


def test_tries_with_the_unseen_requests_are_counted(shell: Any) -> None:
    cells = [cell.source for cell in jupytext.read(FOLDER / "04-selection.py").cells]
    [last] = [source for source in cells if "mine = measure(MINE)" in source]
    counts = last.partition("mine = measure")[0].partition("tries = ")
    counting = "tries = " + counts[2] + "print(tries)"
    assert [printed_by(shell, counting).strip() for _ in range(3)] == ["1", "2", "3"]
