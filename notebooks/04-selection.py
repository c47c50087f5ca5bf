# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04 · Choosing a tool, measured
#
# Somebody asks "Does redis run?", and the assistant restarts redis. The JSON was valid, the tool exists, the call ran, and no step reported an error. But it
# was the wrong tool. **Selection** is the choice of a tool, or of no tool. Nothing in a single run shows whether the choice was right. You need requests whose
# right answer is known, and you need many of them.
#
# Afterwards you can
#
# - read a confusion matrix: what was expected, and what was called;
# - test with requests that need *no* tool, and say what a test without them hides;
# - give an interval for a rate, and say "not decisive" if the data do not decide;
# - plan an experiment: decide the number of requests first, then compare on the same requests;
# - rewrite a description, and measure whether that helped.
#
# About 45 minutes. It runs offline.

# %% [markdown]
# ## Who answers?
#
# Qwen2.5-Coder-1.5B-Instruct received hundreds of requests, each with three tools. All of its replies were recorded.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

from zoolab_study import datasets
from zoolab import model_for, predict

model = model_for("qwen" if LIVE == "local" else LIVE, "qwen-selection-3")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# ## Requests whose answer is known
#
# The data set `selection-cases` contains requests for forty tools of an office: running machines, helping customers, reading data, stopping attacks. People
# wrote the requests by hand, together with the right tool. The column `offered` names the three tools that are sent: the right one, and two that are similar.

# %%
cases = datasets.load("selection-cases").set_index("id")
print(f"{len(cases)} requests, {cases['tool'].isna().sum()} of them need no tool")
cases.loc[["ping-4", "ping-7", "check_status-7", "none-1"], ["prompt", "tool", "difficulty", "offered"]]

# %% [markdown]
# The column `difficulty` says how a request was made. `plain` uses the words of the description. `paraphrase` uses other words. `near_miss` is close to the
# description of another tool. Try one request.

# %%
ALL = datasets.selection_tools()


def offer(names):
    return [ALL[name] for name in names]


case = cases.loc["check_status-7"]
guess = predict(f"{case['prompt']} What will be called?", [*case["offered"], "no tool"])
guess

# %%
from zoolab import walk


def chosen(prompt, tools, system=None):
    "The name of the first tool that the model calls, or None."
    step = next(step for step in walk(prompt, tools, model, system=system) if step.kind == "tool_call")
    return None if step.slot is None else step.record.name


called = chosen(case["prompt"], offer(case["offered"]))
print("needed:", case["tool"])

# %% jupyter={"source_hidden": true}
guess.reveal(called or "no tool", because="One request is an anecdote. Ask all of them.")

# %% [markdown]
# ## All requests
#
# A request can end in five ways: the right tool, another tool that was offered, a tool that does not exist, no call although one was needed, and a call
# although none was needed.

# %%
import pandas as pd


def verdict(needed, called, offered):
    if called == needed:
        return "right"
    if called is None:
        return "missed call"
    if needed is None:
        return "needless call"
    return "wrong tool" if called in offered else "unknown tool"


needed = [None if pd.isna(name) else name for name in cases["tool"]]
called = [chosen(row.prompt, offer(row.offered)) for row in cases.itertuples()]
verdicts = map(verdict, needed, called, cases["offered"])
asked = cases.assign(called=called, verdict=list(verdicts))
guess = predict(
    "Of the requests that need a tool: for how many does Qwen choose the right one?",
    ["about half", "about three quarters", "about nine in ten"],
)
guess

# %%
asked["needs"] = asked["tool"].notna().map({True: "a tool", False: "no tool"})
asked.groupby(["needs", "verdict"]).size().unstack(fill_value=0)

# %% jupyter={"source_hidden": true}
needing = asked[asked["needs"] == "a tool"]
share = (needing["verdict"] == "right").mean()
guess.reveal(
    "about nine in ten" if share > 0.83 else "about three quarters" if share > 0.6 else "about half",
    because=f"It is {share:.0%}. Only three tools are offered, so the task is easier than in real life.",
)

# %% [markdown] tags=["slide"]
# ## A confusion matrix
#
# Each row is a tool that was expected, and each column is a tool that was called. The numbers count the requests. The boxes with a frame are right choices.
# Everything else is a **confusion**: it says which tool the model called, and which one was right. Here are the requests about machines.

# %% tags=["slide"]
from zoolab.plots import ToolConfusionDisplay

machines = asked[asked["domain"] == "devops"]
ToolConfusionDisplay.from_predictions(machines["tool"], machines["called"])

# %% [markdown]
# Confusions do not all cost the same. If the model reads a log instead of pinging, you lose a second. If it restarts a service instead of looking at it, you lose the
# service. So look at what was called *instead*, and then at what that tool does.

# %%
wrong = needing[needing["verdict"] != "right"]
wrong.assign(called=wrong["called"].fillna("no call")).groupby(["tool", "called"]).size().sort_values(
    ascending=False
).head(8)

# %% [markdown]
# A description can ask the model for something. It cannot forbid anything. Only permissions can ([08](08-execution.ipynb)).
#
# ## No tool needed
#
# "Good morning, how are you?" needs no tool. How often does Qwen call one anyway?

# %%
guess = predict(
    "Of the requests that need no tool: for how many does Qwen call one?",
    ["hardly any", "about half", "four in five or more"],
)
guess

# %%
from zoolab_study.statistics import wilson

idle = asked[asked["needs"] == "no tool"]
needless = int((idle["verdict"] == "needless call").sum())
print(f"needless calls: {wilson(needless, len(idle))} of {len(idle)} requests")
idle.groupby("difficulty")["verdict"].agg(lambda found: f"{(found == 'needless call').sum()} of {len(found)}")

# %% jupyter={"source_hidden": true}
share = needless / len(idle)
guess.reveal("four in five or more" if share > 0.75 else "about half" if share > 0.25 else "hardly any")

# %% [markdown]
# The numbers in brackets are the 95 % **interval**. We asked only some of all possible requests. If we asked all of them, the share could be any
# number in the interval. A rate without an interval hides how few requests were asked.
#
# A test that contains only requests for tools would never show this. The opposite test is no better. If no request needs a tool,
# a program that never calls anything is always right. So give two numbers.


# %% tags=["slide"]
def report(expected, called):
    expected, called = (pd.Series(list(names)).fillna("none") for names in (expected, called))
    right, need = expected == called, expected != "none"
    return {
        "right": right.mean(),
        "right if a tool is needed": right[need].mean(),
        "right if none is needed": right[~need].mean(),
    }


table = {
    "never calls": report(cases["tool"], [None] * len(cases)),
    "calls the first tool": report(cases["tool"], cases["offered"].str[0]),
    "Qwen": report(asked["tool"], asked["called"]),
}
(pd.DataFrame(table).T * 100).round().astype(int)

# %% [markdown]
# ## Other models, on the same requests
#
# The data set `selection-outputs` contains replies of two smaller models to such requests: Needle with 6, 8 or 20 of its layers, and SmolLM2. SmolLM2 reads the
# descriptions of the tools in its prompt. To compare models, use only the requests that both were asked. Then neither of them had the easier requests.

# %%
from zoolab_study.statistics import paired_difference

outputs = datasets.load("selection-outputs")
outputs = outputs[outputs["purpose"] == "choose"]
qwen_right = {case: [float(row == "right")] for case, row in asked["verdict"].items()}
for name, rows in outputs.groupby("model"):
    hits = rows["tool"].fillna("none") == rows["expected_tool"].fillna("none")
    other = {case: [float(hit)] for case, hit in zip(rows["case"], hits, strict=True)}
    mine = {case: qwen_right[case] for case in other if case in qwen_right}
    other = {case: other[case] for case in mine}
    print(f"Qwen against {name:11} on {len(mine):3} requests: {paired_difference(other, mine)}")

# %% [markdown]
# Each line contains the difference and its interval. If the interval contains 0, the honest words are **not decisive**: the data do not say who is better. "Not
# decisive" is not "equal".
#
# ## An experiment with an effect
#
# Does a system prompt matter? Decide first: 60 tasks, each with the tools of its domain. Each task is asked twice, without a system prompt and with this one:
#
# > Use the tools where they help. When you have the results that you need, answer in one short sentence, without a call.
#
# The question is whether Qwen *answers* in the end, or goes on calling until the limit of six turns.

# %%
from zoolab import Limits, Policy, Trace
from zoolab.errors import LoopError
from zoolab.toolbox.catalog import tools_named


SIX = Limits(turns=6)
WORLDS = (
    ("add", "multiply", "get_weather", "get_time", "convert_length"),
    *([name] for name in ("devops", "support", "analytics", "security")),
)


# %%
def hold(opening, model):
    "Hold the conversation that begins with a recorded request, and return its trace."
    *system, question = (message["content"] for message in opening["messages"])
    fresh = (tools_named(*names) for names in WORLDS)  # each conversation begins in a new world
    tools = next(kit for kit in fresh if kit.schemas() == opening["tools"])
    trace = Trace()
    steps = walk(question, tools, model, system="".join(system) or None, policy=Policy(ask=()), limits=SIX)
    try:
        for _ in trace.follow(steps):
            pass
    except LoopError:
        pass  # it went on calling until the limit
    return question, trace


# %%
RECORDED = {"without": "qwen-tasks", "with": "qwen-tasks-system"}
held = {}
for variant, name in RECORDED.items():
    replay = model_for(None, name)
    held[variant] = dict(hold(opening, replay) for opening in replay.recording.openings)
print({variant: len(traces) for variant, traces in held.items()}, "tasks")

# %%
guess = predict(
    "Without the system prompt Qwen answers hardly any of the 60 tasks. How many more does it answer with it?",
    ["about the same", "10 more", "30 more", "50 more"],
)
guess

# %% tags=["slide"]
answered = {
    variant: {task: [float(bool((trace.answer or "").strip()))] for task, trace in traces.items()}
    for variant, traces in held.items()
}
counts = {variant: int(sum(hit for [hit] in hits.values())) for variant, hits in answered.items()}
print("answered:", counts)
print("with against without:", paired_difference(answered["without"], answered["with"]))

# %% jupyter={"source_hidden": true}
more = counts["with"] - counts["without"]
guess.reveal(
    "about the same" if more < 5 else "10 more" if more < 20 else "30 more" if more < 40 else "50 more",
    because="The interval is far from 0. Two sentences change what this model does.",
)

# %% [markdown]
# "Answered" does not mean "right". It means that the model stopped calling and wrote something. Read a few of the answers before you are happy:

# %%
for task, trace in list(held["with"].items())[:6]:
    print(f"{task}\n    {(trace.answer or 'no answer')[:110]!r}")

# %% [markdown]
# ## An experiment that decides nothing
#
# Does a description matter? Needle (8 of its 20 layers) gets two requests for each tool: a paraphrase and a near miss. Each is asked twice:
# with the descriptions as they were written, and with "Does things." in their place. Names and parameters stay. `experiment` asks every request with every
# **variant** (a function that changes what is asked), and keeps a table. Their number is fixed before the first one is asked.

# %%
from dataclasses import replace

from zoolab import ToolRegistry, experiment

hard = cases[
    (cases["split"] == "public")
    & (cases["domain"] == "devops")
    & cases["difficulty"].isin(["paraphrase", "near_miss"])
].drop_duplicates(["tool", "difficulty"])
ROWS = [
    {"id": row.Index, "prompt": row.prompt, "tools": offer(row.offered), "expected_tool": row.tool}
    for row in hard.itertuples()
]
print(len(ROWS), "requests")
ONE = Limits(turns=1)


def written(setup):
    return replace(setup, limits=ONE)


def vague(setup):
    tools = ToolRegistry(replace(each, description="Does things.") for each in setup.tools)
    return replace(setup, limits=ONE, tools=tools)


# %%
needle = model_for("needle-L8" if LIVE == "local" else LIVE, "course-04")
guess = predict("Are the written descriptions better?", ["yes", "no", "not decisive"])
guess

# %%
done = experiment(
    ROWS, {"vague": vague, "written": written}, {"needle": needle}, scorers=["selection"], progress=False
)
print(done.summary.groupby("variant", sort=False)[["selection", "missed_call", "wrong_tool"]].mean())
found = done.compare("vague", "written", metric="selection")[0]
print(found)

# %% jupyter={"source_hidden": true}
guess.reveal(
    "not decisive" if not found.decisive else "yes" if found.difference.estimate > 0 else "no",
    because="The names and the parameters may say enough. Or there are too few requests. These data cannot tell which.",
)

# %%
done.plot("selection")

# %% [markdown]
# ## How many requests?
#
# Decide this before the experiment. Suppose that only the better description works in 1 request of 3, and only the worse one in 1
# of 9. How many requests are needed until the interval does not contain 0? Four times as many requests halve the interval.

# %% tags=["slide"]
for number in (9, 18, 36, 72, 144):
    before = {each: [float(each % 9 == 0)] for each in range(number)}
    after = {each: [float(each % 3 == 1)] for each in range(number)}
    print(f"{number:4} requests: {paired_difference(before, after)}")

# %% [markdown]
# ## Your turn
#
# **1. Count needless calls.** A colleague reports one number for a model: the share of right choices. Write `needless_rate`: of the requests that need no tool, the
# share with a call. `expected` and `called` are lists of names, with None for "no tool".


# %%
def needless_rate(expected, called):
    return 0.0


# %%
CASES = [
    ((["ping", None, None], ["ping", None, "ping"]), 0.5),
    (([None, None], ["ping", "add"]), 1.0),
    ((["ping", "add"], ["add", None]), None),
]
for arguments, right in CASES:
    print("right  " if needless_rate(*arguments) == right else "not yet", "|", arguments, "->", right)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Suppose that every request needs a tool. Which rate is honest then? It is not 0.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def needless_rate(expected, called):
#     idle = [name for wanted, name in zip(expected, called, strict=True) if wanted is None]
#     return sum(name is not None for name in idle) / len(idle) if idle else None
# ```
#
# If every request needs a tool, the rate is unknown. A 0 would say that the model never makes a needless call.
#
# </details>

# %% [markdown]
# **2. Rewrite descriptions, and measure them.** A word counter plays the model: it calls the tool whose name and description share most words with the request.
# It understands little, but it answers at once. So you can measure your descriptions in a second. These are plain requests; read them and the descriptions.

# %%
from zoolab import Scripted
from zoolab.retrieval import BM25, words_of

machine = cases[(cases["split"] == "public") & (cases["domain"] == "devops") & cases["tool"].notna()]
machine = machine.groupby(["tool", "difficulty"]).head(1)
TEN = sorted(machine["tool"].unique())
for row in machine[machine["difficulty"] == "plain"].itertuples():
    print(f"{row.tool:22}{row.prompt}")
    print(f"{'':22}  {ALL[row.tool].description}")

# %% [markdown]
# Write better descriptions into `MINE`. What would people *say* if they want this tool? The cell below measures with *other* requests, which you have not seen.
# They use other words, or they are close to another tool. If you write descriptions for the same requests with which you measure, the result proves nothing. So
# do not print them. Each try tells you a little about them, so the cell counts your tries: report that number with your result.

# %%
MINE = {
    "ping": "Ping a host. Is a machine up, does it answer, is it reachable on the network?",
}


# %%
COMMON = set(
    words_of(
        """a about an and are as at be by can do does for from has have how i if in is it me my not of on or our
        please so that the they this to we what when which will with you your"""
    )
)


def counter(request):
    "The name of the tool that shares most words with the question, as a call."
    offered = [each["function"] for each in request.tools]
    texts = [f"{each['name'].replace('_', ' ')} {each['description']}" for each in offered]
    question = " ".join(word for word in words_of(request.messages[-1]["content"]) if word not in COMMON)
    scores = BM25().scores(question, texts)
    best = max(scores)
    return (
        [(offered[scores.index(best)]["name"], {})]
        if best > 0 and scores.count(best) == 1
        else "No tool fits."
    )


# %%
unseen = machine[machine["difficulty"] != "plain"]
ASKED = [{"id": row.Index, "prompt": row.prompt, "expected_tool": row.tool} for row in unseen.itertuples()]


def measure(descriptions):
    return experiment(
        ASKED,
        {"before": {"limits": ONE}, "after": {"limits": ONE, "descriptions": descriptions}},
        {"words": Scripted(counter)},
        tools=offer(TEN),
        scorers=["selection"],
        progress=False,
    )


# %%
tries = globals().get("tries", 0) + 1
mine = measure(MINE)
print("try", tries, "with these requests")
print(mine.summary.groupby("variant", sort=False)["selection"].agg(["sum", "size"]))
found = mine.compare("before", "after", metric="selection")[0]
print(found)
print(
    "right: your descriptions help"
    if found.decisive and found.difference.estimate > 0
    else "not yet: not decisive"
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Imagine a colleague on the phone who has never heard of your tools. Note the verbs and the complaints that you would hear: for each tool a word for the
# trouble, a word for the wish, and a second name of the thing. A word that stands in two descriptions is no use for either.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# MINE = {
#     "ping": "Is a machine up, does it answer on the network, is it reachable? Sends packets.",
#     "check_http": "Can people open a website or URL in a browser? Returns its status code.",
#     "traceroute": "Show the path through the network to a host: which machines are on it, where packets get lost or slow.",
#     "check_status": "How is a service doing, does it run? Only looks.",
#     "restart_service": "Stop a service and start it again: turn it off and on, bring it back when it hangs.",
#     "read_logs": "What did a service write, why did it fail, crash or die, what is wrong with it? Reads its log.",
#     "check_disk_usage": "Are the disks of a host full, will it run out of space?",
#     "scale_service": "Have more or fewer copies or replicas of a service, when it cannot keep up with the load.",
#     "deploy_release": "Put a new version of a service live, in production or staging, for customers.",
#     "schedule_maintenance": "Announce planned work on a host: tell people the date and hour at which it is down.",
# }
# ```
#
# The author of these descriptions had seen the requests: this is what an experiment may not do. So the result shows what is possible. It does not show how good the next description will be.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - A run without errors can have chosen the wrong tool. You need many requests with a known answer to see it.
# - Ask requests that need no tool, too. Give two numbers.
# - Look at what was called *instead*. Some confusions cost a second, and some cost a service.
# - Decide the number of requests first, compare on the same requests, and give the interval.
#
# Next: [05 · Many tools](05-many-tools.ipynb). Lab: [l4 · Select a tool](../labs/l4/l4.ipynb).
