"""Repair by rules: json-repair proposes, the guard decides."""

from __future__ import annotations

import re
from typing import Any

from zoolab.jsontext import MAX_DEPTH, NotStrictJSON, encode, excerpt, parse_json
from zoolab.repair.intent import Reader, Refused, one_object, read_word, unwrapped
from zoolab.repair.report import RepairReport, note

_PLAIN_WORD = re.compile(r"""[^\s,:{}\[\]"'“”‘’/#]+""")


class RuleRepair:
    """Repairs what is only badly written: quotes, commas, comments, fences, Python literals, brackets.

    With a schema also `"58"` where an integer is asked for, and nothing that could mean two things.

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
        """Compact JSON text of one object that says the same as `raw`, or None. Never raises."""
        try:
            said = _repaired(unwrapped(raw))
            proposed = encode(_retyped(said, schema))
            parse_json(proposed)
        except (Refused, NotStrictJSON) as error:
            return note(self.report, raw, None, str(error))
        return note(self.report, raw, proposed, "the same, well written")


def _repaired(text: str) -> dict[str, Any]:
    """The object that `text` writes, well or badly."""
    try:
        return one_object(parse_json(text))
    except NotStrictJSON:
        value = one_object(_guessed(text))
        Reader(text).read(value)
        return value


def _guessed(text: str) -> Any:
    if text.count("{") + text.count("[") > MAX_DEPTH * 16:
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
    if "string" in types or not _PLAIN_WORD.fullmatch(text):
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
