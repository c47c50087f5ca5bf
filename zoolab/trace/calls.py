"""What became of each call: the steps of a trace, by turn and by call."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from zoolab.records import Decision, Failure, Outcome, Record, Reply, Request, Result, Step, ToolCall, Verdict

#: Codes with which a call is rejected before its tool runs.
_REJECTED = ("invalid_arguments", "invalid_json", "loop_limit", "permission_denied", "unknown_tool")


@dataclass(slots=True, eq=False)
class Call:
    """One call of a reply, and what became of it; of records of the same kind, the last one."""

    call: ToolCall
    slot: int
    verdict: Verdict | None = None
    #: What was decided on the permission of the call, and what was asked before that; None if nobody asked.
    decision: Decision | None = None
    asked: Decision | None = None
    #: What was answered to the question: a `Decision`, or an `Outcome` in place of running the call.
    answer: Record | None = None
    outcome: Outcome | None = None
    result: Result | None = None
    attempt: int = 1
    #: The numbers of the steps of this call.
    steps: list[int] = field(default_factory=list)
    #: The numbers of the steps that hold the verdict, the decision and the outcome.
    validated: int | None = None
    decided: int | None = None
    ran: int | None = None

    @property
    def fate(self) -> Literal["ran", "failed", "stopped"] | None:
        """Whether it ran, failed validation, or was not allowed; None if nothing has become of it yet."""
        if self.verdict is not None and not self.verdict.ok:
            return "failed"
        if self.outcome is None:
            return None if self.asked is None else "stopped"
        error = self.outcome.error
        if error is None or error.exception is not None or self.outcome.duration_ms:
            return "ran"
        return "stopped" if error.code in _REJECTED else "ran"

    @property
    def by_program(self) -> bool:
        """Whether another program dealt with it: there is a result, and nothing that it was made of.

        A result of ours without an outcome has an error code.
        """
        return self.outcome is None and self.result is not None and not self.result.error_code

    @property
    def error(self) -> Failure | None:
        """What was wrong with it: the first that was, of its verdict, its outcome and its result."""
        verdict = self.verdict
        outcome = self.outcome
        result = self.result
        if verdict is not None and not verdict.ok:
            problems = "; ".join(problem.message for problem in verdict.problems)
            return Failure(verdict.error_code or "invalid_arguments", problems)
        if outcome is not None and outcome.error is not None:
            return outcome.error
        return Failure(result.error_code, result.content) if result and result.error_code else None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, as validation read them; empty if they were rejected."""
        return (self.verdict.arguments if self.verdict is not None else None) or {}


@dataclass(slots=True, eq=False)
class Turn:
    """One turn: a request, the reply, and the calls of the reply by slot."""

    #: The number of its request's step.
    seq: int
    number: int
    request: Request
    reply: Reply | None = None
    calls: dict[int, Call] = field(default_factory=dict)
    #: The numbers of the steps that belong to no call.
    own: list[int] = field(default_factory=list)
    #: The number after that of its last step.
    end: int = 0
    #: Whether its request says something new, as the first one of each question does.
    asks: bool = False


def turns_of(steps: Sequence[Step], originals: Mapping[int, Record]) -> list[Turn]:
    """Return the turns of a walk; `originals` has the records that were answered with others, by step."""
    turns: list[Turn] = []
    for seq, step in enumerate(steps):
        if isinstance(step.record, Request):
            asks = step.appended > 0 or not turns
            turns.append(Turn(seq, step.turn, step.record, own=[seq], end=seq + 1, asks=asks))
        elif turns:
            turn = turns[-1]
            turn.end = seq + 1
            turn.reply = turn.reply or step.reply
            if step.slot is None or step.call is None:
                turn.own.append(seq)
            else:
                call = turn.calls.setdefault(step.slot, Call(step.call, step.slot))
                _add(call, seq, step, originals.get(seq))
    return turns


def turn_at(turns: Sequence[Turn], seq: int) -> int:
    """Return the position of the turn that a step is in; -1 before the first turn."""
    return bisect_right(turns, seq, key=attrgetter("seq")) - 1


def question_at(turns: Sequence[Turn], seq: int) -> int:
    """Return the position of the turn that began the question to which a step belongs; 0 before the first."""
    return max((i for i in range(turn_at(turns, seq) + 1) if turns[i].asks), default=0)


def _add(call: Call, seq: int, step: Step, original: Record | None) -> None:
    call.steps.append(seq)
    call.call = step.call or call.call
    call.attempt = max(call.attempt, step.attempt)
    if isinstance(original, Decision):
        call.asked = original
        call.answer = step.record
        call.decided = seq
    match step.record:
        case Verdict():
            call.verdict = step.record
            call.validated = seq
        case Decision():
            call.asked = call.asked or step.record
            call.decision = step.record
            call.decided = seq
            call.answer = call.answer or step.record
        case Outcome():
            call.outcome = step.record
            call.ran = seq
        case Result():
            call.result = step.record
