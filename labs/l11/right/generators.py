"""Rules are a chain of generators, each of which may end a call; schemas are strict in another dialect of JSON Schema."""

import json
from collections.abc import Mapping
from functools import reduce

SPEC = """
check_status service:string
read_logs service:string lines:integer?
check_disk_usage host:string
restart_service service:string
"""


def schema(words):
    properties, required = {}, []
    for word in words:
        name, _, kind = word.partition(":")
        properties[name] = {"type": kind.strip("?")}
        if kind.endswith("?"):
            properties[name] |= {"exclusiveMinimum": 0, "exclusiveMaximum": 101}
        else:
            required += [name]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "maxProperties": len(properties),
        "propertyNames": {"enum": list(properties)},
        "additionalProperties": False,
    }


TABLE = {line.split()[0]: schema(line.split()[1:]) for line in SPEC.strip().splitlines()}
TOOLS = [
    {"type": "function", "function": {"name": n, "description": n.replace("_", " "), "parameters": s, "strict": False}}
    for n, s in TABLE.items()
]


def checked(call, _ctx):
    name = call["function"]["name"]
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError as error:
        return "invalid", f"error: {error}"
    if name not in TABLE or not isinstance(arguments, Mapping):
        return "invalid", f"error: cannot call {name} with {arguments}"
    known = TABLE[name]["properties"]
    bad = set(TABLE[name]["required"]) - set(arguments) | set(arguments) - set(known)
    for key, value in arguments.items():
        kind = known.get(key, {}).get("type")
        ok = (kind == "string" and isinstance(value, str)) or (
            kind == "integer" and isinstance(value, int) and not isinstance(value, bool) and value in range(1, 101)
        )
        bad |= set() if ok else {key}
    return ("invalid", f"error in {sorted(bad)}") if bad else None


def limited(_call, ctx):
    return ("limit", "limit reached") if ctx["turn"] == 6 else None


def present(_call, ctx):
    return ("denied", "denied: nobody is there") if ctx["gone"] else None


def permitted(call, ctx):
    if call["function"]["name"] != "restart_service":
        return None
    service = json.loads(call["function"]["arguments"])["service"]
    if service in ctx["restarted"]:
        return "denied", "already restarted in this conversation"
    if service.split("-")[0] == "critical" and "-" in service:
        return "denied", "denied: critical"
    said = ctx["user"](f"The assistant asks to restart the service {service} now.\nAnswer yes or no: ")
    ctx["gone"] = said is None
    return None if said is not None and said.strip().upper() == "YES" else ("denied", "denied")


def performed(call, ctx):
    name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
    try:
        result = ctx["world"](name, arguments)
    except Exception as error:
        return "failed", f"error: {error}"
    if name == "restart_service":
        ctx["restarted"].add(arguments["service"])
    return "ran", json.dumps(result, indent=2)


def outcomes(calls, ctx):
    for call in calls:
        rules = (limited, present, checked, permitted, performed)
        outcome, content = reduce(lambda found, rule: found or rule(call, ctx), rules, None)
        yield {"name": call["function"]["name"], "outcome": outcome}, {
            "role": "tool",
            "content": content,
            "name": call["function"]["name"],
            "tool_call_id": call["id"],
        }


def assistant(user, model, world):
    ctx = {"user": user, "world": world, "restarted": set(), "gone": False, "turn": 0}
    history, trace = ({"role": "system", "content": "You look after a company."},), []
    said = user("Welcome. What is up?")
    while said is not None:
        history += ({"role": "user", "content": said},)
        for ctx["turn"] in range(1, 7):
            reply = model(list(history), TOOLS)
            history += (reply,)
            for entry, result in outcomes(reply.get("tool_calls") or (), ctx):
                trace.append(entry)
                history += (result,)
            if ctx["gone"]:
                return trace
            if not reply.get("tool_calls"):
                said = user(reply["content"])
                break
        else:
            said = user("Sorry: this is the limit for one round.")
    return trace
