"""One loop over requests, with counters; schemas are written out and interpreted."""

import json

TEXT, NUMBER = {"type": "string"}, {"type": "integer", "minimum": 1, "maximum": 100}
KEYS = {
    "check_status": {"service": TEXT},
    "read_logs": {"service": TEXT, "lines": NUMBER},
    "check_disk_usage": {"host": TEXT},
    "restart_service": {"service": TEXT},
}
TOOLS = []
for name, keys in KEYS.items():
    schema = {"type": "object", "properties": keys, "required": list(keys)[:1], "additionalProperties": False}
    TOOLS.append({"type": "function", "function": {"name": name, "description": name, "parameters": schema}})


def wrong(name, arguments):
    if name not in KEYS:
        return [name]
    keys = [*arguments, *list(KEYS[name])[:1]]
    good = {"service": str, "host": str, "lines": int}
    fits = {key: key in KEYS[name] and type(arguments.get(key)) is good[key] for key in keys}
    fits["lines"] = fits.get("lines", True) and 1 <= arguments.get("lines", 1) <= 100
    return [key for key in fits if not fits[key]]


def assistant(user, model, world):
    messages, trace, restarted = [], [], []
    asked, line = 0, user("Good morning.")
    if line is None:
        return trace
    messages.append({"role": "user", "content": line})
    while line is not None:
        asked += 1
        reply = model(list(messages), TOOLS)
        messages.append(reply)
        for call in reply.get("tool_calls") or ():
            name, content, outcome = call["function"]["name"], None, "denied"
            try:
                arguments = json.loads(call["function"]["arguments"])
            except ValueError:
                arguments = None
            if line is None:
                content = "denied"
            elif asked == 6:
                content = outcome = "limit"
            elif not isinstance(arguments, dict) or wrong(name, arguments):
                bad = wrong(name, arguments if isinstance(arguments, dict) else {})
                content, outcome = f"error {bad}", "invalid"
            elif name == "restart_service" and arguments["service"] in restarted:
                content = "already done"
            elif name == "restart_service" and arguments["service"].startswith("critical-"):
                content = "denied"
            elif name == "restart_service":
                line = user(f"Restart {arguments['service']}?")
                content = None if str(line).strip().lower() == "yes" else "denied"
            if content is None:
                try:
                    content, outcome = json.dumps(world(name, arguments)), "ran"
                    restarted += [each for each in arguments.values() if name == "restart_service"]
                except Exception as error:
                    content, outcome = f"error: {error}", "failed"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            trace.append({"name": name, "outcome": outcome})
        if line is not None and (asked == 6 or not reply.get("tool_calls")):
            line = user(reply["content"] if not reply.get("tool_calls") else "My limit is reached.")
            asked = 0
            messages.append({"role": "user", "content": line})
    return trace
