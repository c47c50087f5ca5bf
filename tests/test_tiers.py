"""The tiers: the quick one leaves the long files out; property tests draw new examples only if asked to."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
LONG_FILE = """
import pytest

@pytest.mark.parametrize("lab", ["l3", "l1"])
def test_it(lab): ...

@pytest.mark.sample
def test_once(): ...
"""


PROPERTIES = """
from pathlib import Path
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

@given(st.integers())
def test_a_property(n):
    with Path("drawn").open("a") as drawn:
        drawn.write(f"{n} ")

class Machine(RuleBasedStateMachine):
    @rule()
    def step(self): ...

TestMachine = Machine.TestCase

def test_no_property(): ...
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a long file, a quick one and two labs, all of it committed."""
    for path, text in {
        "tests/test_labs.py": LONG_FILE,
        "tests/test_quick.py": "def test_this(): ...",
        "labs/l3/master.py": "",
        "labs/l1/master.py": "",
        "labs/README.md": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests")
    identity = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "begin"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def collected(project: Path, *words: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    return [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def test_the_long_files_are_left_out(project: Path):
    assert collected(project) == ["test_it[l3]", "test_it[l1]", "test_once", "test_this"]
    assert collected(project, "--quick") == ["test_once", "test_this"]


def test_what_was_changed_or_named_is_run(project: Path):
    (project / "labs" / "l1" / "master.py").write_text("x = 1", encoding="utf-8")
    (project / "labs" / "README.md").write_text("more", encoding="utf-8")
    assert collected(project, "--quick") == ["test_it[l1]", "test_once", "test_this"]
    assert collected(project, "--quick", "tests/test_labs.py") == ["test_it[l3]", "test_it[l1]", "test_once"]


def drawn(project: Path, *words: str) -> str:
    """What a property test draws in one run."""
    (project / "drawn").unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_drawn.py", *words]
    subprocess.run(command, cwd=project, capture_output=True, check=True)
    return (project / "drawn").read_text(encoding="utf-8")


def test_property_tests_draw_the_same_examples_unless_new_ones_are_asked_for(project: Path):
    (project / "tests" / "test_drawn.py").write_text(PROPERTIES, encoding="utf-8")
    first = drawn(project)
    assert drawn(project) == first
    assert drawn(project, "--hypothesis-profile", "new") != drawn(project, "--hypothesis-profile", "new")


def test_the_second_pass_of_ci_runs_every_property_test_and_no_other(project: Path):
    (project / "tests" / "test_drawn.py").write_text(PROPERTIES, encoding="utf-8")
    assert collected(project, "-m", "hypothesis") == ["test_a_property", "runTest"]
