"""One step a call of itself; the state is never changed, a new one is made. It prints what it does."""

import json


def resume(state, decision, model, tools, run):
    new = {"calls": [], "known": {}, "tainted": 0, **state}
    if not new["calls"]:
        reply = model(new["messages"])
        new |= {"messages": [*new["messages"], reply], "calls": reply.get("tool_calls") or []}
        new["tainted"] = 2 if new["tainted"] else 0
        return resume(new, None, model, tools, run) if new["calls"] else {"asks": None, "state": new}
    function = new["calls"][0]["function"]
    try:
        arguments = json.loads(function["arguments"])
        key = json.dumps([function["name"], arguments | {}], sort_keys=True)
        tool = tools[function["name"]]
        answer = decision or new["known"].get(key)
        if not answer and tool["risk"] in ["high", "medium" if new["tainted"] == 2 else "high"]:
            return {"asks": {"name": function["name"], "arguments": arguments}, "state": new}
        if answer in ("session", "deny"):
            new["known"] = {**new["known"], key: answer}
        if answer == "deny":
            raise PermissionError("the person DENIED it")
        new["tainted"] = max(new["tainted"], int(tool["foreign"]))
        content = run(function["name"], arguments)
    except Exception as problem:
        content = f"ERROR, {type(problem).__name__}: {problem}"
    print(function["name"], content)
    result = {"role": "tool", "tool_call_id": new["calls"][0]["id"], "content": content}
    new |= {"messages": [*new["messages"], result], "calls": new["calls"][1:]}
    return resume(new, None, model, tools, run)
