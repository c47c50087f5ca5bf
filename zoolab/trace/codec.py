"""Records to JSON events and back. What is read may come from a stranger: it is checked, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, TypeVar, cast

from zoolab.adapters import ForeignTool
from zoolab.errors import InvalidTrace
from zoolab.jsontext import encode, excerpt
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.options import Options
from zoolab.records import (
    Decision,
    Failure,
    Fault,
    Limits,
    Messages,
    Outcome,
    Problem,
    Record,
    Repair,
    Reply,
    Request,
    Result,
    ToolCall,
    Verdict,
    Withheld,
)
from zoolab.tools import ToolRegistry

T = TypeVar("T")

_PLAIN: dict[str, type] = {
    "decision": Decision,
    "reply": Reply,
    "result": Result,
    "tool_call": ToolCall,
    "verdict": Verdict,
}
_NAMES = {kind: name for name, kind in _PLAIN.items()}
#: A longer value is not saved whole: its first part is kept, as text.
MAX_VALUE_CHARS = 16 * 1024
#: The options of a run that a file keeps, as they are.
_OPTIONS: dict[str, type] = {
    **dict.fromkeys(("tool_choice", "calls", "envelope"), str),
    "parallel": bool,
    "answer_schema": dict,
    "deny": list,
}
_NESTED = (Failure, Fault, Problem, Repair, Withheld)
_ATOMS = frozenset((str, int, float, bool, type(None)))


@dataclass(frozen=True, slots=True)
class Shown:
    """What a saved trace keeps of a value that was too long, or no JSON: its first part as text."""

    text: str
    #: Bytes of the whole, if it could be measured.
    size: int | None = None


def encode_record(record: Record) -> dict[str, Any]:
    """Encode a record as plain JSON values, with its type, but for the messages of a request."""
    if isinstance(record, ToolRegistry):
        names = ("name", "description", "parameters", "risk", "timeout", "strict", "untrusted")
        told = [{n: getattr(tool, n) for n in names if n != "untrusted" or tool.untrusted} for tool in record]
        return {"type": "tools", "tools": told}
    if isinstance(record, Request):
        return {"type": "request", **encode_plain(record, "messages", "prefix")}
    if isinstance(record, Outcome):
        # A tool's exception may have an attribute `fault` of its own, which is not the mark of one.
        fault = encode_plain(record.fault) if isinstance(record.fault, Fault) else None
        plain = encode_plain(record, "value", "trace", "fault")
        return {"type": "outcome", **plain, "fault": fault, **_encode_value(record.value)}
    return {"type": _NAMES[type(record)], **encode_plain(record, "bound")}


def encode_plain(record: Any, *without: str) -> dict[str, Any]:
    """Encode the fields of a call, a reply, a fault and the like, but for those named in `without`."""
    return {f.name: _nested(getattr(record, f.name)) for f in fields(record) if f.name not in without}


def encode_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Encode the options of a run that are plain data: a file does not contain its functions."""
    told = {name: options[name] for name, kind in _OPTIONS.items() if isinstance(options.get(name), kind)}
    if isinstance(limits := options.get("limits"), Limits):
        told["limits"] = encode_plain(limits, "prices", "cost")
    return told | ({"deny": [*options["deny"]]} if options.get("deny") else {})


def decode_options(data: object) -> dict[str, Any]:
    """Return the options that `encode_options` encoded; raises `ZoolabError` or `TypeError` for others."""
    given: dict[str, Any] = _of_type(data, dict)
    made = {name: _of_type(given[name], kind) for name, kind in _OPTIONS.items() if name in given}
    if "limits" in given:
        made["limits"] = Limits(**given["limits"])
    Options(**made)
    return made


def decode_record(data: object, messages: Messages) -> Record:
    """Return the record that `encode_record` encoded; raises `InvalidTrace` if it is another value."""
    body = dict(_of_type(data, dict))
    kind = body.pop("type", None)
    if kind == "tools":
        return _decode_tools(body)
    if kind == "request":
        tools: list[dict[str, Any]] = _of_type(body.get("tools"), list)
        choice: str = _of_type(body.get("tool_choice"), str)
        settings: dict[str, Any] = _of_type(body.get("settings"), dict)
        withheld: list[Any] = _of_type(body.get("withheld", []), list)
        left_out = tuple(decode_plain(Withheld, tool) for tool in withheld)
        return Request(messages, tuple(tools), choice, settings, left_out)
    if kind == "outcome":
        if "shown" in body:
            body["value"] = decode_plain(Shown, {"text": body.pop("shown"), "size": body.pop("size", None)})
        return decode_plain(Outcome, body)
    if kind not in _PLAIN:
        raise InvalidTrace(f"a record has the type {excerpt(kind)}", expected=", ".join(_PLAIN))
    body.pop("bound", None)  # of a verdict: it is never saved
    return cast("Record", decode_plain(_PLAIN[kind], body))


def decode_plain(kind: type[T], data: object) -> T:
    """Return an object of the class `kind`; raises `InvalidTrace` if the value is none."""
    from pydantic import ValidationError

    try:
        return cast("T", _adapter(cast("Any", kind)).validate_python(data, strict=False))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidTrace(
            f"{kind.__name__}.{where}: {first['msg']}", expected="a trace as zoolab writes it"
        ) from None


@lru_cache(maxsize=16)
def _adapter(kind: type) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _nested(value: Any) -> Any:
    if type(value) in _ATOMS:
        return value
    if isinstance(value, _NESTED):
        return encode_plain(value)
    if isinstance(value, Mapping):
        return dict(value)
    return [_nested(item) for item in value] if isinstance(value, tuple) else value


def _encode_value(value: Any) -> dict[str, Any]:
    if isinstance(value, Shown):
        return {"shown": value.text, "size": value.size}
    try:
        plain = to_json_value(value)
        text = encode(plain)
    except (NotJSON, RecursionError):
        return {"shown": excerpt(value, 200), "size": None}
    if len(text) <= MAX_VALUE_CHARS:
        return {"value": plain}
    return {"shown": text[:MAX_VALUE_CHARS], "size": len(text.encode())}


def _decode_tools(body: dict[str, Any]) -> ToolRegistry:
    texts = ("name", "description", "risk", "untrusted")
    names = {*texts, "parameters", "timeout", "strict"}
    registry = ToolRegistry()
    for tool in _of_type(body.get("tools"), list):
        if not isinstance(tool, dict) or not names >= set(cast("dict[str, Any]", tool)):
            raise InvalidTrace(f"a tool is {excerpt(tool)}", expected=", ".join(sorted(names)))
        for name in texts:
            _of_type(tool.get(name, ""), str)
        _of_type(tool.get("parameters"), dict)
        _of_type(tool.get("strict", False), bool)
        registry.add(ForeignTool(**cast("dict[str, Any]", tool)))
    return registry


def _of_type(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise InvalidTrace(f"found {excerpt(value)}", expected=f"a {kind.__name__}")
    return value
