"""The loop of smolagents: its agent that calls tools, with nothing printed."""

import talking
from smolagents import LogLevel, OpenAIModel, ToolCallingAgent, tool

MODEL = OpenAIModel(talking.MODEL, api_base=talking.url(), api_key=talking.KEY)
AGENT = ToolCallingAgent([tool(talking.add)], MODEL, verbosity_level=LogLevel.OFF)


def go(prompt: str, rounds: int) -> object:
    """Run the agent to the tool that ends it."""
    return AGENT.run(prompt, max_steps=rounds + 1)


talking.serve(go, "smolagents", "openai")
