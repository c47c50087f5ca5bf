"""Traces as a table: one row a step."""

from __future__ import annotations

from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from zoolab.errors import ERROR_CODES
from zoolab.extras import needs
from zoolab.jsontext import excerpt
from zoolab.records import Decision, Fault, Outcome, Reply, Request, Result, Step, Verdict
from zoolab.tokens import Tokens
from zoolab.trace.log import TraceLog
from zoolab.trace.summary import tokens_used

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

COLUMNS = [
    *("run_id", "case_id", "variant", "model", "seed"),
    *("turn", "seq", "step", "slot", "call_id", "attempt", "tool", "arguments", "expected_tool"),
    *("status", "error_code", "error_type", "message", "outcome", "fault", "origin"),
    *("t_start", "duration_ms", "n_messages", "tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning"),
    "tokens_cache_write",
]

_OF_THE_RUN = ("case_id", "variant", "model", "seed", "expected_tool")
_TYPES: dict[str | None, str | None] = {code: row.error_type for code, row in ERROR_CODES.items()}
#: Characters of a text in a cell; a longer one ends with an ellipsis.
MAX_TEXT = 300


def frame_of(traces: Sequence[TraceLog]) -> pd.DataFrame:
    """Return the steps of traces, one row each; see `Trace.to_frame`.

    Columns are taken from all steps at once, which costs little more than to make a frame of them.
    """
    needs("pandas")
    import numpy as np
    import pandas as pd

    def whole(values: Any) -> Any:  # those below 0 are missing
        values = np.array(values, dtype=np.int64)
        return pd.arrays.IntegerArray(values, values < 0)

    steps = [step for trace in traces for step in trace.steps]
    sizes = [len(trace.steps) for trace in traces]
    fields: list[Any] = list(chain.from_iterable(steps))  # laid end to end they come apart fastest
    width = len(Step._fields)
    kinds, turns, slots, records, _, _, calls, replies, attempts = (fields[at::width] for at in range(width))
    started = np.concatenate([np.empty(0), *(np.asarray(trace.started) for trace in traces)])
    durations = np.full(len(steps), np.nan)
    ends = set(accumulate(sizes))
    codes: list[str | None] = [None] * len(steps)
    statuses = ["ok"] * len(steps)
    tokens = np.full((len(steps), 5), -1, dtype=np.int64)
    faulty = any(trace.fault for trace in traces)
    request = 0
    messages: list[str | None] = [None] * len(steps)
    origins: list[str | None] = [None] * len(steps)
    failed: dict[int | None, str] = {}  # what the outcomes of this turn say, for the results that follow
    for seq, (record, reply) in enumerate(zip(records, replies, strict=True)):
        kind = type(record)
        code: str | None = None
        message: str | None = None
        if kind is Request:
            request = seq
            failed = {}
            if seq + 1 not in ends:  # until its reply; other steps cost next to nothing
                durations[seq] = (started[seq + 1] - started[seq]) * 1000
        elif kind is Result:
            code = record.error_code
            message = failed.get(slots[seq], record.content)
        elif kind is Verdict:
            code = record.problems[0].code if record.problems else None
            message = "; ".join(problem.message for problem in record.problems)
            failed[slots[seq]] = message
        elif kind is Outcome:
            durations[seq] = record.duration_ms
            origins[seq] = record.origin or None
            if record.error:
                code = record.error.code
                message = failed[slots[seq]] = record.error.in_full
            faulty = faulty or record.fault is not None
            if record.trace is not None:  # all that a sub-agent took, in the row of the step that ran it
                tokens[seq] = [*map(_count, tokens_used(record.trace.steps))]
        elif kind is Reply:
            code = None if record.is_whole else record.end
            message = record.shortfall
        elif kind is Decision:
            code = "permission_denied" if record.choice == "deny" else None
            message = record.reason
            statuses[seq] = "pending" if record.choice == "pending" else "ok"
        if code:
            codes[seq] = code
            statuses[seq] = "error"
            messages[seq] = _cut(message)
        if reply is not None:
            faulty = faulty or bool(reply.faults)
            if reply.usage:  # what each request took, in its row
                tokens[request] = [*map(_count, Tokens.of(reply.usage))]
    sent, cached, received, reasoning, written = tokens.T
    columns = {
        **_of_runs(traces, sizes),
        "seq": np.concatenate([np.empty(0, dtype=np.int64), *map(np.arange, sizes)]),
        "turn": np.array(turns, dtype=np.int64),
        "step": kinds,
        "slot": whole([-1 if slot is None else slot for slot in slots]),
        "call_id": [None if call is None else call.id for call in calls],
        "attempt": np.array(attempts, dtype=np.int64),
        "tool": [None if call is None else call.name for call in calls],
        "arguments": [None if call is None else _cut(call.arguments) for call in calls],
        "status": statuses,
        "error_code": codes,
        "error_type": list(map(_TYPES.get, codes)),
        "message": messages,
        "n_messages": np.array([len(step.messages) for step in steps], dtype=np.int64),
        "t_start": started,
        "duration_ms": durations,
        "fault": _faults(traces) if faulty else [None] * len(steps),
        "origin": origins,
        "tokens_in": whole(sent),
        "tokens_out": whole(received),
        "tokens_cached": whole(cached),
        "tokens_reasoning": whole(reasoning),
        "tokens_cache_write": whole(written),
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(len(steps)), columns=COLUMNS)


def _of_runs(traces: Sequence[TraceLog], sizes: Sequence[int]) -> dict[str, Any]:
    """Return what is the same in all steps of a run; of one run it is said once."""
    runs: list[dict[str, Any]] = []
    for trace in traces:
        known = {name: trace.meta.get(name) for name in _OF_THE_RUN}
        replied = (step.reply for step in reversed(trace.steps) if step.reply is not None)
        known["model"] = known["model"] or next((reply.model for reply in replied if reply.model), None)
        plain = {n: v if isinstance(v, str | int | float | None) else excerpt(v) for n, v in known.items()}
        runs.append({"run_id": trace.run_id, "outcome": trace.outcome, **plain})
    if len(runs) == 1:
        return runs[0]
    names = ("run_id", "outcome", *_OF_THE_RUN)
    return {n: [run[n] for run, size in zip(runs, sizes, strict=True) for _ in range(size)] for n in names}


def _faults(traces: Sequence[TraceLog]) -> list[str | None]:
    names: list[str | None] = []
    for trace in traces:
        faults = faults_by_step(trace)
        found = [faults.get(seq, ()) for seq in range(len(trace.steps))]
        names += (", ".join(dict.fromkeys(fault.name for fault in each)) or None for each in found)
    return names


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _count(value: int | None) -> int:
    return -1 if value is None else min(value, (1 << 63) - 1)


def faults_in(reply: Reply | None, slot: int | None) -> list[Fault]:
    """Return the faults of a call; those of its reply, or of the request, belong to the first call."""
    faults = () if reply is None else reply.faults
    return [fault for fault in faults if (fault.slot or 0) == (slot or 0)]


def faults_by_step(trace: TraceLog) -> dict[int, list[Fault]]:
    """Return the faults of a trace by the numbers of the steps that they belong to; most have none."""
    found: dict[int, list[Fault]] = {}
    latest = {"define": 0, "request": 0}
    for seq, step in enumerate(trace.steps):
        if step.kind in latest:
            latest[step.kind] = seq
            continue
        fault = step.record.fault if isinstance(step.record, Outcome) else None
        for each in faults_in(step.reply, step.slot) if fault is None else [fault]:
            found.setdefault(latest.get(each.step, seq), []).append(each)
    if trace.fault is not None:
        found.setdefault(latest["request"], []).append(trace.fault)
    return found
