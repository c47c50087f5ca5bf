"""A trace as a tape: the same requests and calls get again what they got."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from zoolab.errors import ReplayMiss
from zoolab.jsontext import canonical, excerpt
from zoolab.loop.turns import MODELS_FAULT
from zoolab.models.about import about
from zoolab.models.recording import RequestKeys, nearest_difference
from zoolab.records import Decision, Limits, Model, Outcome, Record, Reply, Request, Result, Step
from zoolab.steps.result import METADATA
from zoolab.tapes import Earlier, TapedCall
from zoolab.tools import Tool
from zoolab.trace.calls import Call, Turn, question_at
from zoolab.trace.codec import Shown
from zoolab.trace.log import TraceLog

#: What becomes of a call that is not on the tape. "stop": the walk ends with a `ReplayMiss`. "ask": a tool of
#: risk `safe` runs, any other call waits for a decision. "live": the policy decides, as in any walk.
Missing = Literal["stop", "ask", "live"]

_SOURCE = "on the tape"
_ADVICE = "fork the trace to go on: a fork runs what is safe, and asks before anything else runs"
NOT_TAPED = "this call is not on the tape"


class TraceTape:
    """The calls of a trace and what became of them, each given once, in order.

    Args:
        calls: The calls, in the order in which they were made.
        missing: What becomes of a call that is not among them.
        results: Whether the tool messages are given too, word by word; else they are made anew.
    """

    def __init__(
        self,
        calls: Iterable[Call],
        missing: Missing = "ask",
        *,
        results: bool = True,
        before: Sequence[Turn] = (),
    ) -> None:
        self.missing = missing
        self.failures: Mapping[str | None, int] = _failures(before)
        self.earlier: Sequence[Earlier] = [
            (call.call, call.verdict.arguments, call.result)
            for turn in before
            for call in turn.calls.values()
            if call.verdict is not None and call.result is not None
        ]
        self._results = results
        self._calls = [call for call in calls if call.verdict is not None and call.outcome is not None]
        self._places = defaultdict[str, deque[int]](deque)
        for place, call in enumerate(self._calls):
            self._places[call_as_text(call.call.name, call.arguments)].append(place)
        #: The outcomes that were given, by the places of their calls.
        self._given: dict[int, Outcome] = {}
        #: What was answered to the question about a call, by the identity of the question.
        self._answers: dict[int, Record] = {}
        #: The question about a call that is not on the tape, if one waits.
        self._question: Decision | None = None

    @classmethod
    def of(
        cls, trace: TraceLog, since: int = 0, missing: Missing = "ask", *, results: bool = True
    ) -> TraceTape:
        """Make a tape of what a trace settles after step `since`, and of what its own tape still has."""
        turns = trace.turns
        calls = [call for turn in turns if turn.end > since for call in turn.calls.values()]
        own = trace.options.get("tape")
        if isinstance(own, TraceTape):
            calls += own.left_by(trace)
        # Retries and repetitions are counted within one question.
        before = [turn for turn in turns[question_at(turns, since) :] if turn.end <= since]
        return cls(calls, missing, results=results, before=before)

    def left_by(self, trace: TraceLog) -> list[Call]:
        """Return the calls that a trace has not taken from the tape."""
        taken = {id(step.record) for step in trace.steps}
        given = {place for place, outcome in self._given.items() if id(outcome) in taken}
        return [call for place, call in enumerate(self._calls) if place not in given]

    def take(self, tool: Tool, arguments: Mapping[str, Any]) -> TapedCall | None:
        """Return what became of the next call of this tool with these arguments, and strike it off.

        Raises:
            ReplayMiss: There is none, and the walk may not go on without; shows the nearest one.
        """
        asked = call_as_text(tool.name, arguments)
        known = asked in self._places
        waiting = self._places[asked] if known else deque[int]()
        while waiting:
            place = waiting.popleft()
            taped = self._taped(self._calls[place])
            if taped is not None:
                self._given[place] = taped.outcome
                return taped
        if self.missing != "stop":
            return None
        raise ReplayMiss(
            f"{tool.name} was not called {'so often ' * known}with {excerpt(dict(arguments), 200)}"
            " in this trace, so there is no result to replay",
            advice=_ADVICE,
            difference="" if known else nearest_difference(asked, self._places, _SOURCE),
        )

    def decide(self, tool: Tool, arguments: Mapping[str, Any], decision: Decision) -> Decision:
        """Let a safe tool run, and any other call wait; what the policy denies stays denied."""
        if self.missing == "live" or decision.choice == "deny":
            return decision
        if decision.choice != "pending":
            if tool.risk == "safe":
                return decision
            decision = Decision("pending", NOT_TAPED, risk=tool.risk, arguments=dict(arguments), by="rule")
        self._question = decision
        return decision

    def keep(self, _tool: Tool, _arguments: Mapping[str, Any], outcome: Outcome, ran: bool) -> Outcome:
        """Mark the outcome of a call that ran; it stands in the trace of the walk itself."""
        return replace(outcome, origin="ran") if ran else outcome

    def waits_at(self, step: Step) -> bool:
        """Return whether a step asks about a call that is not on the tape."""
        return step.record is self._question

    def answer_to(self, step: Step) -> Record | None:
        """Return what was answered to a question that was asked on the tape; None for any other step."""
        return self._answers.get(id(step.record))

    def _taped(self, call: Call) -> TapedCall | None:
        """What is given for a call; None if the file kept a part of its value, and no message either."""
        outcome, result = call.outcome, call.result if self._results else None
        if outcome is None or (result is None and isinstance(outcome.value, Shown)):
            return None
        answer = call.answer if call.answer is not call.asked else None
        if call.asked is not None and answer is not None:
            self._answers[id(call.asked)] = answer
        given = answer if isinstance(answer, Decision | Outcome) else None
        return TapedCall(replace(outcome, origin="tape"), result, call.asked, given)


class OwnReplies:
    """A model that answers each request as a trace says it was answered, and asks `otherwise` for others.

    The same request a second time gets the second reply, if there is one, of those after step `since`.
    """

    def __init__(self, trace: TraceLog, otherwise: Model | None = None, since: int = 0) -> None:
        turns = [turn for turn in trace.turns if turn.end > since]
        self.calls = options_of(trace)["calls"]
        #: A run that did not ask again after a reply that failed is not asked again now.
        self.deterministic = not any(
            turn.reply is not None and turn.reply.end == "failed" for turn in turns[:-1]
        )
        self._otherwise = otherwise
        self._keys = RequestKeys()
        self._bodies: list[dict[str, Any]] = []
        self._replies = defaultdict[str, deque[Reply]](deque)
        for turn in turns:
            if turn.reply is not None:
                self._bodies.append(turn.request.body())
                self._replies[self._keys.of(self._bodies[-1])].append(turn.reply)

    def __call__(self, request: Request) -> Reply:
        body = request.body()
        replies = self._replies.get(self._keys.of(body))
        if replies:
            return replies.popleft() if len(replies) > 1 else replies[0]
        if self._otherwise is not None:
            return self._otherwise(request)
        raise ReplayMiss(
            f"the trace does not contain this request among its {len(self._bodies)}",
            advice=_ADVICE,
            difference=nearest_difference(pretty(body), map(pretty, self._bodies), _SOURCE),
        )


def options_of(trace: TraceLog, seq: int = -1) -> dict[str, Any]:
    """Return the options of a run, by which it can be repeated from step `seq`; those that a file does not
    say are read off its steps.
    """
    turns = trace.turns
    read: dict[str, Any] = {"calls": _calls_of(trace), "envelope": _envelope_of(trace)}
    known = trace.options
    if turns:
        asked = turns[question_at(turns, trace.index(seq))]
        read["tool_choice"] = asked.request.tool_choice
        if any(turn.asks for turn in turns[turns.index(asked) + 1 :]):  # they are those of the last question
            known = {name: value for name, value in known.items() if name != "tool_choice"}
        read["limits"] = Limits(turns=max(Limits().turns, len(turns)))
        described = turns[0].request.settings.get("response_format")
        schema = described.get("json_schema") if isinstance(described, dict) else None
        if isinstance(schema, dict) and isinstance(schema.get("schema"), dict):
            read["answer_schema"] = schema["schema"]
    return read | known


def _calls_of(trace: TraceLog) -> str:
    model = trace.options.get("model")
    if model is not None:
        return about(model).calls
    if all(call.origin != "text" for call in trace.tool_calls):
        return "native"
    return "auto" if any(turn.request.tools for turn in trace.turns) else "text"


def _envelope_of(trace: TraceLog) -> str:
    results = [step.record.content for step in trace.steps if isinstance(step.record, Result)]
    return "plain" if results and not any(METADATA in content for content in results) else "json"


def _failures(turns: Iterable[Turn]) -> dict[str | None, int]:
    """Count the turns in which the calls of each tool failed validation, as `Limits(retries=)` does."""
    failures = defaultdict[str | None, int](int)
    for turn in turns:
        verdicts = [(call.call.name, call.verdict.error_code) for call in turn.calls.values() if call.verdict]
        budgets = {
            None if code == "unknown_tool" else name for name, code in verdicts if code in MODELS_FAULT
        }
        for budget in budgets:
            failures[budget] += 1
    return failures


def call_as_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call as one text: two calls are the same if their texts are."""
    return pretty({"tool": tool, "arguments": dict(arguments)})


def pretty(value: Any) -> str:
    """JSON on several lines, the same for equal values."""
    return json.dumps(json.loads(canonical(value)), ensure_ascii=False, indent=1)
