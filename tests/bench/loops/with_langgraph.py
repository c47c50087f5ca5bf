"""The loop of langgraph: its ready agent, around langchain-openai's chat model."""

import warnings

import talking
from langchain_openai import ChatOpenAI

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langgraph.prebuilt import create_react_agent

    MODEL = ChatOpenAI(model=talking.MODEL, base_url=talking.url(), api_key=talking.KEY)
    AGENT = create_react_agent(MODEL, [talking.add])


def go(prompt: str, rounds: int) -> object:
    """Invoke the graph: two steps a round."""
    asked = {"messages": [{"role": "user", "content": prompt}]}
    return AGENT.invoke(asked, {"recursion_limit": 2 * rounds + 2})["messages"][-1].content


talking.serve(go, "langgraph", "langchain-openai", "openai")
