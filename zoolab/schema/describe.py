"""What is wrong with a value, in words: where, what was expected, what came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.errors import Problem
from zoolab.jsontext import excerpt, pointer_to

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonschema.exceptions import ValidationError


MAX_WORDS = 200


def describe(errors: Iterable[ValidationError]) -> Iterator[Problem]:
    """The errors of jsonschema as problems, several for an error that names several."""
    for error in errors:
        pointer = pointer_to(error.absolute_path)
        for suffix, expected, received in _described(error):
            yield Problem("invalid_arguments", pointer + suffix, expected, received)


def _described(error: Any) -> Iterator[tuple[str, str, str]]:
    """Where within the value, what was expected, and what came."""
    keyword, value, instance = error.validator, error.validator_value, error.instance
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
    """A schema in a few words, for an error or a table.

    >>> schema_words({"type": "integer"}), schema_words({"enum": ["C", "F"]})
    ('integer', 'one of "C", "F"')
    """
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
