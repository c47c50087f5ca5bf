"""OpenTelemetry's spans and logs: OTLP/JSON, its lines, and what the SDK's console exporter prints.

A span with `gen_ai.input.messages` or `gen_ai.output.messages` tells a conversation from its beginning. One
that is the beginning of another one says nothing new. All others are conversations of their own: of another
agent, another branch, or after the history was condensed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, digest, excerpt
from zoolab.records import Message
from zoolab_connect.readers.flat import messages_of
from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.messages import messages_in, text_of
from zoolab_connect.readers.parsing import values_in

INPUT, OUTPUT, SYSTEM = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"
TOOLS = "gen_ai.tool.definitions"
_SAID = {"model": ("gen_ai.request.model", "llm.model_name"), "agent": ("gen_ai.agent.name", "agent.name")}
_SUMMARIES = ("invoke_agent", "create_agent", "invoke_workflow")
_GROUPS = ("resourceSpans", "resource_spans", "batches", "resourceLogs", "resource_logs")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
_RECORDS = ("spans", "logRecords", "log_records")


@dataclass(slots=True)
class _Span:
    place: str
    told: Mapping[str, Any]
    trace: Any
    id: Any
    parent: Any
    group: str
    operation: str
    unread: Unread
    #: What it tells: several, if the model gave several answers.
    sequences: list[list[Message]] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)


def recognises(values: Sequence[Any]) -> bool:
    """Whether values are spans: of OTLP, or of the console exporter."""
    return any(isinstance(v, dict) and (any(k in v for k in _GROUPS) or _is_printed(v)) for v in values)


def _is_printed(value: Mapping[str, Any]) -> bool:
    context = value.get("context")
    return isinstance(context, dict) and "span_id" in context and "attributes" in value


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """One conversation as a span tells it: its messages, a name for each, and one for each beginning."""

    span: _Span
    messages: list[Message]
    names: list[str]
    beginnings: list[str]

    @classmethod
    def of(cls, span: _Span, messages: list[Message]) -> _Told:
        names = [digest(canonical(message)) for message in messages]
        return cls(span, messages, names, [*accumulate(names, lambda before, name: digest(before + name))])


def read(values: Sequence[Any], unread: Unread) -> Iterator[Conversation]:
    """Yield the conversations of all spans, in the order in which they came."""
    spans = [_span(place, record, unread) for place, record in _records(values, unread)]
    by_id = {(span.trace, span.id): span for span in spans if span.id is not None}
    groups: dict[str, list[_Told]] = {}
    for told in (_Told.of(span, messages) for span in spans for messages in span.sequences):
        groups.setdefault(told.span.group, []).append(told)
    for group in groups.values():
        begun = {name for told in group for name in told.beginnings[:-1]}
        tools = {told.beginnings[-1]: told.span.tools for told in reversed(group) if told.span.tools}
        seen: dict[str, _Told] = {}
        for told in group:
            end = told.beginnings[-1]
            if end in seen and not {told.span.operation, seen[end].span.operation} & {*_SUMMARIES}:
                unread.add(told.span.place, f"it says the same as {seen[end].span.place}; it is shown once")
            if end in begun or end in seen or _sums_up(told, group):
                continue
            seen[end] = told
            known = next((tools[name] for name in told.beginnings if name in tools), [])
            yield _conversation(told, known, by_id, spans)


def _sums_up(told: _Told, group: Sequence[_Told]) -> bool:
    """Whether the span of an agent says only what those below it say, in this order."""
    if told.span.operation not in _SUMMARIES:
        return False
    for other in group:
        longer = len(other.names) > len(told.names)
        if other is not told and (longer or other.span.operation not in _SUMMARIES):
            rest = iter(other.names)
            if all(name in rest for name in told.names):
                return True
    return False


def _conversation(
    told: _Told, known: list[Any], by_id: Mapping[tuple[Any, Any], _Span], spans: Sequence[_Span]
) -> Conversation:
    span, messages = told.span, told.messages
    above = [span]
    while (parent := by_id.get((span.trace, above[-1].parent))) is not None and parent not in above:
        above.append(parent)
    tools = next((each.tools for each in above if each.tools), known)
    functions = [t if "function" in t else {"type": "function", "function": t} for t in tools]
    meta: dict[str, Any] = {}
    for key, names in _SAID.items():
        said = (each.told.get(name) for each in above for name in names)
        meta |= next(({key: value} for value in said if value), {})
    meta["conversation"] = span.group
    return Conversation([*messages, *_ran(span, messages, spans)], functions, meta, span.unread)


def _ran(span: _Span, messages: list[Message], spans: Sequence[_Span]) -> Iterator[Message]:
    """The results of the calls that the conversation ends with, from the spans of the tools."""
    last = messages[-1] if messages else {}
    calls = last.get("tool_calls", [])
    ran = [each for each in spans if each.group == span.group and each.operation == "execute_tool"]
    for call in calls:
        for each in ran:
            number, name = (each.told.get(f"gen_ai.tool.{key}") for key in ("call.id", "name"))
            same = number == call["id"] if number is not None else name == call["function"]["name"]
            if same and "gen_ai.tool.call.result" in each.told:
                said = text_of(each.told["gen_ai.tool.call.result"], each.place, span.unread)
                yield {"role": "tool", "tool_call_id": call["id"], "content": said}
                ran.remove(each)
                break


def _records(values: Sequence[Any], unread: Unread) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, value in enumerate(values):
        own = f"value {number + 1}, " if len(values) > 1 else ""
        if isinstance(value, dict) and _is_printed(value):
            yield f"{own}span {value.get('name')}", value
            continue
        for key in _GROUPS if isinstance(value, dict) else ():
            for resource in _mappings(value.get(key), f"{own}{key}", unread):
                for name in _SCOPES:
                    for scope in _mappings(resource.get(name), f"{own}{name}", unread):
                        for kind in _RECORDS:
                            for at, record in enumerate(_mappings(scope.get(kind), f"{own}{kind}", unread)):
                                yield f"{own}{kind}[{at}] {excerpt(record.get('name', ''), 60)}", record
        if not isinstance(value, dict) or not any(key in value for key in _GROUPS):
            unread.add(f"value {number + 1}", "it holds no spans")


def _mappings(value: Any, place: str, unread: Unread) -> Iterator[Mapping[str, Any]]:
    if value is not None and not isinstance(value, list):
        unread.add(place, f"it has a form that is not known: {excerpt(value, 60)}; expected a list")
    for number, each in enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, Mapping):
            yield each
        else:
            unread.add(f"{place}[{number}]", f"it is {excerpt(each, 60)}; expected an object")


def _span(place: str, record: Mapping[str, Any], file: Unread) -> _Span:
    """A span, with what it tells in its attributes and in its events."""
    told = dict(_attributes(record.get("attributes"), place, file))
    for event in _events(record, place, file):
        told = {**event["attributes"], **told}
    context = record.get("context")
    ids = context if isinstance(context, Mapping) else {}
    trace = record.get("traceId") or record.get("trace_id") or ids.get("trace_id")
    number = record.get("spanId") or record.get("span_id") or ids.get("span_id")
    parent = record.get("parentSpanId") or record.get("parent_span_id") or record.get("parent_id")
    operation = str(told.get("gen_ai.operation.name") or str(record.get("name", "")).partition(" ")[0])
    group = str(told.get("gen_ai.conversation.id") or trace or place)
    span = _Span(place, told, trace, number, parent, group, operation, Unread())
    if told.keys() & {INPUT, OUTPUT}:
        _tell(span)
    elif older := messages_of(told, _events(record, place, file), span.unread):
        span.sequences = [older]
    elif operation in ("chat", "text_completion", "generate_content"):
        file.add(place, "it has no messages; the program may have been told not to record them")
    span.tools = [each for each in _list(span, TOOLS) if isinstance(each, dict)]
    return span


def _events(record: Mapping[str, Any], place: str, unread: Unread) -> list[dict[str, Any]]:
    listed = record.get("events")
    return [
        {**each, "attributes": _attributes(each.get("attributes"), f"{place}.events", unread)}
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, Mapping)
    ]


def _tell(span: _Span) -> None:
    system = _list(span, SYSTEM)
    begin = messages_in([{"role": "system", "parts": system}], SYSTEM, span.unread) if system else []
    begin += messages_in(_list(span, INPUT), INPUT, span.unread)
    said = [messages_in([each], OUTPUT, span.unread, "assistant") for each in _list(span, OUTPUT)]
    # Several messages of the model side by side are several answers to one request.
    choices = len(said) > 1 and all(len(m) == 1 and m[0]["role"] == "assistant" for m in said)
    ends = said if choices else [[message for each in said for message in each]]
    span.sequences = [[*begin, *end] for end in ends if begin or end]


def _list(span: _Span, name: str) -> list[Any]:
    """The value of an attribute that should be a list, perhaps as JSON text."""
    value = span.told.get(name)
    if isinstance(value, str) and value:
        try:
            [value] = values_in(value, span.unread)
        except (InvalidInput, ValueError) as error:
            why = error.what if isinstance(error, InvalidInput) else "it is not one JSON value"
            if name == SYSTEM:
                return [value]
            span.unread.add(f"{span.place}, {name}", f"left out: {why}")
            return []
    if value not in (None, "") and not isinstance(value, list):
        span.unread.add(f"{span.place}, {name}", f"it is {excerpt(value, 60)}; expected a list")
    return value if isinstance(value, list) else []


def _attributes(given: Any, place: str, unread: Unread) -> Mapping[str, Any]:
    """Attributes by their names: plain, or in OTLP's form, where each value has its type as the key."""
    if isinstance(given, Mapping):
        return given
    if given is not None and not isinstance(given, list):
        unread.add(f"{place}.attributes", f"they have a form that is not known: {excerpt(given, 60)}")
    known: dict[str, Any] = {}
    for each in given if isinstance(given, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("key"), str):
            known[each["key"]] = _any_value(each.get("value"), f"{place}.{each['key']}", unread)
        else:
            unread.add(f"{place}.attributes", f"it is {excerpt(each, 60)}; expected a key and a value")
    return known


def _any_value(value: Any, place: str, unread: Unread) -> Any:
    if not isinstance(value, Mapping) or not value:
        return None
    kind, held = next(iter(value.items()))
    match str(kind).replace("_", "").lower():
        case "arrayvalue":
            listed = held.get("values") if isinstance(held, Mapping) else None
            return [_any_value(each, place, unread) for each in listed or ()]
        case "kvlistvalue":
            listed = held.get("values") if isinstance(held, Mapping) else None
            return dict(_attributes(listed, place, unread))
        case "intvalue":
            return int(held) if isinstance(held, str) and held.lstrip("-").isdecimal() else held
        case "stringvalue" | "boolvalue" | "doublevalue" | "bytesvalue":
            return held
    unread.add(place, f"a value of the type {excerpt(kind, 40)}")
    return held
