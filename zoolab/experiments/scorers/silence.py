"""Did the run end as if all were well, and was it wrong?"""

from __future__ import annotations

from zoolab.experiments.records import Run, Score
from zoolab.experiments.scorers.success import succeeded


def score_silence(run: Run) -> dict[str, Score]:
    """Whether the run came to an answer without any error, and to a wrong one: what nobody would notice.

    None where the case does not say what is right.

    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.records import Case
    >>> case = Case("sum-1", "What is 42 + 58?", expected_answer=100)
    >>> score_silence(Run(case, run(case.prompt, [], Scripted(["It is 99."]))))
    {'silently_wrong': True}
    """
    right = succeeded(run)
    if right is None:
        return {"silently_wrong": None}
    return {"silently_wrong": not right and run.trace.outcome == "answer" and not run.trace.errors}
