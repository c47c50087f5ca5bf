"""Three ways to go on from an edited step: look runs nothing, replay asks a recording, live asks a model.

A fork is a child trace; the parent never changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zoolab.errors import InvalidInput, LoopError, ReplayMiss
from zoolab.loop.about import about
from zoolab.models.local import LocalModel
from zoolab.models.replay import Replay
from zoolab.models.scripted import Scripted
from zoolab.records import (
    Limits,
    Message,
    Messages,
    Model,
    Record,
    Reply,
    Request,
    Result,
    Step,
    ToolCall,
)
from zoolab.show.inspector.replaying import OwnReplies, RememberedTools
from zoolab.show.wording import one_line
from zoolab.steps.tool_call import message_with_calls
from zoolab.tools import ToolRegistry
from zoolab.trace.fork import fork
from zoolab.trace.log import TraceLog


def look(trace: TraceLog, seq: int, record: Record) -> TraceLog:
    """The trace up to a step that holds `record` instead, and `messages[]` as they would be. Runs nothing."""
    child = type(trace)()
    child.meta = {**trace.meta, "parent": trace.run_id, "forked_at": seq}
    child.options = dict(trace.options)
    for number in range(seq):
        child.add(trace.steps[number])
        child.started[number] = trace.started[number]
    child.originals.update({n: original for n, original in trace.originals.items() if n < seq})
    step = trace.steps[seq]
    call = record if isinstance(record, ToolCall) else step.call
    child.add(step._replace(record=record, messages=_messages_with(trace, step, record), call=call))
    child.started[seq] = trace.started[seq]
    if record is not step.record:
        child.originals[seq] = step.record
    return child


def _messages_with(trace: TraceLog, step: Step, record: Record) -> Messages:
    """`messages[]` after a step, if the step holds `record` instead."""
    last: Message
    match record:
        case Request():
            return record.prefix
        case Reply() if step.appended:
            last = record.message
        case Result() if step.appended:
            last = {**record.message, "tool_call_id": step.call.id if step.call else record.tool_call_id}
        case ToolCall() if step.appended and step.reply is not None:
            calls = [s.record for s in trace.steps if s.turn == step.turn and isinstance(s.record, ToolCall)]
            last = message_with_calls(step.reply.message, [*calls[:-1], record])
        case _:
            return step.messages
    return Messages([*step.messages.tolist()[:-1], last])


def replay(trace: TraceLog, seq: int, record: Record | None, recording: Model | None = None) -> TraceLog:
    """Go on from a step; the model's answers are those that the trace holds itself, or those of `recording`.

    Calls give what they gave and are allowed as they were allowed; nothing runs.

    Raises:
        ReplayMiss: A request or a call comes that the trace does not hold; shows the nearest one. Its
            `trace` is the child so far.
    """
    model: Any = trace.options.get("model")
    if recording is None and isinstance(model, Replay) and model.live is None:
        recording = model
    own, tools = OwnReplies(trace, recording), RememberedTools(trace, seq)
    edit = tools.remembering(record) if isinstance(record, ToolRegistry) else record
    # The limits of the run, less the turns before the fork: it ends when the run ended.
    limits = trace.options.get("limits") or Limits()
    before = trace.steps[seq].turn - trace.steps[min(1, len(trace.steps) - 1)].turn
    limits = replace(limits, turns=max(1, limits.turns - max(0, before)))
    try:
        child = _fork(trace, seq, edit, own, tools.registry, policy=tools.permissions, limits=limits)
    except ReplayMiss as error:
        so_far = getattr(error, "trace", None)
        if isinstance(so_far, TraceLog):
            _settle(so_far, trace, record, tools.permissions.answers)
        raise
    return _settle(child, trace, record, tools.permissions.answers)


def _settle(child: TraceLog, trace: TraceLog, record: Record | None, answers: dict[int, Record]) -> TraceLog:
    """The child as a run would have left it: decisions with their answers, tools that can run, its model."""
    child.options = dict(trace.options)
    for seq, step in enumerate(child.steps):
        if id(step.record) in answers:
            child.originals.setdefault(seq, step.record)
            child.steps[seq] = step._replace(record=answers[id(step.record)])
    if child.steps and isinstance(child.steps[0].record, ToolRegistry):
        tools = trace.steps[0].record
        shown = record if isinstance(record, ToolRegistry) else tools
        child.steps[0] = child.steps[0]._replace(record=shown)
        if 0 in child.originals:
            child.originals[0] = tools
    return child


def live(
    trace: TraceLog, seq: int, record: Record | None, model: Model | None = None, tools: Any = None
) -> TraceLog:
    """Go on from a step with `model`, or that of the run: it may take time and money.

    Raises `InvalidInput` if the trace has no model.
    """
    model = model or trace.options.get("model")
    if model is None:
        raise InvalidInput("no model to continue the fork", advice="use inspect(trace, model=...)")
    return _fork(trace, seq, record, model, tools)


def verbs_of(trace: TraceLog, model: Model | None = None, recording: Model | None = None) -> dict[str, Any]:
    """Which of the three ways there are, and what the last one costs; `model` answers in place of the run's.

    >>> from zoolab import Scripted, run
    >>> verbs_of(run("Hi", [], Scripted(["Hello"])))["live_costs"]
    'asks the script again: costs nothing, and it may have ended'
    """
    model = model or trace.options.get("model")
    answered = recording is not None or any(step.reply is not None for step in trace.steps)
    return {"look": True, "replay": answered, "live": model is not None, "live_costs": _costs(model)}


def _costs(model: Any) -> str:
    if model is None:
        return "there is no model to ask"
    if isinstance(model, Scripted):
        return "asks the script again: costs nothing, and it may have ended"
    if isinstance(model, Replay) and model.live is None:
        return "asks the recording again: costs nothing, and it may hold no such request"
    if isinstance(model, LocalModel):
        return f"asks {one_line(model.name, 80)} on this machine again: takes time"
    return f"asks {one_line(about(model).name, 80)} again: may cost money"


def _fork(
    trace: TraceLog, seq: int, record: Record | None, model: Any, tools: Any, **options: Any
) -> TraceLog:
    edit = None if record is trace.steps[seq].record else record
    try:
        return fork(trace, seq, edit, model, tools, options)
    except (LoopError, KeyboardInterrupt) as error:  # the child is there, and tells how it ended
        child = getattr(error, "trace", None)
        if not isinstance(child, TraceLog):
            raise
        return child
