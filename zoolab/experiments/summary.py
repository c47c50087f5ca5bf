"""A run in one row: how it ended, and what it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from zoolab.records import KINDS, Kind, Outcome, Step, Verdict

if TYPE_CHECKING:
    from zoolab.trace import Trace

__all__ = ["by_kind", "summary_of"]

_JUDGED: tuple[Kind, ...] = ("validate", "execute")
_WITH_OK = (Verdict, Outcome)


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
    replies = {id(reply): reply for step in of["tool_call"] if (reply := step.reply)}
    usages = [reply.usage for reply in replies.values() if reply.usage]
    # By type, since an `execute` step may hold a decision.
    judged: list[Any] = [step.record for kind in _JUDGED for step in of[kind]]
    failed = [it for it in judged if type(it) in _WITH_OK and not it.ok]
    return {
        "outcome": trace.outcome,
        "error": trace.error,
        "said": trace.answer,
        "turns": len(of["request"]),
        "steps": len(trace.steps),
        "calls": len(of["validate"]),
        "errors": len(failed),
        "duration_ms": None if trace.ended is None else round(trace.ended * 1e3, 3),
        "tokens_in": _total(usages, "prompt_tokens"),
        "tokens_out": _total(usages, "completion_tokens"),
    }


def _total(usages: list[Any], name: str) -> int | None:
    counts = [count for usage in usages if usage and type(count := usage.get(name)) is int and count >= 0]
    return sum(counts) if counts else None
