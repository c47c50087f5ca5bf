"""An experiment of scripted runs, beside the loop alone: runs a second, CPU time, memory. Asserts nothing.

First how many runs a second two processes do, with an experiment around them and without, in turns. Then
what a run costs, and the driver's memory, as experiments grow.

python tests/bench/experiment.py [RUNS ...]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

from loop import Counting, add, bare_loop, recorded_walk

from zoolab import Limits, ToolRegistry
from zoolab_study import Case, experiment

#: Calls of each run.
CALLS = (3, 10)
RUNS, ROUNDS, WORKERS = 10_000, 9, 2
FEW, SIZES = 100, (1_000, 10_000)
_TOOLS = ToolRegistry([add])


def conduct(pool: Executor, runs: int, calls: int, journal: Path) -> None:
    """An experiment of so many runs."""
    cases = [Case(str(number), "What is 42 + 58?", _TOOLS) for number in range(100)]
    variants = {"plain": {"limits": Limits(turns=calls + 1)}}
    options = {"executor": pool, "scorers": (), "progress": False, "journal": journal}
    done = experiment(cases, variants, partial(Counting, calls), runs // len(cases), **options)
    assert len(done) == runs


def several(name: str, times: int, calls: int) -> None:
    """So many runs of a loop, without anything around it."""
    run = {"bare": bare_loop, "walk": recorded_walk}[name]
    for _ in range(times):
        run(calls)


def spread(pool: Executor, name: str, runs: int, calls: int) -> None:
    """So many runs of a loop on all workers, a few at a time."""
    parts = 20 * WORKERS
    list(pool.map(several, [name] * parts, [runs // parts] * parts, [calls] * parts))


def seconds(work: Callable[[], None]) -> float:
    """How long it takes, on the clock."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turns(calls: int) -> Iterator[tuple[float, float, float]]:
    """Seconds of so many bare loops, of walks, and of the experiment, on the same two processes."""
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(WORKERS) as pool:
        conduct(pool, FEW, calls, Path(folder) / "first.jsonl")
        for number in range(ROUNDS):
            alone = [seconds(partial(spread, pool, name, RUNS, calls)) for name in ("bare", "walk")]
            journal = Path(folder) / f"{number}.jsonl"
            yield alone[0], alone[1], seconds(partial(conduct, pool, RUNS, calls, journal))


def throughput(calls: int) -> str:
    """A line of the first table."""
    rounds = list(in_turns(calls))
    shares = sorted(walks / runs for _, walks, runs in rounds)
    bare, walks, runs = (RUNS / median(each) for each in zip(*rounds, strict=True))
    ratio = median(walks / bare for bare, walks, _ in rounds)
    told = f"{calls:6d} {bare:9,.0f} {walks:9,.0f} {ratio:6.2f} {runs:11,.0f}"
    return f"{told} {median(shares):7.2f}   {shares[0]:.2f} to {shares[-1]:.2f}"


def one(runs: int) -> None:
    """An experiment in processes; prints the most memory of the driver, and the size of the journal."""
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(WORKERS) as pool:
        journal = Path(folder) / "runs.jsonl"
        conduct(pool, runs, CALLS[0], journal)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, journal.stat().st_size)


def cost(runs: int) -> tuple[float, float, float]:
    """CPU seconds of so many runs, with peak memory in MB and the journal's bytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run(
        [sys.executable, __file__, "one", str(runs)], stdout=subprocess.PIPE, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak, size = map(float, told.stdout.split())
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak, size


def growth(runs: int) -> str:
    """A line of the second table; what it takes to begin is left out of a run's time."""
    few, many = cost(FEW), cost(runs)
    each = (many[0] - few[0]) / (runs - FEW) * 1e6
    return f"{runs:9,d} {each:9.0f} {many[1]:9.0f} {many[2] / runs / 1024:15.1f}"


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Print the tables."""
    print(f"runs a second of {WORKERS} processes, {RUNS:,} at a time; share: the experiment's of the walks'")
    print(" calls   by hand    walked  ratio  experiment   share   (all rounds)")
    for calls in CALLS:
        print(throughput(calls), flush=True)
    print(f"\nexperiments of runs of {CALLS[0]} calls")
    print("     runs  CPU us/run   peak MB   journal kB/run")
    for runs in sizes:
        print(growth(runs), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(int(sys.argv[2]))
    else:
        main(tuple(map(int, sys.argv[1:])) or SIZES)
