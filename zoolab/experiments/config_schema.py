"""What may stand in the TOML file of an experiment, as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.experiments.scorers import SCORERS
from zoolab.models.faulty import FAULTS

__all__ = ["CASE", "EXPERIMENT"]

_TEXT, _NAMES = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_COUNT, _FROM_0 = {"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 0}
_ABOVE_0 = {"type": "number", "exclusiveMinimum": 0}


def _table(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


CASE: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("id", "prompt", "system", "expected_tool"), _TEXT),
        "tools": _NAMES,
        "expected_calls": {"type": ["array", "string"]},
        "expected_answer": {"type": ["string", "number", "array"]},
    },
    "required": ["prompt"],
}
_LIMITS = _table(
    {
        **dict.fromkeys(("turns", "calls_per_turn", "tokens", "result_bytes", "requests"), _COUNT),
        **dict.fromkeys(("retries", "depth"), _FROM_0),
        "seconds": _ABOVE_0,
        "repeats": {"type": "integer", "minimum": 2},
    }
)
_VARIANT = _table(
    {
        "system": _TEXT,
        "prompt": _TEXT,
        "tool_choice": _TEXT,
        "tools": _NAMES,
        "deny": _NAMES,
        "parallel": {"type": "boolean"},
        "allow": {"type": "boolean"},
        "limits": _LIMITS,
        "descriptions": {"type": "object", "additionalProperties": {"type": ["string", "object"]}},
        "repair": {"enum": ["rules"]},
        "retrieve": _COUNT,
        "calls": {"enum": ["native", "text", "auto"]},
        "envelope": {"enum": ["json", "plain"]},
        "faults": {
            "type": ["array", "object"],
            "items": {"enum": list(FAULTS)},
            "propertyNames": {"enum": list(FAULTS)},
            "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1},
        },
    }
)
_MODEL = _table(
    {
        "kind": {"enum": ["local", "openai", "recording", "scripted"]},
        "name": _TEXT,
        "base_url": _TEXT,
        "path": _TEXT,
        "settings": {"type": "object"},
        "replies": {"type": "array"},
    },
    "kind",
)
EXPERIMENT: Mapping[str, Any] = _table(
    {
        "title": _TEXT,
        "repeats": _COUNT,
        "seed": {"type": "integer"},
        "tools": _NAMES,
        "scorers": {"type": "array", "items": {"enum": sorted(SCORERS)}},
        "cases": {"type": ["string", "array"], "items": CASE},
        "variants": {"type": "object", "additionalProperties": _VARIANT},
        "models": {"type": "object", "additionalProperties": _MODEL, "minProperties": 1},
        "pace": _table(
            {"requests": _ABOVE_0, "tokens": _ABOVE_0, "retries": {"type": "integer", "minimum": 0}}
        ),
        "budget": _table({"requests": _ABOVE_0, "tokens": _ABOVE_0}),
        "cache": {"type": "boolean"},
    },
    "cases",
    "models",
)
