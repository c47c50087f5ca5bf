"""A trace as OpenTelemetry spans, by the conventions for generative AI. The whole mapping is in this file.

    a walk                       invoke_agent {agent}
    a request and its reply      chat {model}
    a call that ran              execute_tool {tool}     within it the walk of a sub-agent
    a call that did not pass     validate {tool}         zoolab's own: the conventions have no such span
    a call that was not allowed  permission {tool}       zoolab's own, too

What the conventions have no name for is in `zoolab.*`. An error gives a span the status ERROR; its
`error.type` is a code of `zoolab.errors.ERROR_CODES`, or `interrupted`. What people, models and tools
said may be private: it is left out unless `content` is asked for, and then it is cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from zoolab.jsontext import encode
from zoolab.records import Failure, Reply, Request
from zoolab.show.otel.spans import (
    Exporter,
    as_name,
    as_number,
    as_scalar,
    as_text,
    encode_messages,
    encode_reply,
    member,
)
from zoolab.show.otel.timeline import Timeline, Window, window_of, window_within
from zoolab.tools import ToolRegistry
from zoolab.trace.calls import Call, Turn
from zoolab.trace.frame import faults_by_step
from zoolab.trace.log import TraceLog

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span, TracerProvider

#: The last release of OpenTelemetry's conventions that defines gen_ai.*: they have since moved to a
#: repository of their own, which has released nothing yet.
SEMCONV = "1.41.1"
SCHEMA_URL = f"https://opentelemetry.io/schemas/{SEMCONV}"

#: Walks within walks.
MAX_DEPTH = 8
_MOST_STOPS = 16

# A setting in the body of a request, the attribute that it becomes, and its type there.
_SETTINGS: dict[str, tuple[str, type[int] | type[float]]] = {
    "frequency_penalty": ("gen_ai.request.frequency_penalty", float),
    "max_tokens": ("gen_ai.request.max_tokens", int),
    "max_completion_tokens": ("gen_ai.request.max_tokens", int),
    "n": ("gen_ai.request.choice.count", int),
    "presence_penalty": ("gen_ai.request.presence_penalty", float),
    "seed": ("gen_ai.request.seed", int),
    "temperature": ("gen_ai.request.temperature", float),
    "top_p": ("gen_ai.request.top_p", float),
}
# A count of the endpoint's, the group of counts that it is in, and the attribute that it becomes.
_USAGE = (
    ("prompt_tokens", "", "gen_ai.usage.input_tokens"),
    ("completion_tokens", "", "gen_ai.usage.output_tokens"),
    ("cached_tokens", "prompt_tokens_details", "gen_ai.usage.cache_read.input_tokens"),
    ("reasoning_tokens", "completion_tokens_details", "gen_ai.usage.reasoning.output_tokens"),
)
_OF_THE_RUN = ("case_id", "variant", "seed", "expected_tool")
# What came of a call: the verb of its span, and the step that the span stands for.
_FATES = {
    "ran": ("execute_tool", "execute"),
    "failed": ("validate", "validate"),
    "stopped": ("permission", "execute"),
}

Attributes = dict[str, Any]


def to_otel(
    trace: TraceLog, provider: TracerProvider | None = None, *, content: bool = False
) -> list[ReadableSpan]:
    """The spans of a trace, each before those within it; see `Trace.to_otel`.

    >>> from zoolab import Scripted, run
    >>> [span.name for span in to_otel(run("Hi", [], Scripted(["Hello"])))]
    ['invoke_agent', 'chat scripted']
    """
    # Who answered, if nobody said it: perhaps a script. The conventions allow a name of one's own.
    name = as_name(trace.meta.get("provider")) or "zoolab"
    exporter = Exporter(trace.run_id, provider, SCHEMA_URL, name, content)
    _Walk(exporter, trace, window_of(trace)).write(as_name(trace.meta.get("agent")))
    return exporter.spans


class _Walk:
    """Writes the spans of one walk."""

    def __init__(self, exporter: Exporter, trace: TraceLog, window: Window, depth: int = 0) -> None:
        self._exporter, self._trace, self._depth = exporter, trace, depth
        self._times = Timeline(trace, window)
        self._faults = faults_by_step(trace)
        registries = (step.record for step in trace.steps if isinstance(step.record, ToolRegistry))
        self._tools = next(registries, ToolRegistry())

    def write(self, agent: str | None, parent: Span | None = None) -> None:
        turns = self._trace.turns
        attributes = self._of_walk(agent, turns)
        title = _title("invoke_agent", agent)
        with self._exporter.span(title, self._times.window, attributes, parent, self._end()) as span:
            for turn in turns:
                self._write_chat(turn, span)
                for call in turn.calls.values():
                    self._write_call(call, turn, span)

    def _write_chat(self, turn: Turn, parent: Span) -> None:
        attributes = self._of_chat(turn) | self._of_faults(turn.own)
        title = _title("chat", attributes["gen_ai.request.model"] or attributes.get("gen_ai.response.model"))
        window = self._times.between(turn.seq, turn.seq + 1)
        error = self._end() if turn.seq == len(self._trace) - 1 else None
        with self._exporter.span(title, window, attributes, parent, error, "CLIENT"):
            pass

    def _write_call(self, call: Call, turn: Turn, parent: Span) -> None:
        if call.fate is None:
            return
        verb, step = _FATES[call.fate]
        attributes = {
            "gen_ai.operation.name": verb if call.fate == "ran" else None,
            "zoolab.step": step,
            "zoolab.turn": turn.number,
            **self._of_call(call),
            **self._of_faults(call.steps),
        }
        tool, window = as_name(call.call.name), self._times.of(call, turn)
        with self._exporter.span(_title(verb, tool), window, attributes, parent, self._error(call)) as span:
            outcome = call.outcome
            if outcome is not None and outcome.trace is not None and self._depth < MAX_DEPTH:
                within = window_within(window, outcome)
                _Walk(self._exporter, outcome.trace, within, self._depth + 1).write(tool, span)

    def _end(self) -> Failure | None:
        """What ended the walk before the model had answered."""
        trace = self._trace
        return None if trace.outcome in ("answer", "open") else self._failure(trace.outcome, trace.error)

    def _error(self, call: Call) -> Failure | None:
        verdict, outcome, result = call.verdict, call.outcome, call.result
        if verdict is not None and not verdict.ok:
            problems = "; ".join(problem.message for problem in verdict.problems)
            return self._failure(verdict.error_code or "invalid_arguments", problems)
        if outcome is not None and outcome.error is not None:
            return self._failure(outcome.error.code, outcome.error.message)
        return self._failure(result.error_code, result.content) if result and result.error_code else None

    def _failure(self, code: str | None, message: str | None) -> Failure:
        return Failure(as_name(code) or "_OTHER", self._said(message) or "")

    def _said(self, value: object) -> str | None:
        """What may be private, as text; None unless it is asked for."""
        return as_text(value) if self._exporter.content and value is not None else None

    def _of_walk(self, agent: str | None, turns: list[Turn]) -> Attributes:
        trace = self._trace
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": self._exporter.provider,
            "gen_ai.agent.name": agent,
            "gen_ai.request.model": as_name(trace.meta.get("model")),
            "zoolab.run_id": as_name(trace.run_id),
            "zoolab.outcome": as_name(trace.outcome),
            "zoolab.turns": len(turns),
            **{f"zoolab.{name}": as_scalar(trace.meta.get(name)) for name in _OF_THE_RUN},
            **self._of_faults(range(turns[0].seq if turns else len(trace))),
        }
        if self._exporter.content:
            # Without their parameters: the conventions advise against those.
            tools = [(tool.name, as_text(tool.description)) for tool in self._tools]
            attributes["gen_ai.tool.definitions"] = encode(
                [{"type": "function", "name": name, "description": text} for name, text in tools]
            )
            if turns:
                attributes["gen_ai.input.messages"] = encode_messages(turns[0].request.prefix)
                answer = turns[-1].reply if trace.answer is not None else None
                attributes["gen_ai.output.messages"] = encode_reply(answer)
        return attributes

    def _of_chat(self, turn: Turn) -> Attributes:
        request, reply = turn.request, turn.reply
        model = as_name(request.settings.get("model")) or as_name(self._trace.meta.get("model"))
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._exporter.provider,
            **_of_settings(request),
            "gen_ai.request.model": model,
            **(_of_reply(reply) if reply is not None else {}),
            "zoolab.step": "request",
            "zoolab.turn": turn.number,
            "zoolab.tool_choice": as_name(request.tool_choice),
            "zoolab.tools.offered": len(request.tools),
            "zoolab.tools.withheld": len(request.withheld),
        }
        if self._exporter.content:
            attributes["gen_ai.input.messages"] = encode_messages(request.prefix)
            attributes["gen_ai.output.messages"] = encode_reply(reply)
        return attributes

    def _of_call(self, call: Call) -> Attributes:
        asked, verdict, outcome, result = call.call, call.verdict, call.outcome, call.result
        tool, decision = self._tools.get(asked.name), call.decision
        ran_with = asked.arguments if verdict is None or verdict.arguments is None else verdict.arguments
        attributes: Attributes = {
            "gen_ai.tool.name": as_name(asked.name) or "",
            "gen_ai.tool.call.id": as_name(asked.id),
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": None if tool is None else as_text(tool.description),
            "gen_ai.tool.call.arguments": self._said(ran_with),
            "gen_ai.tool.call.result": self._said(None if result is None else result.content),
            "zoolab.slot": call.slot,
            "zoolab.attempt": call.attempt,
            "zoolab.call.origin": asked.origin,
            "zoolab.call.original_id": as_name(asked.original_id),
            "zoolab.permission.choice": None if decision is None else decision.choice,
            "zoolab.permission.reason": None if decision is None else self._said(decision.reason),
            "zoolab.permission.risk": None if call.asked is None else as_name(call.asked.risk),
        }
        if verdict is not None and verdict.repair is not None:
            repair = verdict.repair
            attributes |= {
                "zoolab.repair.accepted": repair.accepted,
                "zoolab.repair.codes": sorted({as_name(problem.code) or "" for problem in repair.problems}),
                "zoolab.repair.raw": self._said(repair.raw),
                "zoolab.repair.proposed": self._said(repair.proposed),
            }
        if outcome is not None:
            error = outcome.error
            attributes["zoolab.exception"] = None if error is None else as_name(error.exception)
            attributes["zoolab.still_running"] = outcome.still_running or None
        if result is not None:
            attributes["zoolab.result.bytes"] = as_number(result.data_bytes, int)
            attributes["zoolab.result.sent_bytes"] = as_number(result.sent_bytes, int)
            attributes["zoolab.result.repeats"] = as_number(result.repeats, int)
        return attributes

    def _of_faults(self, seqs: Iterable[int]) -> Attributes:
        faults = [fault for seq in seqs for fault in self._faults.get(seq, ())]
        if not faults:
            return {}
        kinds, places = ({f.name: None for f in faults}, {f.where: None for f in faults})
        return {
            "zoolab.fault.kind": as_text(", ".join(kinds)),
            "zoolab.fault.where": as_text(", ".join(places)),
        }


def _of_settings(request: Request) -> Attributes:
    settings, stop = request.settings, request.settings.get("stop")
    numbers = {name: as_number(settings.get(name), kind) for name, (_, kind) in _SETTINGS.items()}
    stops = stop[:_MOST_STOPS] if isinstance(stop, list) else [stop]
    return {
        **{_SETTINGS[name][0]: number for name, number in numbers.items() if number is not None},
        "gen_ai.request.stop_sequences": [text for text in map(as_name, stops) if text] or None,
    }


def _of_reply(reply: Reply) -> Attributes:
    usage, reason = reply.usage or {}, as_name(reply.finish_reason)
    groups = {"": usage, **{group: member(usage, group) for _, group, _ in _USAGE if group}}
    return {
        "gen_ai.request.stream": True if reply.pieces else None,
        "gen_ai.response.model": as_name(reply.model),
        "gen_ai.response.id": as_name((reply.raw or {}).get("id")),
        "gen_ai.response.finish_reasons": None if reason is None else [reason],
        **{attribute: as_number(groups[group].get(name), int) for name, group, attribute in _USAGE},
    }


def _title(verb: str, name: str | None) -> str:
    return f"{verb} {name}" if name else verb
