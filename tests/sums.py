"""A small lab and its submissions, for the tests of grading a class."""

from __future__ import annotations

import json
from pathlib import Path

CASES = '''"""The cases of a lab of tests: sums."""

from __future__ import annotations

from random import Random

from zoolab_grader import Lab, Student, Wrong, case

LAB = Lab("sums", "Sums <of> numbers", functions=("add",), seconds=5.0)


def _adds(student: Student, a: int, b: int) -> None:
    if student.call("add", a, b).value != a + b:
        raise Wrong("the sum of two numbers was another number")


@case(points=1, hint="Use +.", public=True)
def adds(student: Student, chance: Random) -> None:
    """`add(a, b)` returns the sum of two numbers."""
    _adds(student, chance.randrange(10**5, 10**6), chance.randrange(10**5, 10**6))


@case(points=2, hint="Look at the sign.")
def adds_negatives(student: Student, chance: Random) -> None:
    """`add` also adds numbers below 0."""
    _adds(student, -chance.randrange(10**5, 10**6), -chance.randrange(10**5, 10**6))
'''
RIGHT = "def add(a, b):\n    return a + b\n"
HALF = "def add(a, b):\n    return abs(a) + abs(b)\n"
WRONG = "def add(a, b):\n    return 0\n"
POINTS = {RIGHT: 3, HALF: 1, WRONG: 0}


def make_lab(folder: Path, cases: str = CASES) -> Path:
    """A folder of one's own with a `cases.py`."""
    folder.mkdir(exist_ok=True)
    (folder / "cases.py").write_text(cases, encoding="utf-8")
    return folder


def make_class(folder: Path, codes: dict[str, str]) -> Path:
    """A folder of submissions; a name that ends in .ipynb becomes a notebook."""
    for name, code in codes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(notebook(code) if path.suffix == ".ipynb" else code, encoding="utf-8")
    return folder


def notebook(code: str) -> str:
    """A notebook with one cell."""
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "source": code}]})


def journal(folder: Path) -> list[str]:
    """The names of what was graded, in the order in which it was."""
    lines = (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["name"] for line in lines]
