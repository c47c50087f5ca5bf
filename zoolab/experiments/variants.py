"""Variants: what is changed of a walk, as a plain function or as a dict of changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, cast

from zoolab.errors import InvalidInput
from zoolab.experiments.records import Setup
from zoolab.jsontext import excerpt
from zoolab.records import Limits
from zoolab.registry import ToolRegistry
from zoolab.steps.define import as_registry
from zoolab.tools import Tool

__all__ = ["Changes", "Variant", "variants_in"]

Variant = Callable[[Setup], Setup]

_READ_ONLY = ("case", "seed")
_KEYS = {field.name for field in fields(Setup)} - {*_READ_ONLY} | {"descriptions"}
_KEPT = 256


def variants_in(given: Any) -> dict[str, Variant]:
    """The variants by name; without any there is one, `plain`, that changes nothing.

    Raises:
        InvalidInput: One is neither a function nor a dict, or changes what is not there.

    >>> list(variants_in(None)), list(variants_in({"plain": {}, "strict": {"tool_choice": "required"}}))
    (['plain'], ['plain', 'strict'])
    >>> variants_in({"louder": {"sytem": "Shout."}})
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: the variant "louder" changes "sytem"; expected ...
    """
    if given is None:
        return {"plain": Changes({})}
    if not isinstance(given, Mapping) or not given:
        raise InvalidInput(f"variants are {excerpt(given)}", expected="a dict of functions or of changes")
    return {str(name): _variant(str(name), variant) for name, variant in given.items()}


def _variant(name: str, given: Any) -> Variant:
    if isinstance(given, Mapping):
        unknown = next((key for key in given if key not in _KEYS), None)
        if unknown is not None:
            what = f"the variant {excerpt(name)} changes {excerpt(unknown)}"
            raise InvalidInput(what, expected=", ".join(sorted(_KEYS)))
        return Changes(cast("Mapping[str, Any]", given))
    if not callable(given):
        raise InvalidInput(
            f"the variant {excerpt(name)} is {excerpt(given)}", expected="a function or a dict"
        )
    return cast("Variant", given)


class Changes:
    """A variant that replaces fields of the setup; `descriptions` are those of tools, by name.

    A description is a text, or a dict with `description` and `parameters`, texts by name.

    >>> from zoolab.experiments.records import Case
    >>> tools = ToolRegistry([Tool("now", "The time.", {"type": "object"})])
    >>> setup = Setup(Case("1", "When?"), "When?", tools, None)
    >>> changed = Changes({"descriptions": {"now": "The time in UTC."}, "limits": {"turns": 2}})(setup)
    >>> changed.tools["now"].description, changed.limits.turns
    ('The time in UTC.', 2)
    """

    def __init__(self, changes: Mapping[str, Any]) -> None:
        told = dict(changes)
        self.plain = dict(changes)
        self._descriptions = told.pop("descriptions", None) or {}
        if isinstance(told.get("limits"), Mapping):
            told["limits"] = Limits(**told["limits"])
        if "tools" in told:
            told["tools"] = as_registry(told["tools"])
        if "messages" in told:
            told["messages"] = tuple(told["messages"])
        self._changes = told
        self._described: dict[int, tuple[ToolRegistry, ToolRegistry]] = {}

    def __call__(self, setup: Setup) -> Setup:
        for name, value in self._changes.items():
            setattr(setup, name, value)
        if self._descriptions:
            setup.tools = self._with_descriptions(setup.tools)
        return setup

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_described": {}}

    def _with_descriptions(self, tools: ToolRegistry) -> ToolRegistry:
        """Made once for the tools that many runs share."""
        known = self._described.get(id(tools))
        if known is None or known[0] is not tools:
            missing = next((name for name in self._descriptions if name not in tools), None)
            if missing is not None:
                raise InvalidInput(f"a description of {excerpt(missing)}", expected=tools.names_as_text())
            made = ToolRegistry(_described(tool, self._descriptions.get(tool.name)) for tool in tools)
            if len(self._described) >= _KEPT:
                self._described.clear()
            known = self._described[id(tools)] = (tools, made)
        return known[1]


def _described(tool: Tool, told: Any) -> Tool:
    if told is None or isinstance(told, str):
        return tool if told is None else replace(tool, description=told)
    parameters = dict(tool.parameters)
    properties = dict(parameters.get("properties", {}))
    for name, text in (told.get("parameters") or {}).items():
        properties[name] = {**properties.get(name, {}), "description": text}
    return replace(
        tool,
        description=told.get("description", tool.description),
        parameters={**parameters, "properties": properties},
    )
