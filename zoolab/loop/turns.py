"""The turns of a walk: what they share, and one generator for each of the six steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zoolab.bound import Bound
from zoolab.errors import InvalidInput, ModelError, ToolLoopLimitReached, ToolRetriesExhausted, ZoolabError
from zoolab.jsontext import canonical, excerpt, json_or
from zoolab.jsontext.readonly import json_levels, read_only
from zoolab.limits.budget import WalkBudget
from zoolab.messages import Condensed
from zoolab.messages.ends import says_something
from zoolab.models.about import about
from zoolab.models.deltas import listening, tell_delta
from zoolab.options import Options
from zoolab.records import (
    Context,
    Decision,
    Limits,
    Message,
    Messages,
    Model,
    Outcome,
    Record,
    Reply,
    Request,
    Result,
    Step,
    ToolCall,
    Verdict,
    Withheld,
    without,
)
from zoolab.running.calls import Interrupted, Job, Runner
from zoolab.running.interrupts import interruptible
from zoolab.steps.define import as_registry
from zoolab.steps.execute import INTERRUPTED, denied, refused, said
from zoolab.steps.request import opening_messages
from zoolab.steps.result import METADATA, make_result
from zoolab.steps.tool_call import CallIds, message_with_calls, read_calls, with_arguments
from zoolab.steps.validate import check_call, check_with_repair, refusal, refuse_unfinished
from zoolab.tapes import NoTape, TapedCall
from zoolab.tools import Tool, ToolRegistry

if TYPE_CHECKING:
    from zoolab.answers import AnswerSchema

Ask = Generator[Step, Record | Step | None, Any]

_BY_HAND = Decision("pending", "this tool has no function here: send its Outcome", by="rule")
_NO_TAPE = NoTape()
#: The budgets of retries for the final answer and for failed replies; no tool can have these names.
ANSWER = "#answer"
REPLY = "#reply"
#: What is wrong with a call by the fault of its model: `Limits(retries=)` counts such turns.
MODELS_FAULT = ("unknown_tool", "invalid_json", "invalid_arguments")


class Turns:
    """The turns of one walk; `calls` says where its model's calls are, `denied` which tools are forbidden."""

    def __init__(self, options: Options, calls: str, denied: frozenset[str]) -> None:
        self.options = options
        self.limits = options.limits or Limits()
        self.calls = calls
        self.denied = denied
        from zoolab.policy import Permissions

        policy = options.policy
        context = options.context
        self.permissions = policy if isinstance(policy, Permissions) else Permissions(policy)
        self.runner = Runner(
            context if isinstance(context, Context) else Context(context), parallel=options.parallel
        )
        self.budget = WalkBudget(self.limits)
        self.turn = options.first_turn - 1
        self.registry: ToolRegistry
        #: What the next request says of calls, unless a tape says it.
        self.choice = options.tool_choice
        #: The request of this turn.
        self.request: Request
        self.offered: tuple[dict[str, Any], ...] = ()
        self.withheld: tuple[Withheld, ...] = ()
        self.messages = Messages()
        #: How many of them an earlier walk has shown.
        self.known = 0
        self.ids: CallIds
        #: The reply of this turn.
        self.reply: Reply
        #: The last result of each call, by its name and its arguments as canonical JSON.
        self.results: defaultdict[str, dict[str, Result]] = defaultdict(dict)
        #: The slots of this turn whose calls ran.
        self.ran = set[int]()
        #: The tool messages of outcomes that were shown, made before anybody could change the value.
        self.made: dict[int, Result] = {}
        #: What came while calls were pending: they are answered first, then it goes up.
        self.interrupt: KeyboardInterrupt | None = None
        self.looping: Result | None = None
        self.system = options.system
        #: Further fields of each request.
        self.settings: Mapping[str, Any] = read_only({})
        #: What the final answer has to be; None for any text.
        self.answers: AnswerSchema | None = None
        if options.answer_schema is not None:
            from zoolab.answers import AnswerSchema

            self.answers = AnswerSchema(options.answer_schema, options.system, options.repair)
            self.system, self.settings = self.answers.asked_for(calls)
        self.tape = _NO_TAPE if options.tape is None else options.tape
        #: How many turns of the question there were before the walk.
        self.before = self.tape.turns
        #: In how many turns the calls of a tool failed validation; None stands for unknown tools.
        self.failures: dict[str | None, int] = dict(self.tape.failures)
        for call, arguments, result in self.tape.earlier:
            self.results[call.name][_asked(call, arguments)] = result

    def define(self, registry: ToolRegistry) -> Ask:
        """Show the tools; those that come back are the tools of the walk."""
        registry = registry.fixed()
        answer = yield Step("define", self.turn, None, registry, self.messages)
        self.registry = as_registry(_settled(answer, registry)).fixed()
        if answer is not None and self.options.find_tools:
            self.registry = self.searchable(self.registry)
        self.offered = () if self.calls == "text" else tuple(tool.sent for tool in self.registry)

    def searchable(self, registry: ToolRegistry) -> ToolRegistry:
        """Add a tool that searches the others."""
        from zoolab.tool_search import with_search

        return with_search(registry, self.options.retrieve)

    def begin(self, prompt: str | None, messages: list[Message]) -> None:
        """Open the conversation: the system prompt describes the tools if they are not sent with requests."""
        choice = self.options.tool_choice
        told = list[Tool]()
        self.known = len(messages) if prompt is not None and self.options.first_turn > 1 else 0
        if self.tape.opens(Messages(messages)):
            self._open(messages)
            return
        if self.calls == "text" and choice != "none":
            told = self._pick([*messages, {"role": "user", "content": prompt or ""}])
        self._open(opening_messages(prompt, self.system, messages, told, choice))

    def _open(self, messages: list[Message]) -> None:
        self.messages = Messages(messages)
        self.ids = CallIds(messages)

    def ask(self, model: Model) -> Ask:
        """Begin a turn: show the request, and return the reply of the model."""
        if self._turns_used() >= self.limits.turns:
            raise ToolLoopLimitReached(
                f"no answer after {self.limits.turns} turns",
                advice="raise Limits(turns=...) or see what it repeats",
            )
        self.budget.begin_request()
        self.turn += 1
        first = self.turn == self.options.first_turn
        taped = self.tape.request(self.messages)
        if taped is None:
            self._choose(first)
            offered = self.offered
            withheld = self.withheld
        else:
            self.messages = _as_taped(self.messages, taped.request.prefix)
            offered = taped.request.tools
            withheld = taped.request.withheld
        new = len(self.messages) - self.known if first else 0
        choice = self.choice
        settings = self.settings
        if taped is not None and taped.over:
            choice = taped.request.tool_choice
            settings = taped.request.settings
            new = taped.appended
        elif choice != "none":
            self.choice = "auto"  # a forced choice holds for one request, or no walk would end
        request = Request(self.messages, offered, choice, settings, withheld)
        answer = yield Step("request", self.turn, None, request, self.messages, new)
        if answer is not None:
            request = _settled(answer, request)
            self._open(request.messages)
        self.request = request
        called = self.budget.called
        with self.budget:
            reply = self._reply(model, request)
        if self.budget.called == called:  # a model that is a walk itself has taken what it used
            self.budget.end_request(request, reply, model)
        return reply

    def _choose(self, first: bool) -> None:
        """Choose what goes into a request: `condense` picks messages, and `retrieve` tools."""
        if self.options.condense is not None and not first:
            from zoolab.apis.conversation import condensed

            self.messages = condensed(self.options.condense, self.messages)
        if self.calls != "text" and self.options.retrieve is not None:
            self.withheld = ()
            self.offered = tuple(tool.sent for tool in self._pick(self.messages))

    def read(self, reply: Reply) -> Ask:
        """Show what the model asks for, call by call, or its answer; returns the calls.

        A reply that says nothing is not appended to `messages[]`: endpoints refuse it when it comes back.
        """
        self.reply = reply
        as_text = self.calls == "text"
        auto = self.calls == "auto"
        calls = read_calls(
            reply.message,
            turn=self.turn,
            ids=self.ids,
            text=as_text or (auto and self.request.tool_choice != "none"),
            tools=self.registry,
        )
        if not calls:
            before = self.messages
            self.messages, said = _with_answer(before, reply)
            answer = yield Step("tool_call", self.turn, None, reply, self.messages, said, None, reply)
            if answer is not None:
                self.reply = _settled(answer, reply)
                self.messages, _ = _with_answer(before, self.reply)
            return calls
        for slot, call in enumerate(calls[:-1]):
            answer = yield Step("tool_call", self.turn, slot, call, self.messages, 0, call, reply)
            calls[slot] = _settled(answer, call)
        sent = message_with_calls(reply.message, calls, sent_natively=auto)
        self.messages = self.messages.with_next(sent)
        last = calls[-1]
        answer = yield Step("tool_call", self.turn, last.slot, last, self.messages, 1, last, reply)
        if answer is not None:
            calls[-1] = _settled(answer, last)
            self._replace_last(message_with_calls(reply.message, calls, sent_natively=auto))
        return calls

    def asks_again(self, model: Model) -> bool:
        """Return whether a reply that failed at the endpoint is asked for again.

        A model that always answers the same is not asked again, and neither is one whose turns are used up.
        """
        said = about(model)
        if self.reply.end != "failed" or said.deterministic or said.recording is not None:
            return False
        failed = self.failures[REPLY] = self.failures.get(REPLY, 0) + 1
        return failed <= self.limits.retries and self._turns_used() < self.limits.turns

    def _turns_used(self) -> int:
        return self.turn - self.options.first_turn + 1 + self.before

    def conclude(self, answers: AnswerSchema) -> Ask:
        """Show the verdict on the final answer; returns whether it is accepted."""
        before = self.messages
        failed = self.failures.get(ANSWER, 0)
        verdict = answers.check(self.reply, self.turn)
        self.messages = before if verdict.ok else before.with_next(answers.complaint(verdict))
        said = len(self.messages) - len(before)
        answer = yield Step("validate", self.turn, None, verdict, self.messages, said, None, None, failed + 1)
        if answer is not None:
            verdict = _settled(answer, verdict)
            self.messages = before if verdict.ok else before.with_next(answers.complaint(verdict))
        if not verdict.ok:
            self.failures[ANSWER] = failed + 1
            self.end()
        return verdict.ok

    def validate(self, calls: list[ToolCall]) -> Ask:
        """Show the verdict on each call, and return them."""
        verdicts: list[Verdict] = []
        repaired: dict[int, str] = {}
        before = dict(self.failures)
        for call in calls:
            budget = call.name if call.name in self.registry else None
            failed = before.get(budget, 0)
            verdict = self.tape.verdict(call) or self._judge(call, is_last=call is calls[-1])
            self._note_denied(call)
            answer = yield Step(
                "validate", self.turn, call.slot, verdict, self.messages, 0, call, None, failed + 1
            )
            verdict = _settled(answer, verdict)
            if not verdict.ok and verdict.error_code in MODELS_FAULT:
                self.failures[budget] = failed + 1
            if verdict.repair is not None and verdict.ok and verdict.repair.proposed is not None:
                repaired[call.slot] = verdict.repair.proposed
            verdicts.append(verdict)
        if repaired:  # what goes back is what ran; the raw text stays in the records of call and verdict
            self._replace_last(with_arguments(self.messages[-1], repaired))
        return verdicts

    def _note_denied(self, call: ToolCall) -> None:
        """Write down a call of a denied tool; the permissions are not asked about it."""
        tool = self.registry.get(call.name)
        if tool is not None and (call.name in self.denied or self.registry.denies(call.name)):
            given = json_or(None, call.arguments)
            self.permissions.note_denied(tool, given if isinstance(given, dict) else {})

    def execute(self, calls: list[ToolCall], verdicts: list[Verdict]) -> Ask:
        """Ask for permission, run what may run, show each outcome; returns one for each call."""
        jobs: dict[int, Job] = {}
        outcomes: list[Any] = [None] * len(calls)
        played: dict[int, Result | None] = {}
        asked: dict[int, tuple[Tool, dict[str, Any]]] = {}
        for slot, call in enumerate(calls):
            verdict = verdicts[slot]
            tool = self.registry.get(call.name)
            if verdict.ok and tool is None:
                if self.tape.verdict(call) is not None:  # it is gone since
                    tool = Tool.from_schema(call.name, "", {"type": "object"})
                else:  # a person may have allowed what does not exist
                    verdict = check_call(call, self.registry)
            if tool is None or not verdict.ok:
                outcomes[slot] = refused(call, verdict)
                if said := self.tape.refusal(call, verdict):
                    self.made[slot] = replace(said, tool_call_id=call.id)
                continue
            if self.interrupt is not None:
                outcomes[slot] = INTERRUPTED
                continue
            arguments = verdict.arguments or {}
            asked[slot] = tool, arguments
            decision = yield from self._permit(call, tool, arguments)
            if isinstance(decision, TapedCall):
                outcomes[slot], played[slot] = decision.outcome, decision.result
            elif isinstance(decision, Outcome):
                outcomes[slot] = decision
            elif not decision.allowed:
                outcomes[slot] = denied(call, decision)
            elif (verdict := self._judge_again(call, verdict, is_last=call is calls[-1])).ok:
                arguments = verdict.arguments or {}
                bound = verdict.bound.take(tool, arguments) if isinstance(verdict.bound, Bound) else None
                jobs[slot] = Job(tool, arguments, self._timeout(tool), bound)
            else:
                outcomes[slot] = refused(call, verdict)
        if self.interrupt is not None:
            outcomes = [INTERRUPTED if slot in jobs else outcome for slot, outcome in enumerate(outcomes)]
            jobs = {}
        # What a tape gives has run before if it took time.
        self.ran = {*jobs, *(slot for slot in played if outcomes[slot].duration_ms)}
        done = iter(self._run([*jobs.values()]))
        for slot, call in enumerate(calls):
            if verdicts[slot].ok:
                outcome = next(done) if slot in jobs else outcomes[slot]
                if slot in asked and slot not in played and self.interrupt is None:  # it goes on no tape
                    outcome = self.tape.keep(*asked[slot], outcome, slot in jobs)
                said = played.get(slot)
                self.made[slot] = replace(said, tool_call_id=call.id) if said else self._make(call, outcome)
                answer = yield Step("execute", self.turn, slot, outcome, self.messages, 0, call)
                outcomes[slot] = _settled(answer, outcome)
                if answer is not None:
                    self.made[slot] = self._make(call, outcomes[slot])
        return outcomes

    def answer(self, calls: list[ToolCall], verdicts: list[Verdict], outcomes: list[Outcome]) -> Ask:
        """Show the tool message of each call, now a part of `messages[]`."""
        for slot, call in enumerate(calls):
            result = self._result(slot, call, verdicts[slot].arguments, outcomes[slot])
            self.messages = self.messages.with_next(result.message)
            answer = yield Step("result", self.turn, slot, result, self.messages, 1, call)
            if answer is not None:
                self._replace_last({**_settled(answer, result).message, "tool_call_id": call.id})

    def end(self) -> None:
        """Raise what ends the walk after this turn, now that all its calls are answered."""
        if self.interrupt is not None:
            raise KeyboardInterrupt from self.interrupt
        for budget, failed in self.failures.items():
            if failed > self.limits.retries and budget != REPLY:
                what = (
                    "the final answer"
                    if budget == ANSWER
                    else f"calls of {budget or 'tools that do not exist'}"
                )
                raise ToolRetriesExhausted(
                    f"{what} failed validation in {failed} turns",
                    expected=f"at most {self.limits.retries}",
                    advice="read trace.errors, then the tool's description",
                )
        if self.looping is not None:
            raise ToolLoopLimitReached(
                f"loop detected: the same call had the same result {self.looping.repeats} times",
                advice="look at the repeated call in trace.tool_calls, or raise Limits(repeats=...)",
            )

    def _reply(self, model: Model, request: Request) -> Reply:
        on_delta = self.options.on_delta
        try:
            if on_delta is None:
                reply = self.runner.ask(model, request)
            else:
                with listening(on_delta):
                    reply = self.runner.ask(model, request)
                    if isinstance(reply, Reply) and not reply.pieces:
                        tell_delta(reply.message)  # it was not streamed
        except ZoolabError:
            raise
        except Exception as error:
            advice = "its traceback is the __cause__ of this error"
            raise ModelError(f"the model raised {said(error)}", advice=advice) from error
        if not isinstance(reply, Reply):
            raise ModelError(
                f"the model returned {type(reply).__name__}",
                expected="a Reply",
                advice="wrap a function that returns text or calls in Scripted(function)",
            )
        if not isinstance(reply.message, dict) or reply.message.get("role") != "assistant":
            raise ModelError(f"the model replied {excerpt(reply.message)}", expected="an assistant message")
        return reply

    def _judge_again(self, call: ToolCall, verdict: Verdict, is_last: bool) -> Verdict:
        """Judge a call that is about to run, if only a tape has done it: what may run is said today."""
        if self.tape.verdict(call) is not verdict:
            return verdict
        return self._judge(replace(call, arguments=canonical(verdict.arguments)), is_last)

    def _judge(self, call: ToolCall, is_last: bool) -> Verdict:
        if self.request.tool_choice == "none":
            return refusal("permission_denied", "no call, since tool_choice is none", excerpt(call.name))
        most = self.limits.calls_per_turn
        if call.slot >= most:
            return refusal("loop_limit", f"at most {most} calls a reply", "more")
        if self.budget.seconds_left() == 0:
            return refusal("loop_limit", "a call in time", "one after the limit of seconds")
        registry = self.registry
        denied = self.denied
        if is_last and not self.reply.is_whole:
            return refuse_unfinished(check_call(call, registry, deny=denied), self.reply.shortfall)
        try:
            return check_with_repair(call, registry, self.options.repair, deny=denied)
        except KeyboardInterrupt as interrupt:  # during a repair
            self.interrupt = interrupt
            return check_call(call, registry, deny=denied)

    def _permit(self, call: ToolCall, tool: Tool, arguments: dict[str, Any]) -> Ask:
        """Return the decision on a call; or its outcome, where a tape or a person gives one."""
        taped = self.tape.take(call.name, arguments)
        if taped is None:
            decided = _BY_HAND if tool.function is None else self.permissions.decide(tool, arguments)
            decision = self.tape.decide(tool, arguments, decided)
            if isinstance(decision, TapedCall) or decision.choice != "pending":
                return decision
            given = yield from self._wait(call, decision)
            return given if isinstance(given, Outcome) else self.permissions.settle(tool, arguments, given)
        if taped.asked is not None:
            given = yield from self._wait(call, taped.asked)
            if isinstance(given, Outcome):
                return taped if given is taped.answer else given
            if given is not taped.answer and given.choice != "pending":
                settled = self.permissions.settle(tool, arguments, given)
                if settled.allowed != taped.ran:
                    return settled
        return taped

    def _wait(self, call: ToolCall, pending: Decision) -> Ask:
        """Wait for a decision on a call, or for an outcome that is given in place of running it."""
        try:
            answer = yield Step("execute", self.turn, call.slot, pending, self.messages, 0, call)
        except KeyboardInterrupt as interrupt:  # while a person was asked
            self.interrupt = interrupt
            return INTERRUPTED
        return _settled(answer, pending)

    def _pick(self, messages: Sequence[Message]) -> list[Tool]:
        retrieve = self.options.retrieve
        choice = self.options.tool_choice
        if retrieve is None:
            return list(self.registry)
        from zoolab.tool_search import pick_tools

        picked, self.withheld = interruptible(pick_tools, retrieve, messages, self.registry, choice)
        return picked

    def _timeout(self, tool: Tool) -> float | None:
        left = self.budget.seconds_left()
        if left is None or tool.timeout is None:
            return tool.timeout if left is None else left
        return min(tool.timeout, left)

    def _run(self, jobs: list[Job]) -> list[Outcome]:
        try:
            with self.budget:
                return self.runner.run(jobs) if jobs else []
        except Interrupted as interrupt:
            self.interrupt = interrupt
            return interrupt.outcomes

    def _make(self, call: ToolCall, outcome: Outcome) -> Result:
        tool = self.registry.get(call.name) if call.slot in self.ran else None
        untrusted = "" if tool is None else tool.untrusted
        return make_result(outcome, call.id, self.options.envelope, untrusted, self.limits.result_bytes)

    def _result(
        self, slot: int, call: ToolCall, arguments: dict[str, Any] | None, outcome: Outcome
    ) -> Result:
        """Make the tool message of a call, with how often in a row this call has had this result.

        `arguments` are those that ran, so that a repaired call is the same as one that needed no repair.
        """
        result = self.made.pop(slot, None) or self._make(call, outcome)
        results = self.results[call.name]
        asked = _asked(call, arguments)
        before = results.get(asked)
        if before is not None and _without_measures(before) == _without_measures(result):
            result = replace(result, repeats=before.repeats + 1)
            if self.limits.repeats is not None and result.repeats >= self.limits.repeats:
                self.looping = result
        results[asked] = result
        return result

    def _replace_last(self, message: Message) -> None:
        """Replace the last message in a new list: moments that were handed out stay as they are."""
        self.messages = self.messages.first(len(self.messages) - 1).with_next(message)


def _asked(call: ToolCall, arguments: dict[str, Any] | None) -> str:
    """Return what a call asks for, as one text; without arguments that ran, what the model wrote."""
    if arguments is None:  # they are broken, or do not meet the schema
        arguments = json_or(call.arguments, call.arguments.strip() or "{}")
    asked = read_only(arguments)
    flat = isinstance(asked, dict) and json_levels(asked) == 1  # most are, and repr is quicker
    return repr(sorted(asked.items()) or {}) if flat else canonical(asked)


def _as_taped(before: Messages, messages: Messages) -> Messages:
    """Return the messages of a request on the tape, and what they were condensed from, if they were."""
    if messages == before:
        return before
    longer = messages.first(len(before)) == before  # another program has added some
    return messages if longer else Condensed(messages, before)


def _with_answer(messages: Messages, reply: Reply) -> tuple[Messages, int]:
    """Return `messages[]` with a reply without calls, and how many messages that added."""
    if not says_something(reply.message):
        return messages, 0
    # Endpoints send `"tool_calls": []`, and refuse it when it comes back.
    empty = "tool_calls" in reply.message
    return messages.with_next(without(reply.message, ["tool_calls"]) if empty else reply.message), 1


def _without_measures(result: Result) -> str:
    return result.content.partition(METADATA)[0]


def _settled(answer: Record | Step | None, record: Any) -> Any:
    if answer is None:
        return record
    given = answer.record if isinstance(answer, Step) else answer
    accepted: tuple[type, ...] = (type(record),)
    if isinstance(record, Decision):
        accepted = (Decision, Outcome)
    elif isinstance(record, ToolRegistry):
        accepted = (ToolRegistry, list, tuple)
    if not isinstance(given, accepted):
        names = " or ".join(kind.__name__ for kind in accepted)
        raise InvalidInput(f"a step was answered with {type(given).__name__}", expected=names)
    return given
