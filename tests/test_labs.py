"""Every lab: right answers get full marks, wrong ones fail for their own mistake, nothing is stale."""

from __future__ import annotations

import ast
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tools.building import build_labs, built_files, solved
from tools.choosing import surplus
from tools.masters import for_student
from tools.wrong_answers import FEW_CASES, WrongAnswer, reasons_to_stay, right_answers, wrong_answers
from zoolab.commands.cli import run_command
from zoolab.errors import InvalidInput
from zoolab.files import course_folder
from zoolab_grader import Grade, Lab, grade, grade_cells, lab_names, load_lab
from zoolab_grader.isolation import Isolation, shut_in
from zoolab_grader.submissions import read_cells

FOLDER = course_folder("labs")
LABS = lab_names()
#: The labs of the course: those in the table of `labs/README.md`. Only they have a page, the sentences of
#: `sentences.toml` and many wrong answers; any other lab in the folder needs what a lab of your own needs.
IN_COURSE = re.findall(r"^\| \[(\w+)\]", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
SENTENCES = tomllib.loads((FOLDER / "sentences.toml").read_text(encoding="utf-8"))
Answer = Path | WrongAnswer
Grading = Callable[[str, Answer], Grade]


def each_of(answers: Callable[[str], Mapping[str, Answer]]) -> pytest.MarkDecorator:
    """A test for each of these answers of every lab; the quick tier runs the first one of each lab."""
    rows = [
        pytest.param(lab, answer, id=f"{lab}-{name}", marks=[] if number else pytest.mark.sample)
        for lab in LABS
        for number, (name, answer) in enumerate(answers(lab).items())
    ]
    return pytest.mark.parametrize(("lab", "answer"), rows)


each_lab = pytest.mark.parametrize("lab", LABS)
each_lab_of_the_course = pytest.mark.parametrize("lab", IN_COURSE)
each_right_answer = each_of(right_answers)
each_wrong_answer = each_of(wrong_answers)


def graded_once(lab: Lab, answer: Answer, isolation: Isolation) -> Grade:
    """The grade of a file; of a wrong answer, in the cases that tell.

    These are all cases that must fail, and of those that must not, a quarter, another one for each answer,
    so many answers still meet each case. `zoolab labs cases` plays all cases with all answers, each night.
    """
    if not isinstance(answer, WrongAnswer):
        return grade(lab, answer, isolation)
    if answer.only:
        chosen = random.Random(answer.name)
        lab = replace(
            lab,
            cases=tuple(case for case in lab.cases if case.name in answer.fails or chosen.random() < 0.25),
        )
    return grade_cells(lab, [answer.code], isolation, name=answer.name)


@pytest.fixture(scope="module")
def shut_in_for() -> Iterator[Callable[[Lab], Isolation]]:
    """One isolation a lab, kept for all of its answers."""
    with ExitStack() as stack:
        kept: dict[str, Isolation] = {}

        def isolation(lab: Lab) -> Isolation:
            if lab.name not in kept:
                kept[lab.name] = stack.enter_context(shut_in(lab))
            return kept[lab.name]

        yield isolation


@pytest.fixture(scope="module")
def graded(shut_in_for: Callable[[Lab], Isolation]) -> Grading:
    """Grade an answer, each only once."""
    kept: dict[tuple[str, Answer], Grade] = {}

    def once(name: str, answer: Answer) -> Grade:
        if (name, answer) not in kept:
            lab = load_lab(name)
            kept[name, answer] = graded_once(lab, answer, shut_in_for(lab))
        return kept[name, answer]

    return once


def failed(found: Grade) -> dict[str, str]:
    """The cases that did not pass, with what happened."""
    return {case.name: case.happened for case in found.cases if not case.passed}


@each_right_answer
def test_a_right_answer_has_full_marks(lab: str, answer: Path, graded: Grading):
    found = graded(lab, answer)
    assert failed(found) == {}
    assert found.points == found.out_of == load_lab(lab).points


@each_lab
def test_the_solution_loads_without_a_note(lab: str, graded: Grading):
    assert graded(lab, FOLDER / lab / "solution.ipynb").notes == ()


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


@pytest.mark.parametrize("lab", ["l4", "l8"])
def test_a_part_earns_points_before_the_others_are_written(lab: str, shut_in_for: Callable[[Lab], Isolation]):
    given, solution = (read_cells(FOLDER / lab / f"{name}.ipynb") for name in (lab, "solution"))
    found = load_lab(lab)
    parts = [at for at, (mine, right) in enumerate(zip(given, solution, strict=True)) if mine != right]
    assert len(parts) >= 2
    for at in parts:
        cells = [*given[:at], solution[at], *given[at + 1 :]]
        assert 0 < grade_cells(found, cells, shut_in_for(found)).points < found.points


@each_wrong_answer
def test_a_wrong_answer_fails_the_cases_that_it_should(lab: str, answer: WrongAnswer, graded: Grading):
    """It costs few cases, or it says why not; and each case says what happened."""
    grade = graded(lab, answer)
    found = failed(grade)
    assert grade.points < grade.out_of
    assert answer.is_caught_by(found), (answer.why, found)
    assert (len(found) > FEW_CASES) == bool(answer.why_so_many), list(found)
    assert [case.name for case in grade.cases if not case.passed and not (case.happened and case.hint)] == []


@each_lab
def test_the_wrong_answers_are_python_and_say_why_they_are_wrong(lab: str):
    cases = {case.name for case in load_lab(lab).cases}
    for answer in wrong_answers(lab).values():
        assert ast.parse(answer.code).body
        assert answer.why.endswith("."), answer.name
        assert answer.why_so_many[-1:] in ("", "."), answer.name
        assert answer.fails <= cases, answer.name


@each_lab_of_the_course
def test_a_case_has_at_most_three_wrong_answers_of_its_own(lab: str):
    """More of them show nothing new: `python -m tools.choosing LAB --write` takes them out."""
    assert surplus(lab) == []


@each_lab_of_the_course
def test_a_case_finds_something_alone_or_says_why_it_stays(lab: str):
    """That `fails_only` is true is tested above."""
    only = [wrong.fails for wrong in wrong_answers(lab).values() if wrong.only]
    alone = {name for fails in only if len(fails) == 1 for name in fails}
    assert {case.name for case in load_lab(lab).cases} - alone == reasons_to_stay(lab).keys()
    assert all(why.endswith(".") for why in reasons_to_stay(lab).values())


def test_the_course_has_labs_that_are_there():
    assert len(IN_COURSE) >= 11
    assert set(IN_COURSE) <= set(LABS)
    assert set(SENTENCES) <= set(LABS)


@each_lab
def test_there_are_answers(lab: str):
    assert len(right_answers(lab)) >= 2
    assert wrong_answers(lab)


@each_lab_of_the_course
def test_there_are_enough_answers(lab: str):
    assert len(right_answers(lab)) >= 3
    assert len(wrong_answers(lab)) >= 20
    assert len(load_lab(lab).cases) >= 8


@each_lab
def test_each_case_has_a_sentence_and_a_hint(lab: str):
    cases = load_lab(lab).cases
    assert all(case.asks.endswith(".") and case.hint.endswith((".", "?")) for case in cases)
    assert all(case.points > 0 for case in cases)
    assert {case.public for case in cases} == {True, False}


@each_lab_of_the_course
def test_the_page_says_what_is_judged_in_public(lab: str):
    page = " ".join((FOLDER / lab / "README.md").read_text(encoding="utf-8").split())
    for case in load_lab(lab).cases:
        assert not case.public or case.asks in page


@each_lab_of_the_course
def test_each_sentence_that_asks_for_something_has_a_case(lab: str):
    master = (FOLDER / lab / "master.py").read_text(encoding="utf-8")
    lines = "\n".join(line.removeprefix("#").strip() for line in master.split("\n"))
    text, quoted = " ".join(lines.split()), SENTENCES[lab]
    assert [words for words in quoted if words not in text] == []
    named = {name for names in quoted.values() for name in names}
    assert named == {case.name for case in load_lab(lab).cases}
    items = re.findall(r"^(?:- |\d\. ).*(?:\n(?!- |\d\. ).+)*", lines, re.MULTILINE)
    assert [item for item in items if not any(words in " ".join(item.split()) for words in quoted)] == []


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
def test_another_run_gives_the_same_grade(lab: str, graded: Grading, shut_in_for: Callable[[Lab], Isolation]):
    found = load_lab(lab)
    for answer in [*right_answers(lab).values(), *wrong_answers(lab).values()][::20]:
        assert graded_once(found, answer, shut_in_for(found)) == graded(lab, answer)


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
        ("# BEGIN SOLUTION\nx", "is not closed"),
    ],
)
def test_marks_that_do_not_pair_are_named(master: str, line: str):
    with pytest.raises(InvalidInput, match=line):
        for_student(master)


def test_the_command_lists_and_checks_the_labs(capsys: pytest.CaptureFixture[str]):
    assert run_command(["labs", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == LABS
    assert run_command(["labs", "build", "--check"]) == 0
    assert run_command(["labs", "build", "l99"]) == 2
    assert "there is no lab 'l99'" in capsys.readouterr().err
