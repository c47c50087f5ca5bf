"""An experiment of scripted runs, beside the loop alone: CPU time and memory. Asserts nothing.

All is done by two processes, once few runs and once many: the difference is what a run costs, the
driver's part included. On two free cores that is also the ratio of the runs a second.

python tests/bench/experiment.py [RUNS ...]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

from loop import Counting, add, bare_loop, recorded_walk

from zoolab import Limits, ToolRegistry
from zoolab.experiments import Case, experiment

#: Calls of each run.
CALLS = (3, 10)
FEW, SIZES = 100, (1_000, 10_000)
WORKERS = 2
_TOOLS = ToolRegistry([add])


def conduct(runs: int, calls: int, journal: Path) -> None:
    """An experiment of so many runs."""
    cases = [Case(str(number), "What is 42 + 58?", _TOOLS) for number in range(100)]
    variants = {"plain": {"limits": Limits(turns=calls + 1)}}
    with ProcessPoolExecutor(WORKERS) as pool:
        options = {"executor": pool, "scorers": (), "progress": False, "journal": journal}
        done = experiment(cases, variants, partial(Counting, calls), runs // len(cases), **options)
    assert len(done) == runs


def several(name: str, times: int, calls: int) -> None:
    """So many runs of a loop, without anything around it."""
    run = {"bare": bare_loop, "walk": recorded_walk}[name]
    for _ in range(times):
        run(calls)


def one(name: str, runs: int, calls: int) -> None:
    """So many runs, in processes; prints the most memory of the driver, and the size of the journal."""
    size = 0
    if name == "experiment":
        with tempfile.TemporaryDirectory() as folder:
            journal = Path(folder) / "runs.jsonl"
            conduct(runs, calls, journal)
            size = journal.stat().st_size
    else:
        with ProcessPoolExecutor(WORKERS) as pool:
            list(pool.map(several, [name] * WORKERS, [runs // WORKERS] * WORKERS, [calls] * WORKERS))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, size)


def cost(name: str, runs: int, calls: int) -> tuple[float, float, float]:
    """CPU seconds of so many runs, with peak memory in MB and the journal's bytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run(
        [sys.executable, __file__, name, str(runs), str(calls)], stdout=subprocess.PIPE, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak, size = map(float, told.stdout.split())
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, peak, size


def per_run(name: str, runs: int, calls: int) -> tuple[float, float, float]:
    """CPU seconds of one run, what it takes to begin left out; peak MB; bytes of the journal a run."""
    few, many = cost(name, FEW, calls), cost(name, runs, calls)
    return (many[0] - few[0]) / (runs - FEW), many[1], many[2] / runs


def line(runs: int, calls: int) -> str:
    """A line of the table: medians of pairs that were measured side by side."""
    repeats = 3 if runs <= 10_000 else 1
    rows = [[per_run(name, runs, calls) for name in ("bare", "walk", "experiment")] for _ in range(repeats)]
    bare, walked, ours = (median(row[at][0] for row in rows) * 1e6 for at in range(3))
    share = median(row[1][0] / row[2][0] for row in rows)
    _, peak, size = rows[0][2]
    times = f"{bare:9.0f} {walked:9.0f} {ours:8.0f} {share:7.2f}"
    return f"{runs:7d} {calls:6d} {times} {peak:9.0f} {size / 1024:12.1f}"


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Print the table."""
    print(f"runs in {WORKERS} processes; share: the recorded walk's part of what a run costs")
    print("   runs  calls   bare us   walk us   run us   share   peak MB   journal kB/run")
    for runs in sizes:
        for calls in CALLS:
            print(line(runs, calls), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] and not sys.argv[1].isdigit():
        one(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(tuple(map(int, sys.argv[1:])) or SIZES)
