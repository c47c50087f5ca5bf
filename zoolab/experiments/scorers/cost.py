"""What did the run cost?"""

from __future__ import annotations

from zoolab.experiments.records import Run, Score
from zoolab.trace.summary import tokens_used


def measure_cost(run: Run) -> dict[str, Score]:
    """Tokens sent and received, seconds, turns and calls.

    Tokens hold those of sub-agents. They are None if no reply says them: the endpoint counts them, and
    zoolab never guesses.
    Seconds are None for a run that did not end.

    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.records import Case
    >>> found = measure_cost(Run(Case("hello", "Hello!"), run("Hello!", [], Scripted(["Hello!"]))))
    >>> found["tokens_in"], found["turns"], found["calls"], 0 < found["seconds"] < 60
    (None, 1, 0, True)
    """
    trace = run.trace
    sent, received = tokens_used(trace.steps)
    return {
        "tokens_in": sent,
        "tokens_out": received,
        "seconds": trace.ended,
        "turns": sum(step.kind == "request" for step in trace.steps),
        "calls": len(trace.tool_calls),
    }
