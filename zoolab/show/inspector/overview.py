"""The overview of a trace: one entry per step, in columns, small enough for one message."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from zoolab.records import KINDS, Decision, Messages, Outcome, Step, Verdict
from zoolab.secrets import scrub
from zoolab.show.block_types import browser_json
from zoolab.show.moment import Moment
from zoolab.show.wording import prompt_of, totals_of
from zoolab.trace.log import TraceLog
from zoolab.trace.summary import errors_of

LETTERS = dict(zip(KINDS, "dqtver", strict=True))
ERROR, RETRY, REPAIR, FAULT, EDITED, STALE, PERMISSION, NESTED = MARKS = (1, 2, 4, 8, 16, 32, 64, 128)
_WORDS = ("error", "retry", "repair", "fault", "edited", "stale", "permission", "sub-agent")
MARK_WORDS = dict(zip(MARKS, _WORDS, strict=True))
_ROLES = {"system": "s", "user": "u", "assistant": "a", "tool": "t"}
_MAX_TOOLS = 400
COLUMNS = ("turn", "marks", "tool", "length", "branch")
#: Messages in the ledgers of all branches; each edit of a conversation begins another branch.
_MAX_LEDGER = 8_000


def overview_of(trace: TraceLog, stale_from: int | None = None, prompt: str = "") -> dict[str, Any]:
    """Return what the rail, the slider and the ledger show. The steps from `stale_from` on are out of date;
    the `prompt` is the title as long as the trace has no request.
    """
    steps = trace.steps
    branches = _branches(trace)
    tools, named = _tools(steps)
    wrong = {error.seq for error in errors_of(steps)}
    stale = len(steps) if stale_from is None else stale_from
    parent = trace.meta.get("parent")
    forked_at = trace.meta.get("forked_at")
    at = forked_at if type(forked_at) is int else None
    marks = [_marks(trace, seq, seq in wrong) | (STALE if seq >= stale else 0) for seq in range(len(steps))]
    return {
        "run_id": _short(trace.run_id, 80),
        "title": _short(scrub(prompt_of(trace) or prompt), 200),
        "outcome": _short(trace.outcome, 80),
        "error": None if trace.error is None else _short(scrub(trace.error), 1_000),
        "n": len(steps),
        "kind": "".join(LETTERS[step.kind] for step in steps),
        "turn": [step.turn for step in steps],
        "status": "".join(step.status[0] for step in steps),
        "marks": marks,
        "tool": named,
        "tools": tools,
        "length": [len(step.messages) for step in steps],
        "branch": branches,
        "ledger": _ledgers(trace, branches),
        "parent": {"run_id": _short(parent, 80), "forked_at": at} if isinstance(parent, str) else None,
        "totals": totals_of(trace),
    }


def packed(overview: dict[str, Any]) -> dict[str, Any]:
    """Return the overview as it is sent: its columns of numbers as runs, in text."""
    sent = dict(overview)
    for name in sent.keys() & COLUMNS:
        runs = ((value, sum(1 for _ in same)) for value, same in groupby(sent[name]))
        sent[name] = ",".join(f"{value}*{times}" if times > 1 else str(value) for value, times in runs)
    return sent


def marks_of(moment: Moment) -> int:
    """Return what is remarkable about a step, as bits. A result that only says its call's error again has
    none.
    """
    first, end = (0, moment.seq + 1) if moment.turn is None else (moment.turn.seq, moment.turn.end)
    wrong = any(error.seq == moment.seq - first for error in errors_of(moment.trace.steps[first:end]))
    return _marks(moment.trace, moment.seq, wrong)


def _marks(trace: TraceLog, seq: int, wrong: bool) -> int:
    step = trace.steps[seq]
    original = trace.originals.get(seq)
    record = step.record
    answered = isinstance(record, Decision) and isinstance(original, Decision)
    marks = ERROR if wrong else 0
    marks |= RETRY if step.attempt > 1 else 0
    marks |= 0 if original is None or answered else EDITED
    if isinstance(record, Verdict):
        marks |= REPAIR if record.repair is not None else 0
    elif isinstance(record, Outcome):
        marks |= FAULT if record.fault is not None else 0
        marks |= NESTED if isinstance(record.trace, TraceLog) else 0
    elif step.reply is not None and not step.slot:
        marks |= FAULT if step.reply.faults else 0
    return marks | (PERMISSION if isinstance(record, Decision) or isinstance(original, Decision) else 0)


def first_error(trace: TraceLog) -> int | None:
    """Return the number of the first step that went wrong."""
    return next((error.seq for error in errors_of(trace.steps)), None)


def _tools(steps: list[Step]) -> tuple[list[str], list[int]]:
    """Return the names of the tools that were called, and the tool of each step as a position among them."""
    numbers: dict[str, int] = {}
    named: list[int] = []
    for step in steps:
        name = None if step.call is None else step.call.name
        if name is not None and name not in numbers and len(numbers) < _MAX_TOOLS:
            numbers[name] = len(numbers)
        named.append(-1 if name is None else numbers.get(name, -1))
    return [_short(name, 64) for name in numbers], named


def _branches(trace: TraceLog) -> list[int]:
    """Return the branch of each step: an edit of `messages[]` begins another one."""
    branches: list[int] = []
    branch = 0
    before = Messages()
    for step in trace.steps:
        branch += trace.journal.common(before, step.messages) < len(before)
        branches.append(branch)
        before = step.messages
    return branches


def _ledgers(trace: TraceLog, branches: list[int]) -> list[dict[str, Any]]:
    """Return what is known of each message, by branch; the latest branches first, as far as there is room."""
    longest: dict[int, Messages] = {}
    for branch, step in zip(branches, trace.steps, strict=True):
        if branch not in longest or len(step.messages) > len(longest[branch]):
            longest[branch] = step.messages
    nothing: dict[str, Any] = {"role": "", "id": [], "size": []}
    ledgers = [nothing] * (max(longest, default=0) + 1)
    room = _MAX_LEDGER
    for branch in sorted(longest, reverse=True):
        messages = longest[branch]
        room -= len(messages)
        if room >= 0:
            ledgers[branch] = {
                "role": "".join(_ROLES.get(str(message.get("role")), "?") for message in messages),
                "id": [_short(message.get("tool_call_id") or "", 32) for message in messages],
                "size": [len(text.encode("utf-8", "replace")) for text in trace.journal.frozen(messages)],
            }
    return ledgers


def _short(value: Any, limit: int) -> str:
    text: str = browser_json(value if isinstance(value, str) else str(value))
    return text if len(text) <= limit else text[: limit - 1] + "…"
