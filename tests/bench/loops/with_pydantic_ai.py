"""The loop of pydantic-ai."""

import asyncio

import talking
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

PROVIDER = OpenAIProvider(base_url=talking.url(), api_key=talking.KEY)
AGENT = Agent(OpenAIChatModel(talking.MODEL, provider=PROVIDER), tools=[talking.add])

with asyncio.Runner() as loop:

    def go(prompt: str, rounds: int) -> object:
        """Run the agent to its output."""
        return loop.run(AGENT.run(prompt, usage_limits=UsageLimits(request_limit=rounds + 1))).output

    talking.serve(go, "pydantic-ai-slim", "openai")
