"""Grading a class: two workers beside one, a thousand in flat memory, a submission beside `otter run`.

python tests/bench/grading_class.py [--submissions 1000] [--otter FOLDER-OF-ITS-COMMANDS]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))
from sums import RIGHT, make_class, make_lab, notebook

WORK = "\ntotal = 0\nfor number in range(4_000_000):\n    total += number * number\n"
OTTER_TEST = """OK_FORMAT = True
test = {"name": "q1", "points": 3, "suites": [{"type": "doctest", "scored": True, "setup": "", "teardown": "",
    "cases": [{"code": ">>> add(412, 377)\\n789", "hidden": False, "locked": False},
              {"code": ">>> add(-412, -377)\\n-789", "hidden": True, "locked": False}]}]}
"""
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def grade(lab: Path, folder: Path, jobs: int, *more: str | Path) -> list[str]:
    """The command that grades a folder."""
    return [sys.executable, "-m", "zoolab", "grade", *map(str, (lab, folder, "--jobs", jobs, *more))]


def timed(command: list[str], **settings: object) -> tuple[float, float]:
    """Seconds on the clock and seconds of CPU of a command and its children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, **settings)  # type: ignore[call-overload]
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def two_workers(lab: Path, root: Path, count: int = 24, rounds: int = 5) -> None:
    """How much faster two are where the submissions compute, beside what the machine gives two processes that
    do the same and nothing else, in turns: a machine that is shared gives less than twice."""
    folder = make_class(root / "busy", {f"{n:03}.py": f"{RIGHT}{WORK}# {n}" for n in range(count)})
    ratios, possible = [], []
    for _ in range(rounds):
        one, two = (between_results(grade(lab, folder, jobs), count) for jobs in (1, 2))
        ratios.append(one / two)
        alone, both = (plain_processes(at_once) for at_once in (1, 2))
        possible.append(2 * alone / both)
        seconds = f"one worker {one:.1f} s, two {two:.1f} s, {ratios[-1]:.2f} x"
        print(f"{count} submissions that compute: {seconds}; two plain processes {possible[-1]:.2f} x one")
    share = median(ours / most for ours, most in zip(ratios, possible, strict=True))
    print(
        f"two workers: {median(ratios):.2f} x one (median of {rounds}), {share:.2f} of what the machine gives"
    )


def plain_processes(at_once: int, times: int = 4) -> float:
    """Seconds for so many processes at once that do the work of a few submissions each."""
    command = [sys.executable, "-c", WORK * times]
    began = time.perf_counter()
    children = [subprocess.Popen(command) for _ in range(at_once)]
    assert [child.wait() for child in children] == [0] * at_once
    return time.perf_counter() - began


def between_results(command: list[str], count: int) -> float:
    """Seconds from the fourth of so many results to the last but two: all workers are at it."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    times = [time.perf_counter() for _line in process.stdout][:count]
    assert process.wait() == 0
    return times[-3] - times[3]


def many(lab: Path, root: Path, count: int) -> float:
    """Grade many, watch the memory of the command itself, and return CPU seconds a submission."""
    folder = make_class(root / "many", {f"student{n:04}/l.py": RIGHT for n in range(count)})
    report = root / "report"
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(grade(lab, folder, 2, "--report", report), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    watched, memory = psutil.Process(process.pid), {}
    for number, _line in enumerate(process.stdout, 1):
        if number in (count // 10, count):
            memory[number] = watched.memory_info().rss / 1e6
    assert process.wait() == 0
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    names = [json.loads(line)["name"] for line in (report / "journal.jsonl").read_text().splitlines()]
    assert len(names) == len(set(names)) == count
    each = f"{took / count * 1000:.1f} ms and {cpu / count * 1000:.1f} ms of CPU each"
    print(f"{count} submissions: {took:.1f} s, {each}")
    print("memory of the command: " + ", ".join(f"{mb:.1f} MB after {n}" for n, mb in memory.items()))
    return cpu / count


def otter(commands: Path, root: Path, rounds: int = 3) -> float:
    """CPU seconds of `otter run` on the same submission and task, the zip of tests made beforehand."""
    (root / "tests").mkdir()
    (root / "tests" / "q1.py").write_text(OTTER_TEST)
    cell = {"id": "c1", "metadata": {}, "execution_count": None, "outputs": []}
    book = json.loads(notebook(RIGHT))
    book |= {"nbformat_minor": 5, "metadata": KERNEL, "cells": [{**book["cells"][0], **cell}]}
    (root / "anna.ipynb").write_text(json.dumps(book))
    (root / "out").mkdir()
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    run = [str(commands / "otter")]
    timed([*run, "generate", "-t", "tests", "-o", "tests.zip"], cwd=root, env=environment)
    asked = [*run, "run", "anna.ipynb", "-a", "tests.zip", "-o", "out"]
    found = [timed(asked, cwd=root, env=environment) for _ in range(rounds)]
    points = sum(
        each.get("score", 0) for each in json.loads((root / "out" / "results.json").read_text())["tests"]
    )
    assert points == 3
    print(f"otter run: {median(t for t, _ in found):.2f} s, {median(cpu for _, cpu in found):.2f} s of CPU")
    return median(cpu for _, cpu in found)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--otter", type=Path, help="the folder of the otter command, to compare with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        lab = make_lab(root / "sums")
        two_workers(lab, root)
        ours = many(lab, root, options.submissions)
        if options.otter:
            theirs = otter(options.otter.resolve(), root)
            print(f"a submission costs otter run {theirs / ours:.0f} x the CPU that it costs here")


if __name__ == "__main__":
    main()
