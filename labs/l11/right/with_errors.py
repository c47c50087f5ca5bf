"""Whatever keeps a call from running is an exception; a class keeps the conversation. It prints its log."""

import json

SERVICE = {"service": {"type": "string", "minLength": 0}}
ARGUMENTS = {
    "check_status": (SERVICE, ["service"]),
    "read_logs": ({**SERVICE, "lines": {"type": "integer", "minimum": 1, "maximum": 100}}, ["service"]),
    "check_disk_usage": ({"host": {"type": "string"}}, ["host"]),
    "restart_service": (SERVICE, ["service"]),
}
SHAPE = {"type": "object", "additionalProperties": False}
TOOLS = [
    {
        "type": "function",
        "function": {"name": n, "description": n, "parameters": {**SHAPE, "properties": p, "required": r}},
    }
    for n, (p, r) in ARGUMENTS.items()
]


class Stopped(Exception):
    "A call that does not run: the outcome, and the text for the model."


class Assistant:
    def __init__(self, user, model, world):
        self.user, self.model, self.world = user, model, world
        self.messages = [{"role": "system", "content": "Help."}]
        self.trace, self.done, self.left = [], [], False

    def check(self, name, text):
        try:
            arguments = dict(json.loads(text).items())
            properties, required = ARGUMENTS[name]
        except (ValueError, AttributeError, KeyError) as error:
            raise Stopped("invalid", f"ERROR {error!r}") from None
        for key in {*required, *arguments}:
            value = arguments.get(key)
            fits = type(value) is int and 0 < value < 101 if key == "lines" else isinstance(value, str)
            if key not in properties or not fits:
                raise Stopped("invalid", f"ERROR in {key}")
        return arguments

    def allow(self, service):
        if service in self.done:
            raise Stopped("denied", "It was ALREADY restarted.")
        if service[:9] == "critical-":
            raise Stopped("denied", "Denied, it is critical.")
        answer = self.user(f"The model wants to restart {service}. Type yes to allow it.")
        self.left = answer is None
        if self.left or answer.strip().casefold() != "yes":
            raise Stopped("denied", "Denied.")

    def run(self, call, turn):
        name = call["function"]["name"]
        try:
            if self.left or turn == 6:
                raise Stopped(*(("denied", "Denied.") if self.left else ("limit", "LIMIT")))
            arguments = self.check(name, call["function"]["arguments"])
            if name == "restart_service":
                self.allow(arguments["service"])
            outcome, content = "ran", json.dumps(self.world(name, arguments))
            self.done += [arguments["service"]] if name == "restart_service" else []
        except Stopped as stopped:
            outcome, content = stopped.args
        except Exception as error:
            outcome, content = "failed", f"ERROR {error}"
        print(name, outcome)
        self.trace.append({"outcome": outcome, "name": name})
        self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    def round(self, line):
        self.messages.append({"role": "user", "content": line})
        for turn in range(1, 7):
            self.messages.append(self.model(self.messages, TOOLS))
            calls = self.messages[-1].get("tool_calls")
            if not calls:
                return self.messages[-1]["content"]
            for call in calls:
                self.run(call, turn)
            if self.left:
                return None
        return "That was the limit of this round."


def assistant(user, model, world):
    me = Assistant(user, model, world)
    text = "Hello."
    while text is not None and (line := user(text)) is not None:
        text = me.round(line)
    return me.trace
