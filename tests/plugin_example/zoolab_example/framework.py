"""Tools of a framework: a recipe that can be cooked."""

from __future__ import annotations

from typing import Any


def recipe(given: Any) -> dict[str, Any] | None:
    """Return the fields of a zoolab tool for a recipe, and None for anything else."""
    if not hasattr(given, "dish") or not hasattr(given, "cook"):
        return None
    parameters = {"type": "object", "properties": {"guests": {"type": "integer"}}, "required": ["guests"]}
    named = {"name": given.dish, "description": f"Cook {given.dish}."}
    return {**named, "parameters": parameters, "function": given.cook}
