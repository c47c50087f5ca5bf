"""A submission in full isolation, beside a fresh `python` that executes the same code. Asserts nothing.

python tests/bench/grading.py
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median

from zoolab_grader import Lab, Student, Wrong, case, grade_cells
from zoolab_grader.isolation import Isolation, shut_in

ROUNDS = 25
IN_A_ROW = 40
CODE = """
import json, re
from dataclasses import dataclass

@dataclass
class Call:
    name: str
    arguments: str

def total(texts):
    calls = [Call(**json.loads(text)) for text in texts]
    return sum(int(found) for call in calls for found in re.findall(r"[0-9]+", call.arguments))
"""
ARGUMENT = ['{"name": "add", "arguments": "a=1 b=2"}'] * 10
BUSY = "def total(texts):\n    return sum(i * i for i in range(600_000)) * 0 + 30\n"


@case(points=1, hint="Add the numbers.")
def adds(student: Student, _chance: Random) -> None:
    """`total` adds the numbers in the arguments of calls."""
    if student.call("total", ARGUMENT).value != 30:
        raise Wrong("the sum is another")


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds: most of the work is done by other processes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def a_lab(uses: tuple[str, ...]) -> Lab:
    """A lab of one case."""
    return Lab("bench", "Bench", ("total",), uses=uses, cases=(adds,))


def compare(label: str, uses: tuple[str, ...], rounds: int) -> None:
    """One line of the table."""
    imports = "".join(f"import {name}\n" for name in uses)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.py"
        file.write_text(imports + CODE)
        program = (
            f"names = {{}}\nexec(open({str(file)!r}).read(), names)\nassert names['total']({ARGUMENT}) == 30"
        )
        fresh = [sys.executable, "-c", program]
        with shut_in(a_lab(uses)) as isolation:
            given = f"without {', '.join(isolation.missing)}" if isolation.missing else "full isolation"
            pairs = [_pair(isolation, uses, fresh) for _ in range(rounds + 1)][1:]
    theirs, ours = (median(column) for column in zip(*pairs, strict=True))
    ratio = median(our / their for their, our in pairs)
    print(f"{label:<28} {theirs * 1e3:>14.1f} {ours * 1e3:>14.1f} {ratio:>8.2f}   {given}")


def _pair(isolation: Isolation, uses: tuple[str, ...], fresh: list[str]) -> tuple[float, float]:
    def ours() -> None:
        imports = "".join(f"import {name}\n" for name in uses)
        assert grade_cells(a_lab(uses), [imports + CODE], isolation).points == 1

    return seconds(lambda: subprocess.run(fresh, check=True)), seconds(ours)


def grade_in_a_row(code: str, ready: multiprocessing.Barrier | None = None) -> float:
    """Seconds for many submissions, one after the other, in one process."""
    with shut_in(a_lab(())) as isolation:
        grade_cells(a_lab(()), [code], isolation)
        if ready is not None:
            ready.wait()
        return seconds(lambda: [grade_cells(a_lab(()), [code], isolation) for _ in range(IN_A_ROW)])


def _work(code: str, ready: multiprocessing.Barrier, out: multiprocessing.SimpleQueue[float]) -> None:
    out.put(grade_in_a_row(code, ready))


def two_workers(code: str) -> float:
    """Seconds for twice as many, by two processes at once."""
    context = multiprocessing.get_context("spawn")
    ready, out = context.Barrier(2), context.SimpleQueue()
    children = [context.Process(target=_work, args=(code, ready, out)) for _ in range(2)]
    for child in children:
        child.start()
    took = max(out.get() for _ in children)
    for child in children:
        child.join()
    return took


def main() -> None:
    """Print the tables."""
    print(f"{'one submission, medians':<28} {'python, ms':>14} {'zoolab, ms':>14} {'ratio':>8}")
    compare("standard library only", (), ROUNDS)
    compare("a lab that uses pandas", ("pandas",), 5)
    for label, code in (("short", CODE), ("CPU-bound", BUSY)):
        one, two = grade_in_a_row(code), two_workers(code)
        alone = f"{IN_A_ROW / one:.0f} a second by one"
        print(f"two workers, {label} submissions: {2 * one / two:.2f} x one ({alone})")


if __name__ == "__main__":
    main()
