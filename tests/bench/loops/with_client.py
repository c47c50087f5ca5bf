"""A loop by hand around the openai client: `create`, json.loads, compiled jsonschema, the call, append."""

import json

import openai
import talking
from jsonschema import Draft202012Validator

CLIENT = openai.OpenAI(api_key=talking.KEY, base_url=talking.url())
PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
FUNCTION = {"name": "add", "description": "Add two integers.", "parameters": PARAMETERS}
TOOLS = [{"type": "function", "function": FUNCTION}]
VALIDATOR = Draft202012Validator(PARAMETERS)


def go(prompt: str, rounds: int) -> object:
    """Ask until there are no more calls."""
    messages = [{"role": "user", "content": prompt}]
    for _ in range(rounds + 1):
        reply = CLIENT.chat.completions.create(model=talking.MODEL, messages=messages, tools=TOOLS)
        message = reply.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.to_dict())
        for call in message.tool_calls:
            arguments = json.loads(call.function.arguments)
            VALIDATOR.validate(arguments)
            content = json.dumps(talking.add(**arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    return None


talking.serve(go, "openai")
