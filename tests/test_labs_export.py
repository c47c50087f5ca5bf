"""`zoolab labs export`: the tools of others read what it writes, and come to the right sum."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from shell import Shell

from tools.exports import FORMATS, export_labs
from zoolab.errors import InvalidInput
from zoolab.files import course_folder
from zoolab_grader import lab_names, load_lab
from zoolab_grader.checking import passes
from zoolab_grader.submissions import read_cells
from zoolab_grader.worker.notebook import Notebook

PUBLIC_POINTS = sum(case.points for case in load_lab("l1").public)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def ran(path: Path) -> dict[str, Any]:
    """The names that the cells of a lab's notebook define, run in this process; the last cell checks."""
    book = Notebook({"__name__": "__main__"})
    run_all(book, read_cells(path)[:-1])
    return book.names


def run_all(book: Notebook, cells: list[str]) -> None:
    for number, cell in enumerate(cells, 1):
        book.run(cell, number)


def cells(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)["cells"]
    return found


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


@pytest.mark.parametrize("lab", ["l5", "l1", "l6"])
def test_the_reference_passes_here_and_the_starter_does_not(lab: str):
    solved = ran(course_folder("labs") / lab / "solution.ipynb")
    starter = ran(course_folder("labs") / lab / f"{lab}.ipynb")
    for case in load_lab(lab).public:
        assert passes(lab, case.name, solved)
        with pytest.raises(AssertionError, match=r"What happened: .+\nHint: .+"):
            passes(lab, case.name, starter)


def test_values_go_through_json_here_as_well():
    def run_loop(messages: Any, _tools: Any, model: Any, _limit: int) -> Any:
        return {1: model(messages, [])}

    with pytest.raises(AssertionError, match="a dict with the key 1"):
        passes("l1", "answers_without_tools", {"run_loop": run_loop})


def test_only_public_cases_can_be_played_here():
    with pytest.raises(InvalidInput, match="no public case 'goes_on'"):
        passes("l1", "goes_on", {})


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("lab", lab_names())
def test_each_lab_has_its_public_cases_and_says_who_decides(lab: str, kind: str):
    (text,) = (text for path, text in FORMATS[kind](lab).items() if path.endswith(".ipynb"))
    found = [source(cell) for cell in cells(text)]
    for case in load_lab(lab).public:
        assert sum(f'passes("{lab}", "{case.name}", ' in cell for cell in found) == 1
    assert any(f"`zoolab grade {lab}` decides elsewhere" in cell for cell in found)
    hidden = [case for case in load_lab(lab).cases if not case.public]
    left_out = f"Left out: {len(hidden)} hidden cases for {sum(case.points for case in hidden):g} points;"
    assert any(left_out in cell for cell in found)
    assert not any(f'check("{lab}")' in cell for cell in found)
    ids = [cell["id"] for cell in cells(text)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("lab", lab_names())
def test_each_solution_is_marked_for_the_tool(lab: str, kind: str):
    (text,) = (text for path, text in FORMATS[kind](lab).items() if path.endswith(".ipynb"))
    code = [source(cell) for cell in cells(text) if cell["cell_type"] == "code"]
    marked = [cell for cell in code if "BEGIN SOLUTION" in cell]
    master = (course_folder("labs") / lab / "master.py").read_text(encoding="utf-8")
    assert sum(cell.count("# BEGIN SOLUTION") for cell in marked) == master.count("# BEGIN SOLUTION")
    assert "STUB" not in text
    for cell in marked:
        compile(cell, "<cell>", "exec")


@pytest.mark.parametrize("lab", lab_names())
def test_the_exported_reference_passes_its_own_tests(lab: str, tmp_path: Path):
    (notebook,) = (text for path, text in FORMATS["nbgrader"](lab).items() if path.endswith(".ipynb"))
    path = tmp_path / f"{lab}.ipynb"
    path.write_text(notebook, encoding="utf-8")
    run_all(Notebook({"__name__": "__main__"}), read_cells(path))


def test_what_a_teacher_changed_is_kept(tmp_path: Path, shell: Shell):
    export = ("labs", "export", "l1", "--format", "nbgrader", "--out", tmp_path)
    config, notebook = tmp_path / "nbgrader_config.py", tmp_path / "source" / "l1" / "l1.ipynb"
    assert shell(*export).out.splitlines()[:2] == [str(config), str(notebook)]
    config.write_text("mine", encoding="utf-8")
    assert export_labs(["l1"], "nbgrader", tmp_path) == []
    assert config.read_text(encoding="utf-8") == "mine"
    notebook.write_text("mine", encoding="utf-8")
    ran = shell(*export)
    assert ran.code == 2
    assert ran.err.strip().endswith("exists already with other content; remove it, or name another folder")


def test_an_unknown_lab_is_named(shell: Shell, tmp_path: Path):
    ran = shell("labs", "export", "l99", "--format", "otter", "--out", tmp_path)
    assert ran.code == 2
    assert "there is no lab 'l99'" in ran.err


def tool(name: str, folder: Path, *arguments: str) -> None:
    """Call the command of another tool, or skip where it is not installed beside this Python."""
    program = shutil.which(name, path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip(f"{name} is not installed: uv pip install zoolab[compat]")
    own = {"HOME": str(folder), "JUPYTER_CONFIG_DIR": str(folder / "none"), "PYTHONWARNINGS": "ignore"}
    path = os.pathsep.join([str(Path(program).parent), os.environ["PATH"]])
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        env={**os.environ, **own, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_otter_gives_the_reference_full_marks_and_the_starter_none(tmp_path: Path):
    export_labs(["l1"], "otter", tmp_path)
    folder = tmp_path / "l1"
    tool("otter", folder, "assign", "--no-run-tests", "l1.ipynb", "dist")
    (graded,) = (folder / "dist" / "autograder").glob("*.zip")
    scores = {}
    for who in ("autograder", "student"):
        (folder / who).mkdir()
        submission = folder / "dist" / who / "l1.ipynb"
        tool("otter", folder, "run", "-a", str(graded), "-o", str(folder / who), str(submission))
        tests = json.loads((folder / who / "results.json").read_text(encoding="utf-8"))["tests"]
        scores[who] = sum(test.get("score", 0) for test in tests), str(tests)
    assert scores["autograder"][0] == pytest.approx(PUBLIC_POINTS)
    assert scores["student"][0] == 0
    assert "What happened: " in scores["student"][1]


@pytest.mark.slow
def test_nbgrader_gives_the_reference_full_marks_and_the_starter_none(tmp_path: Path):
    export_labs(["l1"], "nbgrader", tmp_path)
    tool("nbgrader", tmp_path, "generate_assignment", "l1")
    for who, folder in (("reference", "source"), ("starter", "release")):
        shutil.copytree(tmp_path / folder / "l1", tmp_path / "submitted" / who / "l1")
    tool("nbgrader", tmp_path, "autograde", "l1")
    tool("nbgrader", tmp_path, "export")
    with (tmp_path / "grades.csv").open(encoding="utf-8") as file:
        scores = {row["student_id"]: (row["score"], row["max_score"]) for row in csv.DictReader(file)}
    points = str(float(PUBLIC_POINTS))
    assert scores == {"reference": (points, points), "starter": ("0.0", points)}
