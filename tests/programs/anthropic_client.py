"""A loop around the anthropic client: `anthropic_client.py [streamed]`."""

from __future__ import annotations

import json
import sys
from typing import Any

from anthropic import Anthropic

NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOLS: list[Any] = [
    {"name": "add", "description": "Add two numbers.", "input_schema": NUMBERS},
    {"name": "multiply", "description": "Multiply two numbers.", "input_schema": NUMBERS},
]


def run(name: str, given: dict[str, Any]) -> tuple[str, bool]:
    if not all(isinstance(number, int) for number in given.values()):
        return "a and b must be integers", True
    print("called", name, json.dumps(given), file=sys.stderr)
    return str(given["a"] + given["b"] if name == "add" else given["a"] * given["b"]), False


client = Anthropic()
messages: list[Any] = [{"role": "user", "content": "What is (2 + 3) * (4 + 5)?"}]
asked: dict[str, Any] = {"model": "claude-sonnet-5", "max_tokens": 1000, "system": "Use the tools."}
while True:
    if "streamed" in sys.argv:
        with client.messages.stream(messages=messages, tools=TOOLS, **asked) as stream:
            reply: Any = stream.get_final_message()
    else:
        reply = client.messages.create(messages=messages, tools=TOOLS, **asked)
    messages.append({"role": "assistant", "content": reply.content})
    if reply.stop_reason != "tool_use":
        break
    results = []
    for block in reply.content:
        if block.type == "tool_use":
            said, failed = run(block.name, block.input)
            result = {"type": "tool_result", "tool_use_id": block.id, "content": said, "is_error": failed}
            results.append(result)
    messages.append({"role": "user", "content": results})
print("".join(block.text for block in reply.content if block.type == "text"))
