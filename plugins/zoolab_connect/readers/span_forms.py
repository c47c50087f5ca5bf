"""The forms in which spans and events are written down: each record of them in one form.

OTLP/JSON and its lines; what the SDK's console exporter prints; rows of Phoenix and Logfire, with attributes
that are flat, nested or JSON text, and tables of such rows; Tempo, Jaeger and Zipkin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoolab.jsontext import excerpt
from zoolab_connect.readers.found import Unread
from zoolab_connect.readers.offered import parsed
from zoolab_connect.readers.tables import rows_of_table

_GROUPS = ("resourceSpans", "resource_spans", "batches", "resourceLogs", "resource_logs")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
_RECORDS = ("spans", "logRecords", "log_records")
_TRACES = ("traceId", "trace_id", "traceID")
_SPANS = ("spanId", "span_id", "spanID")
_PARENTS = ("parentSpanId", "parent_span_id", "parentSpanID", "parent_id", "parentId")
#: Attributes that Phoenix nests, and those whose lists it spreads over attributes with a number each.
_NESTED = ("llm", "input", "output", "openinference", "gen_ai", "ai", "langfuse", "traceloop", "tool")
#: What was left out when a span was written, by the names of the counts.
_DROPPED = {
    **dict.fromkeys(("droppedAttributesCount", "dropped_attributes_count"), "attributes"),
    **dict.fromkeys(("droppedEventsCount", "dropped_events_count"), "events"),
    **{f"otel.dropped_{what}_count": what for what in ("attributes", "events")},
}
_FAILED = ("2", "ERROR", "STATUS_CODE_ERROR")


@dataclass(slots=True)
class Record:
    """A span, or an event in a log, with plain attributes."""

    place: str
    name: str
    trace: Any
    id: Any
    parent: Any
    attributes: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    #: What it says of how it failed; empty if it did not.
    error: str = ""


def is_spans(value: Any) -> bool:
    """Return whether a value holds spans or events, or is one."""
    return any(map(_is_spans, _opened(value)))


def _opened(value: Any) -> Sequence[Any]:
    """Return the rows of a table of spans, what Tempo wraps in `trace`, or the value itself."""
    held = value.get("trace") if isinstance(value, dict) else None
    if isinstance(held, dict) and any(key in held for key in _GROUPS):
        return [held]
    rows = rows_of_table(value)
    return rows if any(map(_is_record, rows)) else [value]


def _is_spans(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return any(key in value for key in _GROUPS) or bool(_held(value)) or _is_record(value)


def records_in(values: Sequence[Any], unread: Unread) -> list[Record]:
    """Return the records of all values; the events of a log stand in the span that they belong to."""
    found: list[Record] = []
    logged: dict[tuple[Any, Any], Record] = {}
    answers = 0
    for place, told, is_log in _told(values, unread):
        record = _record(place, told, unread)
        name = str(record.attributes.get("event.name") or record.name)
        if not (is_log and name.startswith("gen_ai.") and name.endswith(("message", "choice"))):
            found.append(record)
            continue
        # An event without a span belongs to those before it, up to the answer of the model.
        owner = (record.trace, record.id or answers)
        answers += name == "gen_ai.choice"
        held = logged.setdefault(owner, Record(place, "", record.trace, record.id, None, {}))
        held.events.append({"name": name, "attributes": record.attributes})
    for record in found:
        own = logged.pop((record.trace, record.id), None)
        record.events += own.events if own is not None else []
    return [*found, *logged.values()]


def _held(value: Mapping[str, Any]) -> list[Any]:
    """Return the spans of an answer of Phoenix's or Jaeger's API, or of a trace of Jaeger's."""
    lists = (value[key] for key in ("data", "spans") if isinstance(value.get(key), list))
    listed: list[Any] = next(lists, [])
    first = next((each for each in listed if isinstance(each, dict)), {})
    return listed if _is_record(first) or ("traceID" in first and "spans" in first) else []


def _is_record(value: Mapping[str, Any]) -> bool:
    context = value.get("context")
    if "context.span_id" in value or (isinstance(context, dict) and {*_SPANS} & context.keys()):
        return True
    if {*_TRACES} & value.keys():
        return bool(({*_SPANS} & value.keys() and {"attributes", "tags"} & value.keys()) or "tags" in value)
    return False


def _told(values: Sequence[Any], unread: Unread) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Yield each record with its place, and whether it is of a log."""
    opened = [(number, each) for number, value in enumerate(values) for each in _opened(value)]
    for number, value in opened:
        own = f"value {number + 1}, " if len(values) > 1 else ""
        if not _is_spans(value):
            unread.add(f"value {number + 1}", "it holds no spans")
        elif _is_record(value):
            name = value.get("name", value.get("span_name", value.get("operationName", "")))
            yield f"{own}span {excerpt(name, 60)}", value, "body" in value
        elif held := _held(value):
            for place, record, is_log in _told(held, unread):
                yield own + place, record, is_log
        for key in _GROUPS if isinstance(value, dict) else ():
            for resource in _mappings(value.get(key), f"{own}{key}", unread):
                for name in _SCOPES:
                    for scope in _mappings(resource.get(name), f"{own}{name}", unread):
                        for kind in _RECORDS:
                            for at, record in enumerate(_mappings(scope.get(kind), f"{own}{kind}", unread)):
                                place = f"{own}{kind}[{at}] {excerpt(record.get('name', ''), 60)}"
                                yield place, record, kind != "spans"


def _mappings(value: Any, place: str, unread: Unread) -> Iterator[Mapping[str, Any]]:
    if value is not None and not isinstance(value, list):
        unread.add(place, f"it has a form that is not known: {excerpt(value, 60)}; expected a list")
    for number, each in enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, Mapping):
            yield each
        else:
            unread.add(f"{place}[{number}]", f"it is {excerpt(each, 60)}; expected an object")


def _record(place: str, told: Mapping[str, Any], unread: Unread) -> Record:
    context = told.get("context")
    ids = {**told, **context} if isinstance(context, Mapping) else told
    ids = {key.removeprefix("context."): value for key, value in ids.items()}
    parent = next((told[key] for key in _PARENTS if told.get(key)), None)
    for each in told["references"] if isinstance(told.get("references"), list) else ():
        parent = parent or (each.get("spanID") if isinstance(each, Mapping) else None)
    attributes = _own_attributes(place, told, unread)
    _name_dropped(place, {**attributes, **told}, unread)
    events = _events(told, place, unread)
    return Record(
        place,
        str(
            next(
                (
                    told[k]
                    for k in ("name", "span_name", "operationName", "eventName", "event_name")
                    if told.get(k)
                ),
                "",
            )
        ),
        _id(next((ids[key] for key in _TRACES if ids.get(key)), None), f"{place}.trace", unread),
        _id(next((ids[key] for key in (*_SPANS, "id") if ids.get(key)), None), f"{place}.id", unread),
        _id(parent, f"{place}.parent", unread),
        attributes,
        events,
        _error(told, attributes, events),
    )


def _id(value: Any, place: str, unread: Unread) -> str | int | None:
    """Return an id; one that is neither text nor a number is named and left out."""
    if value is None or isinstance(value, str | int):
        return value
    unread.add(place, f"it is {excerpt(value, 60)}; expected an id")
    return None


def _name_dropped(place: str, told: Mapping[str, Any], unread: Unread) -> None:
    """Name what the program that wrote a span left out."""
    for name, what in _DROPPED.items():
        if told.get(name) not in (None, 0, "0", ""):
            unread.add(place, f"{excerpt(told[name], 20)} {what} were dropped before it was written")


def _own_attributes(place: str, told: Mapping[str, Any], unread: Unread) -> dict[str, Any]:
    """Return the attributes of a record, by their names; the body of an event counts as attributes."""
    given = parsed(told.get("attributes", told.get("tags")))
    found = {**attributes_in(given, place, unread)}
    found |= {k.removeprefix("attributes."): v for k, v in told.items() if k.startswith("attributes.")}
    body = told.get("body")
    if isinstance(body, Mapping) and next(iter(body), "").lower().replace("_", "").endswith("value"):
        body = any_value(body, f"{place}.body", unread)
    body = parsed(body)
    if isinstance(body, Mapping):
        found = {**found, **body}
    elif body not in (None, ""):
        found.setdefault("body", body)
    return _spread(found)


def _spread(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with one name each, also where they were nested."""
    found: dict[str, Any] = {}
    waiting = [(name, value, name.partition(".")[0] in _NESTED) for name, value in attributes.items()]
    for name, value, nested in waiting:
        listed = (
            isinstance(value, list) and name.startswith("llm.") and all(isinstance(v, Mapping) for v in value)
        )
        if (
            nested
            and isinstance(value, Mapping)
            and value
            and not name.endswith((".value", ".input", ".output"))
        ):
            waiting += [(f"{name}.{key}", each, True) for key, each in value.items()]
        elif listed:
            waiting += [(f"{name}.{number}", each, True) for number, each in enumerate(value)]
        else:
            found[name] = value
    return found


def _events(told: Mapping[str, Any], place: str, unread: Unread) -> list[dict[str, Any]]:
    listed = next((parsed(told[k]) for k in ("events", "otel_events", "logs") if told.get(k)), None)
    found = []
    for each in listed if isinstance(listed, list) else ():
        if not isinstance(each, Mapping):
            unread.add(f"{place}.events", f"it is {excerpt(each, 60)}; expected an event")
            continue
        given = next((each[k] for k in ("attributes", "fields") if k in each), None)
        attributes = dict(attributes_in(given, f"{place}.events", unread))
        name = each.get("name", each.get("event_name", attributes.get("event")))
        _name_dropped(f"{place}.events {excerpt(name, 60)}", each, unread)
        found.append({**each, "name": name, "attributes": attributes})
    return found


def _error(
    told: Mapping[str, Any], attributes: Mapping[str, Any], events: Sequence[Mapping[str, Any]]
) -> str:
    status = told.get("status")
    said = status if isinstance(status, Mapping) else told
    code = said.get("code", said.get("status_code", attributes.get("otel.status_code")))
    thrown = [e["attributes"] for e in events if e["name"] == "exception"]
    words = [said.get(key) for key in ("message", "description", "status_message")]
    words += [attributes.get("otel.status_description")]
    words += [each.get("exception.message", each.get("exception.type")) for each in thrown]
    words += [attributes.get("error.type")]
    if (
        str(code).rpartition(".")[2].upper() not in _FAILED
        and not thrown
        and not attributes.get("error.type")
    ):
        return ""
    told_once = dict.fromkeys(str(each) for each in words if each)
    return "; ".join(told_once) or "it does not say why"


def attributes_in(given: Any, place: str, unread: Unread) -> Mapping[str, Any]:
    """Return attributes by their names: plain, or in OTLP's form, where each value has its type as the
    key.
    """
    if isinstance(given, Mapping):
        return given
    if given is not None and not isinstance(given, list):
        unread.add(f"{place}.attributes", f"they have a form that is not known: {excerpt(given, 60)}")
    known: dict[str, Any] = {}
    for each in given if isinstance(given, list) else ():
        if not isinstance(each, Mapping) or not isinstance(each.get("key"), str):
            unread.add(f"{place}.attributes", f"it is {excerpt(each, 60)}; expected a key and a value")
        elif "type" in each and not isinstance(each.get("value"), Mapping):  # as Jaeger writes it
            known[each["key"]] = each.get("value")
        else:
            known[each["key"]] = any_value(each.get("value"), f"{place}.{each['key']}", unread)
    return known


def any_value(value: Any, place: str, unread: Unread) -> Any:
    """Return a value of OTLP: its type is its key."""
    if not isinstance(value, Mapping) or not value:
        return None
    kind, held = next(iter(value.items()))
    match str(kind).replace("_", "").lower():
        case "arrayvalue":
            listed = held.get("values") if isinstance(held, Mapping) else held
            if listed is not None and not isinstance(listed, list):
                unread.add(place, f"it is {excerpt(listed, 60)}; expected a list of values")
            return [any_value(each, place, unread) for each in listed] if isinstance(listed, list) else []
        case "kvlistvalue":
            listed = held.get("values") if isinstance(held, Mapping) else None
            return dict(attributes_in(listed, place, unread))
        case "intvalue":
            return int(held) if isinstance(held, str) and held.lstrip("-").isdecimal() else held
        case "stringvalue" | "boolvalue" | "doublevalue" | "bytesvalue":
            return held
    unread.add(place, f"a value of the type {excerpt(kind, 40)}")
    return held
