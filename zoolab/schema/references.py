"""The references of a schema, and what they point to: `$ref` and `$dynamicRef`, pointers, anchors and ids.

Only within the schema: what a reference means is what `referencing` makes of it when a value is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from zoolab.errors import InvalidSchema
from zoolab.schema.drafts import draft_of
from zoolab.schema.parts import pointed_at

_DATA = frozenset({"const", "default", "enum", "examples"})
#: Their keys are names, and not keywords.
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_ANCHORS = {"2020-12": ("$anchor", "$dynamicAnchor"), "2019-09": ("$anchor",)}


@dataclass(frozen=True, eq=False)
class _Resource:
    """A schema that an id names, or the whole one; pointers and anchors count from it."""

    root: Any
    anchors: set[str] = field(default_factory=set[str])


class References:
    """All references of a schema, with the places that they can name.

    Raises `InvalidSchema` if the schema is deeper than `depth`, or contains one of another draft.
    """

    def __init__(self, schema: dict[str, Any], depth: int) -> None:
        self._draft = draft_of(schema)
        self._depth = depth
        self._id = "id" if self._draft == "draft-04" else "$id"
        self._found: list[tuple[str, _Resource]] = []
        self._resources: dict[str, _Resource] = {}
        self._walk(schema, depth, _Resource(schema), keywords=True)

    def outside(self) -> Iterator[str]:
        """Return the references to something outside the schema."""
        return (text for text, base in self._found if self._resource_of(text, base) is None)

    def nowhere(self) -> Iterator[str]:
        """Return the references to something that is not in the schema, or that is not a schema itself."""
        return (text for text, base in self._found if not self._leads(text, self._resource_of(text, base)))

    def _resource_of(self, text: str, base: _Resource) -> _Resource | None:
        name = text.partition("#")[0]
        return self._resources.get(name) if name else base

    def _leads(self, text: str, resource: _Resource | None) -> bool:
        fragment = unquote(text.partition("#")[2])
        if resource is None or not fragment or not fragment.startswith("/"):
            return resource is not None and (not fragment or fragment in resource.anchors)
        return isinstance(pointed_at(resource.root, fragment), dict | bool)

    def _walk(self, node: Any, depth: int, resource: _Resource, *, keywords: bool) -> None:
        if depth < 0:
            raise InvalidSchema(f"a schema has more than {self._depth} levels", advice="use $defs and $ref")
        if isinstance(node, list):
            children = [(child, True) for child in node]
        else:
            resource = self._enter(node, resource) if keywords else resource
            children = [
                (child, not keywords or key not in _NAMED)
                for key, child in node.items()
                if not keywords or key not in _DATA
            ]
        for child, has_keywords in children:
            if isinstance(child, dict | list):
                self._walk(child, depth - 1, resource, keywords=has_keywords)

    def _enter(self, node: dict[str, Any], resource: _Resource) -> _Resource:
        """Return what a schema says of itself: its id, its anchors, and where it refers to."""
        if isinstance(node.get("$schema"), str) and draft_of(node) != self._draft:
            raise InvalidSchema(
                f"a schema of {self._draft} contains a schema of {draft_of(node)}",
                expected="one draft for the whole schema",
            )
        name = node.get(self._id)
        if isinstance(name, str) and name.startswith("#"):
            resource.anchors.add(name[1:])  # up to draft 7
        elif isinstance(name, str) and name.rstrip("#"):
            named_here = self._resources[name.rstrip("#")] = _Resource(node)
            # Up to draft 7, what stands beside a reference is ignored.
            resource = resource if "draft" in self._draft and "$ref" in node else named_here
        for keyword in _ANCHORS.get(self._draft, ()):
            if isinstance(node.get(keyword), str):
                resource.anchors.add(node[keyword])
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(node.get(keyword), str):
                self._found.append((node[keyword], resource))
        return resource
