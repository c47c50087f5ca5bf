"""The runs of an experiment, beside the same runs without anything around them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from experiment import several
from loop import Counting, add
from pairs import Effort, Row, compare

from zoolab import Limits, ToolRegistry
from zoolab_study import Case, experiment

RUNS, CALLS = 1_000, 3


def conduct(runs: int) -> None:
    """An experiment of so many runs in one thread, with its journal."""
    tools = ToolRegistry([add])
    cases = [Case(str(number), "What is 42 + 58?", tools) for number in range(runs)]
    variants = {"plain": {"limits": Limits(turns=CALLS + 1)}}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        journal = Path(folder) / "runs.jsonl"
        options = {"executor": pool, "scorers": (), "progress": False, "journal": journal}
        assert len(experiment(cases, variants, partial(Counting, CALLS), **options)) == runs


def rows(effort: Effort) -> Iterator[Row]:
    """Beside the recorded walks alone, and beside the loop by hand."""
    runs = int(RUNS * effort.part)
    for name, beside in (("walk", "the recorded walks alone"), ("bare", "the loop by hand alone")):
        yield compare(
            "experiment",
            f"a run of {CALLS} calls, kept in a journal",
            partial(conduct, runs),
            partial(several, name, runs, CALLS),
            beside,
            effort,
            units=runs,
        )
