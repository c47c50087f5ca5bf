"""Compact and functional: tries are folded into calls by `reduce`, and nothing is ever changed."""

from functools import reduce
from operator import itemgetter

import pandas as pd

CAUSES = {
    **dict.fromkeys(["invalid_json", "invalid_arguments"], ("bad arguments", "cut off")),
    "unknown_tool": ("invented tool",) * 2,
    "permission_denied": ("not allowed",) * 2,
}
TYPES = {"turn": "Int64", "slot": "Int64", "tries": "int64", "recovered": "bool"}


def key(step):
    return step["turn"], step["slot"]


def of_kind(events, kind):
    return {key(e): e for e in events if e["event"] == "step" and e["kind"] == kind and e["slot"] is not None}


def folded(calls, tried):
    (turn, slot), tool, code, cut = tried
    waits = (i for i, c in enumerate(calls) if c["tool"] == tool and not c["recovered"] and c["at"] < turn)
    at = next(waits, None)
    if at is None:
        cause = CAUSES.get(code, ("tool failed",) * 2)[cut]
        new = dict(turn=turn, slot=slot, tool=tool, code=code, root_cause=cause, tries=1, recovered=not code, at=turn)
        return (*calls, new)
    call = {**calls[at], "tries": calls[at]["tries"] + 1, "recovered": not code, "at": turn}
    return (*calls[:at], call, *calls[at + 1 :])


def calls_of(events):
    asked, ended = of_kind(events, "tool_call"), of_kind(events, "result")
    tries = (
        (
            place,
            asked[place]["record"]["name"],
            ended[place]["record"]["error_code"],
            asked[place]["reply"]["finish_reason"] == "length" and place == max(p for p in asked if p[0] == place[0]),
        )
        for place in sorted(asked)
    )
    return reduce(folded, tries, ())


def ending(events):
    outcome = next(map(itemgetter("outcome"), filter(lambda e: e["event"] == "end", events)))
    turn = max(e["turn"] for e in events if e["event"] == "step")
    cause = "no reply" if outcome == "model_error" else "gave up"
    row = dict(turn=turn, slot=None, tool=None, code=outcome, root_cause=cause, tries=1, recovered=False)
    return [row] if outcome != "answer" else []


def find_errors(events):
    rows = [*filter(itemgetter("code"), calls_of(events)), *ending(events)]
    columns = ["turn", "slot", "tool", "code", "root_cause", "tries", "recovered"]
    return pd.DataFrame(rows, columns=columns).astype(TYPES).set_index(pd.Index(range(10, 10 + len(rows))))


def per_tool(events):
    calls = pd.DataFrame(calls_of(events), columns=["tool", "recovered"])
    return calls.groupby("tool", as_index=False).agg(
        calls=("recovered", "size"), failed=("recovered", lambda column: int((~column.astype(bool)).sum()))
    )
