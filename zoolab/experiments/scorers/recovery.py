"""Where something went wrong, did the run still get there?"""

from __future__ import annotations

from zoolab.experiments.records import Run, Score
from zoolab.experiments.scorers.success import succeeded


def score_recovery(run: Run) -> dict[str, Score]:
    """How many errors there were, and whether the run succeeded all the same.

    `recovered` is None where there was no error, or where the case does not say what is right.

    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.records import Case
    >>> case = Case("capital", "Capital of France?", expected_answer="Paris")
    >>> model = Scripted([[("look_up", {"country": "France"})], "It is Paris."])
    >>> score_recovery(Run(case, run(case.prompt, [], model)))
    {'errors': 1, 'recovered': True}
    """
    errors = len(run.trace.errors)
    return {"errors": errors, "recovered": succeeded(run) if errors else None}
