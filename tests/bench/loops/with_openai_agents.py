"""The loop of openai-agents, its tracing off."""

import asyncio

import openai
import talking
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)
MODEL = OpenAIChatCompletionsModel(
    talking.MODEL, openai.AsyncOpenAI(api_key=talking.KEY, base_url=talking.url())
)
AGENT = Agent("bench", model=MODEL, tools=[function_tool(talking.add)])

with asyncio.Runner() as loop:

    def go(prompt: str, rounds: int) -> object:
        """Run the agent to its final output."""
        return loop.run(Runner.run(AGENT, prompt, max_turns=rounds + 1)).final_output

    talking.serve(go, "openai-agents", "openai")
