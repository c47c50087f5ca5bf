"""OpenTelemetry's spans and logs: OTLP/JSON, its lines, and what the SDK's console exporter prints.

A span with `gen_ai.input.messages` or `gen_ai.output.messages` tells a conversation from its beginning. One
that is the beginning of another one says nothing new. All others are conversations of their own: of another
agent, another branch, or after the history was condensed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.records import Message
from zoolab_connect.readers.beginnings import beginnings_of, name_of_message
from zoolab_connect.readers.flat import messages_of, tools_told
from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.messages import content_text, messages_in
from zoolab_connect.readers.parsing import values_in
from zoolab_connect.readers.span_forms import Record, is_spans, records_in

INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
SYSTEM = "gen_ai.system_instructions"
_SAID = {
    "model": ("gen_ai.request.model", "llm.model_name", "ai.model.id", "langfuse.observation.model.name"),
    "agent": ("gen_ai.agent.name", "agent.name"),
}
_KINDS = ("openinference.span.kind", "traceloop.span.kind", "langfuse.observation.type")
_SUMMARIES = ("invoke_agent", "create_agent", "invoke_workflow")


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
    #: How it failed; empty if it did not.
    error: str
    #: What it tells: several, if the model gave several answers.
    sequences: list[list[Message]] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    #: Whether what it says stands elsewhere, or was named as not read.
    named: bool = False


def recognises(values: Sequence[Any]) -> bool:
    """Return whether values are spans, or events of a log."""
    return any(map(is_spans, values))


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """One conversation as a span tells it: its messages, a name for each, and one for each beginning."""

    span: _Span
    messages: list[Message]
    names: list[str]
    beginnings: list[str]

    @classmethod
    def of(cls, span: _Span, messages: list[Message]) -> _Told:
        return cls(span, messages, [name_of_message(each) for each in messages], beginnings_of(messages))


def read(values: Sequence[Any], unread: Unread) -> Iterator[Conversation]:
    """Yield the conversations of all spans, in the order in which they came."""
    spans = [_span(record, unread) for record in records_in(values, unread)]
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
    _name_the_rest(spans, unread)


def _sums_up(told: _Told, group: Sequence[_Told]) -> bool:
    """Return whether the span of an agent says only what those below it say, in this order."""
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
    span = told.span
    messages = told.messages
    above = [span]
    while (parent := by_id.get((span.trace, above[-1].parent))) is not None and parent not in above:
        above.append(parent)
    tools = next((each.tools for each in above if each.tools), known)
    meta: dict[str, Any] = {}
    for key, names in _SAID.items():
        said = (each.told.get(name) for each in above for name in names)
        meta |= next(({key: value} for value in said if value), {})
    meta["conversation"] = span.group
    whole = [*messages, *_ran(span, messages, spans)]
    outcome = ""
    error = ""
    if span.error and (not whole or whole[-1]["role"] != "assistant"):
        outcome = "failed"
        error = span.error
    elif span.error:
        span.unread.add(span.place, f"it ended with an error: {span.error}")
    return Conversation(whole, tools, meta, span.unread, outcome, error)


def _ran(span: _Span, messages: list[Message], spans: Sequence[_Span]) -> Iterator[Message]:
    """Yield the results of the calls that the conversation ends with, from the spans of the tools."""
    last = messages[-1] if messages else {}
    calls = last.get("tool_calls", [])
    ran = [each for each in spans if each.group == span.group and each.operation == "execute_tool"]
    for call in calls:
        for each in ran:
            number, name = (each.told.get(f"gen_ai.tool.{key}") for key in ("call.id", "name"))
            same = number == call["id"] if number is not None else name == call["function"]["name"]
            if same and "gen_ai.tool.call.result" in each.told:
                said = content_text(each.told["gen_ai.tool.call.result"], each.place, span.unread)
                yield {"role": "tool", "tool_call_id": call["id"], "content": said}
                each.named = True
                ran.remove(each)
                break


def _span(record: Record, file: Unread) -> _Span:
    """Return a span, with what it tells in its attributes and in its events."""
    place = record.place
    told = record.attributes
    for event in record.events:
        told = {**event["attributes"], **told}
    operation = str(told.get("gen_ai.operation.name") or record.name.partition(" ")[0])
    group = str(told.get("gen_ai.conversation.id") or record.trace or place)
    span = _Span(
        place, told, record.trace, record.id, record.parent, group, operation, Unread(), record.error
    )
    if told.keys() & {INPUT, OUTPUT}:
        _tell(span)
    else:
        begin, ends = messages_of(told, record.events, span.unread)
        span.sequences = _sequences(begin, ends)
    if not span.sequences and operation in ("chat", "text_completion", "generate_content"):
        why = f"; it ended with an error: {span.error}" if span.error else ""
        file.add(place, f"it has no messages; the program may have been told not to record them{why}")
        span.named = True
    span.tools = tools_told(told, place, span.unread)
    return span


def _tell(span: _Span) -> None:
    system = _list(span, SYSTEM)
    begin = messages_in([{"role": "system", "parts": system}], SYSTEM, span.unread) if system else []
    begin += messages_in(_list(span, INPUT), INPUT, span.unread)
    said = [messages_in([each], OUTPUT, span.unread, "assistant") for each in _list(span, OUTPUT)]
    span.sequences = _sequences(begin, said)


def _sequences(begin: list[Message], said: Sequence[list[Message]]) -> list[list[Message]]:
    """Return the conversations of a span: several messages of the model side by side are several answers."""
    choices = len(said) > 1 and all(len(m) == 1 and m[0]["role"] == "assistant" for m in said)
    ends = said if choices else [[message for each in said for message in each]]
    return [[*begin, *end] for end in ends if begin or end]


def _name_the_rest(spans: Sequence[_Span], file: Unread) -> None:
    """Say which spans tell no messages."""
    rest = [each for each in spans if not each.sequences and not each.named]
    if rest:
        told = ", ".join(excerpt(each.place, 80) for each in rest[:5])
        more = f" and {len(rest) - 5:,} more" if len(rest) > 5 else ""
        file.add("spans", f"{len(rest):,} tell no messages of a model: {told}{more}")
    for each in rest:
        if each.error and each.told.keys() & {"gen_ai.operation.name", *_KINDS}:
            file.add(each.place, f"it ended with an error: {each.error}")


def _list(span: _Span, name: str) -> list[Any]:
    """Return the value of an attribute that should be a list, perhaps as JSON text."""
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
