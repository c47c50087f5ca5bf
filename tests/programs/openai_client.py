"""A loop around the openai client: `openai_client.py chat|responses|kept [streamed]`.

With `kept`, the endpoint keeps the conversation, and a request holds only what is new.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from openai import OpenAI

MODEL = "gpt-5-mini"
QUESTION = "What is (2 + 3) * (4 + 5)?"
NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
TOOLS = [
    {"name": "add", "description": "Add two numbers.", "parameters": NUMBERS},
    {"name": "multiply", "description": "Multiply two numbers.", "parameters": NUMBERS},
]


def run(name: str, arguments: str) -> str:
    given = json.loads(arguments)
    if not all(isinstance(number, int) for number in given.values()):
        return "error: a and b must be integers"
    print("called", name, json.dumps(given), file=sys.stderr)
    return str(given["a"] + given["b"] if name == "add" else given["a"] * given["b"])


def chat(client: OpenAI, streamed: bool) -> str:
    tools: list[Any] = [{"type": "function", "function": tool} for tool in TOOLS]
    messages: list[Any] = [
        {"role": "system", "content": "Use the tools."},
        {"role": "user", "content": QUESTION},
    ]
    while True:
        if streamed:
            with client.chat.completions.stream(model=MODEL, messages=messages, tools=tools) as stream:
                message: Any = stream.get_final_completion().choices[0].message
        else:
            reply = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
            message = reply.choices[0].message
        if not message.tool_calls:
            return str(message.content)
        messages.append(message)
        for call in message.tool_calls:
            result = run(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def responses(client: OpenAI, streamed: bool, kept: bool) -> str:
    tools: list[Any] = [{"type": "function", "strict": True, **tool} for tool in TOOLS]
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    more: dict[str, Any] = {"instructions": "Use the tools."}
    while True:
        if streamed:
            with client.responses.stream(model=MODEL, input=items, tools=tools, **more) as stream:
                reply: Any = stream.get_final_response()
        else:
            reply = client.responses.create(model=MODEL, input=items, tools=tools, **more)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return str(reply.output_text)
        if kept:
            items, more["previous_response_id"] = [], reply.id
        else:
            items += reply.output
        for call in calls:
            result = run(call.name, call.arguments)
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


api, streamed = sys.argv[1], "streamed" in sys.argv
if api == "chat":
    print(chat(OpenAI(), streamed))
else:
    print(responses(OpenAI(), streamed, kept=api == "kept"))
