"""A beginner's long style: one flat loop, many small steps, nothing clever. Decisions are kept in three lists."""

import json


def resume(state, decision, model, tools, run):
    if "allowed" not in state:
        state["allowed"] = []
        state["denied"] = []
        state["foreign_read"] = False
        state["foreign_before_reply"] = False
        state["position"] = 0
        state["reply"] = None

    finished = False
    while not finished:
        # Do we need a new reply?
        if state["reply"] is None:
            reply = model(state["messages"])
            state["messages"].append(reply)
            state["reply"] = reply
            state["position"] = 0
            if state["foreign_read"]:
                state["foreign_before_reply"] = True

        calls = state["reply"].get("tool_calls")
        if calls is None or len(calls) == 0:
            finished = True
            continue

        # All calls of the reply are done: ask the model again.
        if state["position"] == len(calls):
            state["reply"] = None
            continue

        call = calls[state["position"]]
        name = call["function"]["name"]
        problem = ""
        arguments = None
        try:
            arguments = json.loads(call["function"]["arguments"])
        except json.JSONDecodeError:
            problem = "error: the arguments are not JSON"
        if problem == "" and type(arguments) is not dict:
            problem = "error: the arguments are not an object"
        if problem == "" and name not in tools:
            problem = "error: I do not know this tool"

        if problem != "":
            text = problem
        else:
            this_call = json.dumps([name, arguments], sort_keys=True)
            must_ask = False
            if tools[name]["risk"] == "high":
                must_ask = True
            if tools[name]["risk"] == "medium" and state["foreign_before_reply"]:
                must_ask = True
            if this_call in state["allowed"]:
                must_ask = False
            is_denied = this_call in state["denied"]
            if is_denied:
                must_ask = False

            if must_ask and decision is None:
                return {"asks": {"name": name, "arguments": arguments}, "state": state}
            if must_ask:
                if decision == "session":
                    state["allowed"].append(this_call)
                if decision == "deny":
                    state["denied"].append(this_call)
                    is_denied = True
                decision = None

            if is_denied:
                text = "This call was denied."
            else:
                if tools[name]["foreign"]:
                    state["foreign_read"] = True
                try:
                    text = run(name, arguments)
                except Exception as e:
                    text = "error: " + str(e)

        state["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": text})
        state["position"] = state["position"] + 1

    return {"asks": None, "state": state}
