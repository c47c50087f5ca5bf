"""Three ways to go on from an edited step: look runs nothing, replay asks a recording, live asks a model.

A fork is a child trace; the parent never changes. In a replay the model says again what it said in the trace,
and the tools give again what they gave.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from zoolab.errors import ExecutionFailed, InvalidInput, LoopError, ReplayMiss, marked
from zoolab.jsontext import canonical, excerpt, one_line
from zoolab.loop.about import about
from zoolab.models.recording import RequestKeys, nearest_difference
from zoolab.models.replay import Replay
from zoolab.models.scripted import Scripted
from zoolab.policy import Permissions
from zoolab.records import Decision, Limits, Model, Outcome, Record, Reply, Request, Result, Step, ToolCall
from zoolab.records.messages import Message, Messages
from zoolab.show.wording import pretty
from zoolab.steps.tool_call import message_with_calls
from zoolab.tools import Tool, ToolRegistry, ToolReturn
from zoolab.trace.calls import Call
from zoolab.trace.codec import Shown
from zoolab.trace.fork import child_of, fork
from zoolab.trace.log import TraceLog, tools_of

_SOURCE = "in this trace"
_ADVICE = 'choose "look", which runs nothing, or "live", which asks the model'
#: What a tool may raise, and the same by code.
_RAISED: list[type[ExecutionFailed]] = [*ExecutionFailed.__subclasses__(), ExecutionFailed]
_FAILURES = {kind.code: kind for kind in _RAISED}

_Key = tuple[str, str]


def _key(tool: str, arguments: Mapping[str, Any]) -> _Key:
    return tool, canonical(dict(arguments))


def look(trace: TraceLog, seq: int, record: Record) -> TraceLog:
    """The trace up to a step that holds `record` instead, and `messages[]` as they would be. Runs nothing."""
    child = child_of(trace, seq, dict(trace.options))
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


def replay(trace: TraceLog, seq: int, record: Record | None, recording: Model | None = None) -> TraceLog:
    """Go on from a step; the model's answers are those that the trace holds itself, or else those of
    `recording`, by default that of the run.

    Calls give what they gave and are allowed as they were allowed; nothing runs.

    Raises:
        ReplayMiss: A request or a call comes that the trace does not hold; shows the nearest one. Its
            `trace` is the child so far.
    """
    recording = recording or as_recording(trace.options.get("model"))
    own, again = OwnReplies(trace, recording), Remembered(trace, seq)
    tools = tools_of(trace).changed(again.tool)
    edit = record.changed(again.tool) if isinstance(record, ToolRegistry) else record
    # The limits of the run, less the turns before the fork: it ends when the run ended.
    limits = trace.options.get("limits") or Limits()
    before = trace.steps[seq].turn - trace.steps[min(1, len(trace.steps) - 1)].turn
    limits = replace(limits, turns=max(1, limits.turns - max(0, before)))
    try:
        child = _fork(trace, seq, edit, own, tools, policy=again, limits=limits)
    except ReplayMiss as error:
        if isinstance(error.trace, TraceLog):
            _settle(error.trace, trace, record, again.answers)
        raise
    return _settle(child, trace, record, again.answers)


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


def as_recording(model: object) -> Replay | None:
    """The model, if it answers from a recording alone."""
    return model if isinstance(model, Replay) and model.live is None else None


def verbs_of(trace: TraceLog, model: Model | None = None) -> dict[str, Any]:
    """Which of the three ways there are, and what the last one costs; `model` answers for the run's."""
    model = model or trace.options.get("model")
    answered = as_recording(model) is not None or any(step.reply is not None for step in trace.steps)
    return {"look": True, "replay": answered, "live": model is not None, "live_costs": _costs(model)}


def _costs(model: Any) -> str:
    if model is None:
        return "There is no model to ask."
    if isinstance(model, Scripted):
        return "Asks the script again. Free. Stops if the script has no more replies."
    if as_recording(model) is not None:
        return "Asks the recording again. Free. Stops if it has no such request."
    if about(model).on_this_machine:
        return f"Asks {one_line(about(model).name, 80)} on this machine again. Takes time."
    return f"Asks {one_line(about(model).name, 80)} again. May cost money."


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


class OwnReplies:
    """A model that answers each request as a trace says it was answered, and asks `otherwise` for others."""

    def __init__(self, trace: TraceLog, otherwise: Model | None = None) -> None:
        self.calls = about(trace.options.get("model")).calls
        self._otherwise = otherwise
        self._keys = RequestKeys()
        self._bodies: list[dict[str, Any]] = []
        self._replies: dict[str, Reply] = {}
        for turn in trace.turns:
            if turn.reply is not None:
                self._bodies.append(turn.request.body())
                self._replies.setdefault(self._keys.of(self._bodies[-1]), turn.reply)

    def __call__(self, request: Request) -> Reply:
        body = request.body()
        reply = self._replies.get(self._keys.of(body))
        if reply is not None:
            return reply
        if self._otherwise is not None:
            return self._otherwise(request)
        raise ReplayMiss(
            f"the trace does not contain this request among its {len(self._bodies)}",
            advice=_ADVICE,
            difference=nearest_difference(pretty(body), map(pretty, self._bodies), _SOURCE),
        )


def _ran(outcome: Outcome) -> bool:
    """Whether a call had permission; a tool that is denied something itself says so with an exception."""
    error = outcome.error
    return error is None or error.code != "permission_denied" or error.exception is not None


def _decided(call: Call) -> Decision:
    """What held for a call of a trace that came to an outcome, whoever said it."""
    said, outcome = call.answer, call.outcome
    error = None if outcome is None else outcome.error
    ran = outcome is None or _ran(outcome)
    if isinstance(said, Decision) and said.choice != "pending" and said.allowed == ran:
        return said
    if ran or error is None:
        return Decision("once", "as in the trace", by="rule")
    return Decision("deny", error.reason or error.message, by="rule")


class _Memory:
    """The calls of a trace in order, those after a fork if there are any; the last one again and again."""

    def __init__(self, calls: Iterable[Call], seq: int) -> None:
        earlier, later = defaultdict[_Key, list[Call]](list), defaultdict[_Key, list[Call]](list)
        for call in calls:
            (later if (call.ran or 0) > seq else earlier)[_key(call.call.name, call.arguments)].append(call)
        self._calls = earlier | later

    def take(self, tool: str, arguments: Mapping[str, Any]) -> tuple[Call, Outcome]:
        """The next such call, or `ReplayMiss`; a value that a file keeps in part is as good as none."""
        key = _key(tool, arguments)
        calls = self._calls.get(key)
        if not calls:
            raise ReplayMiss(
                f"{tool} was not called with {excerpt(dict(arguments), 200)} in this trace,"
                " so there is no result to replay",
                advice=_ADVICE,
                difference=nearest_difference(_call_text(key), map(_call_text, self._calls), _SOURCE),
            )
        call = calls.pop(0) if len(calls) > 1 else calls[0]
        if call.outcome is None or isinstance(call.outcome.value, Shown):
            what = f"the file contains only a part of the result of {tool}, so it cannot be replayed"
            raise ReplayMiss(what, advice=_ADVICE)
        return call, call.outcome


def _call_text(key: _Key) -> str:
    tool, arguments = key
    return json.dumps({"tool": tool, "arguments": json.loads(arguments)}, ensure_ascii=False, indent=1)


class Remembered(Permissions):
    """The decisions and the results of a trace's calls, given again: first those after step `seq`.

    No tool runs, and a call that the trace does not hold is a miss.
    """

    def __init__(self, trace: TraceLog, seq: int) -> None:
        super().__init__()
        found = (call for turn in trace.turns for call in turn.calls.values())
        calls = [call for call in found if call.verdict is not None and call.ran is not None]
        self._decided = _Memory(calls, seq)
        self._given = _Memory((c for c in calls if c.outcome is not None and _ran(c.outcome)), seq)
        self._asking: dict[_Key, Call] = {}
        #: What was said to each decision that was asked for, by its identity.
        self.answers: dict[int, Record] = {}

    def decide(self, tool: Tool, arguments: Mapping[str, Any]) -> Decision:
        """As in the trace: pending, if somebody was asked; or what held."""
        call, _ = self._decided.take(tool.name, arguments)
        if call.asked is None:
            return _decided(call)
        self._asking[_key(tool.name, arguments)] = call
        if call.answer is not None and call.answer is not call.asked:
            self.answers[id(call.asked)] = call.answer
        return call.asked

    def settle(self, tool: Tool, arguments: Mapping[str, Any], decision: Decision) -> Decision:
        """What was said in the trace, if nobody says anything else now."""
        if decision.choice != "pending":
            return decision
        known = self._asking.pop(_key(tool.name, arguments), None)
        return _decided(known or self._decided.take(tool.name, arguments)[0])

    def tool(self, tool: Tool) -> Tool:
        """The same tool, which gives again what it gave."""

        def function(**given: Any) -> Any:
            given.pop(tool.context_parameter or "", None)
            _, outcome = self._given.take(tool.name, given)
            if outcome.error is None:
                return ToolReturn(outcome.value, outcome.trace, outcome.fault)
            kind, name = _FAILURES.get(outcome.error.code, ExecutionFailed), outcome.error.exception or ""
            error = (type(name, (kind,), {}) if name.isidentifier() else kind)(outcome.error.message)
            raise error if outcome.fault is None else marked(error, outcome.fault)

        def bind(given: dict[str, Any]) -> dict[str, Any]:
            return given  # the very arguments of the call: by them it is known again

        shown = function if tool.function is None else functools.update_wrapper(function, tool.function)
        return replace(tool, function=shown, bind=bind, resource=None)
