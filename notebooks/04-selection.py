# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04 · Selection
#
# "Does redis run?" asks somebody, and the assistant restarts redis. The JSON was fine, the tool exists, the call ran, every step was green.
# It was the wrong tool. **Selection** is the choice of the tool, or of none, and nothing in a single run shows whether it was right. You have to
# know what should have been chosen, and you have to count.
#
# Afterwards you can
#
# - read a confusion matrix: what was expected, what was called;
# - test for requests that need *no* tool, and say what a test without them hides;
# - put an interval on a rate, and say "not decisive" when it is so;
# - tell what more tools cost, and what retrieval buys back;
# - rewrite a description, and measure whether that helped.
#
# About 50 minutes, offline.

# %% [markdown]
# ## Who answers?
#
# Needle 3 is a small model that does nothing but choose calls. A model is a stack of **layers**; Needle can be asked with all twenty of its layers, or with
# the lowest eight or six, which is quicker. Its **depth** is how many. Here it answers with eight; further down you see what that costs.
# It was recorded: what it says is what it said.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

from zoolab import datasets, experiment, model_for, predict

model = model_for("needle-L8" if LIVE == "local" else LIVE, "course-04")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# ## Requests whose answer is known
#
# You cannot measure a choice without knowing the right one. The data set `selection-cases` has requests for forty tools of an office: running machines,
# helping customers, reading data, fending off attacks. They were written by hand, and so were the answers. `offered` are three tools to choose from: the
# right one, and those that it is most easily taken for.

# %%
cases = datasets.load("selection-cases")
cases = cases[cases["split"] == "public"].set_index("id")
print(f"{len(cases)} requests, {cases['tool'].isna().sum()} of them need no tool")
cases.loc[["ping-4", "ping-7", "check_status-7", "none-1"], ["prompt", "tool", "difficulty", "offered"]]

# %% [markdown]
# `paraphrase` says it in other words than the description does, `near_miss` has another tool close by. Try one on the model.

# %%
ALL = datasets.selection_tools()


def offer(names):
    return [ALL[name] for name in names]


case = cases.loc["check_status-7"]
guess = predict(f"{case['prompt']} What will be called?", case["offered"])
guess

# %%
from zoolab import walk

step = next(step for step in walk(case["prompt"], offer(case["offered"]), model) if step.kind == "tool_call")
print("needed:", case["tool"])

# %% jupyter={"source_hidden": true}
guess.reveal(
    "no tool" if step.slot is None else step.record.name,
)

# %% [markdown]
# Needle writes down a thought before it calls. (Another model may not.)

# %%
raw = step.reply.raw or {}
print(raw.get("needle", {}).get("raw", "this model shows no thought"))

# %% [markdown]
# One request is an anecdote. The data set `selection-outputs` has hundreds of answers of the two small models that run on this machine: Needle at several depths,
# and SmolLM2, a small writer of words which gets the tools described in its prompt. A row is an answer.

# %%
outputs = datasets.load("selection-outputs")
outputs = outputs[outputs["purpose"] == "choose"]
hit = outputs["tool"].fillna("none") == outputs["expected_tool"].fillna("none")
outputs = outputs.assign(chose=hit.astype(float))
print(f"{len(outputs)} answers to {outputs['case'].nunique()} requests, made: {set(outputs['made'])}")
outputs[["prompt", "model", "expected_tool", "tool", "verdict"]].head(8)

# %% [markdown]
# ## A confusion matrix
#
# A row for each tool that was expected, a column for each that was called, counts where they meet. The framed boxes are the right ones. Everything else
# is a **confusion**, and says who was taken for whom. Here are the requests about machines, with Needle's depths taken together.

# %%
from zoolab.plots import ToolConfusionDisplay

needle = outputs[outputs["model"].str.startswith("needle")]
machines = needle[needle["case"].map(cases["domain"]) == "devops"]
matrix = ToolConfusionDisplay.from_predictions(machines["expected_tool"], machines["tool"])
matrix

# %% [markdown]
# Not all confusions cost the same. Reading where it should have pinged costs a second. Restarting where it should have looked costs
# an outage. So look at what was called *instead*, and then at what that tool does.

# %%
wrong = machines[machines["expected_tool"].notna() & (machines["chose"] == 0)]
wrong = wrong.assign(called=wrong["tool"].fillna("no call"))
confusions = wrong.groupby(["expected_tool", "called"]).size().sort_values(ascending=False)
print(confusions.head(6))
print()
for name in dict.fromkeys(confusions.head(6).index.get_level_values("called")):
    print(f"{name:16} {ALL[name].description if name in ALL else ''}")

# %% [markdown]
# Who wrote "only if the user asks for a restart" hoped that it would be read. A description asks; it does not forbid. What forbids is a permission
# ([08](08-execution.ipynb)).

# %% [markdown]
# ## No tool needed
#
# "Good morning, how are you?" needs no tool. Nor does "Numbers make me happy". How often does Needle call one all the same?

# %%
guess = predict(
    "Of the requests that need no tool: how often does Needle call one?",
    ["hardly ever", "about half of the time", "nearly always"],
)
guess

# %%
from zoolab.study.statistics import wilson

idle = needle[needle["expected_tool"].isna()]
shares = {}
for name, rows in idle.groupby("model"):
    shares[name] = wilson(rows["tool"].notna().sum(), len(rows))
    print(f"{name:12} calls where none is needed: {shares[name]}, {len(rows)} requests")
share = idle["tool"].notna().mean()

# %% jupyter={"source_hidden": true}
guess.reveal(
    "nearly always" if share > 0.75 else "about half of the time" if share > 0.25 else "hardly ever",
)

# %% [markdown]
# The numbers in brackets are the 95 % **interval**: with so few requests, the share among *all* such requests may well lie anywhere in it. A rate without
# its interval hides how little was asked.
#
# Needle was made to call. A test that only holds requests for tools would never have shown this. The reverse is as easy to miss: a model that never calls
# is always right here. Here are some programs that do not think at all.

# %%
import pandas as pd


def report(expected, chosen):
    expected, chosen = (pd.Series(list(names)).fillna("none") for names in (expected, chosen))
    right, need = expected == chosen, expected != "none"
    return {
        "right": right.mean(),
        "right, of those that need a tool": right[need].mean(),
        "right, of those that need none": right[~need].mean(),
    }


first = cases["offered"].str[0]
table = {
    "never calls": report(cases["tool"], [None] * len(cases)),
    "the first tool on offer": report(cases["tool"], first),
    "Needle, all depths": report(needle["expected_tool"], needle["tool"]),
}
(pd.DataFrame(table).T * 100).round().astype(int)

# %% [markdown]
# (In percent.) One number is not enough. Give both: how often it is right where a tool is needed, and where none is.
# (The last row was asked fewer requests than the others; the next section compares on the same ones.)
#
# SmolLM2 has a fault of its own. Its prompt held a few worked examples, one of them about the weather. Look at what it called:

# %%
writer = outputs[outputs["model"] == "smollm2"]
invented = writer[writer["verdict"] == "unknown_tool"]
print(f"{len(invented)} of {len(writer)} answers call a tool that does not exist")
print(invented["tool"].value_counts().head(6))

# %% [markdown]
# It invents names that sound right, or takes them from the examples. Such a call is caught by validation, and is therefore the harmless sort. Needle cannot do it:
# while it writes a name, only letters that lead to a tool on offer are let through. A rule against one error says nothing about the others.

# %% [markdown]
# ## A ladder of quality
#
# Twenty layers must be better than six. At what? Asked the same requests, so that luck with requests is the same for all: once for the tool,
# once for tool *and* arguments.

# %%
guess = predict(
    "From six layers to twenty: what gets better?",
    ["the choice of the tool", "the arguments", "both", "that cannot be told"],
)
guess

# %%
from zoolab.study.statistics import paired_difference, rate

needle = needle.assign(whole=(needle["verdict"] == "right").astype(float))
asked = set.intersection(*needle.groupby("model")["case"].agg(set))
same = needle[needle["case"].isin(asked)]


def scores(name, column):
    return {row.case: [getattr(row, column)] for row in same[same["model"] == name].itertuples()}


depths = sorted(same["model"].unique(), key=lambda name: int(name.split("L")[1]))
print(f"{len(asked)} requests, put to each depth")
for name in depths:
    print(f"{name:12} tool {rate(scores(name, 'chose'))}   all of it {rate(scores(name, 'whole'))}")

# %% [markdown]
# Intervals that overlap do not settle it. As each depth had the same requests, compare request by request: where did only one of them get it right?
# That difference has an interval of its own. If it holds 0, the honest word is **not decisive**: the data do not say which is better.

# %%
better = {}
for column, what in (("chose", "the choice of the tool"), ("whole", "tool and arguments")):
    found = paired_difference(scores(depths[0], column), scores(depths[-1], column))
    better[column] = found.decisive and found.estimate > 0
    print(f"{depths[-1]} against {depths[0]}, {what}: {found}")
answers = {
    (True, True): "both",
    (False, True): "the arguments",
    (True, False): "the choice of the tool",
    (False, False): "that cannot be told",
}

# %% jupyter={"source_hidden": true}
guess.reveal(
    answers[better["chose"], better["whole"]],
    because="As far as so many requests can tell.",
)

# %% [markdown]
# "Not decisive" is not "equal". It says that you have to ask more, or to live with not knowing. And it is why the model of this notebook may have eight layers:
# for choosing, more of them did not show when it was recorded.

# %%
from zoolab.plots import AblationDisplay

AblationDisplay.from_frame(
    same.rename(columns={"case": "case_id", "model": "variant"}).sort_values(
        "variant", key=lambda names: names.map(depths.index)
    ),
    score="whole",
)

# %% [markdown]
# ## Does a description matter?
#
# In notebook 01 you guessed which words make a model choose a tool. Here are requests about machines, each with its three tools. Once with the descriptions as they
# were written, once with "Does things." in their place; names and parameters stay. One turn is enough: only the choice counts. `experiment` runs every request with every **variant** (a function that changes what is asked), and keeps a table.

# %%
from dataclasses import replace

from zoolab import Limits, ToolRegistry

hard = cases[(cases["domain"] == "devops") & cases["difficulty"].isin(["paraphrase", "near_miss"])]
hard = hard.drop_duplicates(["tool", "difficulty"])
ROWS = [
    {"id": row.Index, "prompt": row.prompt, "tools": offer(row.offered), "expected_tool": row.tool}
    for row in hard.itertuples()
]
ONE = Limits(turns=1)


def written(setup):
    return replace(setup, limits=ONE)


def vague(setup):
    tools = ToolRegistry(replace(each, description="Does things.") for each in setup.tools)
    return replace(setup, limits=ONE, tools=tools)


guess = predict("Are the written descriptions better?", ["yes", "no", "not decisive"])
guess

# %%
done = experiment(
    ROWS, {"vague": vague, "written": written}, {"needle": model}, scorers=["selection"], progress=False
)
print(done.summary.groupby("variant", sort=False)[["selection", "missed_call", "wrong_tool"]].mean())
found = done.compare("vague", "written", metric="selection")[0]
print(found)

# %% jupyter={"source_hidden": true}
guess.reveal(
    "not decisive" if not found.decisive else "yes" if found.difference.estimate > 0 else "no",
    because="Names and parameters were left, and perhaps they say enough; or there were too few requests.",
)

# %%
done.plot("selection")

# %% [markdown]
# How many requests would it take? Suppose that the better description wins every third request and loses every ninth. The interval shrinks with
# the root of their number: four times as many requests halve it.

# %%
for number in (9, 18, 36, 72, 144):
    before = {each: [float(each % 9 == 0)] for each in range(number)}
    after = {each: [float(each % 3 == 1)] for each in range(number)}
    print(f"{number:4} requests: {paired_difference(before, after)}")

# %% [markdown]
# ## More tools
#
# Three tools on offer is kind. Here are the first of the same requests with all tools for machines on offer, to the same model. Before, the right one was hidden among two that look
# like it; now the others come on top.

# %%
TEN = sorted(hard["tool"].unique())


def more(setup):
    return replace(setup, limits=ONE, tools=ToolRegistry(offer(TEN)))


variants = {"three tools": written, f"{len(TEN)} tools": more}
FEW = ROWS[:10]
grown = experiment(FEW, variants, {"needle": model}, scorers=["selection"], progress=False)
print(grown.summary.groupby("variant", sort=False)[["selection", "missed_call", "wrong_tool"]].mean())
print(grown.compare(metric="selection"))

# %% [markdown]
# So few requests hardly decide anything: look at the width of the interval. And real assistants carry forty tools, or a hundred. Asking a model about so many takes long on a small machine, so the chooser is now a **word counter**. It is no
# language model. It scores each tool by the words that its name and description share with the request, rare words above common ones (the formula is called **BM25**),
# and takes the best. No shared word, or two equally good: no call. It reads badly, and it answers at once.

# %%
from zoolab.retrieval import BM25
from zoolab.retrieval import words_of

SMALL = set(
    words_of(
        """a about an and any are as at be by can do does for from has have how i if in into is it its me my no
        not of on one or our please so that the their them there they this to use user was we were what when
        where whether which who will with you your"""
    )
)


def choose(question, texts):
    words = [word for word in words_of(question) if word not in SMALL]
    scores = BM25().scores(" ".join(words), list(texts.values()))
    best = max(scores)
    return list(texts)[scores.index(best)] if best > 0 and scores.count(best) == 1 else None


# %%
TEXTS = {each.name: f"{each.name.replace('_', ' ')} {each.description}" for each in ALL}
chosen = choose("Is the service redis running?", TEXTS)
print(f"{len(TEXTS)} tools; {chosen} is chosen")
print("asked:       ", words_of("Is the service redis running?"))
print("check_status:", words_of(TEXTS["check_status"])[:8])

# %% [markdown]
# (It cuts endings off, so that *hosts* and *host* are one word, and then does not see that *runn* and *run* are.)

# %%
import random

guess = predict(
    "With forty tools instead of three, where does the word counter lose more?",
    ["requests that need a tool", "requests that need none"],
)
guess

# %%
# Requests come in families that differ in a value only; one of each is enough, and two would count double.
number = cases.index.str.extract(r"-(\d+)$")[0].astype(int).to_numpy()
fair = cases[cases["tool"].isna() | (number % 3 == 1)]


def offered_with(case, size):
    others = [name for name in TEXTS if name not in case.offered]
    random.Random(case.prompt).shuffle(others)
    return [*case.offered, *others][:size]


grown = {}
for size in (3, 10, 20, 40):
    picks = [
        choose(row.prompt, {name: TEXTS[name] for name in offered_with(row, size)})
        for row in fair.itertuples()
    ]
    grown[size] = report(fair["tool"], picks)
grown = pd.DataFrame(grown).T
lost = grown.loc[3] - grown.loc[40]
needing, none = (lost[f"right, of those that need {what}"] for what in ("a tool", "none"))
print((grown * 100).round().astype(int).to_string())

# %% jupyter={"source_hidden": true}
guess.reveal(
    "requests that need none" if none > needing else "requests that need a tool",
)

# %% [markdown]
# (In percent; a row is how many tools were on offer.) The more tools, the more words that fit by chance. And a request pays for them each time:

# %%
from zoolab.tokens import tokens_in

schemas = ALL.schemas()
for size in (3, 10, 40):
    print(f"{size:3} tools: about {tokens_in(tools=schemas[:size]):,} tokens in every request")

# %% [markdown]
# A **token** is a piece of a word, about four letters; models are paid, and slow, by the token.
#
# ## Retrieval
#
# **Retrieval** is the remedy: before each request, a cheap program picks the few tools that fit the question, and only those are sent. Whether it does its work is
# one question: is the right tool *among* those that were sent? That share is called **recall**. Two ways: BM25, by words; and embeddings, by meaning (a table of
# numbers for each word, so that *refund* lies near *money back*).

# %%
from zoolab.retrieval import Embeddings
from zoolab.retrieval import tool_text

guess = predict(
    "Eight of forty are sent. Who has the right one among them more often?", ["BM25", "Embeddings"]
)
guess

# %%
full = [tool_text(each) for each in ALL]
names = ALL.names()


def ranks(retriever, questions):
    for question, tool in questions:
        scores = retriever.scores(question, full)
        yield 1 + sum(score > scores[names.index(tool)] for score in scores)


need = fair[fair["tool"].notna()]
pairs = list(zip(need["prompt"], need["tool"], strict=True))
found = {type(each).__name__: list(ranks(each, pairs)) for each in (BM25(), Embeddings())}
recall = pd.DataFrame(found)
for k in (1, 3, 5, 8, 16):
    print(f"{k:3} sent:", {name: f"{(recall[name] <= k).mean():.0%}" for name in recall})
guess.reveal((recall <= 8).mean().idxmax())

# %%
short = {name: {case: [float(rank <= 8)] for case, rank in enumerate(recall[name])} for name in recall}
print("Embeddings against BM25, 8 sent:", paired_difference(short["BM25"], short["Embeddings"]))

# %% [markdown]
# Which requests does BM25 lose? Mostly those that say it in other words, as you see below. Whatever retrieval drops, the best model in the world cannot choose. That is
# why a request's record keeps what was **withheld**, and why:

# %%
lost = [(rank, *pair) for rank, pair in zip(recall["BM25"], pairs, strict=True) if rank > 8]
for rank, prompt, tool in sorted(lost, reverse=True)[:5]:
    print(f"{tool} is at rank {rank:2}: {prompt}")

# %%
from zoolab import Scripted

silent = Scripted(["I have no tool for that."])
steps = walk(lost[0][1], ALL, silent, retrieve=BM25(k=8))
request = next(step.record for step in steps if step.kind == "request")
print("question:", lost[0][1])
print("sent:", ", ".join(each["function"]["name"] for each in request.tools))
for left in request.withheld[:3]:
    print("withheld:", left)
print("withheld, and needed:", [str(left) for left in request.withheld if left.name == lost[0][2]])

# %% [markdown]
# One thing retrieval does not do: it never sends *nothing*. "Good morning" is sent with eight tools as well.

# %% [markdown]
# ## Your turn
#
# **1. A threshold.** The word counter calls whenever any word fits. Let it call only when the best score is at least `LEAST`. Find the value at which it is right
# equally often with and without need. What does it cost?

# %%
LEAST = 0.0


def careful(question, texts):
    scores = BM25().scores(
        " ".join(word for word in words_of(question) if word not in SMALL), [*texts.values()]
    )
    best = max(scores)
    return [*texts][scores.index(best)] if best > LEAST and scores.count(best) == 1 else None


picks = [careful(row.prompt, TEXTS) for row in fair.itertuples()]
{what: f"{share:.0%}" for what, share in report(fair["tool"], picks).items()}

# %% [markdown]
# <details><summary>Hint</summary>
#
# Try 3, 4, 5. No value is right: there is a trade, and whoever calls a needless tool harmless has never had one that deletes.
#
# </details>

# %% [markdown]
# **2. Rewrite a description, and measure it.** The word counter is to choose among ten tools for machines. These are plain requests; read them, and the descriptions.

# %%
machine = fair[(fair["domain"] == "devops") & fair["tool"].notna()]
for row in machine[machine["difficulty"] == "plain"].itertuples():
    print(f"{row.tool:22}{row.prompt}")
    print(f"{'':22}  {ALL[row.tool].description}")

# %% [markdown]
# Write better ones into `MINE`: what would people *say* who want this? Then run the cells. They ask other requests than those above, said in other words or with
# another tool close by. You have not seen these, and that is the point: descriptions made to fit the requests that you measure with prove nothing.

# %%
MINE = {
    "ping": "Ping a host. Is a machine up, does it answer, is it reachable on the network?",
}


# %%
def counter(request):
    if request.messages[-1]["role"] == "tool":
        return "Done."
    offered = [each["function"] for each in request.tools]
    texts = {each["name"]: f"{each['name'].replace('_', ' ')} {each['description']}" for each in offered}
    name = choose(request.messages[-1]["content"], texts)
    return [(name, {})] if name else "No tool fits."


unseen = machine[machine["difficulty"] != "plain"]
ASKED = [{"id": row.Index, "prompt": row.prompt, "expected_tool": row.tool} for row in unseen.itertuples()]


def measure(descriptions):
    variants = {"before": {}, "after": {"descriptions": descriptions}}
    return experiment(
        ASKED, variants, {"words": Scripted(counter)}, tools=offer(TEN), scorers=["selection"], progress=False
    )


# %%
mine = measure(MINE)
print(mine.summary.groupby("variant", sort=False)["selection"].agg(["sum", "size"]))
print(mine.compare("before", "after", metric="selection"))

# %% [markdown]
# With one description changed, expect "not decisive", also when the number went up. Go on with the others until the interval leaves out 0,
# or until you believe that it will not.
#
# <details><summary>Hint</summary>
#
# Verbs and complaints: *hangs, slow, lost, full, space, why, copies, browser, version, live*. But a word that stands in two descriptions helps neither, and a word that is
# in every request calls the tool for everything.
#
# </details>
#
# <details><summary>Solution</summary>
#
# One way. `measure(ONE_WAY)` says what it is worth.
#
# ```python
# ONE_WAY = {
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
# print(measure(ONE_WAY).compare("before", "after", metric="selection"))
# ```
#
# Whoever wrote it had seen the requests. So it is no proof either: it shows what is possible, not what your next description will do.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - A green run can have chosen wrong. Only requests whose answer is known show it, and enough of them.
# - Ask for nothing, too: a test without "no tool needed" cannot see a model that always calls.
# - Look at what was called *instead*; some confusions cost a second, some an outage.
# - Compare on the same requests, give the interval, and say "not decisive" when it holds 0.
# - More tools cost tokens and choices. Retrieval buys them back, and loses what it withholds.
#
# Next: [06 · Validation](06-validation.ipynb). Lab: [l6 · Select a tool](../labs/l6/l6.ipynb).
