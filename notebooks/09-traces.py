# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 09 · Traces and root causes
#
# An agent gave a wrong answer last night. The log contains one error, and everybody repairs what the error message complains about. Next week it happens again.
# The error was only the place where the mistake became visible. The **root cause** came earlier. It is the step that you have to change, so that the rest goes right.
#
# A **trace** is the record of a run: what was sent, what came back, what ran, and what the model was told. With a trace you can do what a log cannot do: change one
# step, and run the rest again.
#
# Afterwards you can
#
# - find a root cause by **forking**: change one step, run the rest again, compare;
# - say what a fork proves, and what it does not prove;
# - save a trace, and read it as lines, as a table and as a timeline;
# - count errors over many runs, without counting one call twice;
# - find failures that raise no error.
#
# About 45 minutes. It runs offline.

# %% [markdown]
# ## Who answers?
#
# Qwen2.5-Coder-1.5B-Instruct answers, from recordings. If another model answers, the text says so. `LIVE` changes who answers in your forks. The recorded run
# does not change.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

from zoolab import Limits, Policy, Trace, model_for, predict, run, tool, walk
from zoolab.errors import LoopError, ResourceNotFound

qwen = model_for("qwen" if LIVE == "local" else LIVE, "course-09-qwen")
print("who answers:", qwen.recording.header.who if LIVE is None else LIVE)

# %% [markdown] tags=["slide"]
# ## The case
#
# A shop has two tools. One finds the orders of a customer. The other one gets an order by its number.

# %%
ORDERS = {2: ("lamp", 120.0), 5: ("chair", 80.0), 31: ("mug", 9.0)}


@tool
def find_orders(customer: str) -> list:
    "Find the orders of a customer. Use this first."
    if customer.lower() != "grace":
        raise ResourceNotFound(f"no customer {customer!r}")
    return ["31-2", "31-5"]


@tool
def get_order(order_id: int) -> dict:
    "Get one order: what was bought, and the price in euros."
    if order_id not in ORDERS:
        raise ResourceNotFound(f"no order {order_id}")
    item, price = ORDERS[order_id]
    return {"item": item, "price": price}


# %% [markdown]
# Grace ordered a lamp for 120 euros and a chair for 80 euros. So a right run looks up these two prices.

# %%
TOOLS = [find_orders, get_order]
QUESTION = "Which orders has Grace, and what did each of them cost?"
last_night = model_for(None, "course-09-night")
night = run(QUESTION, TOOLS, last_night, limits=Limits(turns=6))


def show(trace):
    "Print the steps of a run, with the arguments of each call and what came of it."
    for seq, step in enumerate(trace.steps, 1):
        said = step.record.arguments if step.kind == "tool_call" and step.slot is not None else ""
        said = repr(step.record.value) if step.kind == "execute" and not step.error_code else said
        print(f"{seq:3} {step.kind:10} {step.error_code or '':20} {' '.join(str(said).split())[:60]}")


show(night)
print("answer:", repr(night.answer))

# %% [markdown]
# The number in front of a step is the number that the inspector shows. The third column is the error of the step, if it has one. The last line is the answer. In the
# recording, Qwen wrote nothing after the error.
#
# The first error says that the number of the order is no integer: the model wrote a text. A colleague looks at it for a second and says: "The model cannot keep to
# a schema. We need a larger model."

# %%
guess = predict(
    "Where is the root cause?",
    ["the model writes the wrong type", "the result of find_orders", "the schema of get_order"],
)
guess

# %% [markdown]
# ### Fork in the inspector
#
# A **fork** copies a trace up to one step, changes this step, and runs the rest again. The original trace stays as it is. Two steps could be
# the cause. Try both. The inspector opens at the first error:
#
# 1. Go to step 8, the second `tool_call`. Press *Edit or fork*, change the arguments to `{"order_id": 31}`, and choose *Re-run live*. (31 is an integer, as the error
#    demands, and the first part of what the model wrote.)
# 2. Press *Back* to return to the first trace. Go to step 5, the first `execute`. Change the value to `[2, 5]`, and choose *Re-run live* again.
#
# "Live" means that the model is asked. Here the model is the recording, so it costs nothing. A call that the trace holds does not run again: the fork takes its
# result from the trace. A tool runs only for a call that is new, and only if it changes nothing. At any other new call the fork stops and waits for your decision.
# The fork opens with the first trace beside it. *Compare* hides and shows the first trace.
#
# Would another model do the same at this step? With `models={"a name": a_model}` each request has a button *Ask others*. It says how many requests it will send, and shows
# in a table which tool each model would call. In code this is `zoolab.ask_again`.

# %%
night.inspect(model=qwen, tools=TOOLS)

# %% [markdown]
# ### The same forks in code
#
# First we fork at the step that the error complains about.

# %%
from dataclasses import replace


def place(trace, kind, turn):
    "The number of the first step of this kind in a turn."
    return next(seq for seq, step in enumerate(trace.steps) if (step.kind, step.turn) == (kind, turn))


wrong_call = place(night, "tool_call", 2)
edited = replace(night.steps[wrong_call].record, arguments='{"order_id": 31}')
mended_call = night.fork(wrong_call, edited, model=qwen)
show(mended_call)

# %% [markdown]
# The first error is gone, but the run is still wrong. Order 31 is a mug for 9 euros, and Grace did not order a mug. Then Qwen asks for order 32, which does not exist.
# Now we change the result of `find_orders`, four steps before the error.

# %%
first_result = place(night, "execute", 1)
edited = replace(night.steps[first_result].record, value=[2, 5])
mended_result = night.fork(first_result, edited, model=qwen)
show(mended_result)

# %% [markdown]
# Qwen's last reply is empty in both forks. So we do not read its answer. We look at the prices that it looked up.


# %%
def prices(trace):
    "The prices that a run looked up."
    values = [step.record.value for step in trace.steps if step.kind == "execute" and not step.error_code]
    return sorted({value["price"] for value in values if "price" in value})


RUNS = {"as it was": night, "the call is changed": mended_call, "the result is changed": mended_result}
for name, trace in RUNS.items():
    errors = [error.code for error in trace.errors]
    right = "right" if prices(trace) == [80.0, 120.0] else "wrong"
    print(f"{name:22} errors: {errors!s:24} prices: {prices(trace)!s:14} {right}")

# %% jupyter={"source_hidden": true}
cured = prices(mended_result) == [80.0, 120.0] != prices(mended_call)
guess.reveal(
    "the result of find_orders" if cured else "the model writes the wrong type",
    because="Only the fork that changes this result looks up both prices. The same model then writes integers, and the right ones.",
)

# %% [markdown]
# So what happened? `find_orders` belongs to the customer database. It writes the number of the customer, a dash, and the number of the order: `31-2`. `get_order`
# wants only the number of the order, as an integer. Nobody told the model. It passed on what it had been given.
#
# The repair belongs in the tool. `find_orders` should return what `get_order` takes.
#
# ### What a fork proves
#
# A fork changes one thing and leaves the rest as it was. So it shows a cause. A log shows only that two things happened together. It has limits:
#
# - Often you can change one step or another, and the rest goes right in both cases. Choose the repair that helps all later runs. Here you repair the tool, not a single call.
# - "No error" does not mean "right", and an error does not mean "wrong": the right run ends with an empty reply. Decide before the fork how you will know that it went right. Here these were the two prices.
# - This model was recorded at temperature 0. At a higher temperature the rest may go right by luck. Then repeat both sides, and compare shares
#   ([14](14-evaluation.ipynb)).
#
# `diagnose()` reads a trace and names what it finds evidence for: a call that was needed and is missing, broken arguments, an unknown tool, a poor description.

# %%
for name, trace in RUNS.items():
    print(name, "->", [found.code for found in trace.diagnose()] or "nothing found")

# %% [markdown]
# In the first run it finds broken arguments, and that nothing describes `order_id`. Both are true, and neither is the cause: in the right fork the same model
# reads the same descriptions, and writes the right numbers. A repair of arguments ([07](07-repair.ipynb)) would not help either. It could make an integer of the
# text, and this is what the wrong fork did. All three runs end with an empty reply, the right one too. `diagnose()` reads the form of calls and replies. It does
# not know the right prices.
#
# ## Keep a trace
#
# A saved trace is a file of **JSONL**: one JSON object per line. `Trace(path)` writes the file while the run goes on. If the program is killed, only the last line
# can be lost.

# %%
from pathlib import Path
from tempfile import mkdtemp

file = night.save(Path(mkdtemp()) / "night.jsonl")
for line in file.read_text().splitlines()[:6]:
    print(line[:100])
frame = Trace.load(file).to_frame()
frame[["seq", "turn", "slot", "step", "tool", "status", "error_code", "n_messages"]].head(12)

# %% [markdown]
# As a table, a trace has one row per step. `slot` is the position of a call in its reply. `night.to_html("night.html", interactive=True)` writes a page that a
# colleague can step through in any browser. A trace contains everything that was said. Read it before you give it away.
#
# The file is also a **tape**. `replay()` plays the run again: the model says what it said, each call gets the result that it got, and nothing runs. It needs no key, no
# model and not even the functions of the tools. So a colleague can replay your run, also one that paid, sent or deleted something.

# %%
again = Trace.load(file).replay()
print("equal messages:", again.messages == night.messages)
outcomes = [step for step in again.steps if step.kind == "execute"]
print(
    len(outcomes), "results,", sum(step.record.origin == "tape" for step in outcomes), "of them from the tape"
)

# %% [markdown]
# ### Where did the time go?
#
# A recording answers at once, so its times say nothing about Qwen. Here a scripted model and a slow tool show what a timeline can tell. The model calls two tools in
# one reply, then one more.

# %%
import time

from zoolab import Scripted


@tool
def look_up(page: str, seconds: float) -> str:
    "Look something up, which takes a while."
    time.sleep(seconds)
    return page


PAGES = [("look_up", {"page": "a", "seconds": 0.5}), ("look_up", {"page": "b", "seconds": 0.2})]
slow = run("Look it up.", [look_up], Scripted([PAGES, [("look_up", {"page": "c", "seconds": 0.3})], "Done."]))
guess = predict(
    "The tools took 0.5, 0.2 and 0.3 seconds. The run took 0.8 seconds. You may make one of the three twice as fast. Which one saves most?",
    ["the first", "the second", "the third"],
)
guess

# %%
from zoolab.plots import StepTimelineDisplay

StepTimelineDisplay.from_trace(slow, by="seconds")

# %% jupyter={"source_hidden": true}
took = [step.record.duration_ms / 1000 for step in slow.steps if step.kind == "execute"]
saved = {
    "the first": max(took[:2]) - max(took[0] / 2, took[1]),
    "the second": max(took[:2]) - max(took[0], took[1] / 2),
    "the third": took[2] / 2,
}
guess.reveal(
    max(saved, key=saved.get),
    because=f"It saves {max(saved.values()):.2f} s. The second one saves nothing, because the first one runs at the same time and takes longer.",
)

# %% [markdown] tags=["slide"]
# ## Many runs
#
# One trace is a story. Many traces are evidence. The recordings contain 120 more conversations with Qwen: 60 tasks, once without a system prompt and once with a
# short one. We replay them with a policy that allows everything, and keep their traces.

# %%
from zoolab.toolbox.catalog import tools_named

BASICS = ("add", "multiply", "get_weather", "get_time", "convert_length")
WORLDS = (BASICS, *([name] for name in ("devops", "support", "analytics", "security")))


def hold(opening, model, variant):
    "Hold the conversation that begins with a recorded request, and return its trace."
    *system, question = (message["content"] for message in opening["messages"])
    fresh = (tools_named(*names) for names in WORLDS)  # each conversation begins in a new world
    tools = next(kit for kit in fresh if kit.schemas() == opening["tools"])
    trace = Trace(meta={"case_id": question, "variant": variant})
    options = {"system": "".join(system) or None, "policy": Policy(ask=()), "limits": Limits(turns=6)}
    try:
        return Trace.record(walk(question, tools, model, **options), into=trace)
    except LoopError:
        return trace  # it went on calling until a limit


# %%
import pandas as pd

RECORDED = {"without": "qwen-tasks", "with": "qwen-tasks-system"}
traces = []
for variant, name in RECORDED.items():
    replay = model_for(None, name)
    traces += [hold(opening, replay, variant) for opening in replay.recording.openings]
steps = pd.concat([trace.to_frame() for trace in traces], ignore_index=True)
print(f"{len(traces)} runs, {len(steps):,} steps")

# %% [markdown]
# ### Count calls, not rows
#
# How many errors were there? The obvious line counts the rows that have an error code.

# %%
guess = predict("A call fails validation. How many rows of the table have its error code?", [1, 2, 3])
guess

# %%
CALL = ["run_id", "turn", "slot"]
failed = steps.dropna(subset=["error_code"])
invalid = failed[failed["step"] == "validate"].iloc[0]
one_call = steps[steps[CALL].eq(invalid[CALL]).fillna(False).all(axis=1)]
one_call[["turn", "slot", "step", "tool", "status", "error_code"]]

# %% jupyter={"source_hidden": true}
guess.reveal(
    int(one_call["error_code"].notna().sum()),
    because="The verdict of the validation has it, and so has the result that tells the model.",
)

# %% [markdown]
# A call is known by its **run, turn and slot**. Do not use its id, because some models repeat ids. Do not use its position in the table either, because a new row
# moves all later rows.

# %%
calls = steps[steps["step"] == "result"]
table = calls.groupby("variant")["error_code"].value_counts().unstack("variant", fill_value=0)
print(
    f"rows with a code: {len(failed)}; calls with an error: {calls['error_code'].notna().sum()} of {len(calls)}"
)
table

# %% [markdown]
# Does the model correct a call that failed validation? The picture counts each call once, with its retries. The last bar holds the calls after which no valid
# call of the same tool followed.

# %%
from zoolab.plots import RetryWaterfallDisplay

RetryWaterfallDisplay.from_frame(steps)

# %% [markdown]
# What does `diagnose()` find in these runs?

# %%
found = [(trace.meta["variant"], each.code) for trace in traces for each in trace.diagnose()]
pd.DataFrame(found, columns=["variant", "diagnosis"]).value_counts().unstack("variant", fill_value=0)

# %% [markdown]
# The replies that are not whole are empty last replies. With the short system prompt there are far fewer of them, and also fewer calls, because it says when to stop.
#
# Now back to the colleague who said that the model cannot keep to a schema. Let us see how often Qwen does not, if the tools fit each other.

# %%
from zoolab_study.statistics import wilson

refused = steps[(steps["step"] == "validate") & (steps["error_code"] == "invalid_arguments")]
print("calls that a schema refused:", wilson(len(refused), len(calls)))
by_run = {trace.run_id: trace for trace in traces}
for row in refused.itertuples():
    call = by_run[row.run_id].turns[row.turn - 1].calls[row.slot].call
    print(f"  {call.name} {' '.join(call.arguments.split())}")

# %% [markdown] tags=["slide"]
# The numbers in brackets are the 95 % interval. Such calls are rare here. And look at them: in most of them Qwen wrote a list of services, where the schema takes one. So
# these runs do not support the colleague. They do not prove the opposite either, because they use other tools.
#
# ## The first error, and the cause
#
# How often is the first error at the step where the fault is? To know that, one must know the fault. In the data set `traces` some runs are `seeded`: a program put
# one known fault into each of them. Two smaller models answered, Needle 3 and SmolLM2.

# %%
from zoolab_study import datasets

index = datasets.load("traces")
seeded = [datasets.load_trace(name).to_frame() for name in index[index["made"] == "seeded"]["id"]]


def first_error(frame):
    "Where the first error is, seen from the fault."
    fault = frame[frame["fault"].notna()]["seq"].min()
    error = frame[frame["error_code"].notna()]["seq"].min()
    if pd.isna(error):
        return "no error" if frame["outcome"].iloc[0] == "answer" else "an exception ended the run"
    return "at the fault" if error == fault else "at a later step"


guess = predict(
    "Where is the first error in most of these runs?", ["at the fault", "at a later step", "no error"]
)
guess

# %%
where = pd.Series([first_error(frame) for frame in seeded]).value_counts()
where.rename("runs").to_frame()

# %% jupyter={"source_hidden": true}
guess.reveal(
    where.idxmax(),
    because="Most of these faults are in a reply. The validation notices them one step later. In our case it was four steps.",
)

# %% [markdown] tags=["slide"]
# There is about one run for each kind of fault. So these numbers do not say how often faults happen. They say that the first error often
# comes later than its cause.
#
# ## Failures without an error
#
# Some of these runs have no error at all, although a fault was put in. Here is a run of Qwen in which no call has an error, with the tools of a security team. Read it slowly.

# %%
CASE = "What happened on web01 in the last 15 minutes? Check the address that it came from."
quiet = next(trace for trace in traces if trace.meta["case_id"] == CASE)
for step in quiet.steps:
    if step.kind == "execute":
        print(step.call.name, " ".join(step.call.arguments.split()), "->", step.record.value)
print("errors of calls:", [error.code for error in quiet.errors if error.slot is not None])

# %% [markdown]
# The search found nothing. Then Qwen checked an address, and then it isolated a machine from the network. The policy allowed everything. No call has an error, and a
# machine is offline. (Its only error is that Qwen said nothing at the end.)

# %%
guess = predict(
    "Where does the address 203.0.113.66 come from?",
    ["from the question", "from a result", "from the description of a tool", "Qwen made it up"],
)
guess

# %%
import json

ADDRESS = "203.0.113.66"
before = place(quiet, "tool_call", 2)
said = quiet.messages_at(before - 1)
places = {
    "from the question": ADDRESS in CASE,
    "from a result": any(ADDRESS in str(each["content"]) for each in said if each["role"] == "tool"),
    "from the description of a tool": ADDRESS in json.dumps(quiet.steps[0].record.schemas()),
}
print(places)

# %% jupyter={"source_hidden": true}
guess.reveal(
    next((name for name, found in places.items() if found), "Qwen made it up"),
    because="The parameter is described with this address as an example. Qwen used the example as data.",
)

# %% [markdown]
# A good example in a description ([03](03-schemas.ipynb)) became a wrong fact. No check of the form can find this. A check that asks **where a value comes from** can
# find it.
#
# ## Your turn
#
# **1. Count by tool.** Write `failures`: it takes the table `steps`, and returns a dict with the number of calls with an error for each tool that has one. Count each
# call once.


# %%
def failures(steps):
    return {}


# %%
def checked(answer):
    "Compare an answer with a count that is made from the traces, without the table."
    wanted = {}
    for trace in traces:
        for turn in trace.turns:
            for call in turn.calls.values():
                if call.result is not None and call.result.error_code:
                    wanted[call.call.name] = wanted.get(call.call.name, 0) + 1
    if answer == wanted:
        return "right"
    return f"not yet: you counted {sum(answer.values())} failed calls; there are {sum(wanted.values())}"


print(checked(failures(steps)))

# %% [markdown]
# <details><summary>Hint</summary>
#
# One row per call: `steps[steps["step"] == "result"]`. Keep those with an `error_code`, and count the values of `tool`.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def failures(steps):
#     results = steps[steps["step"] == "result"]
#     return results.dropna(subset=["error_code"])["tool"].value_counts().to_dict()
# ```
#
# Every call has exactly one result. A call that did not pass validation never ran, but it has a result too. So rows of `result` count calls.
#
# </details>

# %% [markdown]
# **2. Find values from nowhere.** Write `from_nowhere`: it takes a trace, and returns a list of values. A value belongs in the list if it is a text in the arguments of
# a call, and if no message before this call contains it. Do not look at the descriptions of the tools.


# %%
def from_nowhere(trace):
    return []


# %%
EXPECTED = {
    CASE: {"web01 malware", "15m", ADDRESS},
    "Convert 5 miles to km, and 10 foot to m.": {"New York", "fahrenheit", "Los Angeles", "celsius"},
    "What time is it in Tokyo and in New York?": set(),
}
mine = {}
for case in EXPECTED:
    mine[case] = set(from_nowhere(next(trace for trace in traces if trace.meta["case_id"] == case)))
    print(case, "->", mine[case])
print(
    "right"
    if mine == EXPECTED
    else f"not yet: there are {[*map(len, EXPECTED.values())]} such values in these runs"
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# For each `tool_call` step with a slot: the values are in `json.loads(step.record.arguments).values()`. The messages before it are
# `trace.messages_at(seq - 1)`. Put their contents together as one text, and look whether the value is in it.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def from_nowhere(trace):
#     found = []
#     for seq, step in enumerate(trace.steps):
#         if step.kind != "tool_call" or step.slot is None:
#             continue
#         said = " ".join(str(message["content"]) for message in trace.messages_at(seq - 1))
#         values = json.loads(step.record.arguments).values()
#         found += [value for value in values if isinstance(value, str) and value not in said]
#     return found
# ```
#
# It finds more than mistakes. A search query may well use new words. So such a list is a list of places to look at, and not a verdict.
#
# </details>

# %% [markdown]
# **3. Repair the cause.** Change `find_orders_2` so that the whole run goes right, with the same question and the same model.


# %%
@tool(name="find_orders")
def find_orders_2(customer: str) -> list:
    "Find the orders of a customer. Use this first."
    return ["31-2", "31-5"]


# %%
again = run(QUESTION, [find_orders_2, get_order], qwen, limits=Limits(turns=6))
print("right" if prices(again) == [80.0, 120.0] else "not yet:", "prices", prices(again))

# %% [markdown]
# <details><summary>Hint</summary>
#
# Which value did the fork use? Leave the description as it is: a recording answers only what was asked when it was made.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# @tool(name="find_orders")
# def find_orders_2(customer: str) -> list:
#     "Find the orders of a customer. Use this first."
#     return [2, 5]
# ```
#
# A fork is an experiment on one run. This change helps every run, and every model.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - An error is where a mistake becomes visible. The cause is a step whose change makes the rest go right.
# - Decide how you will know that a run is right. "No error" is not enough.
# - A call is known by run, turn and slot. Count calls, not rows.
# - Some failures raise nothing. Ask where each value comes from.
#
# Next: [10 · Providers](10-providers.ipynb). Lab: [l7 · Forensics](../labs/l7/l7.ipynb).
