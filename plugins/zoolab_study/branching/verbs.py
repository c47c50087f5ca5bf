"""Three ways to go on from an edited step: look runs nothing, replay asks a recording, live asks a model.

A fork is a child trace; the parent never changes. In a replay the model says again what it said in the trace,
and the tools give again what they gave.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zoolab.errors import InvalidInput, LoopError
from zoolab.jsontext import excerpt, one_line
from zoolab.messages import Message, Messages
from zoolab.models.about import about
from zoolab.models.replay import Replay
from zoolab.models.scripted import Scripted
from zoolab.records import Model, Record, Reply, Request, Result, Step, ToolCall
from zoolab.steps.tool_call import message_with_calls
from zoolab.trace.log import TraceLog
from zoolab_study.branching import fork


class Verbs:
    """The ways in which the inspector forks a trace.

    Args:
        model: Answers in place of the model of the run.
        tools: The tools with their functions, for a trace that was loaded from a file.
    """

    def __init__(self, model: Model | None = None, tools: Any = None) -> None:
        self._model = model
        self._tools = tools

    def of(self, trace: TraceLog) -> dict[str, Any]:
        """Return which of the three ways there are, and what the last one costs."""
        model = self._model or trace.options.get("model")
        answered = _as_recording(model) is not None or any(step.reply is not None for step in trace.steps)
        return {"look": True, "replay": answered, "live": model is not None, "live_costs": _costs(model)}

    def fork(self, verb: object, trace: TraceLog, seq: int, record: Record) -> TraceLog:
        """Fork a trace at a step that holds `record` instead.

        Raises:
            InvalidInput: There is no such way, or no model to ask.
            ReplayMiss: A request or a call of a replay is not in the trace; its `trace` is the child so far.
        """
        match verb:
            case "look":
                return look(trace, seq, record)
            case "replay":
                return replay_edited(trace, seq, record, _as_recording(self._model))
            case "live":
                return live(trace, seq, record, self._model, self._tools)
            case _:
                what = f"the kind of fork is {excerpt(verb)}"
                raise InvalidInput(what, expected="look, replay or live")


def look(trace: TraceLog, seq: int, record: Record) -> TraceLog:
    """Return the trace up to a step that holds `record` instead, and `messages[]` as they would be. Runs
    nothing.
    """
    child = fork.child_of(trace, seq, dict(trace.options))
    step = trace.steps[seq]
    call = record if isinstance(record, ToolCall) else step.call
    child.add(step._replace(record=record, messages=_messages_with(trace, step, record), call=call))
    child.started[seq] = trace.started[seq]
    if record is not step.record:
        child.originals[seq] = step.record
    return child


def _messages_with(trace: TraceLog, step: Step, record: Record) -> Messages:
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
            last = {**last, "content": step.messages[-1].get("content")}
        case _:
            return step.messages
    return Messages([*step.messages.tolist()[:-1], last])


def replay_edited(
    trace: TraceLog, seq: int, record: Record | None, recording: Model | None = None
) -> TraceLog:
    """Go on from a step; the model's answers are those that the trace holds itself, or else those of
    `recording`, by default that of the run. Nothing runs.

    Raises:
        ReplayMiss: A request or a call comes that the trace does not hold; shows the nearest one. Its
            `trace` is the child so far.
    """
    recording = recording or _as_recording(trace.options.get("model"))
    return _ended(lambda: fork.replay(trace, seq, _edit(trace, seq, record), recording))


def live(
    trace: TraceLog, seq: int, record: Record | None, model: Model | None = None, tools: Any = None
) -> TraceLog:
    """Go on from a step with `model`, or that of the run: it may take time and money.

    Raises `InvalidInput` if the trace has no model.
    """
    model = model or trace.options.get("model")
    if model is None:
        raise InvalidInput("no model to continue the fork", advice="use inspect(trace, model=...)")
    edit = _edit(trace, seq, record)
    return _ended(lambda: fork.fork(trace, seq, edit, model, tools, {}))


def _as_recording(model: object) -> Replay | None:
    """Return the model, if it answers from a recording alone."""
    return model if isinstance(model, Replay) and model.live is None else None


def _costs(model: Any) -> str:
    if model is None:
        return "There is no model to ask."
    if isinstance(model, Scripted):
        return "Asks the script again. Free. Stops if the script has no more replies."
    if _as_recording(model) is not None:
        return "Asks the recording again. Free. Stops if it has no such request."
    if about(model).on_this_machine:
        return f"Asks {one_line(about(model).name, 80)} on this machine again. Takes time."
    return f"Asks {one_line(about(model).name, 80)} again. May cost money."


def _edit(trace: TraceLog, seq: int, record: Record | None) -> Record | None:
    return None if record is trace.steps[seq].record else record


def _ended(go: Callable[[], TraceLog]) -> TraceLog:
    """Return the child, also of a walk that a limit or an interrupt ended: it is there, and tells how it
    ended.
    """
    try:
        return go()
    except (LoopError, KeyboardInterrupt) as error:
        child = getattr(error, "trace", None)
        if not isinstance(child, TraceLog):
            raise
        return child
