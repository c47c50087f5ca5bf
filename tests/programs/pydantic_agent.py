"""An agent of pydantic-ai: `pydantic_agent.py chat|responses|anthropic [streamed]`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterable
from typing import Any

from pydantic_ai import Agent

MODELS = {
    "chat": "openai-chat:gpt-5-mini",
    "responses": "openai-responses:gpt-5-mini",
    "anthropic": "anthropic:claude-sonnet-4-5",
}
agent = Agent(MODELS[sys.argv[1]], instructions="Use the tools.")


@agent.tool_plain
def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("called add", json.dumps({"a": a, "b": b}), file=sys.stderr)
    return a + b


@agent.tool_plain
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    print("called multiply", json.dumps({"a": a, "b": b}), file=sys.stderr)
    return a * b


async def listen(_: object, events: AsyncIterable[Any]) -> None:
    async for _event in events:
        pass


async def main(streamed: bool) -> None:
    question = "What is (2 + 3) * (4 + 5)?"
    # run_stream would take a text before the first calls for the answer.
    done = await agent.run(question, event_stream_handler=listen if streamed else None)
    print(done.output)


asyncio.run(main("streamed" in sys.argv))
