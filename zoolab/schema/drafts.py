"""The drafts of JSON Schema, each judged by jsonschema within a bound of steps.

A schema is judged by the draft that its `$schema` names, and by 2020-12 if it names none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from zoolab.errors import InvalidSchema
from zoolab.files import read_table
from zoolab.jsontext import canonical, encode, excerpt, pointer_to
from zoolab.running.interrupts import cpu_time
from zoolab.schema.parts import TYPES

_TABLE = read_table("zoolab.schema", "drafts.toml")
_OUTSIDE: dict[str, str] = _TABLE["outside"]
_INSIDE: dict[str, str] = _TABLE["inside"]
_TOKEN = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\c([A-Za-z])|\\.|.", re.DOTALL)


@lru_cache(maxsize=1024)
def to_python(pattern: str) -> str:
    r"""Return a pattern of ECMA-262 in the words of `regex`."""
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
    """Return whether a pattern is a regular expression; what is not text is not judged."""
    import regex

    _step()
    if isinstance(pattern, str) and len(pattern) > MAX_PATTERN_CHARS:
        raise TooMuchWork
    try:
        return not isinstance(pattern, str) or bool(regex.compile(to_python(pattern)))
    except (regex.error, ValueError, RecursionError, OverflowError):
        return False


#: How many schemas a check may hold against a value, and how many characters of the value add one. A clock
#: would also count what else the process does meanwhile.
MAX_STEPS, CHARS_PER_STEP = 10_000, 3
#: Seconds of the processor that the search for patterns may take, and what each character adds.
MAX_SECONDS, SECONDS_PER_CHAR = 0.25, 3e-6
#: A longer pattern takes too long to compile.
MAX_PATTERN_CHARS = 8_000
#: More parts than this are compared with each other for too long.
MAX_UNEVALUATED = 4_000

#: What `$schema` may name, without its scheme and an empty fragment; and jsonschema's classes.
_DRAFTS: dict[str, str] = _TABLE["drafts"]
_CLASSES: dict[str, str] = _TABLE["classes"]


def draft_of(schema: Mapping[str, Any]) -> str:
    """Return the draft that a schema names in `$schema`; raises `InvalidSchema` for one that is not
    supported.
    """
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
    """A check that does more work than it may."""


@dataclass(slots=True)
class _Left:
    """What is left to a check."""

    steps: int
    seconds: float


_left: ContextVar[_Left] = ContextVar("zoolab_schema_left")


def _step() -> None:
    left = _left.get()
    left.steps -= 1
    if left.steps < 0:
        raise TooMuchWork


@contextmanager
def bounded(chars: int = 0) -> Iterator[None]:
    """End a check with `TooMuchWork` if it does too much for a value of `chars` characters as JSON."""
    token = _left.set(_Left(MAX_STEPS + chars // CHARS_PER_STEP, MAX_SECONDS + chars * SECONDS_PER_CHAR))
    try:
        yield
    finally:
        _left.reset(token)


def compiled(schema: Mapping[str, Any]) -> Any:
    """Return a validator of jsonschema for a schema, within the bounds; it fetches nothing.

    Check values inside `bounded()`. Raises `InvalidSchema` for what is no schema of its draft.
    """
    from referencing import Registry

    check_against_metaschema(schema)
    return _validator_class(draft_of(schema), whole_floats=False)(schema, registry=Registry())


def check_against_metaschema(schema: Mapping[str, Any]) -> None:
    """Raise `InvalidSchema` for what is no schema of its draft; names where."""
    from zoolab.schema.library import jsonschema

    draft = draft_of(schema)
    checker = jsonschema.FormatChecker(formats=())
    checker.checkers = {"regex": (compiles, ())}
    made = _validator_class(draft, whole_floats=True)
    judge = made(made.META_SCHEMA, format_checker=checker)
    try:
        with bounded(len(encode(schema))):
            error = next(judge.iter_errors(schema), None)
    except TooMuchWork:
        raise InvalidSchema(
            "a schema takes too long to check", advice="make it smaller, or split the tool into two tools"
        ) from None
    except RecursionError:
        raise InvalidSchema("a schema is nested too deeply", advice="use $defs and $ref") from None
    if error is not None:
        where = pointer_to(error.absolute_path) or "the schema"
        found = f"{where} is not JSON Schema: {excerpt(error.message, 200)}"
        capitals = isinstance(error.instance, str) and error.instance.lower() in TYPES
        made_by = "zoolab_connect.apis.gemini.json_schema"
        advice = f"Gemini writes types in capitals; {made_by} makes JSON Schema of that"
        expected = draft if "draft" in draft else f"draft {draft}"
        raise InvalidSchema(found, expected=expected, advice=advice if capitals else "")
    if all(keyword in encode(schema) for keyword in ('"unevaluatedProperties"', '"patternProperties"')):
        # For this pair jsonschema matches the patterns by `re`, which no time limit stops.
        raise InvalidSchema(
            "a schema has both unevaluatedProperties and patternProperties",
            expected="one of the two",
            advice='write "additionalProperties" instead of "unevaluatedProperties"',
        )


@cache
def _validator_class(draft: str, whole_floats: bool) -> Any:
    """Return the class of jsonschema with our bounds; `whole_floats` says whether 1.0 is an integer."""
    import attrs

    from zoolab.schema.library import jsonschema

    original: Any = getattr(jsonschema, _CLASSES[draft])
    known = original.VALIDATORS
    unevaluated = ("unevaluatedItems", "unevaluatedProperties")
    own = {name: _few_parts(known[name]) for name in unevaluated if name in known}
    if "additionalItems" in known:
        own["additionalItems"] = _additional_items(known["additionalItems"])
    own |= {
        "additionalProperties": _additional_properties,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    types = original.TYPE_CHECKER
    if not whole_floats:
        types = types.redefine("integer", lambda _checker, value: type(value) is int)
    made: Any = jsonschema.validators.extend(original, own, type_checker=types)  # type: ignore[no-untyped-call]

    def evolve(validator: Any, **changes: Any) -> Any:
        """Return a validator; called for each schema and each part of a value.

        jsonschema's own leaves this class, and its bounds, at a schema with a "$schema".
        """
        _step()
        return attrs.evolve(validator, **changes)

    made.evolve = evolve
    return made


def _additional_items(keyword: Callable[..., Any]) -> Callable[..., Any]:
    """Apply the keyword beside a list of `items` alone; jsonschema raises a TypeError beside `items:
    false`.
    """

    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return keyword(validator, value, instance, schema) if isinstance(schema.get("items"), list) else ()

    return check


def _few_parts(keyword: Callable[..., Iterable[Any] | None]) -> Callable[..., Iterator[Any]]:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, list | dict) and len(instance) > MAX_UNEVALUATED:
            raise TooMuchWork
        yield from keyword(validator, value, instance, schema) or ()

    return check


def _matches(pattern: str, text: str) -> bool:
    import regex

    _step()
    left, python = _left.get(), to_python(pattern)
    if left.seconds <= 0:
        raise TooMuchWork
    began = cpu_time()
    try:
        return regex.search(python, text, timeout=left.seconds) is not None
    except (TimeoutError, regex.error) as error:
        raise TooMuchWork from error
    finally:
        left.seconds -= cpu_time() - began


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(f"does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], instance: Any, _schema: Any
) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, subschema in patterns.items():
            for key, value in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Check as jsonschema does, which matches the patterns beside it by `re`, without a bound."""
    from jsonschema.exceptions import ValidationError

    if not isinstance(instance, dict):
        return
    patterns = schema.get("patternProperties", {})
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
    """Return a value to compare: JSON Schema takes 1 and 1.0 for the same item, and true for another."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_integral(item) for item in value]
    if isinstance(value, dict):
        return {key: _integral(item) for key, item in value.items()}
    return value
