"""A lab of one's own, as `labs/README.md` says it is written: built, checked, graded, its mistakes named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from shell import Shell

from zoolab import check
from zoolab.errors import InvalidInput
from zoolab.files import course_folder
from zoolab_grader.labs import load_lab

GUIDE = (course_folder("labs") / "README.md").read_text(encoding="utf-8")
MASTER, CASES = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    folder = tmp_path / "totals"
    folder.mkdir()
    (folder / "master.py").write_text(MASTER, encoding="utf-8")
    (folder / "cases.py").write_text(CASES, encoding="utf-8")
    return folder


def test_the_guide_s_lab_is_built_checked_and_graded(shell, lab, monkeypatch):
    built = shell("labs", "build", lab)
    assert built.code == 0
    assert built.out.splitlines() == [f"{lab / name}: built" for name in ("totals.ipynb", "solution.ipynb")]
    assert shell("labs", "build", lab, "--check").code == 0
    graded = shell("grade", lab, lab / "solution.ipynb", lab / "totals.ipynb", "--jobs", "1").out
    assert "solution.ipynb  3 of 3\n" in graded
    assert "totals.ipynb  0 of 3  not adds_up, nothing_costs_nothing\n" in graded
    monkeypatch.chdir(lab)
    assert [case.happened for case in check(".", lab / "totals.ipynb").failed] == [
        "`convert` was not asked once for each price, in order"
    ]


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ("x = 1\n", "has no attribute 'LAB'"),
        (CASES.partition("@case")[0], "has no case"),
        (re.sub(r'    """The total of no.*\n', "", CASES), "nothing_costs_nothing"),
        (CASES.replace("LAB =", "LAB ="[:-1]), "SyntaxError"),
    ],
)
def test_cases_that_describe_no_lab_say_what_is_missing(lab, cases, said):
    (lab / "cases.py").write_text(cases, encoding="utf-8")
    with pytest.raises(InvalidInput, match=said):
        load_lab(str(lab))


def test_a_master_that_cannot_be_built_is_named(shell, lab):
    (lab / "master.py").write_text(MASTER.replace("# END SOLUTION", ""), encoding="utf-8")
    ran = shell("labs", "build", lab)
    assert (ran.code, ran.err) == (
        2,
        f"zoolab: {lab / 'master.py'}: a solution block is not closed; expected # END SOLUTION;"
        " correct its markers of solutions\n",
    )
    (lab / "master.py").unlink()
    assert "expected the lab's master.py" in shell("labs", "build", lab).err
