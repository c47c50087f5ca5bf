"""A beginner's long style: lists, loops and a flag, and the data frame only at the end."""

import pandas as pd


def get_tries(events):
    # All places where a call was asked for.
    places = []
    for event in events:
        if event["event"] != "step":
            continue
        if event["kind"] == "tool_call" and event["slot"] is not None:
            places.append([event["turn"], event["slot"]])
    places.sort()

    tries = []
    for place in places:
        a_try = {"turn": place[0], "slot": place[1], "code": None, "is_last": True}
        for event in events:
            if event["event"] != "step":
                continue
            if event["turn"] != place[0] or event["slot"] != place[1]:
                continue
            if event["kind"] == "tool_call":
                a_try["tool"] = event["record"]["name"]
                a_try["reason"] = event["reply"]["finish_reason"]
            if event["kind"] == "result":
                a_try["code"] = event["record"]["error_code"]
        for other in places:
            if other[0] == place[0] and other[1] > place[1]:
                a_try["is_last"] = False
        tries.append(a_try)
    return tries


def get_calls(events):
    calls = []
    for a_try in get_tries(events):
        found = None
        for call in calls:
            if found is None:
                if call["tool"] == a_try["tool"]:
                    if call["waiting"]:
                        if call["last_turn"] != a_try["turn"]:
                            found = call
        if found is None:
            found = {"turn": a_try["turn"], "slot": a_try["slot"], "tool": a_try["tool"], "code": a_try["code"]}
            found["tries"] = 0
            if a_try["code"] == "unknown_tool":
                found["root_cause"] = "invented tool"
            elif a_try["code"] == "permission_denied":
                found["root_cause"] = "not allowed"
            elif a_try["code"] == "invalid_json" or a_try["code"] == "invalid_arguments":
                if a_try["is_last"] and a_try["reason"] == "length":
                    found["root_cause"] = "cut off"
                else:
                    found["root_cause"] = "bad arguments"
            else:
                found["root_cause"] = "tool failed"
            calls.append(found)
        found["tries"] = found["tries"] + 1
        found["last_turn"] = a_try["turn"]
        found["waiting"] = a_try["code"] is not None
    return calls


def find_errors(events):
    columns = ["turn", "slot", "tool", "code", "root_cause", "tries", "recovered"]
    table = {}
    for column in columns:
        table[column] = []
    for call in get_calls(events):
        if call["code"] is None:
            continue
        call["recovered"] = not call["waiting"]
        for column in columns:
            table[column].append(call[column])

    last_turn = 0
    outcome = ""
    for event in events:
        if event["event"] == "step" and event["turn"] > last_turn:
            last_turn = event["turn"]
        if event["event"] == "end":
            outcome = event["outcome"]
    if outcome != "answer":
        table["turn"].append(last_turn)
        table["slot"].append(None)
        table["tool"].append(None)
        table["code"].append(outcome)
        if outcome == "model_error":
            table["root_cause"].append("no reply")
        else:
            table["root_cause"].append("gave up")
        table["tries"].append(1)
        table["recovered"].append(False)
    return pd.DataFrame(table)


def per_tool(events):
    tools = []
    numbers = []
    failures = []
    for call in get_calls(events):
        if call["tool"] not in tools:
            tools.append(call["tool"])
            numbers.append(0)
            failures.append(0)
        position = tools.index(call["tool"])
        numbers[position] += 1
        if call["waiting"]:
            failures[position] += 1
    return pd.DataFrame({"tool": tools, "calls": numbers, "failed": failures})
