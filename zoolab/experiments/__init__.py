"""Cases x variants x models: every run a walk, every finding no surer than it can be.

>>> from zoolab import Scripted, experiment
>>> done = experiment(["Hi"], models={"script": Scripted(["Hello"])}, progress=False)
>>> done.summary[["case_id", "outcome", "turns"]].values.tolist()
[['1', 'answer', 1]]

records.py   Case, Setup and Run
plan.py      which runs there are, and what each is called
conduct.py   experiment()
working.py   one run after the other
asking.py    the cache, the budget, the pace
journal.py   what is kept, a line a run
packing.py   a run as a line, unpacking.py back, and summary.py in short
result.py    Experiment: tables, traces, comparisons
scorers/     what can be said of a run
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoolab.lazy import lazily

if TYPE_CHECKING:
    from zoolab.experiments.compare import Comparison, Comparisons
    from zoolab.experiments.conduct import experiment
    from zoolab.experiments.pacing import Budget, Pace
    from zoolab.experiments.records import UNSAID, Case, Run, Setup
    from zoolab.experiments.result import Experiment

__all__ = [
    "UNSAID",
    "Budget",
    "Case",
    "Comparison",
    "Comparisons",
    "Experiment",
    "Pace",
    "Run",
    "Setup",
    "experiment",
]

if not TYPE_CHECKING:  # a type checker would take any name for one of this package
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "compare": "Comparison Comparisons",
            "conduct": "experiment",
            "pacing": "Budget Pace",
            "records": "UNSAID Case Run Setup",
            "result": "Experiment",
        },
    )
