"""Schemas for OpenAI's strict mode, and back: in strict mode, null stands for a missing argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from zoolab.errors import InvalidToolSignature
from zoolab.files import read_table
from zoolab.jsontext import excerpt
from zoolab.schema.parts import Schema, allows_null, object_schema, resolved

_TABLE = read_table("zoolab.schema", "keywords.toml")
STRICT_KEYWORDS = frozenset(_TABLE["strict"])


def make_strict(schema: Schema, where: str) -> Schema:
    """Return the schema within what OpenAI's strict mode takes: closed objects, every property required.

    An optional property becomes nullable, and null stands for leaving it out (`without_nulls`).
    Keywords that strict mode refuses move into the description. Raises `InvalidToolSignature` for
    what cannot be strict, such as a dictionary with free keys.
    """
    never = sorted(schema.keys() & _TABLE["never_strict"])
    if never:
        raise _not_strict(where, f"it needs {never[0]}")
    if not schema.keys() & {"type", "enum", "const", "anyOf", "oneOf", "$ref"}:
        raise _not_strict(where, "it accepts any value")
    strict = {key: value for key, value in schema.items() if key in STRICT_KEYWORDS}
    kinds = schema.get("type", ())
    if kinds == "object" or "object" in kinds:
        strict |= _strict_object(schema, where)
    if kinds == "array" or "array" in kinds:
        strict["items"] = make_strict(schema.get("items", {}), where)
    choices = [make_strict(choice, where) for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()))]
    if "$ref" in strict and len(strict) > 1:
        choices.append({"$ref": strict.pop("$ref")})
    if choices:
        strict["anyOf"] = choices
    if "$defs" in schema:
        strict["$defs"] = {name: make_strict(child, name) for name, child in schema["$defs"].items()}
    return _with_notes(strict, schema)


def _not_strict(where: str, why: str) -> InvalidToolSignature:
    return InvalidToolSignature(
        f"{where} cannot be strict: {why}",
        expected="named properties with types, as of a dataclass or a pydantic model",
        advice="change its type, or define the tool without strict=True",
    )


def _strict_object(schema: Schema, where: str) -> Schema:
    if "properties" not in schema or schema.get("additionalProperties", False) is not False:
        raise _not_strict(where, "it is a dictionary with arbitrary keys")
    required = schema.get("required", ())
    properties = {
        name: make_strict(child if name in required else _nullable(child), f"{where}.{name}")
        for name, child in schema["properties"].items()
    }
    return object_schema(properties, list(properties))


def _nullable(schema: Schema) -> Schema:
    if allows_null(schema):
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "type" in schema and "const" not in schema:
        kinds = schema["type"]
        nullable = {**schema, "type": [*([kinds] if isinstance(kinds, str) else kinds), "null"]}
        return {**nullable, "enum": [*schema["enum"], None]} if "enum" in schema else nullable
    outside = {key: value for key, value in schema.items() if key in ("description", "default", "title")}
    inside = {key: value for key, value in schema.items() if key not in outside}
    return {**outside, "anyOf": [inside, {"type": "null"}]}


def _with_notes(strict: Schema, schema: Schema) -> Schema:
    lost = {key: schema[key] for key in schema.keys() - STRICT_KEYWORDS - {"oneOf", "discriminator"}}
    if schema.get("format", "date") not in _TABLE["strict_formats"]:
        lost["format"] = strict.pop("format")
    if lost:
        notes = ", ".join(f"{key}: {excerpt(lost[key])}" for key in sorted(lost))
        strict["description"] = f"{schema.get('description', '')} ({notes})".strip()
    return strict


def without_nulls(value: Any, schema: Schema, definitions: Mapping[str, Schema]) -> Any:
    """Return the value without the nulls that stand for what was left out, by the schema before
    `make_strict`.
    """
    schema = resolved(schema, definitions)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        value = without_nulls(value, choice, definitions)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        items = value
        return [without_nulls(item, schema["items"], definitions) for item in items]
    if not isinstance(value, dict) or "properties" not in schema:
        return cast("Any", value)
    known: Schema = schema["properties"]
    optional = {
        name
        for name, child in known.items()
        if name not in schema.get("required", ()) and not allows_null(child, definitions)
    }
    return {
        name: without_nulls(child, known.get(name, {}), definitions)
        for name, child in cast("Schema", value).items()
        if child is not None or name not in optional
    }
