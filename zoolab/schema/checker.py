"""JSON Schema: compiled once, bounded, never fetching anything. drafts.py: the drafts; work.py: the bounds.

`jsonschema` alone fetches a `$ref` over http and from disk, recurses on `{"$ref": "#"}`, takes
seconds for one bad `pattern` and minutes for a short chain of `allOf`. Here each of these ends in
an `InvalidSchema` when the schema is compiled, or in a problem when a value is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidSchema, Problem
from zoolab.jsontext import encode, encode_strict, excerpt, pointer_to
from zoolab.schema.drafts import compiled
from zoolab.schema.references import References
from zoolab.schema.work import TooMuchWork, bounded

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
from zoolab.schema.plain import plain_test

MAX_SCHEMA_CHARS = 1 << 16
MAX_SCHEMA_DEPTH = 48
MAX_PROBLEMS = 20
#: Letters of the choices that an error names.
MAX_WORDS = 200


def check_schema(schema: Any) -> None:
    """Refuse a schema that `check_schema_bounds` refuses, and one that refers to what it does not contain."""
    for reference in _bounded(schema).nowhere():
        raise InvalidSchema(
            f"the schema refers to {excerpt(reference)}, which it does not contain",
            expected="a reference to a part of the schema",
            advice="add the definition to $defs, or correct the reference",
        )


def check_schema_bounds(schema: Any) -> None:
    """Refuse a schema that is no JSON object, too large, too deep, or points outside itself.

    Cheap, and without jsonschema: it runs when a tool is defined.
    """
    _bounded(schema)


def _bounded(schema: Any) -> References:
    if not isinstance(schema, dict):
        raise InvalidSchema(f"a schema is {excerpt(schema)}", expected="a JSON object")
    references = References(schema, MAX_SCHEMA_DEPTH)
    for reference in references.outside():
        raise InvalidSchema(
            f"the schema refers to something outside itself: {excerpt(reference)}",
            expected="references that begin with #",
            advice="copy the referenced schema into $defs, because zoolab never fetches schemas",
        )
    try:
        text = encode_strict(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidSchema(
            f"a schema is not JSON: {error}", expected="dicts, lists, texts and numbers"
        ) from None
    if len(text) > MAX_SCHEMA_CHARS:
        raise InvalidSchema(
            f"a schema has more than {MAX_SCHEMA_CHARS:,} characters", advice="split the tool into two tools"
        )
    return references


class SchemaChecker:
    """A compiled schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        check_schema_bounds(schema)
        self._schema = schema
        self._meets_plainly = plain_test(schema)

    def problems(self, value: Any) -> tuple[Problem, ...]:
        """Return all that is wrong with `value`, at most `MAX_PROBLEMS`; empty if it meets the schema."""
        if self._meets_plainly is not None and self._meets_plainly(value):
            return ()
        from referencing.exceptions import Unresolvable

        try:
            judge = self._validator
            with bounded(len(encode(value))):
                if judge.is_valid(value):
                    return ()
                return _problems(judge.iter_errors(value))
        except (TooMuchWork, RecursionError):
            expected = "a schema that can be checked in bounded time"
            received = "one that cannot"
        except Unresolvable as error:
            expected = "a schema that is complete in itself"
            received = excerpt(str(error))
        return (Problem("invalid_schema", "", expected, received),)

    def compile(self) -> None:
        """Compile now what is else compiled when it is needed; raises `InvalidSchema` if it is wrong."""
        if self._meets_plainly is None:
            check_schema(self._schema)
            _ = self._validator

    def __reduce__(self) -> tuple[type[SchemaChecker], tuple[Mapping[str, Any]]]:
        return SchemaChecker, (self._schema,)

    @cached_property
    def _validator(self) -> Any:
        """Compiled when it is first needed: beside JupyterLab, `import jsonschema` takes seconds."""
        return compiled(self._schema)


def _problems(errors: Iterable[ValidationError]) -> tuple[Problem, ...]:
    found: dict[Problem, None] = {}
    for error in errors:
        pointer = pointer_to(error.absolute_path)
        for suffix, expected, received in _described(error):
            found[Problem("invalid_arguments", pointer + suffix, expected, received)] = None
            if len(found) == MAX_PROBLEMS:
                return tuple(found)
    return tuple(found)


def _described(error: Any) -> Iterator[tuple[str, str, str]]:
    """Yield where within the value, what was expected, and what came."""
    keyword = error.validator
    value = error.validator_value
    instance = error.instance
    schema = error.schema if isinstance(error.schema, dict) else {}
    if keyword == "required":
        properties = schema.get("properties", {})
        for name in value:
            if name not in instance:
                yield pointer_to([name]), schema_words(properties.get(name)), "nothing"
        return
    if keyword == "additionalProperties" and value is False:
        known = list(schema.get("properties", {}))
        for name in instance:
            if name not in known:
                expected = f"only {', '.join(known) or 'no arguments'}"
                yield pointer_to([name]), expected, excerpt(instance[name])
        return
    if keyword in ("type", "enum"):
        expected = schema_words({keyword: value})
    elif keyword in ("anyOf", "oneOf"):
        expected = schema_words({"anyOf": value})
    else:
        # Draft 4 says beside a limit that the limit itself is excluded.
        exclusive = f"exclusive{keyword.capitalize()}" if keyword in ("minimum", "maximum") else ""
        expected = f"{exclusive if schema.get(exclusive) is True else keyword} {excerpt(value)}"
    yield "", expected, excerpt(instance)


def schema_words(schema: Any) -> str:
    """Return a schema in a few words, for an error or a table."""
    if not isinstance(schema, dict):
        return "a value"
    if isinstance(schema.get("enum"), list):
        text = "one of " + ", ".join(excerpt(value) for value in schema["enum"])
        return text if len(text) <= MAX_WORDS else text[: MAX_WORDS - 1] + "…"
    if "const" in schema:
        return excerpt(schema["const"])
    if isinstance(schema.get("anyOf"), list):
        return " or ".join(dict.fromkeys(schema_words(choice) for choice in schema["anyOf"]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2] or "a value"
    kinds = schema.get("type", "a value")
    return " or ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds)


# A quick yes for the plainest schemas. Only the yes counts: jsonschema judges what is not accepted here, and
# says why.
