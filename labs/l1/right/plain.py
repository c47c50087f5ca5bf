"""A loop, and a function that runs one call."""

import json


def run_loop(messages, tools, model, limit=8):
    messages = list(messages)
    schemas = [tool["schema"] for tool in tools.values()]
    for _ in range(limit):
        reply = model(messages, schemas)
        messages.append(reply)
        calls = reply.get("tool_calls") or []
        if not calls:
            break
        for call in calls:
            content = run_call(call["function"], tools)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return messages


def run_call(function, tools):
    if function["name"] not in tools:
        return f"Error: unknown tool {function['name']}"
    try:
        arguments = json.loads(function["arguments"])
        if not isinstance(arguments, dict):
            raise TypeError("arguments must be an object")
        tool = tools[function["name"]]
        if "confirm" in tool and tool["confirm"](**arguments) is not True:
            raise PermissionError("nobody said yes to this")
        value = tool["run"](**arguments)
    except Exception as error:
        return f"Error: {error}"
    return value if isinstance(value, str) else json.dumps(value)
