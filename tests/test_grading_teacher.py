"""What a teacher adds by hand, and work that is alike."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from random import Random

import pytest
from shell import Shell
from sums import HALF, RIGHT, make_class, make_lab

from tools.wrong_answers import right_answers
from zoolab.errors import InvalidInput
from zoolab.files import course_folder, read_shipped
from zoolab_grader.gradebook import MANUAL, Manual, read_manual
from zoolab_grader.labs import lab_names
from zoolab_grader.likeness import ALIKE, alike, shape_of
from zoolab_grader.submissions import read_cells


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def table(report: Path) -> dict[str, dict[str, str]]:
    with (report / "grades.csv").open(newline="", encoding="utf-8") as file:
        return {line["name"]: line for line in csv.DictReader(file)}


def test_points_and_comments_survive_every_grading(shell: Shell, tmp_path: Path):
    folder, report = make_class(tmp_path / "class", {"anna.py": RIGHT, "bo.py": HALF}), tmp_path / "report"
    asked = "grade", make_lab(tmp_path / "sums"), folder, "--jobs", "1", "--report", report
    assert shell(*asked).code == 0
    file = report / MANUAL
    assert file.read_text("utf-8") == read_shipped("zoolab_grader", MANUAL)
    assert table(report)["bo.py"]["total"] == "1"
    written = 'late_day = 2\n["bo.py"]\npoints = 4.5\nlate_days = 1\ncomment = "Well <i>named</i>."\n[gone]\n'
    file.write_text(written, "utf-8")
    for again in ((), ("--again",)):
        ran = shell(*asked, *again)
        assert f"{MANUAL} names what has no grade: gone" in ran.out
        assert "mean 3.25" in ran.out
        line = table(report)["bo.py"]
        assert [line[name] for name in ("points", "by_hand", "total")] == ["1", "4.5", "3.5"]
        assert file.read_text("utf-8") == written
    [page] = [each for each in (report / "students").iterdir() if each.name.startswith("bo")]
    assert "Well &lt;i&gt;named&lt;/i&gt;." in page.read_text("utf-8")
    make_class(folder, {"bo.py": RIGHT})  # handed in anew
    shell(*asked)
    assert table(report)["bo.py"]["total"] == "5.5"


def test_the_example_says_nothing_until_its_signs_are_taken_away(tmp_path: Path):
    (tmp_path / MANUAL).write_text(read_shipped("zoolab_grader", MANUAL), "utf-8")
    assert read_manual(tmp_path) == {}
    lines = [
        line.removeprefix("# ")
        for line in read_shipped("zoolab_grader", MANUAL).splitlines()
        if " = " in line or "[" in line
    ]
    (tmp_path / MANUAL).write_text("\n".join(lines), "utf-8")
    [(name, manual)] = read_manual(tmp_path).items()
    assert (name, manual.points, manual.late_days, manual.late) == ("anna/l1.ipynb", 1.5, 2, 2)


def test_nobody_gets_less_than_nothing():
    assert Manual(late_days=9, late=18).total(10) == 0
    assert Manual().total(-1) == -1  # a lab may take points off


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "cannot read"),
        ("late_day = -1", "late_day is -1"),
        ("late_day = nan", "late_day is nan"),
        ('["a"]\npoints = true', "points is True"),
        ('["a"]\npoints = "2"', "points is '2'"),
        ('["a"]\nlate_days = -1', "late_days is -1"),
        ('["a"]\ncomment = 1', "the comment is not text"),
        ('["a"]\npoint = 1', "'a' is not known"),
        ("a = 1", "'a' is not known"),
    ],
)
def test_what_is_wrong_in_it_is_said_before_anything_is_graded(text, said, shell, tmp_path):
    (tmp_path / MANUAL).write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=said):
        read_manual(tmp_path)
    folder = make_class(tmp_path / "class", {"anna.py": RIGHT})
    ran = shell("grade", make_lab(tmp_path / "sums"), folder, "--jobs", "1", "--report", tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_gives_nobody_points(tmp_path: Path):
    (tmp_path / MANUAL).write_text('["mallory.py"]\npoints = 100', "utf-8")
    os.chown(tmp_path / MANUAL, 12345, -1)
    with pytest.raises(InvalidInput, match="belongs to another user"):
        read_manual(tmp_path)


def test_renamed_and_rearranged_work_is_alike_and_other_right_answers_are_not():
    for lab in lab_names():
        given = shape_of(read_cells(course_folder("labs") / lab / f"{lab}.ipynb"))
        answers = {name: read_cells(path) for name, path in right_answers(lab).items()}
        copied = [
            "# all mine\n" + cell.replace("messages", "talk").replace("4", "5")
            for cell in answers["solution"]
        ]
        shapes = {name: shape_of(cells) for name, cells in {**answers, "copied": copied}.items()}
        found = {(one, other) for _, one, other in alike(shapes, given)}
        assert found == {("copied", "solution")}, lab


def test_each_pair_that_is_alike_is_found_among_many():
    chance = Random(7)
    shapes = {f"other{at}": frozenset(chance.sample(range(2**32), 200)) for at in range(50)}
    wanted = []
    for changed in range(0, 60, 3):
        own = chance.sample(range(2**32), 200)
        copied = {*own[changed:], *chance.sample(range(2**32), changed)}
        shapes |= {f"a{changed}": frozenset(own), f"b{changed}": frozenset(copied)}
        if len(copied & set(own)) / len(copied | set(own)) >= ALIKE:
            wanted.append((f"a{changed}", f"b{changed}"))
    assert [(one, other) for _, one, other in alike(shapes)] == wanted
    assert 5 < len(wanted) < 15


def test_a_third_of_a_class_that_shares_its_work_is_found():
    chance, shared = Random(8), range(100)
    shapes = {f"other{at}": frozenset(chance.sample(range(1_000, 2**32), 200)) for at in range(7)}
    copies = {f"copy{at}": frozenset([*shared, 200 + at]) for at in range(5)}
    assert len(alike({**shapes, **copies})) == 10


def test_what_students_were_given_is_not_alike():
    cells = read_cells(course_folder("labs") / "l1" / "l1.ipynb")
    given = shape_of(cells)
    shapes = {name: shape_of([*cells, f"def {name}(): pass"]) for name in ("a", "b")}
    assert (alike(shapes, given), len(alike(shapes))) == ([], 1)


def test_what_is_no_python_has_a_shape():
    assert shape_of(["def f(:\n  '''", "\x00", "  x\n y", "x = '\ud800'"]) is not None
    assert len(shape_of(["x = (1 + " * 100_000])) > 0


def test_the_overview_names_work_that_is_alike(shell: Shell, tmp_path: Path):
    body = "\n".join(f"    a = a + {at} if a > {at} else a - b * {at}" for at in range(5))
    code = f"def add(a, b):\n    c = a + b\n{body}\n    return c\n"
    renamed = code.replace("c ", "sum_of_both ").replace("return c", "return sum_of_both") + "\n\n# mine\n"
    folder = make_class(tmp_path / "class", {"anna.py": code, "bo.py": renamed, "carl.py": RIGHT})
    shell("grade", make_lab(tmp_path / "sums"), folder, "--jobs", "1", "--report", tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    section = page.partition("Similar code")[2].partition("</section>")[0]
    assert section.count("<li>") == 1
    assert "100%: " in section
    assert ("anna.py" in section, "bo.py" in section, "carl.py" in section) == (True, True, False)
    assert ALIKE < 1
