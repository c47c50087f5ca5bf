"""A trace as a tape: the same requests and calls get again what they got."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from zoolab.answers import ANSWER_TOOL
from zoolab.errors import ReplayMiss
from zoolab.jsontext import canonical, excerpt, json_or
from zoolab.jsontext.values import any_json
from zoolab.loop.turns import ANSWER, MODELS_FAULT, REPLY
from zoolab.messages import Condensed, Messages, calls_of, text_of
from zoolab.messages.ends import says_something
from zoolab.models.about import about
from zoolab.models.recording import nearest_difference
from zoolab.records import (
    Decision,
    Limits,
    Message,
    Model,
    Outcome,
    Record,
    Repair,
    Reply,
    Request,
    Result,
    Step,
    ToolCall,
    Verdict,
)
from zoolab.steps.execute import INTERRUPTED
from zoolab.steps.result import METADATA
from zoolab.steps.validate import Repairer, Unrepaired
from zoolab.tapes import Earlier, Tape, TapedCall, TapedRequest, call_as_text
from zoolab.tools import Tool
from zoolab.trace.calls import Call, Turn, question_at
from zoolab.trace.codec import Shown
from zoolab.trace.log import TraceLog
from zoolab_study.branching.names import RequestNames

#: What becomes of a call that is not on the tape. "stop": the walk ends with a `ReplayMiss`. "ask": a tool of
#: risk `safe` runs, any other call waits for a decision. "live": the policy decides, as in any walk.
Missing = Literal["stop", "ask", "live"]

Place = tuple[str, int, int | None]
#: Outcomes of runs that came to no end.
UNFINISHED = ("open", "interrupted")

_ADVICE = "fork the trace to go on: a fork runs what is safe, and asks before anything else runs"
NOT_TAPED = "this call is not on the tape"


class Asked(NamedTuple):
    """The request of a turn, and the messages that it was made of."""

    messages: Messages
    #: Whether calls must have the same ids: another model gives others, and another program may repeat them.
    exact: bool
    taped: TapedRequest
    #: The calls of the reply, by slot, and the verdicts on those that are over, before anybody edited them.
    calls: Mapping[int, Call]
    verdicts: Mapping[int, Verdict]

    def follows(self, messages: Messages) -> bool:
        """Return whether the request is the one that was made of these messages."""
        if self.messages == messages:
            return True
        alike = not self.exact and len(self.messages) == len(messages)
        return alike and said_in(self.messages) == said_in(messages)


class TraceTape(Tape):
    """The calls of a trace and what became of them, each given once, in order.

    Args:
        calls: The calls, in the order in which they were made.
        missing: What becomes of a call that is not among them.
        results: Whether the tool messages are given too, word by word; else they are made anew.
        before: The turns of the question before them, which count in a replay.
        failures: What failed in those turns, as `Tape.failures`.
        requests: The requests that the walk does not make itself.
        ends: Where a replay ends, because the trace does; None if it goes on to an answer or an error.
        lasts: Whether always outlasts the session of the walk.
    """

    def __init__(
        self,
        calls: Iterable[Call],
        missing: Missing,
        results: bool,
        before: Sequence[Turn],
        failures: Mapping[str | None, int],
        requests: Iterable[Asked],
        ends: Place | None,
        lasts: bool,
    ) -> None:
        self.missing = missing
        self.ends = ends
        self._requests = deque(requests)
        #: The last one that was given.
        self._request: Asked | None = None
        self.failures = failures
        self.turns = len(before) if missing == "stop" else 0
        self.earlier: Sequence[Earlier] = [
            (call.call, call.verdict.arguments, call.result)
            for turn in before
            for call in turn.calls.values()
            if call.verdict is not None and call.result is not None
        ]
        self._results = results
        self._refusals = defaultdict[Any, deque[Result]](deque)
        self._calls: list[Call] = []
        #: Calls of which nobody said what they gave.
        self._untold = dict[str, Call]()
        for call in calls:
            if call.outcome is not None or (call.by_program and _may_have_run(call)):
                self._calls.append(call)
            elif results and call.verdict is not None and call.result is not None:
                self._refusals[_refused(call.call, call.verdict)].append(call.result)
            elif _may_have_run(call):
                self._untold[_text_of(call)] = call
        self._places = defaultdict[str, deque[int]](deque)
        for place, call in enumerate(self._calls):
            self._places[_text_of(call)].append(place)
        #: The outcomes that were given, by the places of their calls.
        self._given: dict[int, Outcome] = {}
        #: What was answered to the question about a call, by the identity of the question.
        self._answers: dict[int, Record] = {}
        #: The question about a call that is not on the tape, if one waits.
        self._question: Decision | None = None
        self.lasts = lasts

    @classmethod
    def of(
        cls,
        trace: TraceLog,
        turns: Sequence[Turn],
        since: int,
        missing: Missing,
        *,
        until: int = 0,
        results: bool = True,
        requests: bool = True,
        lasts: bool = False,
    ) -> TraceTape:
        """Make a tape of what a trace settles after step `since`, and of what its own tape still has.

        What comes before step `until` is over; in a replay all is. With `requests`, messages and tools that
        were left out of other requests are left out again.
        """
        calls = [call for turn in turns if turn.end > since for call in turn.calls.values()]
        own = trace.options.get("tape")
        if isinstance(own, TraceTape):
            calls += own.left_by(trace)
        # Retries and repetitions are counted within one question.
        before = [turn for turn in turns[question_at(turns, since) :] if turn.end <= since]
        if missing == "stop" and requests:
            until = len(trace.steps)
        asked = _requests(trace, [turn for turn in turns if turn.end > since], until, requests)
        ends = last_place(trace, turns) if missing == "stop" else None
        return cls(calls, missing, results, before, _failures(trace, before), asked, ends, lasts)

    def left_by(self, trace: TraceLog) -> list[Call]:
        """Return the calls that a trace has not taken from the tape."""
        taken = {id(step.record) for step in trace.steps}
        given = {place for place, outcome in self._given.items() if id(outcome) in taken}
        return [call for place, call in enumerate(self._calls) if place not in given]

    def opens(self, messages: Messages) -> bool:
        """Return whether the first request was made of these messages."""
        return bool(self._requests) and self._requests[0].follows(messages)

    def request(self, messages: Messages) -> TapedRequest | None:
        """Return the next request that was made of these messages, and strike off those before it."""
        while self._requests:
            self._request = self._requests.popleft()
            if self._request.follows(messages):
                return self._request.taped
        self._request = None
        return None

    def verdict(self, call: ToolCall) -> Verdict | None:
        """Return what was said of a call in the reply to the last request, if that is over."""
        if self._request is None or self._made(call) is None:
            return None
        return self._request.verdicts.get(call.slot)

    def _made(self, call: ToolCall) -> Call | None:
        """Return the same call in the same place of the reply to the last request."""
        made = None if self._request is None else self._request.calls.get(call.slot)
        same = made is not None and (made.call.name, made.call.arguments) == (call.name, call.arguments)
        return made if same else None

    def take(self, tool: str, arguments: Mapping[str, Any]) -> TapedCall | None:
        """Return what became of the next call of this tool with these arguments, and strike it off.

        Raises:
            ReplayMiss: There is none, and the walk may not go on without; shows the nearest one.
        """
        asked = call_as_text(tool, arguments)
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
        if left := self._waiting(asked):
            return TapedCall(INTERRUPTED) if left.asked is None else None
        if not known and asked in self._untold:
            raise ReplayMiss(f"the trace does not say what {tool} gave", advice=_ADVICE)
        raise ReplayMiss(
            f"{tool} was not called {'so often ' * known}with {excerpt(dict(arguments), 200)}"
            " in this trace, so there is no result to replay",
            advice=_ADVICE,
            difference="" if known else _difference(asked, self._places),
        )

    def decide(self, tool: Tool, arguments: Mapping[str, Any], decision: Decision) -> Decision:
        """Let a safe tool run, and any other call wait; what the policy denies stays denied."""
        waiting = self._waiting(call_as_text(tool.name, arguments))
        if waiting is not None and waiting.asked is not None:
            return waiting.asked
        if self.missing == "live" or decision.choice == "deny":
            return decision
        if decision.choice != "pending":
            if tool.risk == "safe":
                return decision
            told: dict[str, Any] = {"risk": tool.risk, "arguments": dict(arguments), "by": "rule"}
            decision = Decision("pending", NOT_TAPED, lasts=self.lasts, **told)
        self._question = decision
        return decision

    def _waiting(self, asked: str) -> Call | None:
        """Return the call that had no outcome yet when the run was left at a question; None for any other."""
        ends_asking = self.ends is not None and self.ends[0] == "decision"
        return self._untold.get(asked) if ends_asking else None

    def refusal(self, call: ToolCall, verdict: Verdict) -> Result | None:
        """Return the tool message of the next call that was refused for the same, and strike it off."""
        waiting = self._refusals.get(_refused(call, verdict))
        if waiting:
            return waiting.popleft()
        made = self._made(call)
        if made is None or made.verdict is not None or not made.by_program:
            return None
        return made.result  # another program judged the call

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
        """Return what is given for a call; None if the file kept a part of its value, and no message
        either.
        """
        outcome = call.outcome
        result = call.result if self._results else None
        if outcome is None and call.result is not None:  # another program ran it
            outcome = Outcome(call.result.content)
        if outcome is None or (result is None and isinstance(outcome.value, Shown)):
            return None
        answer = call.answer if call.answer is not call.asked else None
        if call.asked is not None and answer is not None:
            self._answers[id(call.asked)] = answer
        given = answer if isinstance(answer, Decision | Outcome) else None
        return TapedCall(replace(outcome, origin="tape"), result, call.asked, given)


class OwnReplies:
    """A model that answers each request as a trace says it was answered, and asks `otherwise` for others.

    The same request a second time gets the second reply, if there is one. With `given`, somebody else gives
    the reply of the first turn.
    """

    def __init__(self, turns: Sequence[Turn], calls: str, otherwise: Model | None, given: bool) -> None:
        self.calls = calls
        #: A run that did not ask again after a reply that failed is not asked again now.
        self.deterministic = not any(
            turn.reply is not None and turn.reply.end == "failed" for turn in turns[:-1]
        )
        self._otherwise = otherwise
        self._requests: list[Request] = []
        self._names = RequestNames()
        self._scrubbed = RequestNames(scrubs=True)
        self._replies = defaultdict[str, deque[Reply]](deque)
        for turn in turns[given:]:
            if turn.reply is not None:
                self._requests.append(turn.request)
                self._replies[self._names.of(turn.request)].append(turn.reply)

    @cached_property
    def _alike(self) -> dict[str, deque[Reply]]:
        """The replies by the names of their requests without secrets."""
        pairs = [(self._scrubbed.of(each), self._replies[self._names.of(each)]) for each in self._requests]
        return dict(reversed(pairs))

    def __call__(self, request: Request) -> Reply:
        replies = self._replies.get(self._names.of(request)) or self._alike.get(self._scrubbed.of(request))
        if replies:
            return replies.popleft() if len(replies) > 1 else replies[0]
        if self._otherwise is not None:
            return self._otherwise(request)
        wanted, *known = (canonical(any_json(each.body())) for each in (request, *self._requests))
        raise ReplayMiss(
            f"the trace does not contain this request among its {len(known)}",
            advice=_ADVICE,
            difference=_difference(wanted, known),
        )


class TapedRepairs:
    """A repair that proposes what a trace says was proposed, and asks `otherwise` for other arguments."""

    def __init__(self, repairs: Iterable[tuple[str, Repair]], otherwise: Repairer | None) -> None:
        self._otherwise = otherwise
        self._made = defaultdict[tuple[str, str], deque[Repair]](deque)
        for name, repair in repairs:
            self._made[name, repair.raw].append(repair)

    def propose(self, raw: str, schema: dict[str, Any] | None = None) -> str | None:
        """Return what was proposed for the arguments of this tool, or raise `Unrepaired`."""
        known = self._made.get(((schema or {}).get("title", ""), raw))
        if not known:
            return None if self._otherwise is None else self._otherwise.propose(raw, schema)
        made = known.popleft() if len(known) > 1 else known[0]
        if made.proposed is None:
            raise Unrepaired(made.remaining)
        return made.proposed


def repair_of(trace: TraceLog, turns: Iterable[Turn], otherwise: Repairer | None) -> Repairer | None:
    """Return what repairs as the trace says that these turns were repaired, and asks `otherwise` beyond."""
    made = list[tuple[str, Repair]]()
    for turn in turns:
        verdicts = [(call.call.name, call.verdict) for call in turn.calls.values()]
        verdicts += [
            (ANSWER_TOOL, record)
            for seq in turn.own
            if isinstance(record := trace.steps[seq].record, Verdict)
        ]
        made += [(name, verdict.repair) for name, verdict in verdicts if verdict and verdict.repair]
    return TapedRepairs(made, otherwise) if made else otherwise


def place_of(step: Step, record: Record) -> Place:
    """Return a step's place in its walk; `record` is what it held before it was answered."""
    return "decision" if isinstance(record, Decision) else step.kind, step.turn, step.slot


def _may_have_run(call: Call) -> bool:
    if call.verdict is None:
        return isinstance(json_or(None, call.call.arguments or "{}"), dict)
    return call.verdict.ok


def last_place(trace: TraceLog, turns: Sequence[Turn]) -> Place | None:
    """Return the place of the last step of a run that came to no end of its own; None for any other run."""
    if not turns or (trace.outcome not in UNFINISHED and turns[-1].reply is not None):
        return None
    last = len(trace.steps) - 1
    return place_of(trace.steps[last], trace.originals.get(last, trace.steps[last].record))


def _requests(trace: TraceLog, turns: Sequence[Turn], until: int, others: bool) -> list[Asked]:
    """Return the requests that are over before step `until`; with `others` all, if anything was left out."""
    asked = list[Asked]()
    chosen = False
    for turn, before in zip(turns, [None, *turns], strict=False):
        step = trace.steps[turn.seq]
        exact = until >= len(trace.steps)
        messages = step.messages
        if before is not None and not opens_walk(trace, before, turn):  # else it opens a walk itself
            if any(call.by_program for call in before.calls.values()):
                messages = _after(trace, before)
                exact = False
            elif isinstance(messages, Condensed):
                messages = messages.before
            elif turn.asks:
                messages = trace.steps[turn.seq - 1].messages
        chosen = chosen or bool(turn.request.withheld) or isinstance(step.messages, Condensed)
        verdicts = {
            slot: verdict
            for slot, call in turn.calls.items()
            if call.validated is not None and call.validated < until
            if isinstance(verdict := trace.originals.get(call.validated, call.verdict), Verdict)
        }
        if turn.seq not in trace.originals:
            taped = TapedRequest(turn.request, step.appended, over=turn.seq < until)
            asked.append(Asked(messages, exact, taped, turn.calls, verdicts))
    return [each for each in asked if each.taped.over or (others and chosen)]


def opens_walk(trace: TraceLog, before: Turn, turn: Turn) -> bool:
    """Return whether a turn is the first one of a walk: the turn before it came to an end of its own.

    A walk goes on after calls, after a reply that failed, and after an answer that was refused.
    """
    if before.calls or turn.asks:
        return turn.asks and not before.calls
    records = [trace.steps[seq].record for seq in before.own]
    failed = before.reply is None or before.reply.end == "failed"
    return not failed and all(record.ok for record in records if isinstance(record, Verdict))


def said_in(messages: Iterable[Message]) -> list[tuple[object, ...]]:
    """Return what messages say, without the ids of calls and without messages that say nothing."""
    return [
        (each.get("role"), text_of(each), [(call.name, call.arguments) for call in calls_of(each)])
        for each in messages
        if each.get("role") != "assistant" or says_something(each)
    ]


def _after(trace: TraceLog, turn: Turn) -> Messages:
    """Return `messages[]` after a turn of a program whose tools were not seen to run, before it
    changed any.
    """
    calls = [turn.calls[slot] for slot in sorted(turn.calls)]
    said = [seq for call in calls for seq in call.steps if trace.steps[seq].kind == "tool_call"]
    messages = trace.steps[max(said)].messages
    for call in calls:
        messages = messages if call.result is None else messages.with_next(call.result.message)
    return messages


def options_of(trace: TraceLog, turns: Sequence[Turn], seq: int = -1) -> dict[str, Any]:
    """Return the options of a run, by which it can be repeated from step `seq`; those that a file does not
    say are read off its steps.
    """
    read: dict[str, Any] = {"calls": _calls_of(trace, turns), "envelope": _envelope_of(trace)}
    known = trace.options
    if turns:
        seq = trace.index(seq)
        asked = turns[question_at(turns, seq)]
        choice = asked.request.tool_choice  # forced, it holds for the first request of a question
        known = {**known, "tool_choice": choice if choice == "none" or seq <= asked.seq else "auto"}
        read["limits"] = Limits(turns=max(Limits().turns, len(turns)))
        described = asked.request.settings.get("response_format")
        schema = described.get("json_schema") if isinstance(described, dict) else None
        if isinstance(schema, dict) and isinstance(schema.get("schema"), dict):
            read["answer_schema"] = schema["schema"]
    return read | known


def _calls_of(trace: TraceLog, turns: Sequence[Turn]) -> str:
    model = trace.options.get("model")
    if model is not None:
        return about(model).calls
    if all(call.origin != "text" for call in trace.tool_calls):
        return "native"
    return "auto" if any(turn.request.tools for turn in turns) else "text"


def _envelope_of(trace: TraceLog) -> str:
    results = [step.record.content for step in trace.steps if isinstance(step.record, Result)]
    return "plain" if results and not any(METADATA in content for content in results) else "json"


def _failures(trace: TraceLog, turns: Iterable[Turn]) -> dict[str | None, int]:
    """Count the turns in which the calls of each tool failed validation, the final answer, or the reply, as
    `Limits(retries=)` does, in the order in which they failed first.
    """
    failures = defaultdict[str | None, int](int)
    for turn in turns:
        verdicts = [(call.call.name, call.verdict.error_code) for call in turn.calls.values() if call.verdict]
        budgets = [
            None if code == "unknown_tool" else name for name, code in verdicts if code in MODELS_FAULT
        ]
        if turn.reply is not None and turn.reply.end == "failed":
            budgets.append(REPLY)
        answers = [trace.steps[seq].record for seq in turn.own]
        if any(isinstance(each, Verdict) and not each.ok for each in answers):
            budgets.append(ANSWER)
        for budget in dict.fromkeys(budgets):
            failures[budget] += 1
    return failures


def _text_of(call: Call) -> str:
    given = call.arguments if call.verdict is not None else json_or({}, call.call.arguments)
    return call_as_text(call.call.name, given)


def _refused(call: ToolCall, verdict: Verdict) -> tuple[Any, ...]:
    return call.name, call.arguments, tuple(verdict.problems)


def _difference(wanted: str, known: Iterable[str]) -> str:
    return nearest_difference(json.loads(wanted), map(json.loads, known), "on the tape")
