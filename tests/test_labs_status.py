"""`zoolab labs status`: the checklist, each point earned by cases that pass."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from shell import Shell

from tools.wrong_answers import wrong_answers
from zoolab.grading import load_lab
from zoolab.grading.labs import labs_folder
from zoolab.grading.status import POINTS, Status, status_of, submission_in

LABS = ("l1", "l2", "l3", "l6")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def handed_in(folder: Path, **files: str) -> Path:
    """A folder with a submission for each of these labs: a file of the lab's own folder."""
    for lab, name in files.items():
        source = labs_folder() / lab / name
        shutil.copy(source, folder / f"{lab}{source.suffix}")
    return folder


def handed_in_wrong(folder: Path, **names: str) -> Path:
    """A folder with a wrong answer for each of these labs."""
    for lab, name in names.items():
        (folder / f"{lab}.py").write_text(wrong_answers(lab)[name].code, encoding="utf-8")
    return folder


def earned(status: Status) -> list[bool]:
    return [standing.state == "earned" for standing in status.points]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.says[:40])
def test_each_point_stands_on_public_cases_that_there_are(point: Any):
    public = {case.name for case in load_lab(point.lab).cases if case.public}
    assert point.cases
    assert set(point.cases) <= public


def test_right_solutions_earn_every_point(tmp_path: Path, shell: Shell):
    handed_in(tmp_path, **dict.fromkeys(LABS, "solution.ipynb"))
    ran = shell("labs", "status", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("7 of 7 points earned")
    assert "next:" not in ran.out


def test_what_students_are_given_is_untouched_and_not_played(tmp_path: Path, shell: Shell):
    handed_in(tmp_path, **{lab: f"{lab}.ipynb" for lab in LABS})
    ran = shell("labs", "status", tmp_path)
    assert ran.code == 1
    assert ran.out.startswith("0 of 7 points earned")
    assert ran.out.count("\nuntouched ") == ran.out.count("    next: Open ") == 7
    assert "What happened" not in ran.out


def test_what_a_student_began_is_played(tmp_path: Path):
    notebook = handed_in(tmp_path, l3="l3.ipynb") / "l3.ipynb"
    given = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in given["cells"] if cell["cell_type"] == "code"]
    for cell in code:
        cell["outputs"], cell["execution_count"] = [{"output_type": "stream", "text": "1"}], 7
    notebook.write_text(json.dumps(given), encoding="utf-8")
    assert [standing.state for standing in status_of(tmp_path).points[4:6]] == ["untouched"] * 2
    code[0]["source"] += "\nx = 1"
    notebook.write_text(json.dumps(given), encoding="utf-8")
    assert [standing.state for standing in status_of(tmp_path).points[4:6]] == ["open"] * 2


def test_what_a_student_wrote_in_the_checkout_itself_is_played(tmp_path: Path):
    """There the notebook of the student is the one that was given."""
    checkout = tmp_path / "checkout"
    shutil.copytree(
        labs_folder().parent / "zoolab", checkout / "zoolab", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(labs_folder(), checkout / "labs")
    status = [sys.executable, "-c", "from zoolab.commands.cli import main; main(['labs', 'status'])"]
    env = {**os.environ, "PYTHONPATH": str(checkout)}

    def told() -> str:
        return subprocess.run(
            status, cwd=checkout, env=env, capture_output=True, text=True, check=False
        ).stdout

    assert told().startswith("0 of 7 points earned")
    assert told().count("\nuntouched ") == 7
    shutil.copy(labs_folder() / "l3" / "solution.ipynb", checkout / "labs" / "l3" / "l3.ipynb")
    assert told().startswith("2 of 7 points earned")


def test_what_to_do_next_is_one_short_line(tmp_path: Path, shell: Shell):
    wrong = {"l1": "vague", "l2": "accepts_all", "l3": "no_limit", "l6": "rounded"}
    blank = {"l3": "", "l6": "raise RuntimeError('x' * 500)"}
    handed_in_wrong(tmp_path, **wrong)
    for lab, code in blank.items():
        (tmp_path / f"{lab}.py").write_text(code, encoding="utf-8")
    lines = shell("labs", "status", tmp_path).out.splitlines()
    said = [line for line in lines if line.startswith("    next: ")]
    assert len(said) == sum(line.startswith("open ") for line in lines) > 4
    assert all(len(line) <= 90 for line in said)


def test_without_notebooks_it_says_what_to_do_and_runs_nothing(tmp_path: Path, shell: Shell):
    ran = shell("labs", "status", tmp_path)
    assert ran.code == 1
    assert ran.out.startswith("0 of 7 points earned")
    assert ran.out.count("Do lab l1: there is no l1.ipynb or l1.py here.") == 3


@pytest.mark.parametrize(
    ("lab", "wrong", "lost"),
    [
        ("l1", "vague", {0}),
        ("l1", "extras_accepted", {1}),
        ("l1", "nothing_required", {2}),
        ("l3", "error_swallowed", {4}),
        ("l3", "never_confirms", {5}),
    ],
)
def test_a_mistake_costs_its_point_and_no_other(lab: str, wrong: str, lost: set[int], tmp_path: Path):
    status = status_of(handed_in_wrong(tmp_path, **{lab: wrong}))
    of_the_lab = {number for number, point in enumerate(POINTS) if point.lab == lab}
    assert {number for number in of_the_lab if not earned(status)[number]} == lost
    assert all(status.points[number].failed[0].happened for number in lost)


def test_a_notebook_goes_before_a_script_and_a_folder_of_its_own_is_found(tmp_path: Path):
    inner = tmp_path / "l1"
    inner.mkdir()
    for place in (inner / "l1.ipynb", tmp_path / "l1.py", tmp_path / "l1.ipynb"):
        place.touch()
        assert submission_in(tmp_path, "l1") == place


def test_the_current_folder_is_looked_at_first(tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "l1.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert f"with the notebooks in {tmp_path.resolve()}" in shell("labs", "status").out


def test_a_folder_that_is_not_there_is_named(shell: Shell):
    ran = shell("labs", "status", "no-such-folder")
    assert ran.code == 2
    assert ran.err.strip().endswith("no folder no-such-folder; expected a folder with your notebooks")
