"""Where the work is, is read from the messages each time; the answers are a list."""

import json


def resume(state, decision, model, tools, run):
    messages, answers, foreign = state["messages"], state.get("answers", []), state.get("foreign", [])
    while True:
        at = max(n for n, message in enumerate(messages) if message["role"] != "tool")
        calls = messages[at].get("tool_calls") or []
        if messages[at]["role"] == "assistant" and not calls:
            return {"asks": None, "state": {"messages": messages}}
        done = len(messages) - at - 1
        if done == len(calls):
            messages.append(model(messages))
            continue
        name, text = calls[done]["function"]["name"], calls[done]["function"]["arguments"]
        content = "Error: this call cannot run."
        arguments = read(text)
        if arguments is not None and name in tools:
            this = json.dumps([name, arguments], sort_keys=True)
            known = [said for said, call in answers if call == this]
            risk = tools[name]["risk"]
            risky = risk == "high" or (risk == "medium" and any(turn < at for turn in foreign))
            if risky and not known and decision is None:
                waiting = {"messages": messages, "answers": answers, "foreign": foreign}
                return {"asks": {"name": name, "arguments": arguments}, "state": waiting}
            if decision in ("session", "deny"):
                answers.append([decision, this])
            if "deny" in [decision, *known]:
                content = "Denied."
            else:
                foreign += [at] if tools[name]["foreign"] else []
                content = attempt(run, name, arguments)
            decision = None
        messages.append({"role": "tool", "tool_call_id": calls[done]["id"], "content": content})


def read(text):
    try:
        return {**json.loads(text)}
    except (ValueError, TypeError):
        return None


def attempt(run, name, arguments):
    try:
        return run(name, arguments)
    except Exception as error:
        return f"Error: {error}"
