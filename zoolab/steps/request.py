"""Step 2, request: `messages[]` and the tools become what is sent to the model."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import encode, excerpt
from zoolab.records import Message
from zoolab.records.exchange import advice_on
from zoolab.tools import Tool, ToolRegistry

TEXT_PROTOCOL = (
    "You can call these tools:\n{tools}\n\n"
    "To call a tool, reply with only one JSON object and nothing else:\n"
    '{{"name": "<tool name>", "arguments": {{<parameters>}}}}\n'
    "{else_what}"
)
_PROTOCOL_BEGINS = TEXT_PROTOCOL.partition("{")[0]
_ELSE = {
    "auto": "If no tool is needed, answer in plain text.",
    "required": "Begin with a call of one of them.",
}


def opening_messages(
    prompt: str | None,
    system: str | None = None,
    messages: Iterable[Message] = (),
    text_tools: Iterable[Tool] = (),
    tool_choice: str = "auto",
) -> list[Message]:
    """Build the conversation before the first request.

    `text_tools` are described in the system prompt, for models that take no `tools`. What the
    conversation to be continued says already is not said twice.
    """
    opening = list(messages)
    first = str(opening[0].get("content")) if opening and opening[0].get("role") == "system" else ""
    lines = [
        f"- {tool.name}: {tool.description} Parameters: {encode(tool.parameters)}" for tool in text_tools
    ]
    if _PROTOCOL_BEGINS in first and all(line in first for line in lines):
        lines = []
    else_what = _ELSE.get(tool_choice, f"Begin with a call of {tool_choice}.")
    parts = (system, TEXT_PROTOCOL.format(tools="\n".join(lines), else_what=else_what) if lines else "")
    instructions = "\n\n".join(part for part in parts if part and part not in first)
    if instructions:
        opening.insert(0, {"role": "system", "content": instructions})
    if prompt is not None:
        opening.append({"role": "user", "content": prompt})
    if not opening:
        raise InvalidInput("there is nothing to send", expected="a prompt or messages")
    return opening


def deny_names(deny: object, tools: ToolRegistry) -> frozenset[str]:
    """Return the names of forbidden tools. Reject a name that no tool has: it would forbid nothing."""
    if deny is None:
        return frozenset()
    if isinstance(deny, str) or not isinstance(deny, Collection):
        raise InvalidInput(f"deny is {excerpt(deny)}", expected="a list of names, as in deny=['rm']")
    names: list[Any] = [getattr(item, "name", item) for item in deny]
    for name in names:
        if name not in tools.names():
            raise InvalidInput(f"deny lists the unknown tool {excerpt(name)}", expected=tools.names_as_text())
    return frozenset(names)


def check_tool_choice(tool_choice: object, tools: ToolRegistry) -> None:
    """Refuse a choice that no request could carry."""
    if not isinstance(tool_choice, str):
        raise InvalidInput(f"tool_choice is {excerpt(tool_choice)}", expected="a tool's name, as a text")
    known = tool_choice in ("auto", "none") or (tool_choice == "required" and len(tools) > 0)
    if not known and tool_choice not in tools:
        expected = f"auto, required, none or {tools.names_as_text()}"
        raise InvalidInput(f"tool_choice={tool_choice!r}", expected=expected, advice=advice_on(tool_choice))
