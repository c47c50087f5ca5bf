"""Faults of arguments: each takes what the model wrote and gives what it might have written badly.

Each is a function of the raw text, the tool's schema (empty if it is not known) and a number from
0 to 1 that picks among several places. It gives the new arguments as they are on the wire, or None
if there is nothing to break.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from zoolab.errors import InvalidSchema
from zoolab.jsontext import NotStrictJSON, encode, parse_json
from zoolab.schema.checker import SchemaChecker

LEVELS = 2_000
DIGITS = 5_000
_STRING = r'"(?:[^"\\]|\\.)*+"'
_TOKEN = re.compile(rf"(?P<key>{_STRING})(?=\s*:)|(?P<string>{_STRING})|(?P<number>-?\d[\d.eE+-]*+)")
_NAME = re.compile(r'"[A-Za-z_]\w*"', re.ASCII)
_ESCAPED_QUOTE = re.compile(r"\\.|'", re.DOTALL)

#: Stands for JSON's null, since None says that there is nothing to break.
NULL: Any = object()

Schema = Mapping[str, Any]


class Written(NamedTuple):
    """Arguments as a model wrote them: one object with at least one member."""

    raw: str
    value: dict[str, Any]
    schema: Schema
    chance: float

    @property
    def checks(self) -> bool:
        """Whether the schema is known and the arguments meet it."""
        return bool(self.schema) and not problems(self.schema, self.value)


def break_arguments(name: str, raw: object, schema: Schema, chance: float) -> Any:
    """The arguments with the fault of that name, as they are on the wire; None if it does not apply.

    >>> break_arguments("trailing_comma", '{"a": 1}', {}, 0.5)
    '{"a": 1,}'
    >>> break_arguments("trailing_comma", "{}", {}, 0.5) is None
    True
    """
    value = parsed(raw)
    if not isinstance(raw, str) or not value:
        return None
    return ARGUMENTS[name](Written(raw.strip(), value, schema, chance))


def parsed(raw: object) -> dict[str, Any] | None:
    """The object that the arguments are, or None.

    >>> parsed('{"a": 1}'), parsed("[]")
    ({'a': 1}, None)
    """
    try:
        value = parse_json(raw) if isinstance(raw, str) else None
    except NotStrictJSON:
        return None
    return value if isinstance(value, dict) else None


def problems(schema: Schema, value: Any) -> bool:
    """Whether a value does not meet a schema; False if the schema itself is wrong.

    >>> problems({"type": "object", "required": ["a"]}, {})
    True
    """
    try:
        return bool(SchemaChecker(schema).problems(value))
    except InvalidSchema:
        return False


def _truncated(written: Written) -> str:
    # What begins with a brace and lacks the last one never parses.
    return written.raw[: 1 + int(written.chance * (len(written.raw) - 1))]


def _unquoted_keys(written: Written) -> str | None:
    def bare(token: re.Match[str]) -> str:
        return token[0].strip('"') if token["key"] and _NAME.fullmatch(token[0]) else token[0]

    return _changed(written.raw, _TOKEN.sub(bare, written.raw))


def _single_quoted(written: Written) -> str:
    def single(token: re.Match[str]) -> str:
        return token[0] if token["number"] else f"'{_ESCAPED_QUOTE.sub(_requoted, token[0][1:-1])}'"

    return _TOKEN.sub(single, written.raw)


def _requoted(found: re.Match[str]) -> str:
    return {'\\"': '"', "'": "\\'"}.get(found[0], found[0])


def _number(text: str) -> Callable[[Written], str | None]:
    """A fault that writes this in place of one of the numbers."""

    def broken(written: Written) -> str | None:
        return _replaced(written, "number", lambda _number: text)

    return broken


def _lone_surrogate(written: Written) -> str | None:
    return _replaced(written, "string", lambda string: string[:-1] + '\\ud83d"')


def _replaced(written: Written, kind: str, change: Callable[[str], str]) -> str | None:
    tokens = [token for token in _TOKEN.finditer(written.raw) if token[kind]]
    if not tokens:
        return None
    token = tokens[int(written.chance * len(tokens))]
    return written.raw[: token.start()] + change(token[0]) + written.raw[token.end() :]


def _with_member(written: Written, key: str, text: str) -> str:
    return f"{written.raw[:-1].rstrip()}, {encode(key)}: {text}}}"


def _duplicate_key(written: Written) -> str:
    key = next(iter(written.value))
    return _with_member(written, key, encode(another(written.value[key])))


def _two_objects(written: Written) -> str:
    key = next(iter(written.value))
    return f"{written.raw} {_like(written, {**written.value, key: another(written.value[key])})}"


def _new_key(written: Written, text: str) -> str:
    key = "extra"
    while key in written.value or encode(key) in encode(written.schema):
        key += "_"
    return _with_member(written, key, text)


def _required(made: Any) -> Callable[[Written], Any]:
    """A fault that says nothing, where something is required; elsewhere that is no fault."""
    return lambda written: made if written.schema and problems(written.schema, {}) else None


def _extra_argument(written: Written) -> str | None:
    return _failing(written, _new_key(written, "true"))


def _missing_argument(written: Written) -> str | None:
    without = ({k: v for k, v in written.value.items() if k != key} for key in _keys(written))
    return _first_failing(written, without)


def _other_value(change: Callable[[Any], Any]) -> Callable[[Written], str | None]:
    """A fault that changes a value, so that it does not meet the schema any more."""

    def broken(written: Written) -> str | None:
        changes = ((key, change(written.value[key])) for key in _keys(written))
        return _first_failing(written, ({**written.value, k: v} for k, v in changes if v is not None))

    return broken


def _wrong_type(value: Any) -> Any:
    return [value] if isinstance(value, str | None) else encode(value)


def _as_float(value: Any) -> float | None:
    return float(value) if type(value) is int and abs(value) < 1 << 53 else None


def _as_boolean(value: Any) -> bool | None:
    return bool(value) if type(value) is int else None


def _keys(written: Written) -> list[str]:
    """The keys, beginning at the one that chance picks."""
    keys = list(written.value)
    first = int(written.chance * len(keys))
    return keys[first:] + keys[:first]


def _first_failing(written: Written, values: Any) -> str | None:
    return next((text for value in values if (text := _failing(written, _like(written, value)))), None)


def _failing(written: Written, text: str) -> str | None:
    return text if written.checks and problems(written.schema, parsed(text)) else None


def _like(written: Written, value: Any) -> str:
    """A value as JSON, spaced as the model spaces it."""
    return json.dumps(value, ensure_ascii=False) if ": " in written.raw else encode(value)


def _changed(before: str, after: str) -> str | None:
    return after if after != before else None


def another(value: Any) -> Any:
    """A value of the same type that is not the same.

    >>> another(1), another(True), another("Oslo"), another({"a": 1}), another([1, 2])
    (2, False, 'not Oslo', {'a': 2}, [2, 2])
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if value + 1 != value else 0
    if isinstance(value, str):
        return f"not {value}"
    if isinstance(value, dict) and value:
        key = next(iter(value))
        return {**value, key: another(value[key])}
    return [another(value[0]), *value[1:]] if isinstance(value, list) and value else "?"


#: The faults of arguments, by name.
ARGUMENTS: Mapping[str, Callable[[Written], Any]] = {
    "null_arguments": _required(NULL),
    "blank_arguments": _required(" "),
    "object_arguments": lambda written: written.value,
    "array_arguments": lambda written: f"[{written.raw}]",
    "number_arguments": lambda _written: 42,
    "doubly_encoded": lambda written: encode(written.raw),
    "truncated_arguments": _truncated,
    "cut_by_length": _truncated,
    "unquoted_keys": _unquoted_keys,
    "single_quoted": _single_quoted,
    "trailing_comma": lambda written: written.raw[:-1] + ",}",
    "prose": lambda written: f"Here are the arguments: {written.raw} I hope this helps.",
    "fenced": lambda written: f"```json\n{written.raw}\n```",
    "two_objects": _two_objects,
    "duplicate_key": _duplicate_key,
    "nan": _number("NaN"),
    "infinite_number": _number("1e999"),
    "lone_surrogate": _lone_surrogate,
    "deep_nesting": lambda written: _new_key(written, "[" * LEVELS + "]" * LEVELS),
    "too_many_digits": _number("9" * DIGITS),
    "wrong_type": _other_value(_wrong_type),
    "float_for_integer": _other_value(_as_float),
    "boolean_for_integer": _other_value(_as_boolean),
    "missing_argument": _missing_argument,
    "extra_argument": _extra_argument,
}
