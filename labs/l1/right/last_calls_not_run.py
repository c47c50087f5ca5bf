"""The calls of the last reply that the limit allows are answered, and not run."""

import json


def run_loop(messages, tools, model, limit):
    conversation = []
    conversation.extend(messages)
    schemas = [tools[name]["schema"] for name in sorted(tools)]
    while limit > 0:
        limit -= 1
        reply = model(list(conversation), schemas)
        conversation += [reply]
        calls = reply.get("tool_calls")
        if not calls:
            return conversation
        for call in calls:
            text = (
                run(call["function"], tools)
                if limit
                else "not run: an error, the limit of requests is reached"
            )
            conversation += [{"role": "tool", "tool_call_id": call["id"], "content": text}]
    return conversation


def run(function, tools):
    tool = tools.get(function["name"])
    if tool is None:
        return f"ERROR: {function['name']} is none of {', '.join(tools)}"
    try:
        arguments = json.loads(function["arguments"])
    except json.JSONDecodeError as error:
        return f"ERROR: {error}"
    if not isinstance(arguments, dict):
        return f"ERROR: arguments must be an object, not {type(arguments).__name__}"
    try:
        if "confirm" in tool and tool["confirm"](**arguments) is not True:
            return "ERROR: this needs a yes"
        value = tool["run"](**arguments)
    except Exception as error:
        return f"ERROR: {type(error).__name__}: {error}"
    if isinstance(value, str):
        return value
    return json.dumps(value)
