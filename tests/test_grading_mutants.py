"""Wrong answers as changes of right ones: expanded, graded, and what is wrong in a `wrong.toml` is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import Shell
from test_grading_own_lab import CASES, GUIDE, MASTER

from tools.building import build_labs
from tools.wrong_answers import changed, wrong_answers
from zoolab.errors import InvalidInput
from zoolab_grader import grade_cells
from zoolab_grader.isolation import shut_in
from zoolab_grader.labs import load_lab

(EXAMPLE,) = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
TABLE = '[one]\nwhy = "Wrong."\nfails = ["adds_up"]\n'
LINES = st.lists(st.sampled_from("abcde"), max_size=6)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    folder = tmp_path / "totals"
    folder.mkdir()
    (folder / "master.py").write_text(MASTER, encoding="utf-8")
    (folder / "cases.py").write_text(CASES, encoding="utf-8")
    build_labs([str(folder)])
    return folder


def test_the_guides_example_is_caught(lab: Path):
    assert wrong_answers(str(lab)) == {}
    (lab / "wrong.toml").write_text(EXAMPLE, encoding="utf-8")
    (wrong,) = wrong_answers(str(lab)).values()
    totals = load_lab(str(lab))
    with shut_in(totals) as isolation:
        found = grade_cells(totals, [wrong.code], isolation)
    assert wrong.is_caught_by({case.name for case in found.cases if not case.passed})
    assert 0 < found.points < found.out_of


def test_the_command_says_which_case_finds_what_and_which_is_of_no_use(lab: Path, capsys):
    always = 'change = """\n-    return sum(convert(price) for price in prices)\n+    return {}\n"""\n'
    wrong = {"zero": "0", "none": "None", "right": "sum(map(convert, prices))"}
    tables = (
        f'["{name}"]\nwhy = "It is."\nfails = ["adds_up"]\n{always.format(code)}'
        for name, code in wrong.items()
    )
    (lab / "wrong.toml").write_text("\n".join((EXAMPLE, *tables)), encoding="utf-8")
    ran = Shell(capsys)("labs", "cases", lab)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines() == [
        "adds_up: asks_twice (alone), zero, none",
        "nothing_costs_nothing: zero, none",
        "",
        "totals: 4 wrong answers, 2 cases",
        "questionable, since no wrong answer fails it alone: nothing_costs_nothing",
        "found by no case: right",
    ]


def test_the_command_names_a_verdict_that_is_not_as_it_should_be(lab: Path, capsys):
    (lab / "wrong.toml").write_text(EXAMPLE.replace("adds_up", "nothing_costs_nothing"), encoding="utf-8")
    ran = Shell(capsys)("labs", "cases", lab)
    assert ran.code == 1
    assert "other cases fail than wrong.toml says: asks_twice" in ran.out


def test_an_answer_may_be_a_change_of_a_file_or_code_of_its_own(lab: Path):
    (lab / "right").mkdir()
    (lab / "right" / "short.py").write_text("total = lambda prices, convert: sum(map(convert, prices))\n")
    change = "-total = lambda prices, convert: sum(map(convert, prices))\n+total = None\n"
    text = (
        f"of = 'short'\n{TABLE}change = '''\n{change}'''\n{TABLE.replace('one', 'two')}code = 'total = 1'\n"
    )
    (lab / "wrong.toml").write_text(text, encoding="utf-8")
    assert [wrong.code for wrong in wrong_answers(str(lab)).values()] == ["total = None\n", "total = 1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[one", r"wrong\.toml: "),
        (TABLE, r"\[one\]: the wrong answer needs either a change or code"),
        (f"{TABLE}code = 'x = 1'\nchange = '+x'", "either a change or code"),
        (TABLE.replace("why", "because") + "code = 'x'", "unknown key 'because'"),
        (TABLE.replace("Wrong.", "") + "code = 'x'", "has no reason"),
        (TABLE + "code = 'x'\nfails_only = ['adds_up']", "exactly one verdict"),
        (TABLE.replace('"adds_up"', "") + "code = 'x'", "names no case"),
        (
            f"{TABLE}of = 'nothing'\nchange = '-x'",
            "there is no right answer 'nothing'; expected",
        ),
        (f"{TABLE}change = '-x = 1'", "does not contain"),
        (f"{TABLE}change = 'x = 1'", "before each line"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(lab: Path, text: str, said: str):
    (lab / "wrong.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=said):
        wrong_answers(str(lab))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("-a", r"contains \['a'\] 2 times; expected once; add the line before or after it"),
        ("-c", "does not contain"),
        (" b", "the change leaves"),
        ("+c", "a part of the change has only new lines"),
        (" a\n-b\n\n-b\n+c", "two parts of the change contain the line 'b'"),
    ],
)
def test_a_change_that_does_not_fit_is_named(change: str, said: str):
    with pytest.raises(InvalidInput, match=said):
        changed("a\nb\na", change)


@given(LINES, LINES, LINES, LINES)
def test_a_place_is_replaced_and_nothing_else(
    before: list[str], old: list[str], new: list[str], after: list[str]
):
    old, new = ["first", *old], ["second", *new]
    change = "\n".join([*("-" + line for line in old), *("+" + line for line in new)])
    assert changed("\n".join([*before, *old, *after]), change).split("\n") == [*before, *new, *after]
