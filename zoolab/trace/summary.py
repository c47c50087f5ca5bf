"""Summaries of a trace: its errors, and how `messages[]` changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from zoolab.jsontext import excerpt, lines_as_html, one_line, visible
from zoolab.records import Message, Outcome, Reply, Request, Result, Step, ToolCall, Verdict
from zoolab.tokens import Tokens


class LoggedError(NamedTuple):
    """One thing that went wrong in a run: at which step (None: the end of the run), and what."""

    seq: int | None
    turn: int | None
    slot: int | None
    code: str
    message: str


class MessagesDiff(NamedTuple):
    """How `messages[]` changed from one step to another."""

    kept: int
    removed: tuple[Message, ...]
    added: tuple[Message, ...]

    def __str__(self) -> str:
        before = self.kept + len(self.removed)
        after = self.kept + len(self.added)
        changes = [f"- {brief(m)}" for m in self.removed[:5]] + [f"+ {brief(m)}" for m in self.added[:5]]
        more = len(self.removed) + len(self.added) - len(changes)
        changes += [f"and {more:,} more change{'s' * (more != 1)}"] if more else []
        return visible(f"{before} -> {after} messages" + (": " + ", ".join(changes) if changes else ""))

    def _repr_html_(self) -> str:
        return lines_as_html(str(self))


def errors_of(steps: Iterable[Step]) -> Iterator[LoggedError]:
    """Return what went wrong in the steps, each error once.

    A result only says again what its call had, and the verdict on a final answer what its reply lacks.
    """
    steps = list(steps)
    failed: set[tuple[int, int | None]] = set()
    ignored = {error.seq: error for error in ignored_choices(steps)}
    for seq, step in enumerate(steps):
        if seq in ignored:
            yield ignored[seq]
        message = _message(step)
        place = step.turn, step.slot
        if message is None or (isinstance(step.record, Result) and place in failed):
            continue
        if isinstance(step.record, Reply) and steps[seq + 1 : seq + 2] and steps[seq + 1].kind == "validate":
            continue
        failed.add(place)
        yield LoggedError(seq, step.turn, step.slot, step.error_code or "", message)


def outcome_of_walk(steps: Sequence[Step]) -> str:
    """Say how a walk without an error ended: `answer`, its last reply's end, or the choice it ignored.

    Of several questions, the last one counts.
    """
    asked = (seq for seq, step in enumerate(steps) if step.kind == "request" and step.appended)
    steps = steps[max(asked, default=0) :]
    unfinished = [step.error_code for step in steps[-1:] if isinstance(step.record, Reply)]
    ignored = [choice.code for choice in ignored_choices(steps)]
    return next(filter(None, [*unfinished, *ignored]), "answer")


def replies_of(steps: Iterable[Step]) -> Iterator[Reply]:
    """Yield the replies of a run, each once however many calls it has, and those of its sub-agents."""
    replies: dict[int, Reply] = {}
    for step in steps:
        if step.reply is not None:
            replies[step.turn] = step.reply
        elif isinstance(step.record, Outcome) and step.record.trace is not None:
            yield from replies_of(getattr(step.record.trace, "steps", ()))
    yield from replies.values()


def tokens_used(steps: Iterable[Step]) -> Tokens:
    """Return tokens of the replies, with those of sub-agents, as the endpoints counted them; None if none
    did.
    """
    return Tokens.total(reply.usage for reply in replies_of(steps))


def ignored_choices(steps: Sequence[Step]) -> Iterator[LoggedError]:
    """Return the forced choices that the model did not follow, at the first step of its reply."""
    for seq, step in enumerate(steps):
        if step.kind != "request" or not isinstance(step.record, Request):
            continue
        choice = step.record.tool_choice
        if choice in ("auto", "none"):
            continue
        read = [each for each in steps[seq + 1 :] if each.turn == step.turn and each.kind == "tool_call"]
        called = [each.record.name for each in read if isinstance(each.record, ToolCall)]
        if not read or choice in called or (called and choice == "required"):
            continue
        what = f"called {', '.join(called)}" if called else "called no tool"
        message = f"tool_choice was {choice}, and the model {what}"
        code = "wrong_tool" if called else "no_tool_call"
        yield LoggedError(seq + 1, step.turn, read[0].slot, code, message)


def _message(step: Step) -> str | None:
    record = step.record
    if isinstance(record, Verdict) and not record.ok:
        return "; ".join(problem.message for problem in record.problems)
    if isinstance(record, Outcome) and record.error is not None:
        return record.error.in_full
    if isinstance(record, Reply):
        return record.shortfall or None
    return excerpt(record.content, 300) if isinstance(record, Result) and record.error_code else None


def brief(message: Message) -> str:
    """Say in a few words what a message holds."""
    role = _in_line(message.get("role"), 40)
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return f"{role} {excerpt(message.get('content'), 60)}"
    more = [f"and {len(calls) - 8:,} more"] if len(calls) > 8 else []
    return f"{role} asks for {', '.join([*map(_name, calls[:8]), *more])}"


def _name(call: Any) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    return _in_line(function.get("name"), 80) if isinstance(function, dict) else excerpt(call, 20)


def _in_line(value: Any, limit: int) -> str:
    return one_line(value if isinstance(value, str) else excerpt(value, limit), limit)
