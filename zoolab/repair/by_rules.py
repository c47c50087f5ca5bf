"""Repair by rules: two readings propose, ours and json-repair's, and the guard decides."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from zoolab.jsontext import MAX_DEPTH, NotStrictJSON, encode, excerpt, parse_json
from zoolab.repair.intent import one_object
from zoolab.repair.loose import read_loosely
from zoolab.repair.reader import Reader
from zoolab.repair.report import Refused, RepairReport, note
from zoolab.repair.words import WORD, read_word
from zoolab.repair.wrapping import check_size, unwrapped

#: Where json-repair begins to take seconds.
_MAX_BRACKETS = MAX_DEPTH * 16


class RuleRepair:
    """Repairs what is only badly written: quotes, commas, comments, fences, talk, literals, brackets.

    Nothing that was written is lost, and nothing is added but brackets at the end: a string or a pair
    that stops in the middle stays refused, and so do two objects. With a schema also `"58"` where an
    integer is asked for. Without one, or with a schema of something else, it mends any JSON value.

    >>> repair = RuleRepair()
    >>> repair.propose("{'city': 'Oslo', 'days': 3, 'snow': True,}")
    '{"city":"Oslo","days":3,"snow":true}'
    >>> repair.propose('{"cmd": "rm -rf /tmp/x'), repair.propose('{"a": 1}{"a": 2}')
    (None, None)
    >>> [report.outcome for report in repair.report], repair.report[1].reason
    (['changed', 'refused', 'refused'], 'a string is not closed')
    """

    def __init__(self) -> None:
        #: One record for each call of `propose`, in order.
        self.report: list[RepairReport] = []

    def propose(self, raw: str, schema: dict[str, Any] | None = None) -> str | None:
        """Compact JSON text that says the same as `raw`, or None. Never raises.

        Of one object, where the schema is one of objects, as that of a tool always is.
        """
        try:
            said = _said(raw)
            if isinstance(schema, dict) and (schema.get("type") == "object" or "properties" in schema):
                said = one_object(said)
            proposed = encode(_retyped(said, schema))
            parse_json(proposed)
        except (Refused, NotStrictJSON) as error:
            return note(self.report, raw, None, str(error))
        return note(self.report, raw, proposed, "the same, well written")


def _said(raw: str) -> Any:
    """The value that a text writes, well or badly."""
    check_size(raw)
    try:
        value = parse_json(raw)
    except NotStrictJSON:
        return _mended(unwrapped(raw))
    text = unwrapped(raw) if isinstance(value, str) else ""
    return _said(text) if text[:1] == "{" else value


def _mended(text: str) -> Any:
    """What both readings agree on, or what the guard lets pass of one."""
    passed, refused = [], []
    for read in (read_loosely, _guessed):
        try:
            passed.append(_guarded(text, read))
        except (Refused, NotStrictJSON) as error:
            refused.append(error)
    if not passed:
        raise refused[0]
    if encode(passed[0]) != encode(passed[-1]):
        raise Refused(f"it may be {excerpt(passed[0])} or {excerpt(passed[-1])}")
    return passed[0]


def _guarded(text: str, read: Callable[[str], Any]) -> Any:
    value = read(text)
    Reader(text).read(value)
    return value


def _guessed(text: str) -> Any:
    """What json-repair takes a text for."""
    if text.count("{") + text.count("[") > _MAX_BRACKETS:
        raise Refused("too many brackets")
    import json_repair

    try:
        guessed = encode(json_repair.loads(text, skip_json_loads=True))
        return parse_json(guessed.encode("utf-16", "surrogatepass").decode("utf-16"))
    except NotStrictJSON as error:
        raise Refused(str(error)) from None
    except Exception as error:
        raise Refused(f"beyond repair: {excerpt(f'{type(error).__name__}: {error}')}") from None


def _retyped(value: Any, schema: Any) -> Any:
    """The value with numbers and booleans out of their quotes, where the schema takes nothing else."""
    if not isinstance(schema, dict):
        return value
    if isinstance(value, dict):
        known = schema.get("properties")
        return {
            key: _retyped(v, known.get(key) if isinstance(known, dict) else None) for key, v in value.items()
        }
    if isinstance(value, list):
        return [_retyped(item, schema.get("items")) for item in value]
    return _unstringed(value, _types(schema)) if isinstance(value, str) else value


def _unstringed(text: str, types: set[str]) -> Any:
    if "string" in types or not WORD.fullmatch(text):
        return text
    if types <= {"boolean", "null"} and text in ("true", "false"):
        return text == "true"
    if types <= {"integer", "number", "null"} and types & {"integer", "number"}:
        number = read_word(text)
        exact = type(number) is int or (type(number) is float and "number" in types)
        return number if exact and encode(number) == text else text
    return text


def _types(schema: dict[str, Any]) -> set[str]:
    """The types that a schema names; "string" as well, where it may take anything."""
    branches = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(branches, list) and branches and all(isinstance(branch, dict) for branch in branches):
        return set().union(*map(_types, branches))
    named = schema.get("type")
    names = {named} if isinstance(named, str) else set(named) if isinstance(named, list) else set()
    return names or {"string"}
