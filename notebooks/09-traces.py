# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 09 · Traces
#
# Something went wrong last night. The logs say that all was well. What you want is a **trace**: what was sent, what came, what ran, what went back,
# step by step, in the order in which it happened.
#
# Afterwards you can
#
# - keep a trace, read it as lines of JSON and as a table;
# - find the step at which a run went wrong, which is seldom the step that complained;
# - count errors without counting retries twice;
# - draw what you found, with intervals where numbers are small.
#
# About 45 minutes, offline. Words: a *run* is one conversation from question to answer; a *step* is one of define, request, tool_call, validate,
# execute, result ([01](01-one-loop.ipynb)).

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

from zoolab import Trace, model_for, predict, run

model = model_for(LIVE, "starter")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# ## One run, four views
#
# Saved, a trace is a file of **JSONL**: one JSON object a line, so that it can be read while it is still being written, and a program that was killed
# leaves all but its last line.

# %%
from pathlib import Path
from tempfile import mkdtemp

from zoolab.toolbox.starter import add

file = Path(mkdtemp()) / "run.jsonl"
run("What is 42 + 58?", [add], model).save(file)
for line in file.read_text().splitlines():
    print(line[:110])

# %% [markdown]
# As a table, with one row a step. `slot` is the position of a call in its reply, `attempt` counts how often this tool was tried with broken
# arguments.

# %%
trace = Trace.load(file)
frame = trace.to_frame()
frame[["seq", "turn", "slot", "step", "tool", "attempt", "status", "error_code", "n_messages", "duration_ms"]]

# %% [markdown]
# As a picture: where did the time go?

# %%
from zoolab.plots import StepTimelineDisplay

StepTimelineDisplay.from_trace(trace)

# %% [markdown]
# And as a page, for somebody who has neither Python nor a notebook: one file, to be stepped through in any browser. Its address names the
# step on show (`run.html#step-5`), so that you can send a colleague to a moment. `zoolab inspect run.jsonl` does the same in a terminal.

# %%
page = file.with_suffix(".html")
trace.to_html(page, interactive=True)
print(f"{page.name}: {page.stat().st_size // 1000} kB")

# %% [markdown]
# ## A hundred runs
#
# One trace is a story; a hundred are evidence. The data set `traces` holds whole runs of the two small models. Some went wrong by themselves
# (`recorded`), into some a fault was put on purpose (`seeded`), in a few the program around the model is wrong (`authored`).

# %%
from zoolab import datasets

index = datasets.load("traces")
index.groupby("made").agg(runs=("id", "size"), with_errors=("codes", lambda found: sum(map(bool, found))))

# %%
guess = predict(
    "In runs that hold an error: how do most of them end?", ["with an answer", "with an exception"]
)
guess

# %%
failed = index[index["codes"].map(len) > 0]
ends = failed["outcome"].eq("answer").map({True: "with an answer", False: "with an exception"})
print(ends.value_counts())

# %% jupyter={"source_hidden": true}
guess.reveal(
    ends.value_counts().idxmax(),
    because="Who looks only at exceptions sees the smaller part.",
)

# %% [markdown]
# ## One big table
#
# Each run is a file. Loaded and put one below the other, they make one table, and pandas answers the rest. (One of them
# cannot be loaded: a line is cut in half. It stays out, and is counted.)

# %%
import pandas as pd

from zoolab.errors import InvalidTrace

frames, unreadable = [], []
for name in index["id"]:
    try:
        frames.append(datasets.load_trace(name).to_frame().assign(run_id=name))
    except InvalidTrace as error:
        unreadable.append(str(error)[:80])
steps = pd.concat(frames, ignore_index=True)
print(f"{len(frames)} runs, {len(steps):,} steps, unreadable: {unreadable}")

# %% [markdown]
# ### The wrong way to count
#
# How many errors were there? The obvious line counts rows.

# %%
guess = predict(
    "A call fails validation. In how many rows of the table does its error code stand?", [1, 2, 3]
)
guess

# %%
naive = steps["error_code"].notna().sum()
per_call = (
    steps.dropna(subset=["error_code"])
    .groupby(["run_id", "turn", "slot"], dropna=False)["error_code"]
    .first()
)
rows = steps.dropna(subset=["error_code"]).groupby(["run_id", "turn", "slot"], dropna=False).size()
invalid = steps[(steps["step"] == "validate") & (steps["status"] == "error")].iloc[0]
one_call = steps[
    (steps["run_id"] == invalid["run_id"])
    & (steps["turn"] == invalid["turn"])
    & (steps["slot"] == invalid["slot"])
]
print(one_call[["step", "status", "error_code"]].to_string(index=False))
print(
    f"rows with a code: {naive}; calls with an error: {len(per_call)}; most rows for one call: {rows.max()}"
)

# %% jupyter={"source_hidden": true}
guess.reveal(
    int(one_call["error_code"].notna().sum()),
    because="The verdict says it, and the result that tells the model.",
)

# %% [markdown]
# A call is known by its **run, turn and slot**: never by its id (models repeat ids), never by its position in the table (a row more or less shifts
# all that follow). Most wrong numbers about agents are wrong joins.

# %%
errors = per_call.reset_index()
errors["error_code"].value_counts().to_frame("calls")

# %% [markdown]
# ### Errors that nobody noticed
#
# An error that was answered well is fine: the model read it and tried again. An error that ends in a confident sentence is not.
# `ErrorTaxonomyDisplay` tells the two apart as far as a trace can show it. For most of these runs nobody has said what the right answer
# is, so theirs is not called right or wrong: the picture leaves them ungraded.

# %%
from zoolab.plots import ErrorTaxonomyDisplay

ErrorTaxonomyDisplay.from_frame(steps)

# %% [markdown]
# ## Find the cause
#
# The row that shows an error is where it *surfaced*. The **root cause** is the first step after which it could not go well any more. Take a
# run and walk backwards.

# %%
case = index[(index["made"] == "recorded") & (index["codes"].map(len) > 0)].iloc[0]
print(case["id"], "|", case["prompt"])
suspect = datasets.load_trace(case["id"])
for number, step in enumerate(suspect.steps):
    print(f"{number:2} {step.kind:10} {step.status:8} {step.error_code or ''}")
print("it answered:", suspect.answer)

# %%
for found in suspect.diagnose():
    print(found.code, "|", found.what, "|", found.advice)
for error in suspect.errors:
    print(f"step {error.seq}: {error.code}: {error.message}")
print("known cause:", case["root_cause"])

# %% [markdown]
# For seeded runs the cause is known, because somebody put it there. That makes them a test for detectives: does the first error in
# time name the fault?

# %%
seeded = index[(index["made"] == "seeded") & (index["codes"].map(len) > 0)]
first = steps.dropna(subset=["error_code"]).groupby("run_id").first()["step"]
where = seeded["id"].map(first)
where.value_counts().rename("first error stands at").to_frame()

# %%
quiet = index[(index["made"] == "seeded") & (index["codes"].map(len) == 0)]
guess = predict(
    "Seeded runs in which no step shows any error: how many are there?", ["none", "a few", "more than ten"]
)
guess

# %%
amount = "none" if quiet.empty else "a few" if len(quiet) <= 10 else "more than ten"
print(quiet[["fault", "outcome"]].head(12).to_string(index=False))

# %% jupyter={"source_hidden": true}
guess.reveal(
    amount,
    because="Some faults are mended on the way. Others break no rule: only the meaning is wrong.",
)

# %% [markdown]
# ## Draw it
#
# Which faults are survived? A share out of few runs is shaky: with three runs, "all of them" means little. An **interval** says which true shares
# would fit what was seen.

# %%
from zoolab.study.statistics import wilson

for good, runs in ((3, 3), (30, 30), (20, 30)):
    share = wilson(good, runs)
    print(f"{good:2} of {runs}: between {share.low:.0%} and {share.high:.0%}")

# %% [markdown]
# ## Your turn
#
# **1.** Which tool fails most often, as a share of its calls? Beware of tools with few calls.

# %%
calls = steps[(steps["step"] == "tool_call") & steps["tool"].notna()]
calls["tool"].value_counts().head(5)

# %% [markdown]
# <details><summary>Hint</summary>
#
# One row a call: `steps[steps["step"] == "result"]`. Group by `tool`; `status.eq("error").agg(["mean", "size"])`.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# results = steps[steps["step"] == "result"]
# shares = results.groupby("tool")["status"].agg(share=lambda s: s.eq("error").mean(), calls="size")
# shares[shares["calls"] >= 5].sort_values("share", ascending=False)
# ```
#
# </details>

# %% [markdown]
# **2. Draw a chart** that shows at a glance at which step errors first surface, split by `made`. Here is the number behind it and a plain
# bar chart; make it one that a colleague understands without you.

# %%
import matplotlib.pyplot as plt

surfaced = index.assign(step=index["id"].map(first)).dropna(subset=["step"])
table = surfaced.groupby(["step", "made"]).size().unstack(fill_value=0)
table.plot.bar()
plt.show()

# %% [markdown]
# <details><summary>Hint</summary>
#
# Order the steps as they happen (`table.reindex([...])`), stack the bars, give the axes names, and write the counts at the bars
# (`ax.bar_label`).
#
# </details>
#
# <details><summary>One solution</summary>
#
# ```python
# order = [kind for kind in ("request", "tool_call", "validate", "execute", "result") if kind in table.index]
# ax = table.reindex(order).plot.bar(stacked=True, rot=0)
# for bars in ax.containers:
#     ax.bar_label(bars, label_type="center")
# ax.set(xlabel="step at which an error first shows", ylabel="runs", title="Where errors surface")
# plt.show()
# ```
#
# </details>

# %% [markdown]
# ## What to keep
#
# - Write the trace while it happens, a line at a time.
# - Identity is run, turn, slot.
# - Count calls, not rows. Count what ended well, too.
# - Where an error shows is not where it began.
# - Some failures raise nothing. Only an expected answer finds them.
#
# Next: [10 · Providers](10-providers.ipynb). Labs: [l7 · Forensics](../labs/l7/l7.ipynb),
# [l8 · Test the tester](../labs/l8/l8.ipynb).
