"""Variants: what is changed of a walk, as a plain function or as a dict of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.models.faulty.kinds import make_plan
from zoolab.records import Limits
from zoolab.steps.define import as_registry
from zoolab.study.cases import Setup
from zoolab.tools import Tool, ToolRegistry

#: Changes the setup that it is given, or returns another.
Variant = Callable[[Setup], Setup | None]

_KEYS = {field.name for field in fields(Setup)} - {"case", "seed"} | {"descriptions"}
_KEPT = 256


def variants_in(given: Any) -> dict[str, Variant]:
    """The variants by name; without any there is one, `plain`, that changes nothing.

    Raises:
        InvalidInput: One is neither a function nor a dict, or changes what is not there.
    """
    if given is None:
        return {"plain": Changes({})}
    if not isinstance(given, Mapping) or not given:
        raise InvalidInput(f"variants are {excerpt(given)}", expected="a dict of functions or of changes")
    return {str(name): _variant(str(name), variant) for name, variant in given.items()}


def _variant(name: str, given: Any) -> Variant:
    said = f"the variant {excerpt(name)}"
    if callable(given):
        return cast("Variant", given)
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{said} is {excerpt(given)}", expected="a function or a dict")
    unknown = next((key for key in given if key not in _KEYS), None)
    if unknown is not None:
        raise InvalidInput(f"{said} changes {excerpt(unknown)}", expected=", ".join(sorted(_KEYS)))
    try:
        return Changes(given)
    except InvalidInput as error:
        what = f"{said}: {error.what}"
        raise InvalidInput(what, expected=error.expected, advice=error.advice) from None


def check_described(variants: Mapping[str, Variant], tools: Iterable[ToolRegistry]) -> None:
    """Raise `InvalidInput` where a variant describes a tool, or a parameter, that no case has."""
    told = {name: one for name, one in variants.items() if isinstance(one, Changes) and one.descriptions}
    offered = {tool.name: tool for registry in tools for tool in registry} if told else {}
    for name, variant in told.items():
        known = {tool.name: tool for tool in variant.changes.get("tools", ())} or offered
        for each, text in variant.descriptions.items():
            if each not in known:
                what = f"the variant {excerpt(name)} describes {excerpt(each)}"
                raise InvalidInput(what, expected=f"one of {', '.join(known) or 'none'}")
            _described(known[each], text)


class Changes:
    """A variant that replaces fields of the setup; `descriptions` are those of tools, by name.

    A description is a text, or a dict with `description` and `parameters`, texts by name. Tools that a case
    does not have are left out: cases may offer different tools.
    """

    def __init__(self, changes: Mapping[str, Any]) -> None:
        #: The changes as they were given.
        self.plain = dict(changes)
        #: The fields of the setup that are replaced.
        self.changes = told = dict(changes)
        #: What is said of tools, by name.
        self.descriptions = _checked_descriptions(told.pop("descriptions", None) or {})
        if isinstance(told.get("limits"), Mapping):
            told["limits"] = _limits(told["limits"])
        if "faults" in told:
            faults = told["faults"]
            told["faults"] = faults if isinstance(faults, str | Mapping) else tuple(faults)
            make_plan(told["faults"], 0, None)  # which refuses faults that there are not
        if "tools" in told:
            told["tools"] = as_registry(told["tools"])
        if "messages" in told:
            told["messages"] = tuple(told["messages"])
        self._described: dict[int, tuple[ToolRegistry, ToolRegistry]] = {}

    def __call__(self, setup: Setup) -> Setup:
        for name, value in self.changes.items():
            setattr(setup, name, value)
        if self.descriptions:
            setup.tools = self._with_descriptions(setup.tools)
        return setup

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_described": {}}

    def _with_descriptions(self, tools: ToolRegistry) -> ToolRegistry:
        """Made once for the tools that many runs share."""
        known = self._described.get(id(tools))
        if known is None or known[0] is not tools:
            made = ToolRegistry(_described(tool, self.descriptions.get(tool.name)) for tool in tools)
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
        if name not in properties:
            what = f"a description of the parameter {excerpt(name)} of {tool.name}"
            raise InvalidInput(what, expected=f"one of {', '.join(properties) or 'none'}")
        properties[name] = {**properties.get(name, {}), "description": text}
    return replace(
        tool,
        description=told.get("description", tool.description),
        parameters={**parameters, "properties": properties},
    )


def _checked_descriptions(told: Any) -> Mapping[str, Any]:
    """Each a text, or a dict of `description` and `parameters`; None leaves one as it is."""
    if not isinstance(told, Mapping):
        what = f"descriptions are {excerpt(told)}"
        raise InvalidInput(what, expected="a dict of texts, by the tool's name")
    for name, text in told.items():
        fits = text is None or isinstance(text, str)
        if not fits and not (isinstance(text, Mapping) and text.keys() <= {"description", "parameters"}):
            raise InvalidInput(
                f"the description of {excerpt(name)} is {excerpt(text)}",
                expected="a text, or a dict with description and parameters",
            )
    return cast("Mapping[str, Any]", told)


def _limits(told: Mapping[str, Any]) -> Limits:
    names = {field.name for field in fields(Limits)}
    unknown = next((name for name in told if name not in names), None)
    if unknown is not None:
        raise InvalidInput(
            f"limits contain the unknown name {excerpt(unknown)}",
            expected=f"some of {', '.join(sorted(names))}",
        )
    return Limits(**told)
