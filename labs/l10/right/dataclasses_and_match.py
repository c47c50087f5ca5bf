"""Dataclasses hold what is known, `match` decides; the state is made of them and read back."""

import json
from dataclasses import asdict, dataclass, field


def same(name, arguments):
    """A text that two calls share if they are the same; 1 and true are not."""
    return json.dumps([name, arguments], sort_keys=True)


@dataclass
class Memory:
    messages: list
    verdicts: list = field(default_factory=list)
    waiting: list = field(default_factory=list)
    turns_read: list = field(default_factory=list)
    turn: int = 0

    @classmethod
    def of(cls, state):
        return cls(**state)

    def verdict(self, name, arguments):
        return next((v["said"] for v in self.verdicts if v["call"] == same(name, arguments)), None)

    @property
    def tainted(self):
        return any(turn < self.turn for turn in self.turns_read)


@dataclass(frozen=True)
class Ask:
    name: str
    arguments: dict


def handle(memory, call, decision, tools, run):
    """The text of the result, or what to ask."""
    match call["function"]:
        case {"name": name, "arguments": text} if name in tools:
            try:
                arguments = json.loads(text)
            except (ValueError, TypeError):
                return "Error: the arguments are not JSON."
        case _:
            return "Error: there is no such tool."
    if not isinstance(arguments, dict):
        return "Error: the arguments are no object."
    match tools[name]["risk"], memory.tainted, memory.verdict(name, arguments) or decision:
        case ("high", _, None) | ("medium", True, None):
            return Ask(name, arguments)
        case ("high", _, "deny") | ("medium", True, "deny"):
            said = "deny"
        case _, _, said:
            pass
    if said in ("session", "deny") and memory.verdict(name, arguments) is None:
        memory.verdicts.append({"said": said, "call": same(name, arguments)})
    if said == "deny":
        return "DENIED by the user."
    if tools[name]["foreign"]:
        memory.turns_read.append(memory.turn)
    try:
        return run(name, arguments)
    except Exception as error:
        return f"ERROR ({type(error).__name__}): {error}"


def resume(state, decision, model, tools, run):
    memory = Memory.of(state)
    while True:
        while memory.waiting:
            result = handle(memory, memory.waiting[0], decision, tools, run)
            if isinstance(result, Ask):
                return {"asks": asdict(result), "state": asdict(memory)}
            decision = None
            call = memory.waiting.pop(0)
            memory.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        memory.turn += 1
        memory.messages.append(model(memory.messages))
        memory.waiting = list(memory.messages[-1].get("tool_calls") or [])
        if not memory.waiting:
            return {"asks": None, "state": asdict(memory)}
