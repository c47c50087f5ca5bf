"""A fork: a trace that shares its beginning with another one and goes on from an edited step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical
from zoolab.loop import walk
from zoolab.records import Outcome, Record, Reply, Request, Step
from zoolab.steps.define import as_registry
from zoolab.tools import Tool, ToolRegistry

if TYPE_CHECKING:
    from zoolab.trace.trace import Trace

_Place = tuple[str, int, int | None]


def fork(
    trace: Trace, seq: int, edit: Record | None, model: Any, tools: Any, options: dict[str, Any]
) -> Trace:
    """The work of `Trace.fork`.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted(["Hello"]))
    >>> fork(trace, 1, None, Scripted(["Good day"]), None, {}).answer
    'Good day'
    """
    options = {**trace.options, **options}
    model = model or options.pop("model", None)
    options.pop("model", None)
    if model is None:
        raise InvalidInput("nobody answers in this fork", advice="give model=")
    registry = as_registry(tools if tools is not None else _tools_of(trace))
    target = trace.steps[seq]
    if target.kind == "define":
        return _from_the_start(trace, edit, model, registry, options)
    return _from_the_turn(trace, target, edit, model, registry, options)


def _from_the_start(
    trace: Trace, edit: Record | None, model: Any, registry: ToolRegistry, options: dict[str, Any]
) -> Trace:
    opening = trace.steps[1].messages.tolist() if len(trace.steps) > 1 else []
    child = _child(trace, 0, options | {"model": model})
    _drive(child, walk(None, registry, model, messages=opening, **options), ("define", 0, None), edit)
    return child


def _from_the_turn(
    trace: Trace,
    target: Step,
    edit: Record | None,
    model: Any,
    registry: ToolRegistry,
    options: dict[str, Any],
) -> Trace:
    """Begin again at the turn's request: its reply and the outcomes that stand are given, not made anew."""
    turn = [step for step in trace.steps if step.turn == target.turn and step.kind != "define"]
    request, reply = turn[0], next((step.reply for step in turn if step.reply), None)
    if target.kind != "request" and reply is not None:
        model = _first_then(reply, model)
    given = {_place(step): step.record for step in turn if _stands(step, target)}
    playable = [step for step in turn if step.kind == "execute" and step.call is not None]
    if (
        target.kind in ("execute", "result") and isinstance(target.record, Outcome)
    ) or target.kind == "result":
        registry = _played(registry, playable)
    child = _child(trace, trace.index(request), options)
    steps = walk(None, registry, model, messages=request.messages.tolist(), first_turn=target.turn, **options)
    next(steps)  # the tools are defined already
    _drive(child, _with_given(steps, given, request), _place(target), edit)
    return child


def _child(trace: Trace, until: int, options: dict[str, Any]) -> Trace:
    child = type(trace)(**trace.meta, parent=trace.run_id, forked_at=until)
    child.options = options
    for seq in range(until):
        child.add(trace.steps[seq])
        child.started[seq] = trace.started[seq]
    return child


def _drive(child: Trace, steps: Any, place: _Place, edit: Record | None) -> None:
    following = child.follow(steps)
    answer: Record | None = None
    while True:
        try:
            step = following.send(answer)
        except StopIteration:
            return
        answer = edit if _place(step) == place else None
        if answer is not None:
            edit = None


def _with_given(steps: Any, given: dict[_Place, Record], request: Step) -> Generator[Step, Any, Any]:
    """The walk with the steps that stand answered as they were before."""
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            return end.value
        if step.kind == "request" and step.turn == request.turn:
            step = step._replace(appended=request.appended)
        stands = given.pop(_place(step), None)
        shown = step if stands is None else step._replace(record=stands)
        answer = (yield shown) or stands


def _place(step: Step) -> _Place:
    kind = "decision" if step.kind == "execute" and not isinstance(step.record, Outcome) else step.kind
    return kind, step.turn, step.slot


def _stands(step: Step, target: Step) -> bool:
    """Whether a step of the turn is kept: the outcomes, when an outcome or a result is edited."""
    return (
        step.kind == "execute" and isinstance(step.record, Outcome) and target.kind in ("execute", "result")
    )


def _first_then(reply: Reply, model: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
    waiting = [reply]
    return lambda request: waiting.pop() if waiting else model(request)


def _tools_of(trace: Trace) -> ToolRegistry:
    registry = trace.steps[0].record if trace.steps else None
    if not isinstance(registry, ToolRegistry) or any(tool.function is None for tool in registry):
        raise InvalidInput(
            "this trace has no Python functions", advice="give tools=, since files hold no code"
        )
    return registry


def _played(registry: ToolRegistry, steps: list[Step]) -> ToolRegistry:
    """The tools, but calls that have run already do not run again; their outcomes are given anyway."""
    done: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for step in steps:
        if step.call is not None and isinstance(step.record, Outcome):
            done[step.call.name][canonical(_arguments(step, registry))] += 1
    return ToolRegistry(_played_tool(tool, done[tool.name]) for tool in registry)


def _arguments(step: Step, registry: ToolRegistry) -> Any:
    from zoolab.steps.validate import check_call

    return check_call(step.call, registry).arguments if step.call else None


def _played_tool(tool: Tool, done: dict[str, int]) -> Tool:
    def play(**arguments: Any) -> Any:
        key = canonical(arguments)
        if done.get(key, 0) > 0:
            done[key] -= 1
            return None
        return tool.invoke(arguments)

    return replace(tool, function=play, bind=None, context_parameter=None)
