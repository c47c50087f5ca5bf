"""The drafts of JSON Schema, each judged by jsonschema within a bound of steps.

A schema is judged by the draft that its `$schema` names, and by 2020-12 if it names none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from zoolab.errors import InvalidSchema
from zoolab.jsontext import canonical, encode, excerpt, pointer_to
from zoolab.running.interrupts import cpu_time
from zoolab.schema.parts import TYPES
from zoolab.schema.patterns import TABLE, compiles, to_python
from zoolab.schema.work import LEFT, TooMuchWork, bounded, step

#: More parts than this are compared with each other for too long.
MAX_UNEVALUATED = 4_000

#: What `$schema` may name, without its scheme and an empty fragment; and jsonschema's classes.
_DRAFTS: dict[str, str] = TABLE["drafts"]
_CLASSES: dict[str, str] = TABLE["classes"]


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
        step()
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

    step()
    left = LEFT.get()
    python = to_python(pattern)
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
