"""An agent of LangGraph with langchain-openai: `langgraph_agent.py chat|responses [streamed]`."""

from __future__ import annotations

import json
import sys
import warnings

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

warnings.simplefilter("ignore")  # the package langchain has create_react_agent under a new name


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("called add", json.dumps({"a": a, "b": b}), file=sys.stderr)
    return a + b


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    print("called multiply", json.dumps({"a": a, "b": b}), file=sys.stderr)
    return a * b


model = ChatOpenAI(model="gpt-5-mini", use_responses_api=sys.argv[1] == "responses")
agent = create_react_agent(model, [add, multiply], prompt="Use the tools.")
question = {"messages": [{"role": "user", "content": "What is (2 + 3) * (4 + 5)?"}]}
if "streamed" in sys.argv:
    said = ""
    for chunk, _ in agent.stream(question, stream_mode="messages"):
        if chunk.type == "AIMessageChunk":
            said = "" if chunk.tool_call_chunks else said + chunk.text
    print(said)
else:
    print(agent.invoke(question)["messages"][-1].text)
