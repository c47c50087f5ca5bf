"""A chain of llm: `llm_chain.py responses|chat [streamed]`."""

from __future__ import annotations

import json
import sys

import llm


def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("called add", json.dumps({"a": a, "b": b}), file=sys.stderr)
    return a + b


def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    print("called multiply", json.dumps({"a": a, "b": b}), file=sys.stderr)
    return a * b


model = llm.get_model("gpt-5-mini")
chain = model.chain(
    "What is (2 + 3) * (4 + 5)?",
    system="Use the tools.",
    tools=[add, multiply],
    stream="streamed" in sys.argv,
    options={"chat_completions": True} if sys.argv[1] == "chat" else {},
)
print(chain.text())
