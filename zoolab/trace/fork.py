"""A fork: a trace that shares its beginning with another one and goes on from an edited step."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, TypeVar

from zoolab.errors import InvalidInput
from zoolab.loop import Walk, walk
from zoolab.loop.about import Wrapper
from zoolab.policy import Permissions, Policy
from zoolab.records import Decision, Model, Record, Reply, Request, Step
from zoolab.steps.define import as_registry
from zoolab.tools import Tool, ToolRegistry
from zoolab.trace.calls import turn_at
from zoolab.trace.log import TraceLog, drive

T = TypeVar("T", bound=TraceLog)
_Place = tuple[str, int, int | None]
_Records = dict[_Place, Record]


def fork(trace: T, seq: int, edit: Record | None, model: Any, tools: Any, options: dict[str, Any]) -> T:
    """Do the work of `Trace.fork`."""
    options = {**trace.options, **options}
    model = model or options.get("model")
    if model is None:
        raise InvalidInput("no model to continue the fork", advice="pass model=")
    for name in ("model", "messages", "system", "first_turn"):  # the steps that are kept have these
        options.pop(name, None)
    defined: Any = trace.steps[0].record if tools is None and trace.steps else tools
    if tools is None and (not isinstance(defined, ToolRegistry) or any(t.function is None for t in defined)):
        raise InvalidInput(
            "this trace has no Python functions",
            advice="pass tools=, because a file does not contain functions",
        )
    registry = as_registry(defined)
    if trace.steps[seq].kind != "define":
        return _from_the_turn(trace, seq, edit, model, registry, options)
    opening = trace.steps[1].messages.tolist() if len(trace.steps) > 1 else []
    again = walk(None, registry, model, messages=opening, **options)
    answers: _Records = {} if edit is None else {("define", 0, None): edit}
    return _drive(child_of(trace, 0, options | {"model": model}), again, answers)


def _from_the_turn(
    trace: T, seq: int, edit: Record | None, model: Any, registry: ToolRegistry, options: dict[str, Any]
) -> T:
    """Begin again at the turn's request: its reply and the outcomes that stand are given, not made anew."""
    turns, steps = trace.turns, trace.steps
    found = turns[turn_at(turns, seq)]
    turn, request = range(found.seq, found.end), steps[found.seq]
    child = child_of(trace, found.seq, options | {"model": model})
    child.meta["forked_at"] = seq
    if seq != found.seq and found.reply is not None:
        model = _FirstThen(found.reply, model)
    if found is not turns[0] and options.get("tool_choice") != "none":
        options = options | {"tool_choice": "auto"}  # a forced choice held for the first turn
    before = {i: trace.originals.get(i, steps[i].record) for i in turn}
    places = {i: _place_of(steps[i], before[i]) for i in turn}
    # Decisions come before any call of the turn runs: a fork at a decision keeps no outcome.
    ran = places[seq][0] in ("execute", "result")
    given = {places[i]: steps[i].record for i in turn if ran and places[i][0] == "execute"}
    asked = {places[i]: before[i] for i in turn if places[i][0] == "decision"}
    edits = {i: steps[i].record for i in turn if i in trace.originals and i <= seq}
    edits |= {} if edit is None else {seq: edit}
    answers = {places[i]: record for i, record in edits.items() if i == seq or places[i] not in given}
    standing = _Standing(_permissions(options.get("policy"), trace, seq, registry), set(given))
    options = options | {"policy": standing, "first_turn": found.number}
    again = walk(None, registry, model, messages=request.messages.tolist(), **options)
    next(again)  # the tools are defined already
    return _drive(child, Walk(_with_given(again, given, asked, standing, request)), answers)


class _Standing(Permissions):
    """Asks about each call whose outcome stands, so that the outcome is given and the call not run."""

    def __init__(self, inner: Permissions, waiting: set[_Place]) -> None:
        self._inner = inner
        #: The outcomes that are still to be given.
        self.waiting = waiting

    def decide(self, tool: Tool, arguments: Mapping[str, Any]) -> Decision:
        return Decision("pending") if self.waiting else self._inner.decide(tool, arguments)

    def settle(self, tool: Tool, arguments: Mapping[str, Any], decision: Decision) -> Decision:
        return self._inner.settle(tool, arguments, decision)

    def note_denied(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        self._inner.note_denied(tool, arguments)


def _permissions(
    policy: Policy | Permissions | None, trace: TraceLog, seq: int, registry: ToolRegistry
) -> Permissions:
    """Allow in the fork what was allowed for the session before step `seq`."""
    if isinstance(policy, Permissions):
        return policy
    permissions = Permissions(policy)
    for call in (call for turn in trace.turns for call in turn.calls.values()):
        tool, decision = registry.get(call.call.name), call.decision
        before = call.decided is not None and call.decided < seq
        if tool is not None and before and decision is not None and decision.choice != "pending":
            permissions.settle(tool, call.arguments, decision)
    return permissions


def child_of(trace: T, until: int, options: dict[str, Any]) -> T:
    """Make a trace with the first `until` steps of `trace`, and a note of where it comes from."""
    child = type(trace)()
    child.meta = {**trace.meta, "parent": trace.run_id, "forked_at": until}
    child.options = options
    for seq in range(until):
        child.add(trace.steps[seq])
        child.started[seq] = trace.started[seq]
        if seq in trace.originals:
            child.originals[seq] = trace.originals[seq]
    return child


def _drive(child: T, steps: Walk, answers: _Records) -> T:
    return drive(child, steps, lambda step: answers.pop(_place_of(step, step.record), None))


def _with_given(
    steps: Any, given: _Records, asked: _Records, standing: _Standing, request: Step
) -> Generator[Step, Any, Any]:
    """Return the walk with the outcomes that stand: their calls do not run."""
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            return end.value
        if step.kind == "request" and step.turn == request.turn:
            step = step._replace(appended=request.appended)
        place = _place_of(step, step.record)
        outcome = given.get(("execute", *place[1:]))
        if place[0] == "decision" and outcome is not None:
            standing.waiting.discard(("execute", *place[1:]))
            if place in asked:
                yield step._replace(record=asked[place])
            answer = outcome
            continue
        if step.kind in ("execute", "result"):
            standing.waiting.clear()
        answer = yield step


def _place_of(step: Step, record: Record) -> _Place:
    """Return a step's place in its walk; `record` is what it held before it was answered."""
    return "decision" if isinstance(record, Decision) else step.kind, step.turn, step.slot


class _FirstThen(Wrapper):
    """The reply that is known, then the model's own; in all else like the model."""

    def __init__(self, reply: Reply, model: Model) -> None:
        super().__init__(model)
        self._waiting = [reply]

    def __call__(self, request: Request) -> Reply:
        return self._waiting.pop() if self._waiting else self._inner(request)
