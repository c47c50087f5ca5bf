"""An agent of smolagents: `smol_agent.py chat [streamed]`."""

from __future__ import annotations

import json
import sys

from smolagents import LogLevel, OpenAIModel, ToolCallingAgent, tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    print("called add", json.dumps({"a": a, "b": b}), file=sys.stderr)
    return a + b


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    print("called multiply", json.dumps({"a": a, "b": b}), file=sys.stderr)
    return a * b


agent = ToolCallingAgent(
    tools=[add, multiply],
    model=OpenAIModel("gpt-5-mini"),
    stream_outputs="streamed" in sys.argv,
    verbosity_level=LogLevel.OFF,
)
print(agent.run("What is (2 + 3) * (4 + 5)?"))
