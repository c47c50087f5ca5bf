"""A trace as a table: one row a step."""

from __future__ import annotations

from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from zoolab.errors import ERROR_CODES
from zoolab.jsontext import excerpt
from zoolab.records import Decision, Fault, Outcome, Reply, Result, Step, Verdict
from zoolab.tokens import counted
from zoolab.trace.log import TraceLog
from zoolab.trace.summary import tokens_used

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

COLUMNS = [
    *("run_id", "case_id", "variant", "model", "seed"),
    *("turn", "seq", "step", "slot", "call_id", "attempt", "tool", "expected_tool"),
    *("status", "error_code", "error_type", "outcome", "fault"),
    *("t_start", "duration_ms", "n_messages", "tokens_in", "tokens_out"),
]

_OF_THE_RUN = ("case_id", "variant", "model", "seed", "expected_tool")
_TYPES: dict[str | None, str | None] = {code: row.error_type for code, row in ERROR_CODES.items()}
#: kind, turn, slot, record, call, reply, attempt.
_TAKEN = (0, 1, 2, 3, 6, 7, 8)
_AT_ONCE = 2_000


def to_frame(trace: TraceLog) -> pd.DataFrame:
    """The steps of a trace, one row each; see `Trace.to_frame`."""
    return _frame([trace])


def frame_of(traces: Iterable[TraceLog]) -> pd.DataFrame:
    """The steps of many traces in one frame, trace by trace; few traces are held at a time."""
    import pandas as pd

    rest = iter(traces)
    frames = [_frame(some) for some in iter(lambda: list(islice(rest, _AT_ONCE)), [])]
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else _frame([])


def _frame(traces: Sequence[TraceLog]) -> pd.DataFrame:
    """Columns are taken from all steps at once, which costs little more than to make a frame of them."""
    import numpy as np
    import pandas as pd

    sizes = [len(trace.steps) for trace in traces]
    kinds, turns, slots, records, calls, replies, attempts = _taken(traces)
    started = np.concatenate([np.empty(0), *(np.asarray(trace.started) for trace in traces)])
    durations = _waits(kinds, started, sizes)
    codes, pending, nested = _read_records(records, durations)
    statuses = ["error" if code else "ok" for code in codes]
    for seq in pending:
        statuses[seq] = "pending"
    columns: dict[str, Any] = _of_runs(traces, sizes)
    columns |= {
        "seq": _counted(sizes),
        "turn": np.array(turns, dtype=np.int64),
        "step": kinds,
        "slot": _whole(np.array([-1 if slot is None else slot for slot in slots], dtype=np.int64)),
        "call_id": [None if call is None else call.id for call in calls],
        "attempt": np.array(attempts, dtype=np.int64),
        "tool": [None if call is None else call.name for call in calls],
        "status": statuses,
        "error_code": codes,
        "error_type": list(map(_TYPES.get, codes)),
        "n_messages": np.array([at.length for trace in traces for at in trace.revisions], dtype=np.int64),
        "t_start": started,
        "duration_ms": durations,
        "fault": [None] * len(kinds),
    }
    if _has_faults(traces, records, replies):
        columns["fault"] = [name for trace in traces for name in _faults(trace)]
    columns["tokens_in"], columns["tokens_out"] = _tokens(kinds, replies, nested)
    return pd.DataFrame(columns, index=pd.RangeIndex(len(kinds)), columns=COLUMNS)


def _taken(traces: Sequence[TraceLog]) -> list[list[Any]]:
    """Some fields of all steps, a list each; laid end to end they come apart fastest."""
    fields = list(chain.from_iterable(step for trace in traces for step in trace.steps))
    return [fields[at :: len(Step._fields)] for at in _TAKEN]


def _of_runs(traces: Sequence[TraceLog], sizes: Sequence[int]) -> dict[str, Any]:
    """What is the same in all steps of a run; of one run it is said once."""
    told = [
        {
            **{name: _scalar(trace.meta.get(name)) for name in _OF_THE_RUN},
            "run_id": trace.run_id,
            "outcome": trace.outcome,
            "model": _scalar(trace.meta.get("model")) or _model(trace.steps),
        }
        for trace in traces
    ]
    if len(traces) == 1:
        return told[0]
    names = ("run_id", "outcome", *_OF_THE_RUN)
    return {
        name: [run[name] for run, size in zip(told, sizes, strict=True) for _ in range(size)]
        for name in names
    }


def _counted(sizes: Sequence[int]) -> Any:
    import numpy as np

    return np.concatenate([np.empty(0, dtype=np.int64), *map(np.arange, sizes)])


def _read_records(
    records: Sequence[Any], durations: Any
) -> tuple[list[str | None], list[int], dict[int, TraceLog]]:
    """The codes of errors, the steps that wait for permission, and the traces of sub-agents.

    One look at each record, and each kind asked for what it has; notes how long executions took.
    """
    codes: list[str | None] = [None] * len(records)
    pending: list[int] = []
    nested: dict[int, TraceLog] = {}
    for seq, record in enumerate(records):
        kind = type(record)
        if kind is Result:
            codes[seq] = record.error_code
        elif kind is Verdict:
            codes[seq] = record.problems[0].code if record.problems else None
        elif kind is Outcome:
            durations[seq] = record.duration_ms
            if record.trace is not None:
                nested[seq] = record.trace
            codes[seq] = record.error.code if record.error else None
        elif kind is Decision:
            codes[seq] = "permission_denied" if record.choice == "deny" else None
            if record.choice == "pending":
                pending.append(seq)
    return codes, pending, nested


def _has_faults(traces: Sequence[TraceLog], records: Sequence[Any], replies: Sequence[Reply | None]) -> bool:
    """Few traces have any, and to ask each step where they belong takes long."""
    return (
        any(trace.fault for trace in traces)
        or any(record.fault for record in records if type(record) is Outcome)
        or any(reply.faults for reply in filter(None, replies))
    )


def _faults(trace: TraceLog) -> list[str | None]:
    """The names of the faults of each step, each once; None if there are none."""
    names: list[str | None] = [None] * len(trace.steps)
    for seq, faults in faults_by_step(trace).items() if names else ():
        names[seq] = ", ".join(dict.fromkeys(fault.name for fault in faults))
    return names


def _waits(kinds: Sequence[str], started: Any, sizes: Sequence[int]) -> Any:
    """How long requests took until their reply; other steps cost next to nothing."""
    import numpy as np

    waits = np.full(len(kinds), np.nan)
    ends = np.zeros(len(kinds) + 1, dtype=bool)
    ends[np.cumsum([0, *sizes])] = True
    asked = np.array([seq for seq, kind in enumerate(kinds) if kind == "request"], dtype=np.int64)
    asked = asked[~ends[asked + 1]]
    waits[asked] = (started[asked + 1] - started[asked]) * 1000
    return waits


def _model(steps: list[Step]) -> str | None:
    replies = filter(None, map(itemgetter(7), reversed(steps)))
    return next((reply.model for reply in replies if reply.model), None)


def _tokens(
    kinds: Sequence[str], replies: Sequence[Reply | None], nested: Mapping[int, TraceLog]
) -> tuple[Any, Any]:
    """What each request took, in its row; all that a sub-agent took, in the row of the step that ran it.

    Missing if no endpoint said it.
    """
    import numpy as np

    sent, received = np.full((2, len(kinds)), -1, dtype=np.int64)
    request = 0
    for seq, reply in enumerate(replies):
        if reply is not None:
            if reply.usage:
                sent[request] = _count(counted(reply.usage, "prompt_tokens"))
                received[request] = _count(counted(reply.usage, "completion_tokens"))
        elif kinds[seq] == "request":
            request = seq
    for seq, inner in nested.items():
        sent[seq], received[seq] = map(_count, tokens_used(inner.steps))
    return _whole(sent), _whole(received)


def _whole(values: Any) -> Any:
    """Whole numbers, those below 0 missing."""
    import pandas as pd

    return pd.arrays.IntegerArray(values, values < 0)


def _count(value: int | None) -> int:
    return -1 if value is None else min(value, (1 << 63) - 1)


def _scalar(value: object) -> object:
    return value if isinstance(value, str | int | float | None) else excerpt(value)


def faults_of(step: Step) -> list[Fault]:
    """The faults that a step shows; those of the request and the tools show where the reply is read."""
    if isinstance(step.record, Outcome):
        return [] if step.record.fault is None else [step.record.fault]
    if step.reply is None or not step.reply.faults:
        return []
    return [fault for fault in step.reply.faults if (fault.slot or 0) == (step.slot or 0)]


def faults_by_step(trace: TraceLog) -> dict[int, list[Fault]]:
    """The faults of a trace under the numbers of the steps that they belong to; most have none."""
    found: dict[int, list[Fault]] = {}
    latest = {"define": 0, "request": 0}
    for seq, step in enumerate(trace.steps):
        if step.kind in latest:
            latest[step.kind] = seq
        elif step.reply is not None or isinstance(step.record, Outcome):
            for fault in faults_of(step):
                found.setdefault(latest.get(fault.step, seq), []).append(fault)
    if trace.fault is not None:
        found.setdefault(latest["request"], []).append(trace.fault)
    return found


def fault_line(fault: Fault) -> str:
    """A fault as a line of text."""
    return f"fault injected: {fault}"
