"""The table of features: every name in it exists, and so does every test."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from zoolab.commands.cli import run_command

TESTS = Path(__file__).parent
TABLE = TESTS.parent / "notebooks" / "reference.md"


class Row(NamedTuple):
    feature: str
    name: str
    test: str


def rows(text: str) -> list[Row]:
    """The rows of all tables, without their heads."""
    found = re.findall(r"^\| (.+?) \| `([^`]+)` \| `([^`]+)` \|$", text, re.MULTILINE)
    return [Row(*row) for row in found]


def resolve(name: str) -> object:
    """The object of a dotted name; raises what is missing."""
    module, rest = name, []
    while True:
        try:
            found: object = import_module(module)
            break
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
            if not module:
                raise
    for part in rest:
        found = getattr(found, part)
    return found


@cache
def functions_of(file: str) -> set[str]:
    """The names of the test functions of a file."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


ROWS = rows(TABLE.read_text(encoding="utf-8"))


def test_every_line_of_the_tables_is_read():
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    heads = [line for line in lines if line.startswith(("| feature", "| ---"))]
    assert len(ROWS) == len(lines) - len(heads) > 80


@pytest.mark.parametrize("row", ROWS, ids=[row.feature for row in ROWS])
def test_its_name_exists(row, capsys):
    if " " in row.name:
        with pytest.raises(SystemExit, match="0"):
            run_command([*row.name.split()[1:], "--help"])
        assert capsys.readouterr().out.startswith(f"usage: {row.name}")
    else:
        assert resolve(row.name) is not None


@pytest.mark.parametrize("row", ROWS, ids=[row.feature for row in ROWS])
def test_its_test_exists(row):
    file, _, function = row.test.partition("::")
    assert (TESTS / file).is_file()
    assert not function or function in functions_of(file)


@pytest.mark.parametrize("name", ["zoolab.Toool", "zoolab.Trace.to_pdf", "zoolab.no_such_room.thing"])
def test_a_name_that_does_not_exist_is_found(name):
    with pytest.raises(AttributeError):
        resolve(name)
