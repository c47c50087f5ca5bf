"""Faults in arguments: each takes correct arguments and returns a broken form of them.

A fault gives the new arguments as they are on the wire, or None if there is nothing to break.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from zoolab.errors import InvalidSchema
from zoolab.jsontext import encode
from zoolab.schema.checker import SchemaChecker
from zoolab.wire.chat import json_object

LEVELS = 2_000
DIGITS = 5_000
_STRING = r'"(?:[^"\\]|\\.)*+"'
_TOKEN = re.compile(rf"(?P<key>{_STRING})(?=\s*:)|(?P<string>{_STRING})|(?P<number>-?\d[\d.eE+-]*+)")
_NAME = re.compile(r'"[A-Za-z_]\w*"', re.ASCII)
_ESCAPED_QUOTE = re.compile(r"\\.|'", re.DOTALL)

#: Stands for JSON's null, since None says that there is nothing to break.
NULL: Any = object()

Schema = Mapping[str, Any]


def break_arguments(name: str, raw: object, schema: Schema, chance: float) -> Any:
    """The arguments with a fault of `ARGUMENTS`, as they are on the wire; None if it does not apply.

    `schema` is the tool's, empty if it is not known; `chance`, from 0 to 1, picks among several places.
    """
    value = json_object(raw) if isinstance(raw, str) else None
    if not isinstance(raw, str) or not value:
        return None
    return ARGUMENTS[name](_Written(raw.strip(), value, schema, chance))


def problems(schema: Schema, value: Any) -> bool:
    """Whether a value does not meet a schema; False if the schema itself is wrong."""
    try:
        return bool(SchemaChecker(schema).problems(value))
    except InvalidSchema:
        return False


class _Written(NamedTuple):
    """Arguments as a model wrote them: one object with at least one member."""

    raw: str
    value: dict[str, Any]
    schema: Schema
    chance: float

    def keys_from_chance(self) -> list[str]:
        """The keys, beginning at the one that chance picks."""
        keys = list(self.value)
        first = int(self.chance * len(keys))
        return keys[first:] + keys[:first]

    def like(self, value: Any) -> str:
        """A value as JSON, spaced as the model spaces it."""
        return json.dumps(value, ensure_ascii=False) if ": " in self.raw else encode(value)

    def with_member(self, key: str, text: str) -> str:
        return f"{self.raw[:-1].rstrip()}, {encode(key)}: {text}}}"

    def with_new_member(self, text: str) -> str:
        key = "extra"
        while key in self.value or encode(key) in encode(self.schema):
            key += "_"
        return self.with_member(key, text)

    def replaced(self, kind: str, change: Callable[[str], str]) -> str | None:
        """The text with one token of a kind changed."""
        tokens = [token for token in _TOKEN.finditer(self.raw) if token[kind]]
        if not tokens:
            return None
        token = tokens[int(self.chance * len(tokens))]
        return self.raw[: token.start()] + change(token[0]) + self.raw[token.end() :]

    def failing(self, texts: Iterable[str]) -> str | None:
        """The first text that does not meet the schema, which the arguments meet."""
        if not self.schema or problems(self.schema, self.value):
            return None
        return next((text for text in texts if problems(self.schema, json_object(text))), None)

    def nothing(self, made: Any) -> Any:
        """What says nothing: it is a fault only if something is required."""
        return made if self.schema and problems(self.schema, {}) else None


def _truncated(written: _Written) -> str:
    # What begins with a brace and lacks the last one never parses.
    return written.raw[: 1 + int(written.chance * (len(written.raw) - 1))]


def _unquoted_keys(written: _Written) -> str | None:
    def bare(token: re.Match[str]) -> str:
        return token[0].strip('"') if token["key"] and _NAME.fullmatch(token[0]) else token[0]

    changed = _TOKEN.sub(bare, written.raw)
    return changed if changed != written.raw else None


def _single_quoted(written: _Written) -> str:
    def requoted(found: re.Match[str]) -> str:
        return {'\\"': '"', "'": "\\'"}.get(found[0], found[0])

    def single(token: re.Match[str]) -> str:
        return token[0] if token["number"] else f"'{_ESCAPED_QUOTE.sub(requoted, token[0][1:-1])}'"

    return _TOKEN.sub(single, written.raw)


def _two_objects(written: _Written) -> str:
    key = next(iter(written.value))
    return f"{written.raw} {written.like({**written.value, key: another(written.value[key])})}"


def _duplicate_key(written: _Written) -> str:
    key = next(iter(written.value))
    return written.with_member(key, encode(another(written.value[key])))


def _missing_argument(written: _Written) -> str | None:
    without = ({k: v for k, v in written.value.items() if k != key} for key in written.keys_from_chance())
    return written.failing(map(written.like, without))


def _other_value(change: Callable[[Any], Any]) -> Callable[[_Written], str | None]:
    """A fault that changes a value, so that it does not meet the schema any more."""

    def broken(written: _Written) -> str | None:
        changes = ((key, change(written.value[key])) for key in written.keys_from_chance())
        values = ({**written.value, key: value} for key, value in changes if value is not None)
        return written.failing(map(written.like, values))

    return broken


def _as_float(value: Any) -> float | None:
    return float(value) if type(value) is int and abs(value) < 1 << 53 else None


def another(value: Any) -> Any:
    """A value of the same type that is not the same."""
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
ARGUMENTS: Mapping[str, Callable[[_Written], Any]] = {
    "null_arguments": lambda written: written.nothing(NULL),
    "blank_arguments": lambda written: written.nothing(" "),
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
    "nan": lambda written: written.replaced("number", lambda _: "NaN"),
    "infinite_number": lambda written: written.replaced("number", lambda _: "1e999"),
    "lone_surrogate": lambda written: written.replaced("string", lambda text: text[:-1] + '\\ud83d"'),
    "deep_nesting": lambda written: written.with_new_member("[" * LEVELS + "]" * LEVELS),
    "too_many_digits": lambda written: written.replaced("number", lambda _: "9" * DIGITS),
    "wrong_type": _other_value(lambda value: [value] if isinstance(value, str | None) else encode(value)),
    "float_for_integer": _other_value(_as_float),
    "boolean_for_integer": _other_value(lambda value: bool(value) if type(value) is int else None),
    "missing_argument": _missing_argument,
    "extra_argument": lambda written: written.failing([written.with_new_member("true")]),
}
