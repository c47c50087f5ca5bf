"""Every lab: right submissions get full marks, wrong ones fail for their own mistake, nothing is stale."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from zoolab.cli import run
from zoolab.errors import InvalidInput
from zoolab.grading import Grade, Lab, grade, grade_cells, lab_names, load_lab
from zoolab.grading.building import build_labs, built_files, for_student, solved
from zoolab.grading.isolation import Isolation, shut_in
from zoolab.grading.labs import labs_folder
from zoolab.grading.source import read_cells

FOLDER = labs_folder()
LABS = lab_names()
Grading = Callable[[str, Path], Grade]


def submissions(lab: str) -> list[Path]:
    """What is handed in on trial, right and wrong."""
    folder = FOLDER / lab / "submissions"
    return sorted(path for path in folder.glob("*") if path.suffix in (".py", ".ipynb"))


def expected(lab: str) -> dict[str, Any]:
    """What `expected.toml` says of each submission."""
    return tomllib.loads((FOLDER / lab / "submissions" / "expected.toml").read_text(encoding="utf-8"))


def caught_by(verdict: dict[str, Any]) -> set[str]:
    """The cases that a wrong submission must fail; those of `fails_only` and no others."""
    return {*verdict.get("fails", ()), *verdict.get("fails_only", ())}


each_lab = pytest.mark.parametrize("lab", LABS)
each_submission = pytest.mark.parametrize(
    ("lab", "path"),
    [pytest.param(lab, path, id=f"{lab}-{path.stem}") for lab in LABS for path in submissions(lab)],
)


@pytest.fixture(scope="module")
def shut_in_for() -> Iterator[Callable[[Lab], Isolation]]:
    """One isolation a lab, kept for all of its submissions."""
    with ExitStack() as stack:
        kept: dict[str, Isolation] = {}

        def isolation(lab: Lab) -> Isolation:
            if lab.name not in kept:
                kept[lab.name] = stack.enter_context(shut_in(lab))
            return kept[lab.name]

        yield isolation


@pytest.fixture(scope="module")
def graded(shut_in_for: Callable[[Lab], Isolation]) -> Grading:
    """Grade a submission, each only once."""
    kept: dict[Path, Grade] = {}

    def once(name: str, path: Path) -> Grade:
        if path not in kept:
            lab = load_lab(name)
            kept[path] = grade(lab, path, shut_in_for(lab))
        return kept[path]

    return once


def failed(found: Grade) -> dict[str, str]:
    """The cases that did not pass, with what happened."""
    return {case.name: case.happened for case in found.cases if not case.passed}


@each_lab
def test_the_reference_has_full_marks(lab: str, graded: Grading):
    found = graded(lab, FOLDER / lab / "solution.ipynb")
    assert failed(found) == {}
    assert found.points == found.out_of == load_lab(lab).points
    assert found.notes == ()


@each_lab
def test_what_the_student_is_given_runs_and_has_no_point(lab: str, graded: Grading):
    found = graded(lab, FOLDER / lab / f"{lab}.ipynb")
    assert found.points == 0
    assert found.notes == ()


@each_lab
def test_an_empty_submission_has_no_point(lab: str, graded: Grading, tmp_path: Path):
    blank = tmp_path / "blank.py"
    blank.write_text("", encoding="utf-8")
    assert graded(lab, blank).points == 0


@each_submission
def test_a_submission_gets_what_it_should(lab: str, path: Path, graded: Grading):
    verdict = expected(lab)[path.stem]
    found = graded(lab, path)
    if verdict.get("full"):
        assert failed(found) == {}
    else:
        assert found.points < found.out_of
        assert caught_by(verdict) <= failed(found).keys(), failed(found)
        assert "fails_only" not in verdict or failed(found).keys() <= caught_by(verdict), failed(found)


@each_submission
def test_a_wrong_submission_is_told_what_happened(lab: str, path: Path, graded: Grading):
    for case in graded(lab, path).cases:
        assert case.passed or (case.happened and case.hint)


@each_lab
def test_there_are_enough_submissions_and_each_has_a_verdict(lab: str):
    stems = [path.stem for path in submissions(lab)]
    assert sorted(stems) == sorted(expected(lab))
    assert sum(stem.startswith("right_") for stem in stems) >= 2
    assert sum(stem.startswith("wrong_") for stem in stems) >= 10
    for stem, verdict in expected(lab).items():
        assert bool(verdict.get("full")) == stem.startswith("right_")


@each_lab
def test_each_case_has_a_sentence_and_a_hint(lab: str):
    cases = load_lab(lab).cases
    assert len(cases) >= 8
    assert all(case.asks.endswith(".") and case.hint.endswith((".", "?")) for case in cases)
    assert all(case.points > 0 for case in cases)
    assert {case.public for case in cases} == {True, False}


@each_lab
def test_each_wrong_submission_is_caught_by_cases_that_exist(lab: str):
    names = {case.name for case in load_lab(lab).cases}
    for verdict in expected(lab).values():
        assert bool(verdict.get("full")) != bool(caught_by(verdict))
        assert caught_by(verdict) <= names


@each_lab
def test_the_page_says_what_is_judged_in_public(lab: str):
    page = " ".join((FOLDER / lab / "README.md").read_text(encoding="utf-8").split())
    for case in load_lab(lab).cases:
        assert not case.public or case.asks in page


@each_lab
def test_what_happened_does_not_depend_on_hidden_values(lab: str, shut_in_for: Callable[[Lab], Isolation]):
    """A function that says nothing learns nothing: under another seed it is told the same."""
    found = load_lab(lab)
    cells = ["\n".join(f"def {name}(*args, **kwargs): return None" for name in found.functions)]
    one, other = (grade_cells(found, cells, shut_in_for(found), seed) for seed in ("one", "other"))
    assert one.points == 0
    for a, b in zip(one.cases, other.cases, strict=True):
        assert a.public or re.sub(r"\d+", "", a.happened) == re.sub(r"\d+", "", b.happened)


@each_lab
@pytest.mark.slow
def test_three_runs_give_the_same_grade(lab: str, graded: Grading, shut_in_for: Callable[[Lab], Isolation]):
    found = load_lab(lab)
    for path in submissions(lab)[::4]:
        again = [grade(found, path, shut_in_for(found)) for _ in range(2)]
        assert again == [graded(lab, path)] * 2


@each_lab
@pytest.mark.slow
def test_another_seed_changes_no_verdict(lab: str, shut_in_for: Callable[[Lab], Isolation]):
    found = load_lab(lab)
    for seed in ("a", "b", "c"):
        assert failed(grade(found, FOLDER / lab / "solution.ipynb", shut_in_for(found), seed)) == {}


@each_lab
def test_the_notebooks_are_built_from_their_master(lab: str):
    assert build_labs([lab], check=True) == [], "run: zoolab labs build"


@each_lab
def test_the_student_is_not_given_the_solution(lab: str):
    student, solution = (set("\n".join(read_cells(path)).split("\n")) for path in built_files(lab))
    assert solution - student
    assert not any("SOLUTION" in line or "STUB" in line for line in student | solution)


@pytest.mark.parametrize(
    ("master", "student", "solution"),
    [
        ("# BEGIN SOLUTION\nx = 1\n# END SOLUTION", "...  # your code", "x = 1"),
        ("  # BEGIN SOLUTION\n  # STUB: x = 0\n  x = 1\n  # END SOLUTION", "  x = 0", "  x = 1"),
        (
            "a\n# BEGIN SOLUTION\n# STUB: if a:\n# STUB:     b\nc\n# END SOLUTION\nd",
            "a\nif a:\n    b\nd",
            "a\nc\nd",
        ),
        ("no marks", "no marks", "no marks"),
    ],
)
def test_a_solution_becomes_its_stub(master: str, student: str, solution: str):
    assert for_student(master) == student
    assert solved(master) == solution


@pytest.mark.parametrize(
    ("master", "line"),
    [
        ("# BEGIN SOLUTION\n# BEGIN SOLUTION", "line 2"),
        ("x\n# END SOLUTION", "line 2"),
        ("# BEGIN SOLUTION\nx", "does not end"),
    ],
)
def test_marks_that_do_not_pair_are_named(master: str, line: str):
    with pytest.raises(InvalidInput, match=line):
        for_student(master)


def test_the_command_lists_and_checks_the_labs(capsys: pytest.CaptureFixture[str]):
    assert run(["labs", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == LABS
    assert run(["labs", "build", "--check"]) == 0
    assert run(["labs", "build", "l99"]) == 2
    assert "there is no lab 'l99'" in capsys.readouterr().err
