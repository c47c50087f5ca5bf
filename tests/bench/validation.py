"""A validation, beside `json.loads` and a compiled jsonschema validator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from jsonschema import Draft202012Validator
from pairs import Effort, Row, compare

from zoolab import Tool
from zoolab.steps.validate import check_arguments

PLAIN = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1},
        "filters": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"enum": ["name", "date"]}, "value": {"type": ["string", "number"]}},
                "required": ["field", "value"],
            },
        },
    },
    "required": ["query"],
}
CASES = (
    ("plain schema", PLAIN, '{"city": "Oslo", "days": 3}'),
    (
        "nested schema",
        NESTED,
        '{"query": "x", "filters": [{"field": "name", "value": 1}, {"field": "date", "value": "2"}]}',
    ),
)


def rows(effort: Effort) -> Iterator[Row]:
    """Arguments that meet their schema, once it is compiled."""
    for label, schema, raw in CASES:
        tool = Tool.from_schema("f", "F.", schema, dict)
        validator = Draft202012Validator(schema)
        yield compare(
            "validation",
            f"a call's arguments, {label}",
            partial(check_arguments, raw, tool),
            lambda raw=raw, validator=validator: validator.is_valid(json.loads(raw)),
            "json.loads and a compiled jsonschema validator",
            effort,
            times=300,
        )
