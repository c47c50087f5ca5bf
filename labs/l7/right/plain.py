"""The tries of a trace, folded into calls, and the calls into tables."""

import pandas as pd

COLUMNS = ["turn", "slot", "tool", "code", "root_cause", "tries", "recovered"]


def cause(code, cut):
    if code == "unknown_tool":
        return "invented tool"
    if code in ("invalid_json", "invalid_arguments"):
        return "cut off" if cut else "bad arguments"
    return "not allowed" if code == "permission_denied" else "tool failed"


def tries(events):
    """Every call that was asked for, with its error code, in order."""
    found = {}
    for event in events:
        if event.get("kind") == "tool_call" and event["slot"] is not None:
            length = event["reply"]["finish_reason"] == "length"
            found[event["turn"], event["slot"]] = {"tool": event["record"]["name"], "length": length}
    for event in events:
        if event.get("kind") == "result":
            found[event["turn"], event["slot"]]["code"] = event["record"]["error_code"]
    for turn, slot in sorted(found):
        one = found[turn, slot]
        cut = one["length"] and (turn, slot + 1) not in found
        yield turn, slot, one["tool"], one["code"], cut


def calls(events):
    """Every call, its retries folded into it."""
    made = []
    for turn, slot, tool, code, cut in tries(events):
        for call in made:
            if call["tool"] == tool and not call["recovered"] and call["last"] < turn:
                break
        else:
            call = {"turn": turn, "slot": slot, "tool": tool, "code": code, "tries": 0}
            call["root_cause"] = cause(code, cut)
            made.append(call)
        call["tries"] += 1
        call["last"] = turn
        call["recovered"] = code is None
    return made


def find_errors(events):
    rows = [call for call in calls(events) if call["code"]]
    end = events[-1]["outcome"]
    if end != "answer":
        turn = max(event["turn"] for event in events if event["event"] == "step")
        why = "no reply" if end == "model_error" else "gave up"
        rows.append(dict(zip(COLUMNS, (turn, None, None, end, why, 1, False))))
    return pd.DataFrame(rows, columns=COLUMNS)


def per_tool(events):
    made = calls(events)
    names = list(dict.fromkeys(call["tool"] for call in made))
    return pd.DataFrame(
        {
            "tool": names,
            "calls": [sum(call["tool"] == name for call in made) for name in names],
            "failed": [
                sum(call["tool"] == name and not call["recovered"] for call in made) for name in names
            ],
        }
    )
