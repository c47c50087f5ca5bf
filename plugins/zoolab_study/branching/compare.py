"""Two traces side by side: which steps belong together, where they part, what the difference costs."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

from zoolab.jsontext import excerpt
from zoolab.records import Decision, Outcome, Record, Reply, Request, Result, Step, ToolCall, Verdict
from zoolab.show.wording import totals_of
from zoolab.steps.result import METADATA
from zoolab.text.wording import common_ends, duration
from zoolab.trace.log import TraceLog

#: Past so many comparisons, steps are paired by their position.
_MAX_PRODUCT = 160_000
_NOTHING = -1

Pair = tuple[int, int]


class AlignedTraces(NamedTuple):
    """Two traces, aligned: their steps side by side, the first pair that differs, if one does, and what
    the first trace has more or less than the second."""

    #: -1 if one trace has no such step.
    pairs: list[Pair]
    diverges: Pair | None
    words: str


def compare(one: TraceLog, other: TraceLog) -> AlignedTraces:
    """Align two traces by kind of step, tool and slot; a fork and its parent first by position."""
    same = min(max(_forked(one, other), _forked(other, one)), len(one), len(other))
    pairs = [*((i, i) for i in range(same)), *align(one.steps, other.steps, same)]
    parts = (
        (a, b)
        for a, b in pairs
        if _NOTHING in (a, b) or _content(one.steps[a].record) != _content(other.steps[b].record)
    )
    return AlignedTraces(pairs, next(parts, None), _words(other, one))


def _forked(child: TraceLog, parent: TraceLog) -> int:
    """Return how many steps a fork has in common with this parent, the forked one included."""
    at = child.meta.get("forked_at")
    return at + 1 if child.meta.get("parent") == parent.run_id and type(at) is int else 0


def align(one: list[Step], other: list[Step], start: int = 0) -> Iterator[Pair]:
    """Yield the steps of two runs from `start` on in pairs, -1 if one of them has none."""
    a = [_key(step) for step in one[start:]]
    b = [_key(step) for step in other[start:]]
    head, tail = common_ends(a, b)
    yield from ((i, i) for i in range(start, start + head))
    yield from _aligned(a[head : len(a) - tail], b[head : len(b) - tail], start + head)
    yield from zip(range(len(one) - tail, len(one)), range(len(other) - tail, len(other)), strict=True)


def _key(step: Step) -> tuple[Any, ...]:
    return step.kind, isinstance(step.record, Decision), step.call.name if step.call else None, step.slot


def _aligned(a: list[Any], b: list[Any], start: int) -> Iterator[Pair]:
    if len(a) * len(b) > _MAX_PRODUCT:
        for at, (one, other) in enumerate(zip_longest(a, b), start):
            alone = [(at, _NOTHING)] * (one is not None) + [(_NOTHING, at)] * (other is not None)
            yield from [(at, at)] if one == other else alone
        return
    for operation, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if operation == "equal":
            yield from zip(range(start + i, start + j), range(start + k, start + m), strict=True)
        else:
            yield from ((start + n, _NOTHING) for n in range(i, j))
            yield from ((_NOTHING, start + n) for n in range(k, m))


def _content(record: Record) -> Any:
    """Return what is compared of a record: not its times."""
    match record:
        case Request():
            last = record.prefix[-1] if len(record.prefix) else {}
            content = last.get("content")
            if isinstance(content, str):
                last = {**last, "content": content.partition(METADATA)[0]}
            return len(record.prefix), excerpt(last, 4_000), record.tool_choice, record.tools
        case Reply():
            return record.message
        case ToolCall():
            return record.name, record.arguments
        case Verdict():
            return record.ok, record.arguments, record.problems
        case Outcome():
            return excerpt(record.value, 4_000), record.error
        case Result():
            return record.content.partition(METADATA)[0], record.tool_call_id
        case _:
            return record


def _words(before: TraceLog, after: TraceLog) -> str:
    a = totals_of(before)
    b = totals_of(after)
    tokens = sum((b[name] or 0) - (a[name] or 0) for name in ("tokens_in", "tokens_out"))
    counted = any(totals[name] is not None for totals in (a, b) for name in ("tokens_in", "tokens_out"))
    ms = b["ms"] - a["ms"]
    longer = f"{duration(abs(ms))} {'longer' if ms > 0 else 'shorter'}"
    spent = [f"{tokens:+,} tokens" if tokens else "the same number of tokens"] if counted else []
    return ", ".join(
        (
            _more(len(after) - len(before), "step"),
            *spent,
            "as long" if abs(ms) < 1 else longer,
            _more(len(after.errors) - len(before.errors), "error"),
        )
    )


def _more(number: int, noun: str) -> str:
    if number == 0:
        return f"the same number of {noun}s"
    return f"{abs(number):,} {'more' if number > 0 else 'fewer'} {noun}{'s' * (abs(number) != 1)}"
