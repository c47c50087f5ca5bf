"""A record, edited in place: what may be edited of it, as text, and the record that the edited texts make."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import NotStrictJSON, excerpt, parse_json
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.records import Decision, Failure, Outcome, Record, Reply, Request, Result, ToolCall, Verdict
from zoolab.show.block_types import MAX_ROWS
from zoolab.text.markup import pictured
from zoolab.tools import Tool, ToolRegistry
from zoolab.trace.codec import Shown

Field = dict[str, str]

_MAX_TEXT = 1 << 20


def fields_of(record: Record) -> list[Field]:
    """Return what may be edited of a record: of each field its path, its name for people, its text and
    form.
    """
    fields: list[tuple[str, str, str, str]] = []
    match record:
        case ToolRegistry():
            for tool in record:
                path = f"tools/{tool.name}"
                described = (f"{path}/description", f"{tool.name}: description", tool.description, "text")
                schema = (f"{path}/parameters", f"{tool.name}: parameters", _json(tool.parameters), "json")
                fields += [described, schema]
        case Request():
            fields = [("tool_choice", "tool_choice", record.tool_choice, "text")]
            first = max(0, len(record.prefix) - MAX_ROWS)
            for index, message in enumerate(record.prefix.since(first), first):
                content = message.get("content")
                label = f"messages[{index}], {excerpt(message.get('role'), 40)}"
                plain = content is None or isinstance(content, str)
                text, form = (content or "", "text") if plain else (_json(content), "json")
                fields.append((f"messages/{index}/content", label, text, form))
        case ToolCall():
            fields = [("name", "the tool", record.name, "text")]
            fields.append(("arguments", "the raw arguments", record.arguments, "text"))
        case Reply():
            fields = [("content", "the answer", record.text, "text")]
        case Verdict():
            text = "" if record.arguments is None else _json(record.arguments)
            fields = [("arguments", "the arguments that the call runs with", text, "json")]
        case Decision():
            fields = [
                ("choice", "the decision: once, session, always or deny", record.choice, "text"),
                ("value", "a value, in place of running the call", "", "json"),
            ]
        case Outcome():
            fields = [("value", "the value", _value_text(record), "json")]
            if record.error is not None:
                fields.append(("error", "the error", record.error.message, "text"))
        case Result():
            fields = [("content", "the text that the model gets", record.content, "text")]
    return [{"field": f, "label": pictured(label), "text": t, "form": form} for f, label, t, form in fields]


def edited(record: Record, edits: Iterable[Any]) -> Record:
    """Return the record with the edited texts in it; a text that was not changed leaves its field as it is.

    The edits are objects with `field` and `text`, as `fields_of` names them.

    Raises:
        InvalidInput: There is no such field, or its text is not what it takes; the record stays as it is.
        InvalidSchema: The parameters of a tool are no schema.
    """
    known = {field["field"]: field["text"] for field in fields_of(record)}
    fields = ", ".join(list(known)[:MAX_ROWS]) or "nothing"
    changed_texts: dict[str, str] = {}
    for edit in edits if isinstance(edits, list | tuple) else [edits]:
        match edit:
            case {"field": str() as field, "text": str() as text} if len(text) > _MAX_TEXT:
                too_long = f"{excerpt(field)} has {len(text):,} characters"
                raise InvalidInput(too_long, expected=f"at most {_MAX_TEXT:,}")
            case {"field": str() as field, "text": str()} if field not in known:
                raise InvalidInput(f"{excerpt(field)} cannot be edited here", expected=fields)
            case {"field": str() as field, "text": str() as text}:
                if _lines(text) != _lines(known[field]):
                    changed_texts[field] = text
            case _:
                expected = f'{{"field": ..., "text": ...}}, field one of {fields}'
                raise InvalidInput(f"an edit is {excerpt(edit)}", expected=expected)
    return _with(record, changed_texts) if changed_texts else record


def _lines(text: str) -> list[str]:
    """Return a text with every line's end as a browser sends it: a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _parsed(field: str, text: str, kind: type = object) -> Any:
    try:
        value = parse_json(text)
    except NotStrictJSON as error:
        what = f"{field} is not JSON: expected {error.expected}, received {error.received}"
        raise InvalidInput(what, advice="nothing was changed") from None
    if not isinstance(value, kind):
        what = f"{field} is {excerpt(value)}"
        raise InvalidInput(what, expected="a JSON object", advice="nothing was changed")
    return value


def _with(record: Record, texts: dict[str, str]) -> Record:
    match record:
        case ToolRegistry():
            return record.changed(lambda tool: _edited_tool(tool, texts))
        case Request():
            messages = list(record.messages)
            for field, text in texts.items():
                if field != "tool_choice":
                    index = int(field.split("/")[1])
                    plain = isinstance(messages[index].get("content"), str | None)
                    messages[index] = {**messages[index], "content": text if plain else _parsed(field, text)}
            return replace(
                record, messages=messages, tool_choice=texts.get("tool_choice", record.tool_choice)
            )
        case Reply():
            return replace(record, message={**record.message, "content": texts["content"]})
        case Verdict():  # what a person writes may run: their word stands in place of the check
            arguments = _parsed("arguments", texts["arguments"], dict)
            return replace(record, ok=True, arguments=arguments, problems=())
        case Decision() if "value" in texts:
            return Outcome(_parsed("value", texts["value"]))
        case Decision():
            return Decision(cast("Any", texts["choice"].strip()))
        case Outcome() if "value" in texts:
            return replace(record, value=_parsed("value", texts["value"]), error=None)
        case Outcome(error=Failure() as error):
            return replace(record, error=replace(error, message=texts["error"]))
        case _:
            return replace(record, **cast("Any", texts))


def _edited_tool(tool: Tool, texts: dict[str, str]) -> Tool:
    field = f"tools/{tool.name}/parameters"
    described = replace(tool, description=texts.get(f"tools/{tool.name}/description", tool.description))
    if field not in texts:
        return described
    made = replace(described, parameters=_parsed(field, texts[field], dict))
    made.checker.compile()  # a wrong schema is said now, and not at the first call
    return made


def _value_text(outcome: Outcome) -> str:
    """Return a value as JSON; nothing for an error, and for a value that is no JSON or not whole."""
    if outcome.error is not None or isinstance(outcome.value, Shown):
        return ""
    try:
        return _json(to_json_value(outcome.value))
    except NotJSON:
        return ""
