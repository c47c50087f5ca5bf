"""The part of a schema that one part of a value must meet. References and alternatives are followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zoolab.jsontext import encode
from zoolab.schema.parts import pointed_at

_ALTERNATIVES = ("anyOf", "oneOf", "allOf")
_DATA = ("const", "default", "enum", "examples")
#: A part with references keeps the schema that it came from under this name.
_WHOLE = "zoolab.whole"
#: A reference to a reference to a reference: more of them are not followed.
_MAX_STEPS = 16


def inner(schema: Any, key: str | None = None) -> Any:
    """Find the schema of a property, or of the items of a list; None if there is none.

    What several alternatives say is joined by `anyOf`. A part with references is complete in itself.

    >>> tree = {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}
    >>> node = {"properties": {"n": {"type": "integer"}, "next": tree}}
    >>> part = inner({**tree, "$defs": {"node": node}}, "next")
    >>> inner(part, "n"), inner(inner(part, "next"), "n"), inner(part, "other")
    ({'type': 'integer'}, {'type': 'integer'}, None)
    """
    found = {encode(part): part for node in _nodes(schema) for part in _parts(node, key)}
    if not found:
        return None
    parts = list(found.values())
    part = parts[0] if len(parts) == 1 else {"anyOf": parts}
    return _complete(part, schema) if any('"$ref"' in text for text in found) else part


def properties(schema: Any) -> set[str]:
    """List the names of all properties that a schema knows, in any of its alternatives."""
    known = (node.get("properties") for node in _nodes(schema))
    return {name for each in known if isinstance(each, dict) for name in each}


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema, what it refers to, and its alternatives, each once."""
    seen: set[int] = set()

    def follow(node: Any, steps: int) -> Iterator[dict[str, Any]]:
        if not isinstance(node, dict) or id(node) in seen or not steps:
            return
        seen.add(id(node))
        yield node
        yield from follow(_target(node.get("$ref"), schema), steps - 1)
        for keyword in _ALTERNATIVES:
            branches = node.get(keyword)
            for branch in branches if isinstance(branches, list) else ():
                yield from follow(branch, steps - 1)

    return follow(schema, _MAX_STEPS)


def _parts(node: dict[str, Any], key: str | None) -> Iterator[dict[str, Any]]:
    known = node.get("properties")
    if key is None:
        part = node.get("items")
    else:
        part = known[key] if isinstance(known, dict) and key in known else node.get("additionalProperties")
    if isinstance(part, dict):
        yield part


def _target(reference: Any, whole: Any) -> Any:
    """Follow a reference within a schema; None if it points to nothing."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    return pointed_at(whole, reference[1:])


def _complete(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Complete a part with the schema that its references point into."""
    kept = schema.get("$defs")
    draft = {"$schema": schema["$schema"]} if "$schema" in schema else {}
    if isinstance(kept, dict) and _WHOLE in kept:
        return {**part, **draft, "$defs": kept}
    whole = {name: each for name, each in _moved(schema).items() if name not in ("$id", "id")}
    return {**_moved(part), **draft, "$defs": {_WHOLE: whole}}


def _moved(node: Any) -> Any:
    """Make the references of a schema point into the copy of the whole one."""
    if isinstance(node, list):
        return [_moved(each) for each in node]
    if not isinstance(node, dict):
        return node
    moved = {name: each if name in _DATA else _moved(each) for name, each in node.items()}
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        moved["$ref"] = f"#/$defs/{_WHOLE}{reference[1:]}"
    return moved
