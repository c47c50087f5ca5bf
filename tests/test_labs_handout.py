"""`zoolab labs handout`: students get the notebook, the page and the public cases, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from shell import Shell

from tools.handout import public_cases
from zoolab.files import course_folder
from zoolab_grader import grade, lab_names, load_lab
from zoolab_grader.isolation import shut_in


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.mark.parametrize("name", lab_names())
def test_a_lab_is_handed_out_with_its_public_cases_only(name: str, shell: Shell, tmp_path: Path):
    lab, given = load_lab(name), tmp_path / name
    page = {"README.md"} & {path.name for path in (course_folder("labs") / name).iterdir()}
    ran = shell("labs", "handout", name, tmp_path)
    assert (ran.code, len(ran.out.splitlines())) == (0, 2 + len(page)), ran.err
    assert {path.name for path in given.iterdir()} == {f"{name}.ipynb", "cases.py", *page}
    text = (given / "cases.py").read_text("utf-8")
    assert not [case.name for case in lab.cases if not case.public and case.name in text]
    public = load_lab(str(given))
    assert [replace(case, check=len) for case in public.cases] == [
        replace(case, check=len) for case in lab.public
    ]
    assert shell("labs", "handout", name, tmp_path).out == ""


def test_its_cases_give_the_points_that_they_give_here(shell: Shell, tmp_path: Path):
    shell("labs", "handout", "l1", tmp_path)
    solution, lab = course_folder("labs") / "l1" / "solution.ipynb", load_lab(str(tmp_path / "l1"))
    with shut_in(lab) as isolation:
        assert grade(lab, solution, isolation).points == lab.points
        given = grade(lab, tmp_path / "l1" / "l1.ipynb", isolation)
    assert given.points == 0


def test_what_somebody_wrote_into_the_notebook_is_not_handed_out(shell: Shell, tmp_path: Path):
    own = tmp_path / "own"
    own.mkdir()
    for name in ("cases.py", "master.py", "README.md"):
        (own / name).write_text((course_folder("labs") / "l1" / name).read_text("utf-8"), "utf-8")
    (own / "own.ipynb").write_text(
        (course_folder("labs") / "l1" / "solution.ipynb").read_text("utf-8"), "utf-8"
    )
    assert shell("labs", "handout", own, tmp_path / "out").code == 0
    handed = (tmp_path / "out" / "own" / "own.ipynb").read_text("utf-8")
    assert handed == (course_folder("labs") / "l1" / "l1.ipynb").read_text("utf-8")
    (tmp_path / "out" / "own" / "cases.py").write_text("mine", "utf-8")
    ran = shell("labs", "handout", own, tmp_path / "out")
    assert (ran.code, "exists already with other content" in ran.err) == (2, True)


CASES = '''"""Two cases."""

from __future__ import annotations
import math
from zoolab_grader import Lab, case
import zoolab_grader as grading

LAB = Lab("t", "T", functions=("f",))
# What the hidden case looks for.
SECRETS = [41, 42]
SECRETS += [43]


# Both use it.
def answer(student):
    return student.call("f").value + math.floor(SHARED)


SHARED = 0.5


@grading.case(points=1, hint="Look.", public=True)
def shown(student, chance):
    """Shown."""
    answer(student)


def of_the_hidden(value):
    return value in SECRETS


@case(points=1, hint="It is in SECRETS.", public=False)
def kept(student, chance):
    """Kept back."""
    assert of_the_hidden(answer(student))  # the end
'''


def test_what_only_hidden_cases_use_goes_with_its_comments():
    text = public_cases(CASES)
    for gone in (
        "SECRETS",
        "41",
        "43",
        "looks for",
        "of_the_hidden",
        "Kept back",
        "the end",
        'points=1, hint="It',
    ):
        assert gone not in text, gone
    for there in ("import annotations", "import math", "# Both use it.", "SHARED = 0.5", '"""Shown."""'):
        assert there in text, there
    assert public_cases(text) == text
