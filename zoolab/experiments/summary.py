"""A run in one row: how it ended, and what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.records import Outcome, Verdict

if TYPE_CHECKING:
    from zoolab.trace import Trace

__all__ = ["summary_of"]


def summary_of(trace: Trace) -> dict[str, Any]:
    """How a run ended (`outcome`, `error`, `said`, the final text) and what it took.

    `turns` are requests; `calls` are those that the model asked for, `errors` those of them that were
    refused or failed; `duration_ms` is of the whole run; tokens are as the endpoint counted them, None
    where it did not.

    >>> from zoolab import Scripted, run
    >>> summary = summary_of(run("Hi", [], Scripted(["Hello"])))
    >>> summary["outcome"], summary["turns"], summary["calls"], summary["tokens_in"]
    ('answer', 1, 0, None)
    """
    steps = trace.steps
    kinds = [step.kind for step in steps]
    usages = {id(reply): reply.usage for step in steps if (reply := step.reply) is not None and reply.usage}
    failed = 0
    for step in steps:
        record: Any = step.record
        kind = type(record)
        if kind is Verdict or kind is Outcome:
            failed += not record.ok
    return {
        "outcome": trace.outcome,
        "error": trace.error,
        "said": trace.answer,
        "turns": kinds.count("request"),
        "steps": len(steps),
        "calls": kinds.count("validate"),
        "errors": failed,
        "duration_ms": None if trace.ended is None else round(trace.ended * 1e3, 3),
        "tokens_in": _total([*usages.values()], "prompt_tokens"),
        "tokens_out": _total([*usages.values()], "completion_tokens"),
    }


def _total(usages: list[Any], name: str) -> int | None:
    counts = [count for usage in usages if usage and type(count := usage.get(name)) is int and count >= 0]
    return sum(counts) if counts else None
