"""The four recipes of CONTRIBUTING.md, followed to the letter in a copy of the tree: their tests pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from zoolab import __version__

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LABS = (ROOT / "labs" / "README.md").read_text(encoding="utf-8")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a checkout"),
]


def recipe(name: str) -> str:
    """The text of a recipe."""
    return GUIDE.split(f"## Add {name}\n")[1].split("\n## ")[0]


def blocks(text: str, language: str = "python") -> list[str]:
    """The blocks of code in a text."""
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def inserted(path: Path, before: str, text: str) -> None:
    """Put a text before the first line that begins so."""
    old = path.read_text(encoding="utf-8")
    head, found, tail = old.partition(before)
    assert found, (path, before)
    path.write_text(f"{head}{text}{found}{tail}", encoding="utf-8")


def is_named(copy: Path, block: str) -> None:
    """Put the entry point of a block under its heading in `pyproject.toml`."""
    heading, line = block.splitlines()
    path = copy / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    text = text.replace(f"{heading}\n", f"{heading}\n{line}\n") if heading in text else f"{text}\n{block}"
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the files of the checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    made = tmp_path / "tree"
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_bytes((ROOT / name).read_bytes())
    return made


def environment(copy: Path) -> dict[str, str]:
    """The environment in which the copy is what is installed, with its entry points."""
    site = copy.parent / "site"
    about = site / f"zoolab-{__version__}.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    told = f"Metadata-Version: 2.1\nName: zoolab\nVersion: {__version__}\n"
    (about / "METADATA").write_text(told, encoding="utf-8")
    project = tomllib.loads((copy / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {**project["entry-points"], "console_scripts": project["scripts"]}
    lines = [
        text for group, all_of in groups.items() for text in (f"[{group}]", *map(" = ".join, all_of.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    path = os.pathsep.join(map(str, (copy, copy / "plugins", site)))
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def follow(copy: Path, text: str, name: str = "NAME") -> None:
    """Run the commands that a recipe names, without its installing."""
    commands = re.findall(r"^ {7}\.venv/bin/(pytest|zoolab) (.+)$", text, re.MULTILINE)
    assert any(program == "pytest" for program, _ in commands)
    for program, words in commands:
        passes(copy, program, *words.replace("NAME", name).split())


#: Tests that speak of all APIs, faults, tools or labs: what a recipe adds must not make them fail.
BESIDE = {
    "a tool": ["tests/test_lint.py", "-k", "tool"],
    "a fault": ["tests/test_faulty.py", "-k", "table or every or each"],
    "an API": ["tests/test_wire_warnings.py", "tests/test_show_wires.py"],
    "a lab": ["tests/test_teaching.py", "-k", "weeks or labs or oral or lab"],
}


def passes(copy: Path, program: str, *words: str) -> None:
    """Run a program in the copy."""
    quiet = ["-q", "-n0", "-p", "no:cacheprovider"] if program == "pytest" else []
    done = subprocess.run(
        [sys.executable, "-m", program, *quiet, *words],
        cwd=copy,
        env=environment(copy),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{program} {words}\n{done.stdout[-3000:]}{done.stderr[-1000:]}"


def breaks_nothing_else(copy: Path, thing: str) -> None:
    """Run what else speaks of such things, and the linter."""
    passes(copy, "ruff", "format", "--no-cache", "plugins", "tests")
    passes(copy, "ruff", "check", "--no-cache", ".")
    passes(copy, "pytest", *BESIDE[thing])


def test_a_tool_is_added(copy: Path) -> None:
    text = recipe("a tool")
    [method], [row] = blocks(text), blocks(text, "text")
    world = copy / "plugins" / "zoolab_course" / "worlds" / "devops.py"
    inserted(world, "    def check_disk_usage", textwrap.indent(method, "    ") + "\n")
    inserted(world, "world.check_disk_usage]", "world.uptime, ")
    inserted(copy / "tests" / "ready_tools.py", '    (\n        *("support"', textwrap.indent(row, "    "))
    follow(copy, text)
    breaks_nothing_else(copy, "a tool")


@pytest.mark.parametrize("thing", ["a fault", "an API"])
def test_what_is_one_file_and_one_entry_point_is_added(thing: str, copy: Path) -> None:
    text = recipe(thing)
    [place] = re.findall(r"here `(plugins/[\w/]+\.py)`", text)
    [code], [entry] = blocks(text), blocks(text, "toml")
    (copy / place).write_text(code, encoding="utf-8")
    is_named(copy, entry)
    follow(copy, text)
    breaks_nothing_else(copy, thing)


def test_a_lab_is_added(copy: Path) -> None:
    folder = copy / "labs" / "totals"
    (folder / "right").mkdir(parents=True)
    own = LABS.split("## A lab of your own")[1]
    master, cases = blocks(own)[:2]
    (folder / "master.py").write_text(master, encoding="utf-8")
    (folder / "cases.py").write_text(cases, encoding="utf-8")
    (folder / "wrong.toml").write_text(blocks(LABS, "toml")[0], encoding="utf-8")
    other = "def total(prices, convert):\n    return sum(map(convert, prices))\n"
    (folder / "right" / "mapped.py").write_text(other, encoding="utf-8")
    follow(copy, recipe("a lab"), "totals")
    breaks_nothing_else(copy, "a lab")


def test_no_recipe_is_left_out() -> None:
    assert re.findall(r"^## Add (.+)$", GUIDE, re.MULTILINE) == ["a tool", "a fault", "an API", "a lab"]
