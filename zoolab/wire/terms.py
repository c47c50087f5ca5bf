"""What the formats have in common in how the terms of a request are made plain: tools, choice, settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.wire.notes import Notes, Path

#: Said of a tool that is an API's own.
FOREIGN = "it is sent as it is; other APIs do not know it"


def plain_tools(
    tools: tuple[dict[str, Any], ...], there_and_back: Callable[[Any], dict[str, Any]], notes: Notes
) -> tuple[dict[str, Any], ...]:
    """The tools as they come back.

    >>> plain_tools(({"function": {"name": "now"}},), lambda tool: {"type": "function", **tool}, Notes())
    ({'type': 'function', 'function': {'name': 'now'}},)
    """
    made = []
    for index, tool in enumerate(tools):
        back = there_and_back(tool)
        if "function" not in back:
            notes.add("foreign_tool", ("tools", index), FOREIGN)
        else:
            _compare_tool(tool, back, ("tools", index), notes)
        made.append(back)
    return tuple(made)


def plain_choice(choice: Any, tools: tuple[dict[str, Any], ...], notes: Notes) -> str:
    """The choice as it comes back: without tools there is nothing to choose from.

    >>> plain_choice("required", (), Notes())
    'auto'
    """
    if not isinstance(choice, str):
        raise InvalidInput(f"tool_choice is {excerpt(choice)}", expected="auto, required, none or a name")
    if choice != "auto" and not tools:
        notes.add("tool_choice", ("tool_choice",), f"{choice!r} says nothing where there are no tools")
        return "auto"
    return choice


def plain_settings(
    settings: Mapping[str, Any], back: dict[str, Any], names: Mapping[str, str], notes: Notes
) -> dict[str, Any]:
    """The settings as they come back, compared to what was asked; `names` are those that others go by.

    >>> notes = Notes()
    >>> plain_settings({"stop_sequences": ["."]}, {"stop": ["."]}, {"stop_sequences": "stop"}, notes)
    {'stop': ['.']}
    >>> print(notes.warnings[0])
    setting_changed at /stop_sequences: it comes back as stop
    """
    renamed = {
        key: names[key]
        for key, value in settings.items()
        if key in names and names[key] in back and back[names[key]] in (value, [value])
    }
    for key, value in settings.items():
        if key in back:
            notes.add_if_changed("setting_changed", (key,), "it has another form here", value, back[key])
        elif key in renamed:
            notes.add("setting_changed", (key,), f"it comes back as {renamed[key]}")
        else:
            notes.add("setting_dropped", (key,), "there is no place for it here")
    for key in back:
        if key not in settings and key not in renamed.values():
            notes.add("setting_added", (key,), f"it is {excerpt(back[key])} unless given")
    return back


def _compare_tool(tool: dict[str, Any], back: dict[str, Any], path: Path, notes: Notes) -> None:
    given, made = tool["function"], back["function"]
    for key in {**tool, **back}:
        if key not in back:
            notes.add("tool_field", (*path, str(key)), "it is not said here")
        elif key not in tool or (key != "function" and tool[key] != back[key]):
            notes.add("tool_field", (*path, str(key)), f"it is {excerpt(back[key])} here")
    for key in {**given, **made}:
        where = (*path, "function", str(key))
        if key == "strict" and given.get(key) and key not in made:
            notes.add("strict", where, "there are no strict tools here")
        elif key not in made:
            notes.add("tool_field", where, "it is not said here")
        elif key not in given:
            notes.add("tool_field", where, f"it is {excerpt(made[key])} unless given")
        else:
            notes.add_if_changed("tool_field", where, "it has another form here", given[key], made[key])
