"""The same mistake costs the same, whatever is drawn: every wrong answer has one number of points.

`zoolab labs verify` grades every answer with ten seeds, which takes more than an hour. Here some answers of
each lab are graded with two seeds; `test_labs.py` grades all of them with one.
"""

from __future__ import annotations

import shutil
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from shell import Shell
from test_grading_own_lab import CASES, MASTER

from tools.building import build_labs
from tools.mutation.__main__ import equivalents
from tools.mutation.capacity import capacity_mutants_of_cells
from tools.mutation.mutants import mutants_of_cells
from tools.seeds import answers_of, verdict
from tools.wrong_answers import right_answers
from zoolab.files import course_folder
from zoolab_grader import lab_names
from zoolab_grader.labs import load_lab
from zoolab_grader.submissions import read_cells

WRONG = """[{name}]
why = "It is."
fails = ["adds_up"]
change = '''
-    return sum(convert(price) for price in prices)
+    return {code}
'''
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", lab_names())
def test_the_draw_decides_nothing(name: str):
    wrong = [answer for answer in answers_of(name) if not answer.right][::24]
    found = [verdict(name, answer, "ab") for answer in wrong]
    assert {each.answer.name: each.points for each in found if not each.as_wanted} == {}


def test_a_service_that_is_drawn_twice_costs_nothing_more():
    (wrong,) = (answer for answer in answers_of("l11") if answer.name == "remembers_other_conversations")
    assert verdict("l11", wrong, "01").as_wanted


@pytest.fixture
def totals(tmp_path: Path) -> Path:
    folder = tmp_path / "totals"
    folder.mkdir()
    (folder / "master.py").write_text(MASTER, encoding="utf-8")
    (folder / "cases.py").write_text(CASES, encoding="utf-8")
    build_labs([str(folder)])
    (folder / "wrong.toml").write_text(WRONG.format(name="nothing", code="0"), encoding="utf-8")
    return folder


def test_the_command_prints_a_line_for_each_lab_in_order(totals: Path, capsys: pytest.CaptureFixture[str]):
    slow = shutil.copytree(totals, totals.with_name("slow"))
    with (slow / "wrong.toml").open("a", encoding="utf-8") as file:
        file.write(WRONG.format(name="slow", code="__import__('time').sleep(0.5)"))
    ran = Shell(capsys)("labs", "verify", slow, totals, "--seeds", "2", "--jobs", "2")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "".join(
        f"{lab}: 1 of 1 right answers have all points; {wrong} wrong answers lose points; "
        "the same points with each of 2 seeds; no mutation score\n"
        for lab, wrong in ((slow, "2 of 2"), (totals, "1 of 1"))
    )


def test_answers_that_get_what_they_should_not_are_named(totals: Path, capsys: pytest.CaptureFixture[str]):
    with (totals / "wrong.toml").open("a", encoding="utf-8") as file:
        file.write(WRONG.format(name="right", code="sum(map(convert, prices))"))
        file.write(WRONG.format(name="unlucky", code="sum(map(convert, prices)) - sum(prices) % 2"))
    (totals / "right").mkdir()
    (totals / "right" / "zero.py").write_text("def total(prices, convert): return 0", encoding="utf-8")
    ran = Shell(capsys)("labs", "verify", totals, "--seeds", "6")
    assert ran.code == 1
    assert "1 of 2 right answers have all points (not zero); " in ran.out
    assert "1 of 3 wrong answers lose points (not right, unlucky); " in ran.out
    assert "other points by the seed: unlucky [" in ran.out


SCORES = tomllib.loads((course_folder("labs") / "mutation.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", lab_names())
def test_each_mutant_loses_points_or_is_listed_with_a_reason(name: str):
    measured = SCORES[name]
    made = Counter(
        mutant.name
        for mutant, _ in mutants_of_cells(
            read_cells(right_answers(name)[measured["of"]]), load_lab(name).functions
        )
    )
    listed = equivalents(name, measured["of"])
    assert list((listed - made).elements()) == [], "mutants that the answer does not have any more"
    assert made.total() == measured["mutants"] == measured["killed"] + listed.total()
    assert all(reason.endswith(".") and len(reason.split()) > 5 for reason in measured["equivalent"])


@pytest.mark.parametrize("name", [name for name in SCORES if "capacity" in SCORES[name]])
def test_each_mutant_of_capacity_loses_points_or_is_listed_with_a_reason(name: str):
    measured = SCORES[name]
    cells = read_cells(right_answers(name)[measured["of"]])
    made = Counter(mutant.name for mutant, _ in capacity_mutants_of_cells(cells, load_lab(name).functions))
    listed = equivalents(name, measured["of"], "capacity")
    assert list((listed - made).elements()) == [], "mutants that the answer does not have any more"
    assert made.total() == measured["sizes"] == measured["sizes_killed"] + listed.total()
    assert all(reason.endswith(".") and len(reason.split()) > 5 for reason in measured["capacity"])
