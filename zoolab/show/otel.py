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

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import NotStrictJSON, encode, excerpt, parse_json
from zoolab.records import Failure, Message, Outcome, Reply, without
from zoolab.show.moment import tools_of
from zoolab.trace.calls import Call, Turn
from zoolab.trace.frame import faults_by_step
from zoolab.trace.log import TraceLog

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.id_generator import IdGenerator
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

#: Characters of a name, of a text, and of all messages of one request.
MAX_NAME, MAX_TEXT, MAX_MESSAGES = 128, 4_096, 32_768
#: Some 120 years: twice that, in nanoseconds, still fits into 63 bits.
_MAX_SECONDS = 4_000_000_000

Attributes = dict[str, Any]


def to_otel(
    trace: TraceLog, provider: TracerProvider | None = None, *, content: bool = False
) -> list[ReadableSpan]:
    """The spans of a trace, each before those within it; see `Trace.to_otel`."""
    # Who answered, if nobody said it: perhaps a script. The conventions allow a name of one's own.
    name = as_name(trace.meta.get("provider")) or "zoolab"
    exporter = Exporter(trace.run_id, provider, name, content)
    _Walk(exporter, trace, window_of(trace)).write(as_name(trace.meta.get("agent")))
    return exporter.spans


class _Walk:
    """Writes the spans of one walk."""

    def __init__(self, exporter: Exporter, trace: TraceLog, window: Window, depth: int = 0) -> None:
        self._exporter, self._trace, self._depth = exporter, trace, depth
        self._times = Timeline(trace, window)
        self._faults = faults_by_step(trace)
        self._tools = tools_of(trace)

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
            **_of_settings(without(request.settings, reply.left_out if reply is not None else ())),
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
        return {
            "zoolab.fault.kind": as_text(", ".join(dict.fromkeys(fault.name for fault in faults))) or None,
            "zoolab.fault.where": as_text(", ".join(dict.fromkeys(fault.where for fault in faults))) or None,
        }


def _of_settings(settings: Mapping[str, Any]) -> Attributes:
    stop = settings.get("stop")
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


def as_text(value: object, limit: int = MAX_TEXT) -> str:
    """Any value as text that can be sent: without lone surrogates, and not too long."""
    text = value if isinstance(value, str) else excerpt(value, limit)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text.encode("utf-8", "replace").decode()


def as_name(value: object) -> str | None:
    """A short text; None for anything else, and for an empty one."""
    return as_text(value, MAX_NAME) if isinstance(value, str) and value else None


def as_number(value: object, kind: type[int] | type[float]) -> int | float | None:
    """A number that fits 64 bits; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, kind)) or not abs(value) < 1 << 63:
        return None
    return kind(value)


def as_scalar(value: object) -> str | int | float | bool | None:
    """A truth value, a number or a name; None for anything else."""
    if isinstance(value, bool):
        return value
    return as_number(value, type(value)) if isinstance(value, int | float) else as_name(value)


def member(value: object, name: str) -> Mapping[str, Any]:
    """An object within an object; empty if there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def encode_messages(messages: Sequence[Message]) -> str:
    """The last of the messages in the conventions' form, as many as there is room for."""
    kept: list[str] = []
    room = MAX_MESSAGES
    for message in reversed(messages):
        text = encode(_in_parts(message))
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    return f"[{','.join(reversed(kept))}]"


def encode_reply(reply: Reply | None) -> str | None:
    """The message of a reply in the conventions' form, with the reason that it ended."""
    if reply is None:
        return None
    return encode([{**_in_parts(reply.message), "finish_reason": as_name(reply.finish_reason) or ""}])


def _in_parts(message: Message) -> dict[str, Any]:
    role, said, calls = as_name(message.get("role")) or "", message.get("content"), message.get("tool_calls")
    if role == "tool":
        call_id = as_name(message.get("tool_call_id"))
        answer = {"type": "tool_call_response", "id": call_id, "response": as_text(said)}
        return {"role": role, "parts": [answer]}
    parts = [{"type": "text", "content": as_text(said)}] if said else []
    parts += map(_asked, calls[:64]) if isinstance(calls, list) else []
    return {"role": role, "parts": parts}


def _asked(call: object) -> dict[str, Any]:
    """A call, with the object that was meant as its arguments, or with what was written instead of one."""
    function = member(call, "function")
    raw = function.get("arguments")
    try:
        arguments = parse_json(raw) if isinstance(raw, str) and len(raw) <= MAX_TEXT else as_text(raw)
    except NotStrictJSON:
        arguments = as_text(raw)
    return {
        "type": "tool_call",
        "id": as_name(call.get("id")) if isinstance(call, Mapping) else None,
        "name": as_name(function.get("name")) or "",
        "arguments": arguments,
    }


class Exporter:
    """Makes the spans of one export; their ids are the same at every export of the run.

    `name` says whose format the messages have, `content` whether they may be told. Raises `InvalidInput` if
    the SDK is not installed, or `provider` is not a provider.
    """

    def __init__(self, run_id: str, provider: TracerProvider | None, name: str, content: bool) -> None:
        self.provider, self.content = name, content
        try:
            from opentelemetry.sdk.trace import TracerProvider as Provider
            from opentelemetry.sdk.trace.sampling import ALWAYS_ON
            from opentelemetry.trace import TracerProvider as AnyProvider
        except ImportError:
            advice = "pip install 'zoolab[otel]'"
            raise InvalidInput("to_otel needs the package opentelemetry-sdk", advice=advice) from None
        if provider is None:
            provider = Provider(ALWAYS_ON, shutdown_on_exit=False)
        elif not isinstance(provider, AnyProvider):
            expected = "a TracerProvider of OpenTelemetry"
            raise InvalidInput(f"a provider is {excerpt(provider)}", expected=expected)
        # A copy: the provider keeps its tracers, and another export may be using this one.
        self._tracer = copy(provider.get_tracer("zoolab", schema_url=SCHEMA_URL))
        self._tracer.id_generator = cast("IdGenerator", _Ids(run_id))  # type: ignore[attr-defined]
        #: The spans so far, in the order in which they began to be written.
        self.spans: list[ReadableSpan] = []

    @contextmanager
    def span(
        self,
        name: str,
        window: Window,
        attributes: Mapping[str, Any],
        parent: Span | None = None,
        error: Failure | None = None,
        kind: Literal["INTERNAL", "CLIENT"] = "INTERNAL",
    ) -> Iterator[Span]:
        """One span, around those within it. Attributes that are None are left out."""
        from opentelemetry.context import Context
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

        context = Context() if parent is None else set_span_in_context(parent, Context())
        known = {key: value for key, value in attributes.items() if value is not None}
        span = self._tracer.start_span(name, context, SpanKind[kind], known, start_time=window.start)
        if isinstance(span, ReadableSpan):
            self.spans.append(span)
        if error is not None:
            span.set_attribute("error.type", error.code)
            span.set_status(Status(StatusCode.ERROR, error.message or None))
        yield span
        span.end(window.end)


class _Ids:
    """Ids from the name of a run, and from how many there were before."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._spans = 0

    def generate_trace_id(self) -> int:
        return self._number("", 16)

    def generate_span_id(self) -> int:
        self._spans += 1
        return self._number(str(self._spans), 8)

    def is_trace_id_random(self) -> bool:
        return False

    def _number(self, salt: str, size: int) -> int:
        text = self._run_id.encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(text, digest_size=size, salt=salt.encode()).digest())


class Window(NamedTuple):
    """From when to when, nanoseconds since 1970."""

    start: int
    end: int

    def part(self, start: int, end: int) -> Window:
        """What of it lies between the two."""
        start = min(max(start, self.start), self.end)
        return Window(start, min(max(end, start), self.end))

    def latest(self, start: int, length: int) -> Window:
        """A part of this length from `start` on, or from earlier, if there is no room for it."""
        start = min(start, self.end - length)
        return self.part(start, start + length)


class Timeline:
    """When the steps of a trace were, in a window of time; no two steps change places.

    A fork counts from its own beginning again: its times follow on those that it shares with its parent.
    """

    def __init__(self, trace: TraceLog, window: Window) -> None:
        self.window = window
        self._moments = moments_of(trace)

    def between(self, first: int, last: int) -> Window:
        """From one step to another; one more than there are is the end."""
        zero = self.window.start - self._moments[0]
        return self.window.part(zero + self._moments[max(first, 0)], zero + self._moments[last])

    def of(self, call: Call, turn: Turn) -> Window:
        """When a call ran, or else when it was validated or decided on."""
        if call.fate == "failed" and call.validated is not None:
            return self._until(call.validated)
        if call.fate == "stopped" and call.decided is not None:
            return self._until(call.decided)
        # All calls of a turn have run before the first of their outcomes is shown.
        calls = turn.calls.values()
        ran = [each for each in calls if each.outcome is not each.answer]  # the others were given by hand
        outcomes = {each.ran: each.outcome for each in ran if each.ran is not None and each.outcome}
        if call.outcome is None or not outcomes:
            return self._until(call.steps[-1])
        together = self._until(min(outcomes))
        first = min((each.started_ms for each in outcomes.values() if each.started_ms > 0), default=0)
        late = max(0, call.outcome.started_ms - first) * 1_000_000
        return together.latest(together.start + late, nanoseconds(call.outcome.duration_ms / 1000))

    def _until(self, seq: int) -> Window:
        return self.between(seq - 1, seq)


def window_of(trace: TraceLog) -> Window:
    """From the first step of a trace to its end; one that does not know when it began has just ended."""
    moments = moments_of(trace)
    now = max(0, time.time_ns() - moments[-1])
    began = now if trace.began is None else nanoseconds(trace.began)
    return Window(began + moments[0], began + moments[-1])


def window_within(outer: Window, outcome: Outcome) -> Window:
    """When the walk inside a call was, of the time that the call took."""
    inner, late = outcome.trace, 0
    moments = moments_of(inner)
    if inner.began is not None:
        late = nanoseconds(inner.began) + moments[0] - outcome.started_ms * 1_000_000
    return outer.latest(outer.start + max(0, late), moments[-1] - moments[0])


def moments_of(trace: TraceLog) -> list[int]:
    """When each step came, and when the trace ended: nanoseconds since it began."""
    last = trace.started[-1] if trace.started else 0.0
    times = [nanoseconds(time) for time in (*trace.started, last if trace.ended is None else trace.ended)]
    moments = times[:1]
    for before, after in pairwise(times):
        moments.append(min(moments[-1] + max(0, after - before), nanoseconds(_MAX_SECONDS)))
    return moments


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, of a time that may come from a stranger: negative, infinite or NaN."""
    return round(min(seconds, _MAX_SECONDS) * 1e9) if seconds > 0 else 0
