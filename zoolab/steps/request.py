"""Step 2, request: `messages[]` and the tools become what is sent to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import encode
from zoolab.records import Message, Messages, Request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zoolab.tools import ToolRegistry

TEXT_PROTOCOL = (
    "You can call these tools:\n{tools}\n\n"
    "To call a tool, reply with only one JSON object and nothing else:\n"
    '{{"name": "<tool name>", "arguments": {{<parameters>}}}}\n'
    "If no tool is needed, answer in plain text."
)


def opening_messages(
    prompt: str | None,
    system: str | None = None,
    messages: Iterable[Message] = (),
    text_tools: ToolRegistry | None = None,
) -> list[Message]:
    """The conversation before the first request.

    `text_tools` are described in the system prompt, for models that take no `tools`. What the
    conversation to be continued says already is not said twice.

    >>> [message["role"] for message in opening_messages("Hi", system="Be brief.")]
    ['system', 'user']
    """
    opening = list(messages)
    first = str(opening[0].get("content")) if opening and opening[0].get("role") == "system" else ""
    parts = (system, describe_in_text(text_tools))
    instructions = "\n\n".join(part for part in parts if part and part not in first)
    if instructions:
        opening.insert(0, {"role": "system", "content": instructions})
    if prompt is not None:
        opening.append({"role": "user", "content": prompt})
    if not opening:
        raise InvalidInput("nothing to send", expected="a prompt or messages")
    return opening


def describe_in_text(tools: ToolRegistry | None) -> str:
    """The tools and the way to call them, as a part of a system prompt; empty without tools.

    >>> describe_in_text(None)
    ''
    """
    if not tools:
        return ""
    lines = (f"- {tool.name}: {tool.description} Parameters: {encode(tool.parameters)}" for tool in tools)
    return TEXT_PROTOCOL.format(tools="\n".join(lines))


def make_request(
    messages: Messages,
    tools: tuple[dict[str, Any], ...],
    tool_choice: str,
    first: bool,
) -> Request:
    """The next request. A forced tool choice holds for the first one alone, or no walk would end.

    >>> make_request(Messages([]), (), "required", first=False).tool_choice
    'auto'
    """
    if tool_choice == "any":
        tool_choice = "required"
    forced = tool_choice not in ("auto", "none")
    return Request(messages, tools, "auto" if forced and not first else tool_choice)


def check_tool_choice(tool_choice: str, tools: ToolRegistry) -> None:
    """Refuse a choice that no request could carry.

    >>> from zoolab.tools import ToolRegistry
    >>> check_tool_choice("add", ToolRegistry())
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: tool_choice='add'; expected auto, required, none or no tools at all
    """
    known = tool_choice in ("auto", "none") or (tool_choice in ("any", "required") and len(tools) > 0)
    if not known and tool_choice not in tools:
        expected = f"auto, required, none or {tools.names_as_text()}"
        raise InvalidInput(f"tool_choice={tool_choice!r}", expected=expected)
