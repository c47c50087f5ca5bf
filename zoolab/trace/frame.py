"""A trace as a table: one row a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.errors import ERROR_CODES
from zoolab.jsontext import excerpt
from zoolab.records import Outcome, Step
from zoolab.trace.marks import marks_by_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from zoolab.trace.trace import Trace

COLUMNS = [
    *("run_id", "case_id", "variant", "model", "seed"),
    *("turn", "seq", "step", "slot", "call_id", "attempt", "tool", "expected_tool"),
    *("status", "error_code", "error_type", "outcome", "fault"),
    *("t_start", "duration_ms", "n_messages", "tokens_in", "tokens_out"),
]

_OF_THE_RUN = ("case_id", "variant", "model", "seed", "expected_tool")


def to_frame(trace: Trace) -> pd.DataFrame:
    """The steps of a trace, one row each; see `Trace.to_frame`.

    >>> from zoolab import Trace
    >>> list(to_frame(Trace()).columns) == COLUMNS
    True
    """
    import pandas as pd

    steps = trace.steps
    columns: dict[str, Any] = {
        "run_id": trace.run_id,
        "outcome": trace.outcome,
        "seq": range(len(steps)),
        "turn": [step.turn for step in steps],
        "step": [step.kind for step in steps],
        "slot": pd.array([step.slot for step in steps], dtype="Int64"),
        "call_id": [None if step.call is None else step.call.id for step in steps],
        "attempt": [step.attempt for step in steps],
        "tool": [None if step.call is None else step.call.name for step in steps],
        "status": [step.status for step in steps],
        "error_code": [step.error_code for step in steps],
        "n_messages": [len(step.messages) for step in steps],
        "t_start": trace.started,
        "duration_ms": _durations(steps, trace.started),
        "fault": _faults(trace),
    }
    columns |= {name: _scalar(trace.meta.get(name)) for name in _OF_THE_RUN}
    columns["model"] = columns["model"] or _model(steps)
    columns["error_type"] = [
        ERROR_CODES[code].error_type if code in ERROR_CODES else None for code in columns["error_code"]
    ]
    columns["tokens_in"], columns["tokens_out"] = _tokens(steps)
    return pd.DataFrame(columns, index=pd.RangeIndex(len(steps)), columns=COLUMNS)


def _faults(trace: Trace) -> list[str | None]:
    """The names of the faults of each step, each once; None where there are none."""
    names: list[str | None] = [None] * len(trace.steps)
    for seq, faults in marks_by_step(trace).items() if names else ():
        names[seq] = ", ".join(dict.fromkeys(fault.name for fault in faults))
    return names


def _durations(steps: list[Step], started: Sequence[float]) -> list[float | None]:
    """Of a request until its reply, of an execution as measured; other steps cost next to nothing."""
    durations: list[float | None] = [None] * len(steps)
    for seq, step in enumerate(steps):
        if isinstance(step.record, Outcome):
            durations[seq] = step.record.duration_ms
        elif step.kind == "request" and seq + 1 < len(steps):
            durations[seq] = (started[seq + 1] - started[seq]) * 1000
    return durations


def _model(steps: list[Step]) -> str | None:
    return next((step.reply.model for step in reversed(steps) if step.reply and step.reply.model), None)


def _tokens(steps: list[Step]) -> tuple[Any, Any]:
    """What each request cost, where the endpoint said so, in the request's row."""
    import pandas as pd

    sent: list[int | None] = [None] * len(steps)
    received: list[int | None] = [None] * len(steps)
    request = 0
    for seq, step in enumerate(steps):
        if step.kind == "request":
            request = seq
        elif step.reply is not None and step.reply.usage:
            sent[request] = _count(step.reply.usage.get("prompt_tokens"))
            received[request] = _count(step.reply.usage.get("completion_tokens"))
    return pd.array(sent, dtype="Int64"), pd.array(received, dtype="Int64")


def _count(value: object) -> int | None:
    """A loaded trace may hold anything here."""
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _scalar(value: object) -> object:
    return value if isinstance(value, str | int | float | None) else excerpt(value)
