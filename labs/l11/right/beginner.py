"""A beginner's long style: everything in one function with ifs, the tools written out by hand."""

import json

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "check_status",
            "description": "Tells if a service is running.",
            "parameters": {
                "type": "object",
                "properties": {"service": {"type": "string"}},
                "required": ["service"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "read_logs",
            "description": "Reads the last lines of a log.",
            "parameters": {
                "type": "object",
                "properties": {
                    "service": {"type": "string"},
                    "lines": {"type": "integer", "minimum": 1, "maximum": 100},
                },
                "required": ["service"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "check_disk_usage",
            "description": "Tells how full the disks of a host are.",
            "parameters": {
                "type": "object",
                "properties": {"host": {"type": "string"}},
                "required": ["host"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "restart_service",
            "description": "Restarts a service. Causes downtime!",
            "parameters": {
                "type": "object",
                "properties": {"service": {"type": "string"}},
                "required": ["service"],
                "additionalProperties": False,
            },
        },
    },
]


def assistant(user, model, world):
    trace = []
    messages = []
    already_restarted = []

    text = user("Hello! What can I do for you?")
    if text is None:
        return trace
    messages.append({"role": "user", "content": text})
    count = 0

    while True:
        reply = model(messages, TOOLS)
        messages.append(reply)
        count = count + 1

        if "tool_calls" not in reply or not reply["tool_calls"]:
            text = user(reply["content"])
            if text is None:
                return trace
            messages.append({"role": "user", "content": text})
            count = 0
            continue

        user_is_gone = False
        for call in reply["tool_calls"]:
            name = call["function"]["name"]
            outcome = None
            content = None

            if count == 6:
                outcome = "limit"
                content = "The limit of this round was reached."
            elif user_is_gone:
                outcome = "denied"
                content = "denied, the user is gone"

            arguments = None
            if outcome is None:
                try:
                    arguments = json.loads(call["function"]["arguments"])
                except Exception:
                    outcome = "invalid"
                    content = "error: not JSON"

            if outcome is None and not isinstance(arguments, dict):
                outcome = "invalid"
                content = "error: not an object"

            if outcome is None:
                if name == "check_status" or name == "restart_service":
                    known = ["service"]
                    needed = "service"
                elif name == "read_logs":
                    known = ["service", "lines"]
                    needed = "service"
                elif name == "check_disk_usage":
                    known = ["host"]
                    needed = "host"
                else:
                    known = None
                    outcome = "invalid"
                    content = "error: unknown tool " + name

            if outcome is None:
                if needed not in arguments:
                    outcome = "invalid"
                    content = "error: " + needed + " is missing"
                for key in arguments:
                    if key not in known:
                        outcome = "invalid"
                        content = "error: unknown argument " + key
                    elif key == "lines":
                        if type(arguments[key]) != int:
                            outcome = "invalid"
                            content = "error: lines is not a whole number"
                        elif arguments[key] < 1 or arguments[key] > 100:
                            outcome = "invalid"
                            content = "error: lines must be between 1 and 100"
                    elif type(arguments[key]) != str:
                        outcome = "invalid"
                        content = "error: " + key + " is not a text"

            if outcome is None and name == "restart_service":
                service = arguments["service"]
                if service in already_restarted:
                    outcome = "denied"
                    content = service + " was already restarted"
                elif service.startswith("critical-"):
                    outcome = "denied"
                    content = "denied, " + service + " is critical"
                else:
                    answer = user("Shall I restart " + service + "? Please type yes or no.")
                    if answer is None:
                        user_is_gone = True
                        outcome = "denied"
                        content = "denied, the user is gone"
                    elif answer.strip().lower() != "yes":
                        outcome = "denied"
                        content = "the user denied it"

            if outcome is None:
                try:
                    result = world(name, arguments)
                    content = json.dumps(result)
                    outcome = "ran"
                    if name == "restart_service":
                        already_restarted.append(arguments["service"])
                except Exception as problem:
                    content = "error: " + str(problem)
                    outcome = "failed"

            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            trace.append({"name": name, "outcome": outcome})

        if user_is_gone:
            return trace
        if count == 6:
            text = user("I must stop here, I have reached my limit.")
            if text is None:
                return trace
            messages.append({"role": "user", "content": text})
            count = 0
