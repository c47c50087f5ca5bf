"""JSON Schema, Draft 2020-12: compiled once, bounded, and never fetching anything.

`jsonschema` alone fetches a `$ref` over http and from disk, recurses on `{"$ref": "#"}`, takes
seconds for one bad `pattern` and minutes for a short chain of `allOf`. Here each of these ends in
an `InvalidSchema` when the schema is compiled, or in a problem when a value is checked.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from zoolab.errors import InvalidSchema, Problem
from zoolab.jsontext import canonical, encode, excerpt, pointer_to
from zoolab.readonly import plain
from zoolab.schema.describe import describe
from zoolab.schema.plain import plain_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Validator = Literal["jsonschema", "rs"]

MAX_SCHEMA_CHARS = 1 << 16
MAX_SCHEMA_DEPTH = 48
MAX_STEPS = 100_000
MAX_PATTERN_SECONDS = 0.25
MAX_PROBLEMS = 20

_DATA_KEYWORDS = frozenset({"const", "default", "enum", "examples"})
_DIALECTS = ("https://json-schema.org/", "http://json-schema.org/")
_MULTIPLYING = (
    "$dynamicRef",
    "$ref",
    "allOf",
    "anyOf",
    "contains",
    "dependentSchemas",
    "items",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)


def check_schema_bounds(schema: Any) -> None:
    """Refuse a schema that is no JSON object, too large, too deep, or points outside itself.

    Cheap, and without jsonschema: it runs when a tool is defined.

    >>> check_schema_bounds({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}})
    Traceback (most recent call last):
    zoolab.errors.InvalidSchema: the schema points outside itself: "file:///etc/passwd"; ...
    """
    if not isinstance(schema, dict):
        raise InvalidSchema(f"a schema is {excerpt(schema)}", expected="a JSON object")
    dialect = schema.get("$schema", _DIALECTS[0])
    if not isinstance(dialect, str) or not dialect.startswith(_DIALECTS):
        raise InvalidSchema(f"the schema is written in {excerpt(dialect)}", expected="JSON Schema 2020-12")
    references: list[str] = []
    identifiers: set[str] = set()
    _survey(schema, MAX_SCHEMA_DEPTH, references, identifiers)
    outside = [r for r in references if not r.startswith("#") and r.partition("#")[0] not in identifiers]
    if outside:
        raise InvalidSchema(
            f"the schema points outside itself: {excerpt(outside[0])}",
            expected="references that begin with #",
            advice="copy what it points to into $defs; nothing is ever fetched",
        )
    if len(_as_json(schema)) > MAX_SCHEMA_CHARS:
        raise InvalidSchema(
            f"a schema of more than {MAX_SCHEMA_CHARS:,} characters", advice="split the tool in two"
        )


class SchemaChecker:
    """A compiled schema.

    >>> checker = SchemaChecker({"type": "object", "properties": {"a": {"type": "integer"}}})
    >>> [problem.message for problem in checker.problems({"a": 1.0})]
    ['/a: expected integer, received 1.0']
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        check_schema_bounds(schema)
        self._schema = schema
        self._meets_plainly = plain_test(schema)

    def problems(self, value: Any, validator: Validator = "jsonschema") -> tuple[Problem, ...]:
        """All that is wrong with `value`, at most `MAX_PROBLEMS`; empty if it meets the schema."""
        if self._meets_plainly is not None and self._meets_plainly(value):
            return ()
        if validator == "rs" and self._meets_quickly(value):
            return ()
        from referencing.exceptions import Unresolvable

        token = _work.set(_Work())
        try:
            if self._validator.is_valid(value):
                return ()
            return tuple(_first(describe(self._validator.iter_errors(value)), MAX_PROBLEMS))
        except (_TooMuchWork, RecursionError):
            return (
                Problem(
                    "invalid_schema", "", "a schema that can be checked in bounded time", "one that cannot"
                ),
            )
        except Unresolvable as error:
            return (
                Problem("invalid_schema", "", "a schema that is complete in itself", excerpt(str(error))),
            )
        finally:
            _work.reset(token)

    def compile(self, validator: Validator = "jsonschema") -> None:
        """Compile now what is else compiled when it is needed; raises `InvalidSchema` if it is wrong."""
        if validator == "rs" or self._meets_plainly is None:
            _ = self._meets_quickly if validator == "rs" else self._validator

    def __reduce__(self) -> tuple[type[SchemaChecker], tuple[Mapping[str, Any]]]:
        return SchemaChecker, (self._schema,)

    @cached_property
    def _meets_quickly(self) -> Callable[[Any], bool]:
        from zoolab.schema.quick import quick_test

        _check_against_metaschema(self._schema)
        return quick_test(plain(self._schema))

    @cached_property
    def _validator(self) -> Any:
        """Compiled when it is first needed: beside JupyterLab, `import jsonschema` takes seconds."""
        from referencing import Registry

        _check_against_metaschema(self._schema)
        return _validator_class()(self._schema, registry=Registry())


class _TooMuchWork(Exception):
    pass


class _Work:
    """What one check may still spend."""

    __slots__ = ("pattern_seconds", "steps")

    def __init__(self) -> None:
        self.steps = MAX_STEPS
        self.pattern_seconds = MAX_PATTERN_SECONDS

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise _TooMuchWork


_work: ContextVar[_Work] = ContextVar("zoolab_schema_work")


def _as_json(schema: Any) -> str:
    try:
        text = encode(schema)
        return json.dumps(schema, allow_nan=False) if "NaN" in text or "Infinity" in text else text
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidSchema(
            f"a schema is not JSON: {error}", expected="dicts, lists, texts and numbers"
        ) from None


def _survey(node: Any, depth: int, references: list[str], identifiers: set[str]) -> None:
    if depth < 0:
        raise InvalidSchema(f"a schema of more than {MAX_SCHEMA_DEPTH} levels", advice="use $defs and $ref")
    if isinstance(node, dict):
        for key, child in node.items():
            if key in ("$ref", "$dynamicRef") and isinstance(child, str):
                references.append(child)
            elif key == "$id" and isinstance(child, str):
                identifiers.add(child.rstrip("#"))
            elif key not in _DATA_KEYWORDS and isinstance(child, dict | list):
                _survey(child, depth - 1, references, identifiers)
    elif isinstance(node, list):
        for child in node:
            if isinstance(child, dict | list):
                _survey(child, depth - 1, references, identifiers)


def _check_against_metaschema(schema: Mapping[str, Any]) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = pointer_to(error.absolute_path) or "the schema"
        found = f"{where} is not JSON Schema: {excerpt(error.message, 200)}"
        raise InvalidSchema(found, expected="draft 2020-12") from None
    except RecursionError:
        raise InvalidSchema("a schema that is nested too deeply", advice="use $defs and $ref") from None


@lru_cache(maxsize=1)
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, validators

    bounded = {name: _counted(Draft202012Validator.VALIDATORS[name]) for name in _MULTIPLYING}
    return validators.extend(  # type: ignore[no-untyped-call]
        Draft202012Validator,
        {
            **bounded,
            "pattern": _pattern,
            "patternProperties": _pattern_properties,
            "uniqueItems": _unique_items,
        },
        type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
    )


def _is_integer(_checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _counted(keyword: Callable[..., Iterable[Any] | None]) -> Callable[..., Iterator[Any]]:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        size = len(instance) if isinstance(instance, list | dict) else 1
        _work.get().spend(1 + (len(value) if isinstance(value, list) else 0) + size)
        yield from keyword(validator, value, instance, schema) or ()

    return check


def _matches(pattern: str, text: str) -> bool:
    import time

    import regex

    work = _work.get()
    if work.pattern_seconds <= 0:
        raise _TooMuchWork
    started = time.perf_counter()
    try:
        return regex.search(pattern, text, timeout=work.pattern_seconds) is not None
    except (TimeoutError, regex.error) as error:
        raise _TooMuchWork from error
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
        _work.get().spend(len(patterns) * len(instance))
        for pattern, subschema in patterns.items():
            for key, value in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, subschema, path=key, schema_path=pattern)


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


def _first(problems: Iterable[Problem], limit: int) -> Iterator[Problem]:
    seen: set[Problem] = set()
    for problem in problems:
        if problem not in seen:
            seen.add(problem)
            yield problem
        if len(seen) == limit:
            return
