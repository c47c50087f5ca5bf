"""Records to JSON events and back. What is read may come from a stranger: it is checked, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any, cast

from zoolab.errors import InvalidTrace
from zoolab.jsontext import encode, excerpt
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.records import (
    Decision,
    Failure,
    Fault,
    Message,
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
from zoolab.tools import Tool, ToolRegistry

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
_NESTED = (Failure, Fault, Problem, Repair)
_ATOMS = frozenset((str, int, float, bool))


@dataclass(frozen=True, slots=True)
class Shown:
    """What a saved trace keeps of a value that was too long, or no JSON: its first part as text."""

    text: str
    #: Bytes of the whole, if it could be measured.
    size: int | None = None


def encode_record(record: Record) -> dict[str, Any]:
    """A record as plain JSON values, with its type; but for the messages of a request.

    >>> encode_record(Outcome(100))["value"]
    100
    """
    if isinstance(record, ToolRegistry):
        return {"type": "tools", "tools": [_encode_tool(tool) for tool in record]}
    if isinstance(record, Request):
        settings = dict(record.settings)
        return {
            "type": "request",
            "tools": list(record.tools),
            "tool_choice": record.tool_choice,
            "settings": settings,
            "withheld": [_fields(tool) for tool in record.withheld],
        }
    if isinstance(record, Outcome):
        plain = _fields(record, "value", "trace", "fault") | _fault_of(record)
        return {"type": "outcome", **plain, **_encode_value(record.value)}
    if isinstance(record, Reply):
        return {"type": "reply", **encode_plain(record)}
    return {"type": _NAMES[type(record)], **_fields(record, "bound")}


def decode_record(data: object, messages: Messages) -> Record:
    """The record that `encode_record` made, or `InvalidTrace`.

    >>> decode_record(encode_record(Outcome(100)), Messages()).value
    100
    """
    if not isinstance(data, dict):
        raise InvalidTrace(f"a record is {excerpt(data)}", expected="an object")
    body = dict(cast("dict[str, Any]", data))
    kind = body.pop("type", None)
    if kind == "tools":
        return _decode_tools(body)
    if kind == "request":
        tools: list[dict[str, Any]] = _of_type(body.get("tools"), list)
        choice: str = _of_type(body.get("tool_choice"), str)
        settings: dict[str, Any] = _of_type(body.get("settings"), dict)
        withheld: list[Any] = _of_type(body.get("withheld", []), list)
        left_out = tuple(cast("Withheld", _checked(Withheld, tool)) for tool in withheld)
        return Request(messages, tuple(tools), choice, settings, left_out)
    if kind == "outcome":
        return _decode_outcome(body)
    if kind not in _PLAIN:
        raise InvalidTrace(f"a record has the type {excerpt(kind)}", expected=", ".join(_PLAIN))
    body.pop("bound", None)  # of a verdict: it is never saved
    return cast("Record", _checked(_PLAIN[kind], body))


def decode_call(data: object) -> ToolCall | None:
    """The call of a step, or None if it has none.

    >>> decode_call({"turn": 1, "slot": 0, "id": "call_1", "name": "add", "arguments": "{}"}).name
    'add'
    """
    return None if data is None else cast("ToolCall", _checked(ToolCall, data))


def decode_reply(data: object) -> Reply | None:
    """The reply of a step, or None if it has none.

    >>> decode_reply({"message": {"role": "assistant", "content": "Hi"}}).text
    'Hi'
    """
    return None if data is None else cast("Reply", _checked(Reply, data))


def decode_fault(data: object) -> Fault | None:
    """The mark of a fault, or None if there is none.

    >>> str(decode_fault({"name": "http_500", "where": "the request"}))
    'http_500 in the request'
    """
    return None if data is None else cast("Fault", _checked(Fault, data))


def decode_message(data: object) -> Message:
    """A message of `messages[]`: an object with a role.

    >>> decode_message({"role": "user", "content": "Hi"})["role"]
    'user'
    """
    if not isinstance(data, dict) or not isinstance(data.get("role"), str):
        raise InvalidTrace(f"a message is {excerpt(data)}", expected="an object with a role")
    return cast("Message", data)


def encode_plain(record: ToolCall | Reply | Fault) -> dict[str, Any]:
    """A call, a reply or the mark of a fault without its type.

    >>> encode_plain(Reply({"role": "assistant", "content": "Hi"}))["message"]
    {'role': 'assistant', 'content': 'Hi'}
    """
    return _fields(record)


def without_defaults(data: dict[str, Any], kind: type) -> dict[str, Any]:
    """What `encode_record` made of a record of this class, without the fields that have their default.

    >>> without_defaults({"ok": True, "arguments": {"a": 1}, "problems": [], "repair": None}, Verdict)
    {'ok': True, 'arguments': {'a': 1}, 'problems': []}
    """
    usual = _defaults(cast("Any", kind))
    return {
        name: value for name, value in data.items() if name not in usual or not _is_usual(value, usual[name])
    }


def _is_usual(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and type(value) in _ATOMS and value == default)


@lru_cache(maxsize=32)
def _defaults(kind: type) -> dict[str, Any]:
    """The defaults of a class's fields; `MISSING` is the default of a field that has none."""
    return {f.name: f.default for f in fields(kind)} if is_dataclass(kind) else {}


def _fault_of(outcome: Outcome) -> dict[str, Any]:
    """The mark of a fault. A tool's exception may have an attribute `fault` of its own, which is not one."""
    return {"fault": _fields(outcome.fault) if isinstance(outcome.fault, Fault) else None}


def _fields(record: Any, *without: str) -> dict[str, Any]:
    return {f.name: _nested(getattr(record, f.name)) for f in fields(record) if f.name not in without}


def _nested(value: Any) -> Any:
    if value is None or type(value) in _ATOMS:
        return value
    if isinstance(value, _NESTED):
        return _fields(value)
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


def _decode_outcome(body: dict[str, Any]) -> Outcome:
    if "shown" in body:
        shown = _checked(Shown, {"text": body.pop("shown"), "size": body.pop("size", None)})
        body["value"] = shown
    return cast("Outcome", _checked(Outcome, body))


def _encode_tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "risk": tool.risk,
        "timeout": tool.timeout,
        "strict": tool.strict,
        **({"untrusted": tool.untrusted} if tool.untrusted else {}),
    }


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
        registry.add(Tool(**cast("dict[str, Any]", tool)))
    return registry


def _of_type(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise InvalidTrace(f"found {excerpt(value)}", expected=f"a {kind.__name__}")
    return value


def _checked(kind: type, data: object) -> object:
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_python(data, strict=False)
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
