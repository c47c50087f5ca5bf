"""What a user finds by Tab and Shift-Tab, and what a type checker knows of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from pkgutil import iter_modules

import pytest

import zoolab

PACKAGES = [
    "zoolab",
    *(f"zoolab.{name}" for name in ("experiments", "inspector", "models", "plots", "toolbox")),
]


def told(code: str) -> list[str]:
    """What a fresh interpreter prints, in words."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_shows_public_names_and_submodules_only(package):
    code = f"import zoolab; it = {package}; print(*dir(it)); [getattr(it, name) for name in dir(it)]"
    names = {name for name in told(code) if not name.startswith("__")}
    module = sys.modules[package] if package in sys.modules else __import__(package, fromlist=["x"])
    inner = {info.name for info in iter_modules(module.__path__) if not info.name.startswith("_")}
    assert names == {*getattr(module, "__all__", ()), *inner}


def test_submodules_need_no_import_of_their_own():
    code = "import sys, zoolab; before = len([name for name in sys.modules if name.startswith('zoolab')])"
    code += "; print(before, zoolab.models.Scripted.__name__, zoolab.errors.InvalidInput.__name__)"
    code += "; print(zoolab.toolbox.starter.starter_tools.__name__, zoolab.plots.SequenceDisplay.__name__)"
    code += "; print(zoolab.datasets.load.__name__, zoolab.repair.RuleRepair.__name__, zoolab.wire.__name__)"
    names = [
        "Scripted",
        "InvalidInput",
        "starter_tools",
        "SequenceDisplay",
        "load",
        "RuleRepair",
        "zoolab.wire",
    ]
    assert told(code) == ["2", *names]


@pytest.mark.parametrize("name", ["Toool", "annotations", "import_module", "_HOMES", "__wrapped__", "a.b"])
def test_what_is_not_there_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=f"module 'zoolab' has no attribute '{name}'"):
        getattr(zoolab, name)


TYPED = """
import zoolab
zoolab.models.Scripted(["Hello"])
zoolab.errors.InvalidInput("x")
zoolab.plots.SequenceDisplay
zoolab.typo  # error
zoolab.models.typo  # error
zoolab.plots.typo  # error
zoolab.experiments.typo  # error
"""


@pytest.mark.slow
def test_a_type_checker_knows_which_names_there_are(tmp_path: Path):
    (tmp_path / "typed.py").write_text(TYPED)
    command = [sys.executable, "-m", "mypy", "--config-file=", "--strict", "--ignore-missing-imports"]
    done = subprocess.run(
        [*command, "typed.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(Path(zoolab.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    wrong = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    expected = {number for number, line in enumerate(TYPED.splitlines(), 1) if "# error" in line}
    assert wrong == expected, done.stdout
