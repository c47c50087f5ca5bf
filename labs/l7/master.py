# %% [markdown]
# # Lab 7 · Forensics
#
# A run went wrong. All that is left of it is its **trace**: the record of each step. You have to say what failed,
# why, and how often. A quick look usually gives a wrong answer, for one of three reasons. First, a model that is told
# of its mistake tries again. If you count each try, one bad call becomes three. Second, a call that is refused never
# runs. If you match calls and results by their order, every later failure goes to the wrong tool. Third, a run that
# ends without an answer is a failure without a tool. The first `groupby` drops it without an error.
#
# In this lab you make two small, correct tables from a trace.

# %% [markdown]
# ## A trace
#
# A saved trace is a file with one **event** in each line. Each event is a JSON object. You get them as a list of
# dicts. Most are steps: `{"event": "step", "kind": ..., "turn": ..., "slot": ...}`.
#
# - A **turn** is one reply of the model. The **slot** is the place of a call within it: 0, 1, 2, ...
# - `kind` is one of `define request tool_call validate execute result`.
# - A step of kind `tool_call` has the call in `record` (`name`, `arguments`) and the whole reply in
#   `reply`. The reply has a `finish_reason`: `"length"` means that it was cut off because it grew too
#   long.
# - Each call has exactly one step of kind `result`. Its `record` has an `error_code`: None if all went well.
# - An invalid call has no step `execute`. A call that waited for permission has two.
# - The last event is `{"event": "end", "outcome": ...}`: `"answer"`, or the code of what ended the run.
#
# There are other events and fields. For example, a reply without calls is a step of kind `tool_call` with the slot
# None. Ignore what you do not need. You may change `events`: each call of your code gets its own copy.

# %%
import pandas as pd


def call(turn, slot, name, error_code=None, finish_reason="tool_calls"):
    """Two steps of a made-up trace: the model asks for a call, and the call has its result."""
    place = {"event": "step", "turn": turn, "slot": slot}
    asked = {"kind": "tool_call", "record": {"name": name}, "reply": {"finish_reason": finish_reason}}
    return [{**place, **asked}, {**place, "kind": "result", "record": {"error_code": error_code}}]


events = [
    *call(1, 0, "get_weather", "invalid_json", finish_reason="length"),
    *call(2, 0, "get_weather", "invalid_arguments"),
    *call(3, 0, "get_weather"),
    *call(3, 1, "send_mail", "timeout"),
    {"event": "end", "outcome": "loop_limit"},
]

# %% [markdown]
# ## Your task, part one: `find_errors(events)`
#
# It returns a data frame with the columns `turn slot tool code root_cause tries recovered` (others do no harm, and
# the order of the rows does not matter). Each call that failed has one row, with its `turn`, its `slot`, its `tool`
# and the error's `code`. A run without failures gives a data frame without rows, but with all columns. Steps of one
# call have the same turn and slot. All steps can stand in any order. Do not drop any failure.
#
# `root_cause` says whose fault it was:
#
# | code | root cause |
# | --- | --- |
# | `unknown_tool` | `invented tool` |
# | `invalid_json`, `invalid_arguments` | `cut off` or `bad arguments` |
# | `permission_denied` | `not allowed` |
# | any other code of a call | `tool failed` |
#
# With these two codes, the cause is `cut off` only for the last call of a reply whose `finish_reason` is `length`.
# Otherwise it is `bad arguments`, even if the text looks as if it was cut off.

# %% [markdown]
# A call and its **retries** are one row. A failed call waits for a retry. The next call of the same tool
# in a later turn is its retry. If several calls of one tool failed in one turn, their retries come in the
# same order. If the retry fails as well, the call waits again. If the retry works, the call has
# **recovered**, and the next call of that tool is a new one. It does not matter whether the arguments are
# the same. One thing is not tested: which call comes next if several calls of one tool wait, and one of
# them has failed in its retry.
#
# - Turn, slot, code and root cause are those of the first try, whatever happened to its retries.
# - `tries` counts the first try and its retries; `recovered` is True if the last of them worked, else False.
#
# A run that ended without an answer has its own row: its last turn, no slot, no tool (None), the outcome
# as its code, 1 try, not recovered. Its root cause is `no reply` for `model_error`, else `gave up`.
#
# ## Part two: `per_tool(events)`
#
# It returns a data frame with one row for each tool and the columns `tool calls failed`. `calls` counts a call and
# its retries once. `failed` counts the calls that never worked, not even in a retry. Every tool that was called has a
# row.

# %%
COLUMNS = ["turn", "slot", "tool", "code", "root_cause", "tries", "recovered"]


# BEGIN SOLUTION
# STUB: def find_errors(events):
# STUB:     ...  # your code
# STUB:
# STUB:
# STUB: def per_tool(events):
# STUB:     ...  # your code
def tries_of(events):
    """One dict a try, in order: what was asked, and how it ended."""
    steps = [event for event in events if event["event"] == "step" and event["slot"] is not None]
    asked = {(step["turn"], step["slot"]): step for step in steps if step["kind"] == "tool_call"}
    codes = {
        (step["turn"], step["slot"]): step["record"]["error_code"]
        for step in steps
        if step["kind"] == "result"
    }
    last = {turn: slot for turn, slot in sorted(asked)}
    for (turn, slot), step in sorted(asked.items()):
        was_cut = step["reply"]["finish_reason"] == "length" and slot == last[turn]
        code = codes.get((turn, slot))
        yield {
            "turn": turn,
            "slot": slot,
            "tool": step["record"]["name"],
            "code": code,
            "root_cause": cause_of(code, was_cut),
        }


# %%
def cause_of(code, was_cut):
    if code in ("invalid_json", "invalid_arguments"):
        return "cut off" if was_cut else "bad arguments"
    known = {"unknown_tool": "invented tool", "permission_denied": "not allowed"}
    return known.get(code, "tool failed")


def calls_of(events):
    """One dict a call: its first try, how often it was tried, and whether the last try worked."""
    calls = []
    for a_try in tries_of(events):
        waiting = [
            call
            for call in calls
            if call["tool"] == a_try["tool"] and not call["recovered"] and call["last"] < a_try["turn"]
        ]
        if not waiting:
            waiting = [{**a_try, "tries": 0}]
            calls += waiting
        waiting[0]["tries"] += 1
        waiting[0]["last"] = a_try["turn"]
        waiting[0]["recovered"] = a_try["code"] is None
    return calls


# %%
def find_errors(events):
    rows = [call for call in calls_of(events) if call["code"] is not None]
    outcome = events[-1]["outcome"]
    if outcome != "answer":
        turn = max(event["turn"] for event in events if event["event"] == "step")
        cause = "no reply" if outcome == "model_error" else "gave up"
        rows.append({"turn": turn, "code": outcome, "root_cause": cause, "tries": 1, "recovered": False})
    return pd.DataFrame(rows, columns=COLUMNS)


def per_tool(events):
    calls = pd.DataFrame(calls_of(events), columns=["tool", "recovered"])
    calls["failed"] = ~calls["recovered"].astype(bool)
    return calls.groupby("tool", as_index=False).agg(calls=("failed", "size"), failed=("failed", "sum"))


# END SOLUTION

# %% [markdown]
# ## Try it by hand
#
# In the trace above, `get_weather` was cut off, tried again with wrong arguments, and recovered; `send_mail` took too
# long; then the run reached its limit. The first table should have three rows, and the second one two.

# %%
find_errors(events)

# %%
per_tool(events)

# %% [markdown]
# You can also look at your own trace. `zoolab walk --save mine.jsonl` saves one, without a key. With `--live` or
# `--local` a real model answers, and there is more to find.

# %%
TRACE = ""

if TRACE:
    import json

    with open(TRACE) as file:
        display(find_errors([json.loads(line) for line in file]))

# %% [markdown]
# ## Check it
#
# Save the notebook first. The check makes its own conversations with a **scripted** model, whose replies come from a
# list. A plan says which calls fail. The cell runs the public cases.

# %%
from zoolab import check

check("l7")
