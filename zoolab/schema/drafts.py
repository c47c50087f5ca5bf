"""The drafts of JSON Schema, each judged by jsonschema with bounds: steps, and seconds of patterns.

A schema is judged by the draft that its `$schema` names, and by 2020-12 if it names none.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidSchema
from zoolab.jsontext import canonical, encode, excerpt, pointer_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_WORD = "[A-Za-z0-9_]"
_OUTSIDE = {
    "$": r"\Z",
    ".": r"[^\n\r\u2028\u2029]",
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": _WORD,
    r"\W": "[^A-Za-z0-9_]",
    r"\b": rf"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    r"\B": rf"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}
_INSIDE = {r"\d": "0-9", r"\w": "A-Za-z0-9_", "[": r"\["}
_TOKEN = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\c([A-Za-z])|\\.|.", re.DOTALL)


@lru_cache(maxsize=1024)
def to_python(pattern: str) -> str:
    r"""A pattern of ECMA-262 in the words of `regex`."""
    made: list[str] = []
    inside = False
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token[1] or token[2]:
            code = int(token[1], 16) if token[1] else ord(token[2]) % 32
            made.append(f"\\U{code:08x}")
            continue
        made.append((_INSIDE if inside else _OUTSIDE).get(text, text))
        if text == "]" or (text == "[" and not inside):
            inside = text == "["
    return "".join(made)


def compiles(pattern: object) -> bool:
    """Whether a pattern is a regular expression; what is not text is not judged."""
    import regex

    try:
        return not isinstance(pattern, str) or bool(regex.compile(to_python(pattern)))
    except (regex.error, ValueError, RecursionError, OverflowError):
        return False


MAX_STEPS = 100_000
MAX_PATTERN_SECONDS = 0.25

LATEST = "2020-12"
#: What `$schema` may name, without its scheme and an empty fragment.
_DRAFTS = {
    "json-schema.org/draft-04/schema": "draft-04",
    "json-schema.org/draft-06/schema": "draft-06",
    "json-schema.org/draft-07/schema": "draft-07",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft/2020-12/schema": LATEST,
    "json-schema.org/schema": LATEST,
}
_CLASSES = {
    "draft-04": "Draft4Validator",
    "draft-06": "Draft6Validator",
    "draft-07": "Draft7Validator",
    "2019-09": "Draft201909Validator",
    LATEST: "Draft202012Validator",
}
#: Keywords that judge other schemas, or each part of a value: these are counted.
_MULTIPLYING = (
    *("$dynamicRef", "$recursiveRef", "$ref", "additionalItems", "allOf", "anyOf", "contains"),
    *("dependencies", "dependentSchemas", "items", "not", "oneOf", "prefixItems", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)


def draft_of(schema: Mapping[str, Any]) -> str:
    """The draft that a schema names in `$schema`; raises `InvalidSchema` for one that is not supported."""
    named = schema.get("$schema", "https://json-schema.org/schema")
    draft = _DRAFTS.get(named.removesuffix("#").partition("://")[2]) if isinstance(named, str) else None
    if draft is None or not named.startswith(("http://", "https://")):
        raise InvalidSchema(
            f'the schema names the draft {excerpt(named)} in "$schema"',
            expected=f"JSON Schema {', '.join(_CLASSES)}",
            advice='remove "$schema" if the schema follows draft 2020-12',
        )
    return draft


class TooMuchWork(Exception):
    """A check that takes more steps or seconds than it may."""


class _Work:
    """What one check may still spend."""

    def __init__(self) -> None:
        self.steps = MAX_STEPS
        self.pattern_seconds = MAX_PATTERN_SECONDS


_work: ContextVar[_Work] = ContextVar("zoolab_schema_work")


def _spend(steps: int) -> None:
    work = _work.get()
    work.steps -= steps
    if work.steps < 0:
        raise TooMuchWork


@contextmanager
def bounded() -> Iterator[None]:
    """What is checked inside ends with `TooMuchWork` if it takes more steps or seconds than one check may."""
    token = _work.set(_Work())
    try:
        yield
    finally:
        _work.reset(token)


def compiled(schema: Mapping[str, Any]) -> Any:
    """A validator of jsonschema for a schema, within the bounds; it fetches nothing.

    Check values inside `bounded()`. Raises `InvalidSchema` for what is no schema of its draft.
    """
    from referencing import Registry

    check_against_metaschema(schema)
    return _validator_class(draft_of(schema))(schema, registry=Registry())


def check_against_metaschema(schema: Mapping[str, Any]) -> None:
    """Raise `InvalidSchema` for what is no schema of its draft; names where."""
    import jsonschema

    draft = draft_of(schema)
    checker = jsonschema.FormatChecker(formats=())
    checker.checkers = {"regex": (compiles, ())}
    try:
        getattr(jsonschema, _CLASSES[draft]).check_schema(schema, format_checker=checker)
    except jsonschema.exceptions.SchemaError as error:
        where = pointer_to(error.absolute_path) or "the schema"
        found = f"{where} is not JSON Schema: {excerpt(error.message, 200)}"
        raise InvalidSchema(found, expected=draft if "draft" in draft else f"draft {draft}") from None
    except RecursionError:
        raise InvalidSchema("a schema is nested too deeply", advice="use $defs and $ref") from None
    if all(keyword in encode(schema) for keyword in ('"unevaluatedProperties"', '"patternProperties"')):
        # For this pair jsonschema matches the patterns by `re`, which no time limit stops.
        raise InvalidSchema(
            "a schema has both unevaluatedProperties and patternProperties",
            expected="one of the two",
            advice='write "additionalProperties" instead of "unevaluatedProperties"',
        )


@cache
def _validator_class(draft: str) -> Any:
    import attrs
    import jsonschema

    original: Any = getattr(jsonschema, _CLASSES[draft])
    known = original.VALIDATORS
    counted = {name: _counted(known[name]) for name in _MULTIPLYING if name in known}
    if "additionalItems" in counted:
        counted["additionalItems"] = _counted(_additional_items(known["additionalItems"]))
    own = {
        "additionalProperties": _additional_properties,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    # 1.0 is no integer here.
    types = original.TYPE_CHECKER.redefine("integer", lambda _checker, value: type(value) is int)
    made: Any = jsonschema.validators.extend(original, counted | own, type_checker=types)  # type: ignore[no-untyped-call]
    # jsonschema's own evolve leaves this class, and its bounds, at a schema with a "$schema".
    made.evolve = attrs.evolve
    return made


def _additional_items(keyword: Callable[..., Any]) -> Callable[..., Any]:
    """It matters beside a list of `items` alone; jsonschema raises a TypeError beside `items: false`."""

    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return keyword(validator, value, instance, schema) if isinstance(schema.get("items"), list) else ()

    return check


def _counted(keyword: Callable[..., Iterable[Any] | None]) -> Callable[..., Iterator[Any]]:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        size = len(instance) if isinstance(instance, list | dict) else 1
        _spend(1 + (len(value) if isinstance(value, list) else 0) + size)
        yield from keyword(validator, value, instance, schema) or ()

    return check


def _matches(pattern: str, text: str) -> bool:
    import time

    import regex

    work = _work.get()
    if work.pattern_seconds <= 0:
        raise TooMuchWork
    started = time.perf_counter()
    try:
        return regex.search(to_python(pattern), text, timeout=work.pattern_seconds) is not None
    except (TimeoutError, regex.error) as error:
        raise TooMuchWork from error
    finally:
        work.pattern_seconds -= time.perf_counter() - started


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(f"does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], instance: Any, _schema: Any
) -> Iterator[Any]:
    if isinstance(instance, dict):
        _spend(len(patterns) * len(instance))
        for pattern, subschema in patterns.items():
            for key, value in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """jsonschema's own matches the patterns beside it by `re`, without a bound."""
    from jsonschema.exceptions import ValidationError

    if not isinstance(instance, dict):
        return
    patterns = schema.get("patternProperties", {})
    _spend(1 + len(instance) * (1 + len(patterns)))
    known = schema.get("properties", {})
    extra = [
        key
        for key in instance
        if key not in known and not any(_matches(pattern, key) for pattern in patterns)
    ]
    if isinstance(allowed, dict):
        for key in extra:
            yield from validator.descend(instance[key], allowed, path=key)
    elif allowed is False and extra:
        # jsonschema keeps the instance that an error brings along.
        yield ValidationError("has more properties", instance={key: instance[key] for key in extra})


def _unique_items(_validator: Any, unique: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if unique is True and isinstance(instance, list):
        seen = {canonical(_integral(item)) for item in instance}
        if len(seen) != len(instance):
            yield ValidationError("has items twice")


def _integral(value: Any) -> Any:
    """JSON Schema takes 1 and 1.0 for the same item, and true for another."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_integral(item) for item in value]
    if isinstance(value, dict):
        return {key: _integral(item) for key, item in value.items()}
    return value
