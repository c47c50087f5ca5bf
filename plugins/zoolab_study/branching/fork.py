"""A fork: a trace that shares its beginning with another one and goes on from an edited step."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from zoolab.errors import (
    InvalidInput,
    InvalidToolSignature,
    ToolLoopLimitReached,
    ToolRetriesExhausted,
    ZoolabError,
)
from zoolab.jsontext import excerpt
from zoolab.loop import Walk, walk
from zoolab.models.about import Wrapper
from zoolab.policy import Permissions, Policy
from zoolab.records import Limits, Model, Record, Reply, Request, Step, ToolCall, Verdict
from zoolab.steps.define import as_registry
from zoolab.tool_search import FIND_TOOLS
from zoolab.tools import Tool, ToolRegistry
from zoolab.trace.calls import Turn, question_at, turn_at
from zoolab.trace.log import TraceLog, drive, tools_of
from zoolab_study.branching.trace_tape import (
    Missing,
    OwnReplies,
    Place,
    TraceTape,
    last_place,
    opens_walk,
    options_of,
    place_of,
    repair_of,
    said_in,
)

T = TypeVar("T", bound=TraceLog)
_Records = dict[Place, Record]
Ask = Callable[[Step], Record | None]
#: The outcomes of walks that a limit has ended.
_AT_A_LIMIT = (ToolRetriesExhausted.code, ToolLoopLimitReached.code)
#: What the steps that are kept have.
_OF_THE_START = ("model", "messages", "system", "first_turn")


def fork(trace: T, seq: int, edit: Record | None, model: Any, tools: Any, options: dict[str, Any]) -> T:
    """Do the work of `Trace.fork`."""
    ask = options.pop("ask", None)
    turns = trace.turns
    known = options_of(trace, turns, seq)
    own_policy = None if "policy" in options else known.get("policy")
    options = {**known, **options}
    model = model or options.get("model")
    if model is None:
        raise InvalidInput("no model to continue the fork", advice="pass model=")
    missing: Missing = "ask"
    if isinstance(tools, str):
        if tools != "live":
            raise InvalidInput(f"tools is {excerpt(tools)}", expected='tools with their functions, or "live"')
        tools = None
        missing = "live"
        _check_functions(trace)
    own = tools_of(trace)
    registry = own if tools is None else as_registry(tools)
    search = own.get(FIND_TOOLS)
    if search is not None and FIND_TOOLS not in registry and "find_tools" not in options:
        registry = registry.fixed(search)  # a file does not say by what it searched
    same = options["envelope"] == known["envelope"]
    if isinstance(own_policy, Permissions):  # what was allowed for the session since does not hold here
        before = _permissions(own_policy.policy, turns, seq + (edit is None), registry, own_policy.lasts)
        options["policy"] = own_policy.with_session_of(before)
    if "repair" not in options:
        options["repair"] = repair_of(trace, turns[max(0, turn_at(turns, seq)) :], None)
    return _forked(trace, turns, seq, edit, model, registry, options, missing, same, ask)


def replay(trace: T, seq: int, edit: Record | None, otherwise: Model | None) -> T:
    """Go on from a step; the model says what it said, and asks `otherwise` for other requests; nothing runs.

    Raises:
        ReplayMiss: A request or a call comes that is not on the tape; shows the nearest one. Its `trace` is
            the child so far.
    """
    turns = trace.turns
    found = max(0, turn_at(turns, seq))
    walks = [i for i in range(found + 1, len(turns)) if opens_walk(trace, turns[i - 1], turns[i])]
    ends = dict(zip([found, *walks], [*walks, len(turns)], strict=True))
    options = _options_of_replay(trace, turns, seq, ends[found])
    registry = tools_of(trace)
    if trace.steps[0].kind != "define":  # another program's conversation may not say its tools
        registry = _tools_called(turns)
    begins = not turns or seq <= turns[found].seq
    model = OwnReplies(turns[found:], options["calls"], otherwise, not begins)
    try:
        child = _forked(trace, turns, seq, edit, model, registry, options, "stop", True, None)
        for i in walks:
            options = _options_of_replay(trace, turns, turns[i].seq, ends[i])
            _ask_next(trace, turns, turns[i], child, registry, model, options)
        if child.steps and place_of(child.steps[-1], child.steps[-1].record) == last_place(trace, turns):
            child.outcome = trace.outcome
            child.error = trace.error
            child.fault = trace.fault
    except ZoolabError as error:
        if isinstance(error.trace, TraceLog):
            error.trace.options = dict(trace.options)
        raise
    child.options = dict(trace.options)
    return child


def _options_of_replay(trace: TraceLog, turns: Sequence[Turn], seq: int, end: int) -> dict[str, Any]:
    """Return the options of the walk from step `seq` to the turn at `end`, which ends where it ended then.

    A file may not say the limits of its run, and a fork may have had others.
    """
    options = options_of(trace, turns, seq) | {"policy": None}
    limits = options.get("limits") or Limits()
    asked = turns[question_at(turns, seq) : end]
    if len(asked) > limits.turns or (trace.outcome == "loop_limit" and "limits" not in trace.options):
        limits = replace(limits, turns=max(1, len(asked)))
    failed = bool(asked) and asked[-1].reply is not None and asked[-1].reply.end == "failed"
    if not failed and (end < len(turns) or trace.outcome not in _AT_A_LIMIT):
        limits = replace(limits, retries=max(limits.retries, len(asked)), repeats=None)
    repair = repair_of(trace, turns[max(0, turn_at(turns, seq)) :], options.get("repair"))
    return options | {"limits": limits, "repair": repair}


def _ask_next(
    trace: TraceLog,
    turns: Sequence[Turn],
    turn: Turn,
    child: TraceLog,
    registry: ToolRegistry,
    model: Any,
    options: dict[str, Any],
) -> None:
    """Ask a further question of a trace in a child that has come to an answer; nothing runs."""
    step = trace.steps[turn.seq]
    said = step.messages.tolist()
    if said_in(child.messages) != said_in(trace.messages_at(turn.seq - 1)):  # it has said something else
        said = [*child.messages, *step.new_messages]
    for name in _OF_THE_START:
        options.pop(name, None)
    tape = TraceTape.of(trace, turns, turn.seq, "stop")
    options |= {"tape": tape, "policy": _permissions(None, turns, turn.seq, registry)}
    again = walk(None, registry, model, messages=said, first_turn=child.steps[-1].turn + 1, **options)
    next(again)  # the tools are defined already
    _drive(child, Walk(_with_news(again, step.appended)), {}, tape, None)


def _forked(
    trace: T,
    turns: Sequence[Turn],
    seq: int,
    edit: Record | None,
    model: Any,
    registry: ToolRegistry,
    options: dict[str, Any],
    missing: Missing,
    same: bool,
    ask: Ask | None,
) -> T:
    """Go on from a step; a result is made anew unless what it is made of is the `same`."""
    for name in _OF_THE_START:
        options.pop(name, None)
    # What a file does not say of a run is taken from its requests.
    chosen = missing != "stop" and (
        any(options.get(name) is not None for name in ("condense", "retrieve"))
        or registry.names() != tools_of(trace).names()
    )
    policy = options.get("policy")
    lasts = isinstance(policy, Permissions) and policy.lasts
    if trace.steps[seq].kind == "define":
        same = same and edit is None
        chosen = chosen or not same
        tape = TraceTape.of(trace, turns, 0, missing, results=same, requests=not chosen, lasts=lasts)
        options["tape"] = tape
        opening = trace.steps[1].messages.tolist() if len(trace.steps) > 1 else []
        again = walk(None, registry, model, messages=opening, **options)
        answers: _Records = {} if edit is None else {("define", 0, None): edit}
        answers |= _edits_after(trace, 0) if missing == "stop" else {}
        return _drive(child_of(trace, 0, options | {"model": model}), again, answers, tape, ask)
    found = turns[turn_at(turns, seq)]
    steps = trace.steps
    turn = range(found.seq, found.end)
    request = steps[found.seq]
    tape = TraceTape.of(
        trace, turns, found.seq, missing, until=seq, results=same, requests=not chosen, lasts=lasts
    )
    options["tape"] = tape
    child = child_of(trace, found.seq, options | {"model": model}, registry)
    child.meta["forked_at"] = seq
    if seq != found.seq and found.reply is not None:
        model = _FirstThen(found.reply, model)
    before = {i: trace.originals.get(i, steps[i].record) for i in turn}
    edits = {i: steps[i].record for i in turn if i in trace.originals and i <= seq}
    edits |= {} if edit is None else {seq: edit}
    later = _edits_after(trace, seq) if missing == "stop" else {}
    options["policy"] = _permissions(policy, turns, seq + (edit is None), registry)
    options["first_turn"] = found.number
    again = walk(None, registry, model, messages=request.messages.tolist(), **options)
    next(again)  # the tools are defined already
    answers = later | {place_of(steps[i], before[i]): record for i, record in edits.items()}
    return _drive(child, Walk(_with_news(again, request.appended)), answers, tape, ask)


def _edits_after(trace: TraceLog, seq: int) -> _Records:
    """Return what was put in place of what a model said, or was asked, or of a verdict, after a step.

    What was put in place of other records is on the tape.
    """
    edited = {i: trace.steps[i] for i in trace.originals if i > seq}
    said = (Request, Reply, ToolCall, Verdict)
    return {
        place_of(step, trace.originals[i]): step.record
        for i, step in edited.items()
        if isinstance(step.record, said)
    }


def _tools_called(turns: Sequence[Turn]) -> ToolRegistry:
    """Return a tool for each name that was called, of which nothing else is known."""
    tools: list[Tool] = []
    for name in dict.fromkeys(call.call.name for turn in turns for call in turn.calls.values()):
        with suppress(InvalidToolSignature):  # no tool can have such a name
            tools.append(Tool.from_schema(name, "", {"type": "object"}))
    return ToolRegistry(tools)


def _check_functions(trace: TraceLog) -> None:
    defined: Any = trace.steps[0].record if trace.steps else None
    if not isinstance(defined, ToolRegistry) or any(tool.function is None for tool in defined):
        raise InvalidInput(
            "this trace has no Python functions",
            advice="pass tools= with the functions, because a file does not contain them",
        )


def _permissions(
    policy: Policy | Permissions | None,
    turns: Sequence[Turn],
    until: int,
    registry: ToolRegistry,
    kept: bool = False,
) -> Permissions:
    """Allow in the fork what was allowed for the session before step `until`.

    What was allowed for always is left to the file that has `kept` it.
    """
    if isinstance(policy, Permissions):
        return policy
    permissions = Permissions(policy)
    for call in (call for turn in turns for call in turn.calls.values()):
        tool = registry.get(call.call.name)
        decision = call.decision
        before = call.decided is not None and call.decided < until
        if decision is None or decision.choice == "pending" or (kept and decision.choice == "always"):
            continue
        if tool is not None and before:
            permissions.settle(tool, call.arguments, decision)
    return permissions


def child_of(trace: T, until: int, options: dict[str, Any], registry: ToolRegistry | None = None) -> T:
    """Make a trace with the first `until` steps of `trace`, and a note of where it comes from.

    `registry` are the tools that it goes on with.
    """
    child = type(trace)()
    child.meta = {**trace.meta, "parent": trace.run_id, "forked_at": until}
    child.options = options
    child.keep(trace, until)
    if registry is not None and until and child.steps[0].kind == "define":
        child.steps[0] = child.steps[0]._replace(record=registry)  # those of a file have no functions
    return child


def _drive(child: T, steps: Walk, answers: _Records, tape: TraceTape, ask: Ask | None) -> T:
    """Walk on until the end, or until a call that is not on the tape waits and nobody is there to ask."""

    def answer(step: Step) -> Record | None:
        given = answers.pop(place_of(step, step.record), None) or tape.answer_to(step)
        if given is None and ask is not None and step.status == "pending":
            return ask(step)
        return given

    def waits(step: Step) -> bool:
        if place_of(step, step.record) == tape.ends and tape.ends not in answers:
            return True
        asks = ask is None and place_of(step, step.record) not in answers
        return asks and tape.missing == "ask" and tape.waits_at(step)

    return drive(child, steps, answer, waits)


def _with_news(steps: Any, appended: int) -> Generator[Step, Any, Any]:
    """Return the walk; its first request shows as new the messages that were new in the trace."""
    answer = None
    first = True
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            return end.value
        if first:
            step = step._replace(appended=appended)
            first = False
        answer = yield step


class _FirstThen(Wrapper):
    """The reply that is known, then the model's own; in all else like the model."""

    def __init__(self, reply: Reply, model: Model) -> None:
        super().__init__(model)
        self._waiting = [reply]

    def __call__(self, request: Request) -> Reply:
        return self._waiting.pop() if self._waiting else self._inner(request)
