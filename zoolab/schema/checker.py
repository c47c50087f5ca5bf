"""JSON Schema: compiled once, bounded, and never fetching anything. drafts.py: the drafts and the bounds.

`jsonschema` alone fetches a `$ref` over http and from disk, recurses on `{"$ref": "#"}`, takes
seconds for one bad `pattern` and minutes for a short chain of `allOf`. Here each of these ends in
an `InvalidSchema` when the schema is compiled, or in a problem when a value is checked.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from zoolab.errors import InvalidSchema, Problem
from zoolab.jsontext import encode, excerpt
from zoolab.jsontext.readonly import plain
from zoolab.schema.describe import describe
from zoolab.schema.drafts import TooMuchWork, bounded, check_against_metaschema, compiled, draft_of
from zoolab.schema.quick import plain_test, rs_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Validator = Literal["jsonschema", "rs"]

MAX_SCHEMA_CHARS = 1 << 16
MAX_SCHEMA_DEPTH = 48
MAX_PROBLEMS = 20

_DATA_KEYWORDS = frozenset({"const", "default", "enum", "examples"})


def check_schema_bounds(schema: Any) -> None:
    """Refuse a schema that is no JSON object, too large, too deep, or points outside itself.

    Cheap, and without jsonschema: it runs when a tool is defined.

    >>> check_schema_bounds({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}})
    Traceback (most recent call last):
    zoolab.errors.InvalidSchema: the schema points outside itself: "file:///etc/passwd"; ...
    """
    if not isinstance(schema, dict):
        raise InvalidSchema(f"a schema is {excerpt(schema)}", expected="a JSON object")
    draft = draft_of(schema)
    references: list[str] = []
    identifiers: set[str] = set()
    _survey(schema, MAX_SCHEMA_DEPTH, draft, references, identifiers)
    outside = [r for r in references if not r.startswith("#") and r.partition("#")[0] not in identifiers]
    if outside:
        raise InvalidSchema(
            f"the schema points outside itself: {excerpt(outside[0])}",
            expected="references that begin with #",
            advice="copy what it points to into $defs; nothing is ever fetched",
        )
    if len(_as_json(schema)) > MAX_SCHEMA_CHARS:
        raise InvalidSchema(
            f"a schema has more than {MAX_SCHEMA_CHARS:,} characters", advice="split the tool in two"
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

        try:
            with bounded():
                if self._validator.is_valid(value):
                    return ()
                return tuple(_first(describe(self._validator.iter_errors(value)), MAX_PROBLEMS))
        except (TooMuchWork, RecursionError):
            return (
                Problem(
                    "invalid_schema", "", "a schema that can be checked in bounded time", "one that cannot"
                ),
            )
        except Unresolvable as error:
            return (
                Problem("invalid_schema", "", "a schema that is complete in itself", excerpt(str(error))),
            )

    def compile(self, validator: Validator = "jsonschema") -> None:
        """Compile now what is else compiled when it is needed; raises `InvalidSchema` if it is wrong."""
        if validator == "rs" or self._meets_plainly is None:
            _ = self._meets_quickly if validator == "rs" else self._validator

    def __reduce__(self) -> tuple[type[SchemaChecker], tuple[Mapping[str, Any]]]:
        return SchemaChecker, (self._schema,)

    @cached_property
    def _meets_quickly(self) -> Callable[[Any], bool]:
        check_against_metaschema(self._schema)
        return rs_test(plain(self._schema))

    @cached_property
    def _validator(self) -> Any:
        """Compiled when it is first needed: beside JupyterLab, `import jsonschema` takes seconds."""
        return compiled(self._schema)


def _as_json(schema: Any) -> str:
    try:
        text = encode(schema)
        return json.dumps(schema, allow_nan=False) if "NaN" in text or "Infinity" in text else text
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidSchema(
            f"a schema is not JSON: {error}", expected="dicts, lists, texts and numbers"
        ) from None


def _survey(node: Any, depth: int, draft: str, references: list[str], identifiers: set[str]) -> None:
    if depth < 0:
        raise InvalidSchema(f"a schema has more than {MAX_SCHEMA_DEPTH} levels", advice="use $defs and $ref")
    if isinstance(node, dict):
        for key, child in node.items():
            if key in ("$ref", "$dynamicRef") and isinstance(child, str):
                references.append(child)
            elif key == ("id" if draft == "draft-04" else "$id") and isinstance(child, str):
                identifiers.add(child.rstrip("#"))
            elif key == "$schema" and isinstance(child, str) and draft_of(node) != draft:
                raise InvalidSchema(
                    f"a schema of {draft} contains one of {draft_of(node)}", expected="one draft in a schema"
                )
            elif key not in _DATA_KEYWORDS and isinstance(child, dict | list):
                _survey(child, depth - 1, draft, references, identifiers)
    elif isinstance(node, list):
        for child in node:
            if isinstance(child, dict | list):
                _survey(child, depth - 1, draft, references, identifiers)


def _first(problems: Iterable[Problem], limit: int) -> Iterator[Problem]:
    seen: set[Problem] = set()
    for problem in problems:
        if problem not in seen:
            seen.add(problem)
            yield problem
        if len(seen) == limit:
            return
