"""A run in one row: how it ended, and what it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from zoolab.records import KINDS, Kind, Outcome, Step

if TYPE_CHECKING:
    from zoolab.trace import Trace

__all__ = ["by_kind", "summary_of"]


def by_kind(steps: Iterable[Step]) -> dict[Kind, list[Step]]:
    """The steps of each kind, in their order.

    >>> by_kind([])["request"]
    []
    """
    found: dict[Kind, list[Step]] = {kind: [] for kind in KINDS}
    for step in steps:
        found[step.kind].append(step)
    return found


def summary_of(trace: Trace, of: Mapping[Kind, list[Step]]) -> dict[str, Any]:
    """How a run ended (`outcome`, `error`, `said`, the final text) and what it took; `of` are its steps.

    `turns` are requests; `calls` are those that the model asked for, `errors` those of them that were
    refused or failed; `duration_ms` is of the whole run; tokens are as the endpoint counted them, None
    where it did not.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted(["Hello"]))
    >>> summary = summary_of(trace, by_kind(trace.steps))
    >>> summary["outcome"], summary["turns"], summary["calls"], summary["tokens_in"]
    ('answer', 1, 0, None)
    """
    first = [step.reply for step in of["tool_call"] if not step.slot]
    usages = [reply.usage for reply in first if reply is not None and reply.usage]
    verdicts: list[Any] = [step.record for step in of["validate"]]
    # Of an `execute` step the record may be a decision.
    outcomes = [step.record for step in of["execute"] if isinstance(step.record, Outcome)]
    refused, failed = [it for it in verdicts if not it.ok], [it for it in outcomes if it.error]
    return {
        "outcome": trace.outcome,
        "error": trace.error,
        "said": trace.answer,
        "turns": len(of["request"]),
        "steps": len(trace.steps),
        "calls": len(of["validate"]),
        "errors": len(refused) + len(failed),
        "duration_ms": None if trace.ended is None else round(trace.ended * 1e3, 3),
        "tokens_in": _total(usages, "prompt_tokens"),
        "tokens_out": _total(usages, "completion_tokens"),
    }


def _total(usages: list[Mapping[str, Any]], name: str) -> int | None:
    counts = [count for usage in usages if type(count := usage.get(name)) is int and count >= 0]
    return sum(counts) if counts else None
