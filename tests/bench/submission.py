"""A submission in full isolation, beside a fresh `python` that executes the same code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from grading import ARGUMENT, CODE, a_lab
from pairs import Effort, Row, clock_seconds, compare

from zoolab_grader import grade_cells
from zoolab_grader.isolation import Isolation, shut_in

PROGRAM = f"names = {{}}\nexec({CODE!r}, names)\nassert names['total']({ARGUMENT!r}) == 30"


def grade(isolation: Isolation) -> None:
    """One submission, which is right."""
    assert grade_cells(a_lab(()), [CODE], isolation).points == 1


def rows(effort: Effort) -> Iterator[Row]:
    """A small lab of one case, the isolation that this system has."""
    with shut_in(a_lab(())) as isolation:
        kept = f"without {', '.join(isolation.missing)}" if isolation.missing else "full isolation"
        yield compare(
            "grading",
            f"a submission graded, {kept}, on the clock",
            lambda: grade(isolation),
            lambda: subprocess.run([sys.executable, "-c", PROGRAM], check=True),
            "python -c of the same code, no isolation",
            effort,
            clock=clock_seconds,
        )
