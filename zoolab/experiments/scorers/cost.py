"""What did the run cost?"""

from __future__ import annotations

from collections.abc import Mapping

from zoolab.experiments.records import Run, Score
from zoolab.limits import Price
from zoolab.runs import Trace
from zoolab.trace.summary import replies_of, tokens_used


def measure_cost(run: Run, prices: Mapping[str, Price] | None = None) -> dict[str, Score]:
    """Tokens sent and received, seconds, turns and calls; with `prices`, by model, the `cost` too.

    Tokens hold those of sub-agents. They are None if no reply says them: the endpoint counts them, and
    zoolab never guesses; the cost is None if a reply has no tokens, or its model no price. A scorer with
    prices is `functools.partial(measure_cost, prices={"gpt-x": Price(input=2.5, output=10.0)})`.
    Seconds are None for a run that did not end.

    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.records import Case
    >>> found = measure_cost(Run(Case("hello", "Hello!"), run("Hello!", [], Scripted(["Hello!"]))))
    >>> found["tokens_in"], found["turns"], found["calls"], 0 < found["seconds"] < 60
    (None, 1, 0, True)
    """
    trace = run.trace
    sent, received = tokens_used(trace.steps)
    money: dict[str, Score] = {} if prices is None else {"cost": _cost(trace, prices)}
    return {
        **money,
        "tokens_in": sent,
        "tokens_out": received,
        "seconds": trace.ended,
        "turns": sum(step.kind == "request" for step in trace.steps),
        "calls": len(trace.tool_calls),
    }


def _cost(trace: Trace, prices: Mapping[str, Price]) -> float | None:
    total = 0.0
    for reply in replies_of(trace.steps):
        price = prices.get(reply.model or "")
        if price is None or not reply.usage:
            return None
        total += price.of(reply.usage)
    return total
