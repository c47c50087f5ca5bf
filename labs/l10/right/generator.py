"""A generator is the conversation: it yields each question and is sent the answer. To continue in another process,
the answers and the results so far are kept, and the conversation is led again from its start without running anything."""

import json


def conversation(start, model, tools, run, past):
    """Yields calls to ask about. `past` has what came of each reply, run and question so far; it is played first."""

    def once(do):
        if past["played"] == len(past["log"]):
            past["log"].append(do())
        past["played"] += 1
        return past["log"][past["played"] - 1]

    def tried(name, arguments):
        try:
            return run(name, arguments)
        except Exception as error:
            return f"error: {error}"

    messages, decided, foreign = list(start), {}, False
    while True:
        reply = once(lambda: model(messages))
        messages.append(reply)
        warned = foreign
        for call in reply.get("tool_calls") or ():
            name, text = call["function"]["name"], call["function"]["arguments"]
            try:
                arguments = json.loads(text)
            except ValueError:
                arguments = None
            content = "error: no such call is possible"
            if isinstance(arguments, dict) and name in tools:
                key = name + "\n" + json.dumps(arguments, sort_keys=True)
                risky = tools[name]["risk"] in (("medium", "high") if warned else ("high",))
                answer = decided.get(key) or ("once" if not risky else None)
                if answer is None:
                    if past["played"] == len(past["log"]):
                        past["log"].append((yield messages, {"name": name, "arguments": arguments}))
                    past["played"] += 1
                    answer = past["log"][past["played"] - 1]
                    if answer != "once":
                        decided[key] = answer
                if answer == "deny":
                    content = "denied"
                else:
                    foreign |= tools[name]["foreign"]
                    content = once(lambda name=name, arguments=arguments: tried(name, arguments))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        if not reply.get("tool_calls"):
            yield messages, None
            return


def resume(state, decision, model, tools, run):
    start = state.get("start", state["messages"])
    log = state.get("log", [])
    if decision is not None:
        log = [*log, decision]
    past = {"log": log, "played": 0}
    messages, asks = next(conversation(start, model, tools, run, past))
    return {"asks": asks, "state": {"messages": messages, "start": start, "log": past["log"]}}
