"""The calls of a reply run side by side; results are put in order afterwards."""

import json
from concurrent.futures import ThreadPoolExecutor


def run_loop(messages, tools, model, limit=8):
    said = [*messages]
    schemas = tuple(tool["schema"] for tool in tools.values())
    with ThreadPoolExecutor(max_workers=4) as pool:
        asked = 0
        while asked < limit:
            reply = model(messages=said, tools=schemas)
            asked += 1
            said = [*said, reply]
            if not reply.get("tool_calls"):
                return said
            contents = pool.map(lambda call: outcome(call, tools), reply["tool_calls"])
            for call, content in zip(reply["tool_calls"], contents, strict=True):
                said.append(
                    {
                        "content": content,
                        "tool_call_id": call["id"],
                        "role": "tool",
                        "name": call["function"]["name"],
                    }
                )
    return said


def outcome(call, tools):
    name, text = call["function"]["name"], call["function"]["arguments"]
    try:
        arguments = json.loads(text)
    except ValueError:
        return json.dumps({"error": "these arguments are not JSON", "received": text})
    if type(arguments) is not dict:
        return json.dumps({"error": "expected one JSON object"})
    try:
        allowed = tools[name]["confirm"](**arguments) if "confirm" in tools[name] else True
        if allowed is not True:
            raise PermissionError("not confirmed")
        value = tools[name]["run"](**arguments)
    except Exception as problem:
        return json.dumps({"error": str(problem), "tool": name})
    return value if type(value) is str else json.dumps(value, indent=2)
