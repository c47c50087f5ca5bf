"""What the tests of the wire formats talk about: messages, tools and requests in OpenAI's form."""

from zoolab import Tool, ToolRegistry
from zoolab.apis import APIS
from zoolab.records import Request

NUMBER = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOLS = ToolRegistry([Tool("add", "Add.", NUMBER), Tool("now", "The time.", {"type": "object"})])
NAMES = sorted(APIS)
#: Those of which a test says one by one what they can say. What is added has tests of its own.
OWN = ["anthropic", "gemini", "ollama", "openai", "responses"]
CONVERTED = ["anthropic", "gemini", "ollama"]

USER = {"role": "user", "content": "Grüße, 東京 🌦️"}


def call(id="c1", name="add", arguments='{"a":1}'):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def answers(id="c1", content="2"):
    return {"role": "tool", "tool_call_id": id, "content": content}


def request(*messages, choice="auto", tools=TOOLS, **settings):
    return Request(list(messages), tuple(tools.schemas()), choice, settings)
