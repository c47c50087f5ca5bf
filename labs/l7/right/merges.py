"""Data frames all the way: merged on turn and slot, retries matched by their rank."""

import numpy as np
import pandas as pd

WANTED = "turn slot tool code root_cause tries recovered".split()
PLACE = ["turn", "slot"]
CAUSES = {"unknown_tool": "invented tool", "permission_denied": "not allowed"}
ARGUMENTS = ("invalid_json", "invalid_arguments")


def table(events):
    steps = pd.DataFrame([e for e in events if e["event"] == "step"])
    steps = steps[steps["slot"].notna()].reindex(columns=["kind", *PLACE, "record", "reply"])
    asked = steps[steps["kind"] == "tool_call"].copy()
    asked["tool"] = asked["record"].map(lambda record: record["name"])
    asked["cut"] = asked["reply"].map(lambda reply: reply["finish_reason"] == "length")
    asked["cut"] &= asked["slot"] == asked.groupby("turn")["slot"].transform("max")
    ended = steps[steps["kind"] == "result"].copy()
    ended["code"] = ended["record"].map(lambda record: record["error_code"]).astype(object)
    tries = asked[[*PLACE, "tool", "cut"]].merge(ended[[*PLACE, "code"]], on=PLACE, how="left")
    tries["bad"] = tries["code"].notna()
    return tries.sort_values(PLACE, kind="stable").reset_index(drop=True)


def with_calls(tries):
    """Number the calls: a try takes the number of the first of its tool that waits, or a new one."""
    number = np.full(len(tries), -1)
    for _, group in tries.groupby("tool", sort=False):
        waiting = []
        for _, turn in group.groupby("turn"):
            ready, waiting = waiting, list(waiting)
            for index, bad in turn["bad"].items():
                number[index] = ready.pop(0) if ready else index
                waiting = [n for n in waiting if n != number[index]]
            waiting += [number[i] for i, bad in turn["bad"].items() if bad]
    return tries.assign(call=number)


def find_errors(events):
    tries = with_calls(table(events))
    groups = tries.groupby("call")
    calls = groups.first().assign(tries=groups.size(), recovered=~groups["bad"].last().astype(bool))
    calls["code"] = tries.set_index(tries.index)["code"].reindex(calls.index)
    calls = calls[calls["code"].notna()].copy()
    calls["root_cause"] = [
        ("cut off" if cut else "bad arguments") if code in ARGUMENTS else CAUSES.get(code, "tool failed")
        for code, cut in zip(calls["code"], calls["cut"], strict=True)
    ]
    calls = calls.reset_index(drop=True).reindex(columns=WANTED)
    end = [e["outcome"] for e in events if e["event"] == "end"][0]
    if end == "answer":
        return calls
    last = max(e.get("turn", 0) for e in events)
    why = {"model_error": "no reply"}.get(end, "gave up")
    calls.loc[len(calls)] = [last, None, None, end, why, 1, False]
    return calls


def per_tool(events):
    tries = with_calls(table(events))
    calls = tries.groupby(["tool", "call"])["bad"].last().groupby("tool").agg(["size", "sum"])
    return calls.reset_index().rename(columns={"size": "calls", "sum": "failed"})
