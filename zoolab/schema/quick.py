"""A quick yes by jsonschema-rs: for sweeps, where the same schemas judge a hundred thousand calls.

It is asked first, and only its yes counts: what it does not accept is judged by jsonschema, which also
says why. So that its yes is jsonschema's, too, schemas are refused whose keywords the two understand
differently, and values that they read differently (1.0, NaN, whole numbers beyond 2**53) go to jsonschema
at once. Nothing is fetched, patterns are matched in linear time, and work is bounded by the size of the
schema times that of the value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from zoolab.errors import InvalidInput, InvalidSchema
from zoolab.jsontext import MAX_DEPTH, excerpt
from zoolab.schema.drafts import LATEST, draft_of

#: Schemas within it, those that it refers to counted each time.
MAX_SCHEMAS = 2_000
#: Schemas times values: beyond, jsonschema judges, which counts its steps.
MAX_WORK = 20_000

_EXACT = 2**53
_ANNOTATIONS = {
    *("$schema", "$comment", "title", "description", "default", "examples"),
    *("deprecated", "readOnly", "writeOnly", "format"),
}
_DATA = {"type", "enum", "const", "required", "dependentRequired"}
_LIMITS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_BOUNDS = {
    *("minProperties", "maxProperties", "minItems", "maxItems", "minContains", "maxContains"),
    *("minLength", "maxLength", "multipleOf", "uniqueItems"),
}
_SCHEMA = {
    *("additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else"),
    *("unevaluatedProperties", "unevaluatedItems"),
}
_SCHEMAS_BY_NAME = {"properties", "patternProperties", "dependentSchemas", "$defs"}
_LIST_OF_SCHEMAS = {"allOf", "anyOf", "oneOf", "prefixItems"}
_KNOWN = (
    _ANNOTATIONS
    | _DATA
    | _LIMITS
    | _BOUNDS
    | _SCHEMA
    | _SCHEMAS_BY_NAME
    | _LIST_OF_SCHEMAS
    | {"$ref", "pattern"}
)
_REFERENCE = re.compile(r"#/\$defs/([A-Za-z0-9_.-]+)")
# What reads the same in both engines: no lookaround, no set within a set, nothing repeated twice.
_SET = r"\[(?:[A-Za-z0-9 _@/:,;.+*]|-(?!-)|\\[dw.+*/-])+\]"
_PIECES = (
    *(r"[A-Za-z0-9 _@/:,;=#<>!%.|]", r"\\[dw.+*/-]", _SET, r"\((?!\?)", r"\)(?![+*{])"),
    *(r"[+*?](?![+*?{])", r"\{\d+(?:,\d*)?\}(?![+*?{])"),
)
_PATTERN = re.compile(rf"\^?(?:{'|'.join(_PIECES)})*\$?")


def quick_test(schema: Mapping[str, Any]) -> Callable[[Any], bool]:
    """A test that is true only for what jsonschema accepts, too.

    Raises:
        InvalidSchema: The two may differ on this schema; names what it is.
        InvalidInput: jsonschema-rs is not installed.

    >>> test = quick_test({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]})
    >>> test(1), test("ab"), test("abc"), test(1.0)
    (True, True, False, False)
    >>> quick_test({"multipleOf": 0.1})
    Traceback (most recent call last):
    zoolab.errors.InvalidSchema: validator="rs" does not judge "multipleOf": 0.1; expected whole numbers; ...
    """
    rs: Any = _load()
    if (draft := draft_of(schema)) != LATEST:
        raise _refusal(f"schemas of {draft}", f"draft {LATEST}")
    reader = _Reader(schema.get("$defs") or {})
    most = MAX_WORK // reader.count(schema)
    try:
        validator = rs.Draft202012Validator(
            schema, validate_formats=False, pattern_options=rs.RegexOptions(), offline=True
        )
    except ValueError as error:
        raise _refusal(excerpt(str(error)), "a schema that it can compile") from None
    is_valid, has_patterns = validator.is_valid, reader.has_patterns

    def meets(value: Any) -> bool:
        if not _is_read_alike(value, most, has_patterns):
            return False
        try:
            return bool(is_valid(value))
        except ValueError:  # half a character, or deeper than it reads
            return False

    return meets


class _Reader:
    """Reads a schema once, refuses what may be judged differently, and counts the schemas within."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._counted: dict[str, int] = {}
        self._open: set[str] = set()
        self.has_patterns = False

    def count(self, schema: Any) -> int:
        """How many schemas are in it, those that it refers to counted each time."""
        if isinstance(schema, bool):
            return 1
        for keyword, value in schema.items():
            self._check(keyword, value)
        total = 1 + sum(map(self.count, _within(schema)))
        if "$ref" in schema:
            total += self._count_definition(schema["$ref"])
        if total > MAX_SCHEMAS:
            raise _refusal(f"more than {MAX_SCHEMAS:,} schemas in one", "fewer")
        return total

    def _count_definition(self, reference: Any) -> int:
        found = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
        name = found.group(1) if found else ""
        if name not in self._definitions or name in self._open:
            raise _refusal(f'"$ref": {excerpt(reference)}', "references to $defs, and none to itself")
        if name not in self._counted:
            self._open.add(name)
            self._counted[name] = self.count(self._definitions[name])
            self._open.discard(name)
        return self._counted[name]

    def _check(self, keyword: str, value: Any) -> None:
        if keyword not in _KNOWN and not keyword.startswith("x-"):
            raise _refusal(f"the keyword {excerpt(keyword)}", "those that both validators know")
        if keyword == "multipleOf" and not isinstance(value, int):
            raise _refusal(f'"multipleOf": {excerpt(value)}', "whole numbers")
        if keyword in _LIMITS and not -_EXACT < value < _EXACT:
            raise _refusal(f"{excerpt(keyword)}: {excerpt(value)}", "numbers below 2**53")
        if keyword in _BOUNDS | {"enum", "const"} and not _is_read_alike(value, MAX_WORK, False):
            raise _refusal(
                f"{excerpt(keyword)}: {excerpt(value)}", "numbers without a fraction of 0, below 2**53"
            )
        if keyword in ("pattern", "patternProperties"):
            self.has_patterns = True
            for pattern in [value] if isinstance(value, str) else value:
                _check_pattern(pattern)


def _within(schema: Mapping[str, Any]) -> Iterator[Any]:
    for keyword, value in schema.items():
        if keyword in _SCHEMA:
            yield value
        elif keyword in _SCHEMAS_BY_NAME:
            yield from value.values()
        elif keyword in _LIST_OF_SCHEMAS:
            yield from value


def _is_read_alike(value: Any, most: int, plain_text: bool) -> bool:
    """Whether both validators see the same value, of at most so many parts.

    For patterns text is plain: what else counts as a letter or as the end of a line differs.
    """
    level, parts = [value], 0
    for _ in range(MAX_DEPTH):
        parts += len(level)
        if parts > most or not all(_is_alike(item, plain_text) for item in level):
            return False
        level = [part for item in level if type(item) in (dict, list) for part in _parts(item)]
        if not level:
            return True
    return False


def _parts(item: Any) -> list[Any]:
    return [*item, *item.values()] if type(item) is dict else item


def _is_alike(item: Any, plain_text: bool) -> bool:
    kind = type(item)
    if kind is str:
        return not plain_text or (item.isascii() and item.isprintable())
    if kind is int:
        return bool(-_EXACT < item < _EXACT)
    if kind is float:
        return math.isfinite(item) and not item.is_integer()
    if kind is dict:
        return all(isinstance(key, str) for key in item)
    return kind is bool or kind is list or item is None


def _check_pattern(pattern: str) -> None:
    if len(pattern) > 200 or not _PATTERN.fullmatch(pattern):
        raise _refusal(f"the pattern {excerpt(pattern)}", "patterns that all engines read alike")


def _refusal(what: str, expected: str) -> InvalidSchema:
    return InvalidSchema(
        f'validator="rs" does not judge {what}', expected=expected, advice='use validator="jsonschema"'
    )


def _load() -> Any:
    try:
        import jsonschema_rs
    except ImportError:
        raise InvalidInput(
            "jsonschema-rs is not installed", advice="pip install 'zoolab[fast]', or leave out validator="
        ) from None
    return jsonschema_rs
