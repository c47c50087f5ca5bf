"""A replay: the model says again what it said in a trace, and the tools give again what they gave."""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from zoolab.errors import (
    ExecutionFailed,
    PermissionDenied,
    ReplayMiss,
    ResourceNotFound,
    ToolIOError,
    ToolTimeout,
)
from zoolab.faults import marked
from zoolab.jsontext import canonical, excerpt
from zoolab.loop.about import about
from zoolab.models.recording import nearest_difference
from zoolab.models.request_keys import RequestKeys
from zoolab.policy import Permissions
from zoolab.records import Decision, Model, Outcome, Record, Reply, Request
from zoolab.show.wording import pretty
from zoolab.tools import Tool, ToolRegistry, ToolReturn
from zoolab.trace.codec import Shown
from zoolab.trace.log import TraceLog

_SOURCE = "in this trace"
_ADVICE = "look, which runs nothing, or ask the model again"
_FAILURES = {
    kind.code: kind
    for kind in (ExecutionFailed, PermissionDenied, ResourceNotFound, ToolIOError, ToolTimeout)
}

_Key = tuple[str, str]


def _key(tool: str, arguments: Mapping[str, Any]) -> _Key:
    return tool, canonical(dict(arguments))


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
            f"this trace holds no such request among its {len(self._bodies)}",
            advice=_ADVICE,
            difference=nearest_difference(pretty(body), map(pretty, self._bodies), _SOURCE),
        )


def _ran(outcome: Outcome) -> bool:
    """Whether a call had permission; a tool that is denied something itself says so with an exception."""
    error = outcome.error
    return error is None or error.code != "permission_denied" or error.exception is not None


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a trace that came to an outcome: what it gave, and what was asked and said before that."""

    seq: int
    key: _Key
    outcome: Outcome
    asked: Decision | None = None
    answer: Record | None = None

    @property
    def decided(self) -> Decision:
        """What held for the call, whoever said it."""
        said, error, ran = self.answer, self.outcome.error, _ran(self.outcome)
        if isinstance(said, Decision) and said.choice != "pending" and said.allowed == ran:
            return said
        if ran or error is None:
            return Decision("once", "as in the trace")
        return Decision("deny", error.message.partition(" did not run: ")[2] or error.message)


class _Memory:
    """The calls of a trace in order, those after a fork if there are any; the last one again and again."""

    def __init__(self, calls: Iterable[_Call], seq: int) -> None:
        earlier, later = defaultdict[_Key, list[_Call]](list), defaultdict[_Key, list[_Call]](list)
        for call in calls:
            (later if call.seq > seq else earlier)[call.key].append(call)
        self._calls = earlier | later

    def take(self, tool: str, arguments: Mapping[str, Any]) -> _Call:
        """The next such call, or `ReplayMiss`; a value that a file keeps in part is as good as none."""
        key = _key(tool, arguments)
        calls = self._calls.get(key)
        if not calls:
            raise ReplayMiss(
                f"{tool} was not called with {excerpt(dict(arguments), 200)} in this trace, and is not run",
                advice=_ADVICE,
                difference=nearest_difference(_call_text(key), map(_call_text, self._calls), _SOURCE),
            )
        call = calls.pop(0) if len(calls) > 1 else calls[0]
        if isinstance(call.outcome.value, Shown):
            raise ReplayMiss(f"the file keeps a part of what {tool} gave, and it is not run", advice=_ADVICE)
        return call


def _call_text(key: _Key) -> str:
    tool, arguments = key
    return json.dumps({"tool": tool, "arguments": json.loads(arguments)}, ensure_ascii=False, indent=1)


class RememberedPermissions(Permissions):
    """Decides on each call as it was decided in a trace; a call that the trace does not hold is a miss."""

    def __init__(self, memory: _Memory) -> None:
        super().__init__()
        self._memory = memory
        self._asking: dict[_Key, _Call] = {}
        #: What was said to each decision that was asked for, by its identity.
        self.answers: dict[int, Record] = {}

    def decide(self, tool: Tool, arguments: Mapping[str, Any]) -> Decision:
        """As in the trace: pending, if somebody was asked; or what held."""
        call = self._memory.take(tool.name, arguments)
        if call.asked is None:
            return call.decided
        self._asking[call.key] = call
        if call.answer is not None and call.answer is not call.asked:
            self.answers[id(call.asked)] = call.answer
        return call.asked

    def settle(self, tool: Tool, arguments: Mapping[str, Any], decision: Decision) -> Decision:
        """What was said in the trace, if nobody says anything else now."""
        if decision.choice != "pending":
            return decision
        known = self._asking.pop(_key(tool.name, arguments), None)
        return (known or self._memory.take(tool.name, arguments)).decided


class RememberedTools:
    """The tools of a trace, which give again what they gave in it; they never run.

    Args:
        trace: The trace.
        seq: Where the fork is: what came after it is given first.
    """

    def __init__(self, trace: TraceLog, seq: int) -> None:
        found = [call for turn in trace.turns for call in turn.calls.values()]
        calls = [
            _Call(call.ran, _key(call.call.name, call.arguments), call.outcome, call.asked, call.answer)
            for call in found
            if call.verdict is not None and call.outcome is not None and call.ran is not None
        ]
        self._given = _Memory((call for call in calls if _ran(call.outcome)), seq)
        self.permissions = RememberedPermissions(_Memory(calls, seq))
        tools = next((s.record for s in trace.steps if isinstance(s.record, ToolRegistry)), ToolRegistry())
        self.registry = self.remembering(tools)

    def remembering(self, tools: ToolRegistry) -> ToolRegistry:
        """The same tools, without what they do."""
        registry = ToolRegistry(map(self._remembering, tools))
        for tool in tools:
            if tools.denies(tool.name):
                registry.deny(tool.name)
        return registry

    def _remembering(self, tool: Tool) -> Tool:
        def function(**given: Any) -> Any:
            given.pop(tool.context_parameter or "", None)
            outcome = self._given.take(tool.name, given).outcome
            if outcome.error is None:
                return ToolReturn(outcome.value, outcome.trace, outcome.fault)
            kind, name = _FAILURES.get(outcome.error.code, ExecutionFailed), outcome.error.exception or ""
            error = (type(name, (kind,), {}) if name.isidentifier() else kind)(outcome.error.message)
            raise error if outcome.fault is None else marked(error, outcome.fault)

        def bind(given: dict[str, Any]) -> dict[str, Any]:
            return given  # the very arguments of the call: by them it is known again

        shown = function if tool.function is None else functools.update_wrapper(function, tool.function)
        return replace(tool, function=shown, bind=bind, resource=None)
