"""A replay: the model says again what it said in a trace, and the tools give again what they gave."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from difflib import unified_diff
from typing import Any

from zoolab.errors import (
    ExecutionFailed,
    PermissionDenied,
    ReplayMiss,
    ResourceNotFound,
    ToolIOError,
    ToolTimeout,
)
from zoolab.inspector.bounds import pretty
from zoolab.jsontext import canonical, excerpt
from zoolab.models.keys import RequestKeys
from zoolab.records import Model, Outcome, Reply, Request, Step, Verdict
from zoolab.registry import ToolRegistry
from zoolab.tools import Tool, ToolReturn
from zoolab.trace import Trace
from zoolab.trace.codec import Shown

_MAX_LINES = 24
_FAILURES = {
    kind.code: kind
    for kind in (ExecutionFailed, PermissionDenied, ResourceNotFound, ToolIOError, ToolTimeout)
}

_Key = tuple[str, str]


class OwnReplies:
    """A model that answers each request as a trace says it was answered, and asks `otherwise` for others.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted(["Hello"]))
    >>> OwnReplies(trace)(trace.steps[1].record).text
    'Hello'
    """

    def __init__(self, trace: Trace, otherwise: Model | None = None) -> None:
        self.calls = getattr(trace.options.get("model"), "calls", "native")
        self._otherwise = otherwise
        self._keys = RequestKeys()
        self._requests: list[Request] = []
        self._replies: dict[str, Reply] = {}
        for request, reply in _pairs(trace.steps):
            self._requests.append(request)
            self._replies.setdefault(self._keys.of(request.body()), reply)

    def __call__(self, request: Request) -> Reply:
        reply = self._replies.get(self._keys.of(request.body()))
        if reply is not None:
            return reply
        if self._otherwise is not None:
            return self._otherwise(request)
        raise ReplayMiss(
            f"this trace holds no such request, among {len(self._requests)}",
            advice="look, which runs nothing, or ask the model again",
            difference=nearest_difference(request, self._requests),
        )


def _pairs(steps: Iterable[Step]) -> Iterable[tuple[Request, Reply]]:
    request: Request | None = None
    for step in steps:
        if isinstance(step.record, Request):
            request = step.record
        elif step.reply is not None and request is not None:
            yield request, step.reply
            request = None


def nearest_difference(request: Request, known: Iterable[Request]) -> str:
    """A unified diff from the most similar known request to this one; empty where none is known.

    >>> old, new = (Request([{"role": "user", "content": said}]) for said in ("Hi", "Hello"))
    >>> print(nearest_difference(new, [old]).splitlines()[-1])
    +{"messages": [{"role": "user", "content": "Hello"}]}
    """
    wanted = pretty(request.body()).splitlines()
    lines = set(wanted)
    bodies = (pretty(other.body()).splitlines() for other in known)
    nearest = max(
        bodies, key=lambda body: len(lines & set(body)) - len(lines ^ set(body)) / 1000, default=None
    )
    if nearest is None:
        return ""
    diff = list(unified_diff(nearest, wanted, "in this trace", "requested", lineterm="", n=1))
    more = [f"... {len(diff) - _MAX_LINES} more lines"] if len(diff) > _MAX_LINES else []
    return "\n".join(diff[:_MAX_LINES] + more)


class RememberedTools:
    """The tools of a trace, which give again what they gave in it; a call that is new runs the function.

    Args:
        trace: The trace.
        seq: Where the fork is: what came after it is given first.

    >>> from zoolab import Scripted, run, tool
    >>> @tool
    ... def count(so_far: list[int] = []) -> int:
    ...     "Count the calls."
    ...     so_far.append(1)
    ...     return len(so_far)
    >>> trace = run("Hi", [count], Scripted([[("count", {})], "1"]))
    >>> RememberedTools(trace, 0).registry["count"].invoke({}).value
    1
    """

    def __init__(self, trace: Trace, seq: int) -> None:
        self._earlier = _outcomes(trace, range(seq + 1))
        self._later = _outcomes(trace, range(seq + 1, len(trace)))
        tools = next((s.record for s in trace.steps if isinstance(s.record, ToolRegistry)), ToolRegistry())
        self.registry = ToolRegistry(map(self._remembering, tools))
        for tool in tools:
            if tools.denies(tool.name):
                self.registry.deny(tool.name)

    def _remembering(self, tool: Tool) -> Tool:
        def function(**given: Any) -> Any:
            context = given.pop(tool.context_parameter, None) if tool.context_parameter else None
            outcome = self._take((tool.name, canonical(given)))
            if outcome is not None:
                return _again(outcome)
            if tool.function is None:
                raise ReplayMiss(f"{tool.name} was never called with {excerpt(given)}", advice="give tools=")
            return tool.invoke(given, context)

        def bind(given: dict[str, Any]) -> dict[str, Any]:
            if tool.bind is not None:
                tool.bind(dict(given))  # what it refuses is refused here, too
            return given

        shown = function if tool.function is None else functools.update_wrapper(function, tool.function)
        return replace(tool, function=shown, bind=bind)

    def _take(self, key: _Key) -> Outcome | None:
        """What the call gave next; what it gave last, again and again."""
        outcomes = self._later.get(key) or self._earlier.get(key)
        if not outcomes:
            return None
        return outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]


def _outcomes(trace: Trace, numbers: range) -> dict[_Key, list[Outcome]]:
    """What each call of these steps gave, in order; what a file keeps in part is as good as nothing."""
    verdicts = {(s.turn, s.slot): s.record for s in trace.steps if isinstance(s.record, Verdict)}
    given: dict[_Key, list[Outcome]] = defaultdict(list)
    for number in numbers:
        step = trace.steps[number]
        verdict, record = verdicts.get((step.turn, step.slot)), step.record
        if verdict is None or step.call is None or not isinstance(record, Outcome):
            continue
        if not isinstance(record.value, Shown):
            given[step.call.name, canonical(verdict.arguments or {})].append(record)
    return given


def _again(outcome: Outcome) -> ToolReturn:
    if outcome.error is not None:
        raise _FAILURES.get(outcome.error.code, ExecutionFailed)(outcome.error.message)
    return ToolReturn(outcome.value, outcome.trace, outcome.fault)
