"""A record, edited in place: what may be edited of it, as text, and the record that the edited texts make."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import NotStrictJSON, excerpt, parse_json
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.records import Decision, Outcome, Record, Reply, Request, Result, ToolCall, Verdict
from zoolab.show.block_types import MAX_ROWS
from zoolab.show.markup import visible
from zoolab.tools import Tool, ToolRegistry
from zoolab.trace.codec import Shown

Field = dict[str, str]

_MAX_TEXT = 1 << 20


def fields_of(record: Record) -> list[Field]:
    """What may be edited of a record: of each field its path, its name for people, its text and form.

    >>> fields_of(ToolCall(1, 0, "call_1", "add", '{"a": 1}'))[1]["text"]
    '{"a": 1}'
    """
    return list(_READERS[type(record)](record))


def edited(record: Record, edits: Iterable[Any]) -> Record:
    """The record with the edited texts in it; a text that was not changed leaves its field as it is.

    Args:
        record: What the step holds.
        edits: Objects with `field` and `text`, as `fields_of` names them.

    Raises:
        InvalidInput: There is no such field, or its text is not what it takes; the record stays as it is.
        InvalidSchema: The parameters of a tool are no schema.

    >>> edited(Outcome(3), [{"field": "value", "text": "4"}]).value
    4
    >>> edited(Outcome(3), [{"field": "value", "text": "4,"}])
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: value is not JSON: ...
    """
    known = {field["field"]: field["text"] for field in _READERS[type(record)](record)}
    fields = ", ".join(list(known)[:MAX_ROWS]) or "nothing"
    texts = _texts(edits, fields)
    unknown = [field for field in texts if field not in known]
    if unknown:
        raise InvalidInput(f"{excerpt(unknown[0])} cannot be edited here", expected=fields)
    changed = {field: text for field, text in texts.items() if _lines(text) != _lines(known[field])}
    return _WRITERS[type(record)](record, changed) if changed else record


def _lines(text: str) -> list[str]:
    """A browser sends every line's end as a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _texts(edits: Iterable[Any], fields: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for edit in edits if isinstance(edits, list | tuple) else [edits]:
        field, text = (edit.get("field"), edit.get("text")) if isinstance(edit, dict) else (None, None)
        if not isinstance(field, str) or not isinstance(text, str):
            raise InvalidInput(
                f"an edit is {excerpt(edit)}",
                expected=f'{{"field": ..., "text": ...}}, field one of {fields}',
            )
        if len(text) > _MAX_TEXT:
            raise InvalidInput(
                f"{excerpt(field)} has {len(text):,} characters", expected=f"at most {_MAX_TEXT:,}"
            )
        texts[field] = text
    return texts


def _field(field: str, label: str, text: str, form: str = "text") -> Field:
    return {"field": field, "label": visible(label), "text": text, "form": form}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _parsed(field: str, text: str) -> Any:
    try:
        return parse_json(text)
    except NotStrictJSON as error:
        raise InvalidInput(
            f"{field} is not JSON: expected {error.expected}, received {error.received}",
            advice="nothing was changed",
        ) from None


def _object(field: str, text: str) -> dict[str, Any]:
    value = _parsed(field, text)
    if not isinstance(value, dict):
        raise InvalidInput(
            f"{field} is {excerpt(value)}", expected="a JSON object", advice="nothing was changed"
        )
    return cast("dict[str, Any]", value)


def _call_fields(call: ToolCall) -> Iterable[Field]:
    yield _field("name", "the tool", call.name)
    yield _field("arguments", "the raw arguments", call.arguments)


def _registry_fields(registry: ToolRegistry) -> Iterable[Field]:
    for tool in registry:
        yield _field(f"tools/{tool.name}/description", f"{tool.name}: description", tool.description)
        yield _field(
            f"tools/{tool.name}/parameters", f"{tool.name}: parameters", _json(tool.parameters), "json"
        )


def _edit_registry(registry: ToolRegistry, texts: dict[str, str]) -> ToolRegistry:
    made = ToolRegistry(_edit_tool(tool, texts) for tool in registry)
    for tool in registry:
        if registry.denies(tool.name):
            made.deny(tool.name)
    return made


def _edit_tool(tool: Tool, texts: dict[str, str]) -> Tool:
    field = f"tools/{tool.name}/parameters"
    described = replace(tool, description=texts.get(f"tools/{tool.name}/description", tool.description))
    if field not in texts:
        return described
    made = replace(described, parameters=_object(field, texts[field]))
    made.checker.compile()  # a wrong schema is said now, and not at the first call
    return made


def _request_fields(request: Request) -> Iterable[Field]:
    yield _field("tool_choice", "tool_choice", request.tool_choice)
    first = max(0, len(request.prefix) - MAX_ROWS)
    for index, message in enumerate(request.prefix.since(first), first):
        content, label = message.get("content"), f"messages[{index}], {excerpt(message.get('role'), 40)}"
        plain = content is None or isinstance(content, str)
        yield _field(
            f"messages/{index}/content",
            label,
            content or "" if plain else _json(content),
            "text" if plain else "json",
        )


def _edit_request(request: Request, texts: dict[str, str]) -> Request:
    texts = dict(texts)
    choice = texts.pop("tool_choice", request.tool_choice)
    messages = list(request.messages)
    for field, text in texts.items():
        index = int(field.split("/")[1])
        plain = isinstance(messages[index].get("content"), str | None)
        messages[index] = {**messages[index], "content": text if plain else _parsed(field, text)}
    return replace(request, messages=messages, tool_choice=choice)


def _reply_fields(reply: Reply) -> Iterable[Field]:
    yield _field("content", "the answer", reply.text)


def _verdict_fields(verdict: Verdict) -> Iterable[Field]:
    text = "" if verdict.arguments is None else _json(verdict.arguments)
    yield _field("arguments", "the arguments that the call runs with", text, "json")


def _edit_verdict(verdict: Verdict, texts: dict[str, str]) -> Verdict:
    """Arguments that a person writes may run: their word stands in place of the check."""
    arguments = _object("arguments", texts["arguments"])
    return replace(verdict, ok=True, arguments=arguments, problems=())


def _outcome_fields(outcome: Outcome) -> Iterable[Field]:
    yield _field("value", "the value", _value_text(outcome), "json")
    if outcome.error is not None:
        yield _field("error", "the error", outcome.error.message)


def _value_text(outcome: Outcome) -> str:
    """A value as JSON; nothing for an error, and for a value that is no JSON or not whole."""
    if outcome.error is not None or isinstance(outcome.value, Shown):
        return ""
    try:
        return _json(to_json_value(outcome.value))
    except NotJSON:
        return ""


def _edit_outcome(outcome: Outcome, texts: dict[str, str]) -> Outcome:
    if "value" in texts:
        return replace(outcome, value=_parsed("value", texts["value"]), error=None)
    return replace(
        outcome, error=None if outcome.error is None else replace(outcome.error, message=texts["error"])
    )


def _decision_fields(_decision: Decision) -> Iterable[Field]:
    yield _field("value", "a value, in place of running the call", "", "json")


def _result_fields(result: Result) -> Iterable[Field]:
    yield _field("content", "the text that the model gets", result.content)


_READERS: dict[type, Callable[[Any], Iterable[Field]]] = {
    ToolRegistry: _registry_fields,
    Request: _request_fields,
    ToolCall: _call_fields,
    Reply: _reply_fields,
    Verdict: _verdict_fields,
    Decision: _decision_fields,
    Outcome: _outcome_fields,
    Result: _result_fields,
}
_WRITERS: dict[type, Callable[[Any, dict[str, str]], Record]] = {
    ToolRegistry: _edit_registry,
    Request: _edit_request,
    ToolCall: lambda call, texts: replace(call, **cast("Any", texts)),
    Reply: lambda reply, texts: replace(reply, message={**reply.message, "content": texts["content"]}),
    Verdict: _edit_verdict,
    Decision: lambda _decision, texts: Outcome(_parsed("value", texts["value"])),
    Outcome: _edit_outcome,
    Result: lambda result, texts: replace(result, **cast("Any", texts)),
}
