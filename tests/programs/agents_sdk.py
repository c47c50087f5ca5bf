"""An agent of openai-agents: `agents_sdk.py responses|chat [streamed]`."""

from __future__ import annotations

import asyncio
import json
import sys

from agents import Agent, Runner, function_tool, set_default_openai_api, set_tracing_disabled


@function_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("called add", json.dumps({"a": a, "b": b}), file=sys.stderr)
    return a + b


@function_tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    print("called multiply", json.dumps({"a": a, "b": b}), file=sys.stderr)
    return a * b


async def main(api: str, streamed: bool) -> None:
    set_tracing_disabled(True)  # traces would go to api.openai.com
    if api == "chat":
        set_default_openai_api("chat_completions")
    agent = Agent(name="Calculator", instructions="Use the tools.", tools=[add, multiply], model="gpt-5-mini")
    question = "What is (2 + 3) * (4 + 5)?"
    if streamed:
        running = Runner.run_streamed(agent, question)
        async for _ in running.stream_events():
            pass
        print(running.final_output)
    else:
        print((await Runner.run(agent, question)).final_output)


asyncio.run(main(sys.argv[1], "streamed" in sys.argv))
