"""A trace as OpenTelemetry spans, by the conventions for generative AI. The mapping is in this file,
and for settings in otel.toml.

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

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from zoolab.errors import InvalidInput
from zoolab.extras import needs
from zoolab.files import read_table
from zoolab.jsontext import NotStrictJSON, encode, excerpt, parse_json
from zoolab.messages import calls_of
from zoolab.records import Failure, Message, Outcome, Reply, without
from zoolab.tokens import Tokens
from zoolab.trace.calls import Call, Turn
from zoolab.trace.frame import faults_by_step
from zoolab.trace.log import TraceLog, tools_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span, Tracer, TracerProvider

#: The last release of OpenTelemetry's conventions that defines gen_ai.*: they have since moved to a
#: repository of their own, which has released nothing yet.
SEMCONV = "1.41.1"
SCHEMA_URL = f"https://opentelemetry.io/schemas/{SEMCONV}"

#: Walks within walks.
MAX_DEPTH = 8
#: Characters of a name, of a text, and of all messages of one request.
MAX_NAME = 128
MAX_TEXT = 4_096
MAX_MESSAGES = 32_768
_MOST_STOPS = 16
#: Some 120 years: twice that, in nanoseconds, still fits into 63 bits.
_MAX_SECONDS = 4_000_000_000

_SETTINGS = read_table("zoolab_connect", "otel.toml")
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
    """Return the spans of a trace, each before those within it; see `Trace.to_otel`."""
    # Who answered, if nobody said it: perhaps a script. The conventions allow a name of one's own.
    export = _Export(_tracer_of(provider), as_name(trace.meta.get("provider")) or "zoolab", content)
    # A trace that does not know when it began has just ended.
    moments = nanoseconds_of_steps(trace)
    began = max(0, time.time_ns() - moments[-1]) if trace.began is None else nanoseconds(trace.began)
    window = Window(began + moments[0], began + moments[-1])
    _Walk(export, trace, window).write(as_name(trace.meta.get("agent")))
    return export.spans


def _tracer_of(provider: TracerProvider | None) -> Tracer:
    needs("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider as Provider
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON
    from opentelemetry.trace import TracerProvider as AnyProvider

    if provider is None:
        provider = Provider(ALWAYS_ON, shutdown_on_exit=False)
    elif not isinstance(provider, AnyProvider):
        expected = "a TracerProvider of OpenTelemetry"
        raise InvalidInput(f"a provider is {excerpt(provider)}", expected=expected)
    return provider.get_tracer("zoolab", schema_url=SCHEMA_URL)


@dataclass(frozen=True, slots=True)
class _Export:
    """What the spans of one export share: `name` says whose format the messages have."""

    tracer: Tracer
    name: str
    #: Whether what may be private is told.
    content: bool
    #: The spans so far, in the order in which they began to be written.
    spans: list[ReadableSpan] = field(default_factory=list)

    @contextmanager
    def span(
        self,
        verb: str,
        name: str | None,
        window: Window,
        attributes: Mapping[str, Any],
        parent: Span | None,
        error: Failure | None,
    ) -> Iterator[Span]:
        """Open one span, around those within it. Attributes that are None are left out."""
        from opentelemetry.context import Context
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

        context = Context() if parent is None else set_span_in_context(parent, Context())
        known = {key: value for key, value in attributes.items() if value is not None}
        kind = SpanKind.CLIENT if verb == "chat" else SpanKind.INTERNAL
        title = f"{verb} {name}" if name else verb
        span = self.tracer.start_span(title, context, kind, known, start_time=window.start)
        if isinstance(span, ReadableSpan):
            self.spans.append(span)
        if error is not None:
            span.set_attribute("error.type", as_name(error.code) or "_OTHER")
            span.set_status(Status(StatusCode.ERROR, self.said(error.message)))
        yield span
        span.end(window.end)

    def said(self, value: object) -> str | None:
        """Return what may be private, as text; None unless it is asked for."""
        return sendable_text(value) if self.content and value is not None else None


class _Walk:
    def __init__(self, export: _Export, trace: TraceLog, window: Window, depth: int = 0) -> None:
        self._export = export
        self._trace = trace
        self._window = window
        self._depth = depth
        self._moments = nanoseconds_of_steps(trace)
        self._faults = faults_by_step(trace)
        self._tools = tools_of(trace)
        self._conversation = as_name(trace.meta.get("conversation")) or as_name(trace.run_id)

    def write(self, agent: str | None, parent: Span | None = None) -> None:
        trace = self._trace
        turns = self._trace.turns
        ended = trace.outcome not in ("answer", "open")
        end = Failure(trace.outcome, trace.error or "") if ended else None
        attributes = self._of_walk(agent, turns)
        with self._export.span("invoke_agent", agent, self._window, attributes, parent, end) as span:
            for turn in turns:
                attributes = self._of_chat(turn) | self._of_faults(turn.own)
                model = attributes["gen_ai.request.model"] or attributes.get("gen_ai.response.model")
                window = self._between(turn.seq, turn.seq + 1)
                error = end if turn.seq == len(trace) - 1 else None
                with self._export.span("chat", model, window, attributes, span, error):
                    pass
                for call in turn.calls.values():
                    self._write_call(call, turn, span)

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
        tool = as_name(call.call.name)
        window = self._window_of(call, turn)
        outcome = call.outcome
        with self._export.span(verb, tool, window, attributes, parent, call.error) as span:
            if outcome is not None and outcome.trace is not None and self._depth < MAX_DEPTH:
                within = window_within(window, outcome)
                _Walk(self._export, outcome.trace, within, self._depth + 1).write(tool, span)

    # When it was

    def _between(self, first: int, last: int) -> Window:
        """Return the time from one step to another; one more than there are is the end."""
        zero = self._window.start - self._moments[0]
        return self._window.part(zero + self._moments[max(first, 0)], zero + self._moments[last])

    def _window_of(self, call: Call, turn: Turn) -> Window:
        """Return when a call ran, or else when it was validated or decided on."""
        if call.fate == "failed" and call.validated is not None:
            return self._between(call.validated - 1, call.validated)
        if call.fate == "stopped" and call.decided is not None:
            return self._between(call.decided - 1, call.decided)
        # All calls of a turn have run before the first of their outcomes is shown.
        calls = turn.calls.values()
        ran = [each for each in calls if each.outcome is not each.answer]  # the others were given by hand
        outcomes = {each.ran: each.outcome for each in ran if each.ran is not None and each.outcome}
        if call.outcome is None or not outcomes:
            return self._between(call.steps[-1] - 1, call.steps[-1])
        together = self._between(min(outcomes) - 1, min(outcomes))
        first = min((each.started_ms for each in outcomes.values() if each.started_ms > 0), default=0)
        late = max(0, call.outcome.started_ms - first) * 1_000_000
        return together.latest(together.start + late, nanoseconds(call.outcome.duration_ms / 1000))

    # What it says

    def _of_walk(self, agent: str | None, turns: list[Turn]) -> Attributes:
        trace = self._trace
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": self._export.name,
            "gen_ai.agent.name": agent,
            "gen_ai.conversation.id": self._conversation,
            "gen_ai.request.model": as_name(trace.meta.get("model")),
            "zoolab.run_id": as_name(trace.run_id),
            "zoolab.outcome": as_name(trace.outcome),
            "zoolab.turns": len(turns),
            **self._of_faults(range(turns[0].seq if turns else len(trace))),
        }
        if self._export.content:
            # Without their parameters: the conventions advise against those.
            tools = [(tool.name, sendable_text(tool.description)) for tool in self._tools]
            attributes["gen_ai.tool.definitions"] = encode(
                [{"type": "function", "name": name, "description": text} for name, text in tools]
            )
            if turns:
                attributes["gen_ai.input.messages"] = encode_messages(turns[0].request.prefix)
                answer = turns[-1].reply if trace.answer is not None else None
                attributes["gen_ai.output.messages"] = _encode_reply(answer)
        return attributes

    def _of_chat(self, turn: Turn) -> Attributes:
        request = turn.request
        reply = turn.reply
        sent, left_out = (reply.sent or {}, reply.left_out) if reply is not None else ({}, ())
        settings = without({**request.settings, **sent}, left_out)
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._export.name,
            "gen_ai.conversation.id": self._conversation,
            **_of_settings(settings),
            "gen_ai.request.model": as_name(settings.get("model")) or as_name(self._trace.meta.get("model")),
            **(_of_reply(reply) if reply is not None else {}),
            "zoolab.step": "request",
            "zoolab.turn": turn.number,
            "zoolab.tool_choice": as_name(request.tool_choice),
            "zoolab.tools.offered": len(request.tools),
            "zoolab.tools.withheld": len(request.withheld),
        }
        if self._export.content:
            attributes["gen_ai.input.messages"] = encode_messages(request.prefix)
            attributes["gen_ai.output.messages"] = _encode_reply(reply)
        return attributes

    def _of_call(self, call: Call) -> Attributes:
        asked = call.call
        verdict = call.verdict
        result = call.result
        said = self._export.said
        tool = self._tools.get(asked.name)
        decision = call.decision
        ran_with = asked.arguments if verdict is None or verdict.arguments is None else verdict.arguments
        attributes: Attributes = {
            "gen_ai.tool.name": as_name(asked.name) or "",
            "gen_ai.tool.call.id": as_name(asked.id),
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": None if tool is None else sendable_text(tool.description),
            "gen_ai.tool.call.arguments": said(ran_with),
            "gen_ai.tool.call.result": said(None if result is None else result.content),
            "zoolab.slot": call.slot,
            "zoolab.attempt": call.attempt,
            "zoolab.call.origin": asked.origin,
            "zoolab.permission.choice": None if decision is None else decision.choice,
            "zoolab.permission.reason": None if decision is None else said(decision.reason),
            "zoolab.permission.risk": None if call.asked is None else as_name(call.asked.risk),
        }
        if verdict is not None and verdict.repair is not None:
            repair = verdict.repair
            attributes |= {
                "zoolab.repair.accepted": repair.accepted,
                "zoolab.repair.codes": sorted({as_name(problem.code) or "" for problem in repair.problems}),
                "zoolab.repair.raw": said(repair.raw),
                "zoolab.repair.proposed": said(repair.proposed),
            }
        return attributes

    def _of_faults(self, seqs: Iterable[int]) -> Attributes:
        faults = [fault for seq in seqs for fault in self._faults.get(seq, ())]
        return {
            "zoolab.fault.kind": sendable_text(", ".join(dict.fromkeys(each.name for each in faults))) or None
        }


def _of_settings(settings: Mapping[str, Any]) -> Attributes:
    stop = settings.get("stop")
    stops = stop[:_MOST_STOPS] if isinstance(stop, list) else [stop]
    told: Attributes = {"gen_ai.request.stop_sequences": [*filter(None, map(as_name, stops))] or None}
    for kind, group in ((int, "whole_numbers"), (float, "numbers")):
        for name, attribute in _SETTINGS[group].items():
            number: Any = settings.get(name)
            if isinstance(number, (int, kind)) and not isinstance(number, bool) and abs(number) < 1 << 63:
                told[attribute] = kind(number)
    return told


def _of_reply(reply: Reply) -> Attributes:
    tokens = Tokens.of(reply.usage)
    reason = as_name(reply.finish_reason)
    return {
        "gen_ai.request.stream": True if reply.pieces else None,
        "gen_ai.response.model": as_name(reply.model),
        "gen_ai.response.id": as_name((reply.raw or {}).get("id")),
        "gen_ai.response.finish_reasons": None if reason is None else [reason],
        "gen_ai.usage.input_tokens": tokens.input,
        "gen_ai.usage.output_tokens": tokens.output,
        "gen_ai.usage.cache_read.input_tokens": tokens.cached,
        "gen_ai.usage.cache_creation.input_tokens": tokens.cache_write,
        "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
    }


def sendable_text(value: object, limit: int = MAX_TEXT) -> str:
    """Return any value as text that can be sent: without lone surrogates, and not too long."""
    text = value if isinstance(value, str) else excerpt(value, limit)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text.encode("utf-8", "replace").decode()


def as_name(value: object) -> str | None:
    """Return a short text; None for anything else, and for an empty one."""
    return sendable_text(value, MAX_NAME) if isinstance(value, str) and value else None


def encode_messages(messages: Sequence[Message]) -> str:
    """Return the last of the messages in the conventions' form, as many as there is room for."""
    kept: list[str] = []
    room = MAX_MESSAGES
    for message in reversed(messages):
        text = encode(_in_parts(message))
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    return f"[{','.join(reversed(kept))}]"


def _encode_reply(reply: Reply | None) -> str | None:
    if reply is None:
        return None
    return encode([{**_in_parts(reply.message), "finish_reason": as_name(reply.finish_reason) or ""}])


def _in_parts(message: Message) -> dict[str, Any]:
    role = as_name(message.get("role")) or ""
    said = message.get("content")
    if role == "tool":
        call_id = as_name(message.get("tool_call_id"))
        answer = {"type": "tool_call_response", "id": call_id, "response": sendable_text(said)}
        return {"role": role, "parts": [answer]}
    parts: list[dict[str, Any]] = [{"type": "text", "content": sendable_text(said)}] if said else []
    for name, call_id, raw in calls_of(message)[:64]:
        call = {"type": "tool_call", "id": as_name(call_id), "name": as_name(name) or ""}
        parts.append({**call, "arguments": _meant(raw)})
    return {"role": role, "parts": parts}


def _meant(raw: str) -> Any:
    try:
        return parse_json(raw) if len(raw) <= MAX_TEXT else sendable_text(raw)
    except NotStrictJSON:
        return sendable_text(raw)


class Window(NamedTuple):
    """From when to when, nanoseconds since 1970."""

    start: int
    end: int

    def part(self, start: int, end: int) -> Window:
        """Return what of it lies between the two."""
        start = min(max(start, self.start), self.end)
        return Window(start, min(max(end, start), self.end))

    def latest(self, start: int, length: int) -> Window:
        """Return a part of this length from `start` on, or from earlier, if there is no room for it."""
        start = min(start, self.end - length)
        return self.part(start, start + length)


def window_within(outer: Window, outcome: Outcome) -> Window:
    """Return when the walk inside a call was, of the time that the call took."""
    inner = outcome.trace
    late = 0
    moments = nanoseconds_of_steps(inner)
    if inner.began is not None:
        late = nanoseconds(inner.began) + moments[0] - outcome.started_ms * 1_000_000
    return outer.latest(outer.start + max(0, late), moments[-1] - moments[0])


def nanoseconds_of_steps(trace: TraceLog) -> list[int]:
    """Return when each step came, and when the trace ended: nanoseconds since it began."""
    last = trace.started[-1] if trace.started else 0.0
    times = [nanoseconds(time) for time in (*trace.started, last if trace.ended is None else trace.ended)]
    moments = times[:1]
    for before, after in pairwise(times):
        moments.append(min(moments[-1] + max(0, after - before), nanoseconds(_MAX_SECONDS)))
    return moments


def nanoseconds(seconds: float) -> int:
    """Return whole nanoseconds, of a time that may come from a stranger: negative, infinite or NaN."""
    return round(min(seconds, _MAX_SECONDS) * 1e9) if seconds > 0 else 0
