"""What did the run cost?"""

from __future__ import annotations

from zoolab.experiments.records import Run, Score


def measure_cost(run: Run) -> dict[str, Score]:
    """Tokens sent and received, seconds, turns and calls.

    Tokens are None where no reply says them: they are counted by the endpoint, and never guessed.
    Seconds are None for a run that did not end.

    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.records import Case
    >>> found = measure_cost(Run(Case("hello", "Hello!"), run("Hello!", [], Scripted(["Hello!"]))))
    >>> found["tokens_in"], found["turns"], found["calls"], 0 < found["seconds"] < 60
    (None, 1, 0, True)
    """
    trace = run.trace
    replies = {step.turn: step.reply for step in trace.steps if step.reply is not None}
    usages = [reply.usage for reply in replies.values() if reply.usage]
    return {
        "tokens_in": _total([usage.get("prompt_tokens") for usage in usages]),
        "tokens_out": _total([usage.get("completion_tokens") for usage in usages]),
        "seconds": trace.ended,
        "turns": sum(step.kind == "request" for step in trace.steps),
        "calls": len(trace.tool_calls),
    }


def _total(counts: list[object]) -> int | None:
    """A loaded trace may hold anything here."""
    known = [count for count in counts if type(count) is int and count >= 0]
    return sum(known) if known else None
