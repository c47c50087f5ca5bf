"""What is wrong with a value, in words: where, what was expected, what came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.errors import Problem
from zoolab.jsontext import excerpt, pointer_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jsonschema.exceptions import ValidationError


def describe(errors: Iterable[ValidationError]) -> Iterator[Problem]:
    """The errors of jsonschema as problems, several for an error that names several."""
    for error in errors:
        pointer = pointer_to(error.absolute_path)
        describe = _DESCRIBERS.get(str(error.validator), _describe_other)
        for suffix, expected, received in describe(error):
            yield Problem("invalid_arguments", pointer + suffix, expected, received)


def _describe_limit(error: Any) -> Iterator[tuple[str, str, str]]:
    """Draft 4 says beside a limit that the limit itself is excluded."""
    keyword = f"exclusive{error.validator.capitalize()}"
    excluded = isinstance(error.schema, dict) and error.schema.get(keyword) is True
    words = f"{keyword if excluded else error.validator} {excerpt(error.validator_value)}"
    yield "", words, excerpt(error.instance)


def _describe_other(error: Any) -> Iterator[tuple[str, str, str]]:
    yield "", f"{error.validator} {excerpt(error.validator_value)}", excerpt(error.instance)


def _describe_type(error: Any) -> Iterator[tuple[str, str, str]]:
    yield "", _type_words(error.validator_value), excerpt(error.instance)


def _describe_required(error: Any) -> Iterator[tuple[str, str, str]]:
    properties = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    for name in error.validator_value:
        if name not in error.instance:
            yield pointer_to([name]), schema_words(properties.get(name)), "nothing"


def _describe_additional(error: Any) -> Iterator[tuple[str, str, str]]:
    if error.validator_value is not False:
        yield from _describe_other(error)
        return
    known = list(error.schema.get("properties", {}))
    for name in error.instance:
        if name not in known:
            yield (
                pointer_to([name]),
                f"only {', '.join(known) or 'no arguments'}",
                excerpt(error.instance[name]),
            )


def _describe_enum(error: Any) -> Iterator[tuple[str, str, str]]:
    yield "", schema_words({"enum": error.validator_value}), excerpt(error.instance)


def _describe_choice(error: Any) -> Iterator[tuple[str, str, str]]:
    words = dict.fromkeys(schema_words(choice) for choice in error.validator_value)
    yield "", " or ".join(words), excerpt(error.instance)


_DESCRIBERS: dict[str, Callable[[Any], Iterator[tuple[str, str, str]]]] = {
    "additionalProperties": _describe_additional,
    "anyOf": _describe_choice,
    "enum": _describe_enum,
    "maximum": _describe_limit,
    "minimum": _describe_limit,
    "oneOf": _describe_choice,
    "required": _describe_required,
    "type": _describe_type,
}


def _type_words(types: Any) -> str:
    return " or ".join(map(str, types)) if isinstance(types, list) else str(types)


def schema_words(schema: Any) -> str:
    """A schema in a few words, for an error or a table.

    >>> schema_words({"type": "integer"}), schema_words({"enum": ["C", "F"]})
    ('integer', 'one of "C", "F"')
    """
    if not isinstance(schema, dict):
        return "a value"
    if isinstance(schema.get("enum"), list):
        return excerpt_list("one of ", schema["enum"])
    if "const" in schema:
        return excerpt(schema["const"])
    if isinstance(schema.get("anyOf"), list):
        return " or ".join(dict.fromkeys(schema_words(choice) for choice in schema["anyOf"]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2] or "a value"
    return _type_words(schema["type"]) if "type" in schema else "a value"


def excerpt_list(prefix: str, values: Iterable[Any], limit: int = 200) -> str:
    """`prefix` and the values as JSON, cut at `limit` characters."""
    text = prefix + ", ".join(excerpt(value) for value in values)
    return text if len(text) <= limit else text[: limit - 1] + "…"
