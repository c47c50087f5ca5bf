# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 05 · Many tools
#
# In notebook 04 the model chose among three tools. Real assistants have forty tools, or two hundred. Every description is sent with every request. It costs
# tokens. And each further tool is one more that the model can choose by mistake.
#
# The remedy is to send fewer tools: a cheap program picks those that fit the question. This is called **retrieval**. It has a price, too. A tool that was not
# sent cannot be called.
#
# Afterwards you can
#
# - say what forty tools cost in each request;
# - measure with **recall@k** whether a retriever sends the right tool;
# - find out in a trace that the right tool was withheld;
# - let the model itself search for tools.
#
# About 40 minutes. It runs offline. Retrieval itself needs no language model: it is an ordinary program.

# %% [markdown]
# ## What forty tools cost

# %%
from zoolab_study import datasets
from zoolab import predict
from zoolab.tokens import tokens_in

ALL = datasets.selection_tools()
schemas = ALL.schemas()
guess = predict(
    "A question has about ten tokens. About how many tokens do forty tools add to each request?",
    [40, 400, 4_000, 40_000],
)
guess

# %% tags=["slide"]
for size in (3, 8, 40):
    print(f"{size:3} tools: about {tokens_in(tools=schemas[:size]):,} tokens in every request")

# %% jupyter={"source_hidden": true}
counted = tokens_in(tools=schemas)
guess.reveal(
    min((40, 400, 4_000, 40_000), key=lambda n: abs(n - counted)),
    because="A description, the names of the parameters and their descriptions: about a hundred tokens for each tool.",
)

# %% [markdown]
# ## Requests whose answer is known
#
# The data set `selection-cases` contains requests for these forty tools. People wrote them by hand, together with the right tool.

# %%
cases = datasets.load("selection-cases")
cases = cases[(cases["split"] == "public")].set_index("id")
# Requests come in families that differ only in a value, so one of each family is enough.
number = cases.index.str.extract(r"-(\d+)$")[0].astype(int).to_numpy()
fair = cases[cases["tool"].isna() | (number % 3 == 1)]
need = fair[fair["tool"].notna()]
print(len(need), "requests that need a tool")
need.groupby("difficulty").head(1)[["prompt", "tool", "difficulty"]]

# %% [markdown]
# - `plain` uses the words of the description.
# - `paraphrase` says it in other words.
# - `near_miss` is close to the description of another tool.
#
# ## Do more tools make the choice harder?
#
# Tokens are one cost. Wrong choices may be a second cost. Qwen2.5-Coder-1.5B-Instruct got each request twice: once with three tools, and once with eight tools that
# include the same three. Both times the right tool was offered. All replies were recorded.

# %%
from zoolab import model_for, walk


def called(size):
    "For each request: the tool that Qwen calls first, or None."
    qwen = model_for(None, f"qwen-selection-{size}")
    for body in qwen.recording.openings:
        names = [each["function"]["name"] for each in body["tools"]]
        prompt = body["messages"][-1]["content"]
        steps = walk(prompt, [ALL[name] for name in names], qwen)
        first = next(step for step in steps if step.kind == "tool_call")
        yield prompt, None if first.slot is None else first.record.name


with_three, with_eight = dict(called(3)), dict(called(8))
guess = predict(
    "With eight tools instead of three, what grows by more than chance?",
    ["wrong choices", "needless calls", "both", "neither"],
)
guess

# %%
from zoolab_study.statistics import paired_difference

needed = datasets.load("selection-cases").set_index("prompt")["tool"]
right = needed.astype(object).where(needed.notna(), None)


def compare(prompts):
    scores = [{p: [float(calls[p] != right[p])] for p in prompts} for calls in (with_three, with_eight)]
    three, eight = (int(sum(score for [score] in each.values())) for each in scores)
    return f"{three} with three tools, {eight} with eight, of {len(prompts)}:", paired_difference(*scores)


wrong = compare(needed.index[needed.notna()])
needless = compare(needed.index[needed.isna()])
print("wrong choices: ", *wrong)
print("needless calls:", *needless)

# %% jupyter={"source_hidden": true}
names = {(True, True): "both", (True, False): "wrong choices", (False, True): "needless calls"}
guess.reveal(
    names.get((wrong[1].decisive, needless[1].decisive), "neither"),
    because="Qwen finds the right tool among eight nearly as often. If no tool fits, it calls one nearly every time, with three tools as with eight.",
)

# %% [markdown]
# Both intervals contain zero, so these requests do not show that more tools make it worse. They do not show the opposite either, and eight is not forty.
#
# ## Two retrievers
#
# A retriever gives each tool a score for a question. zoolab has two:
#
# - **BM25** compares words. A word that few tools have counts more than a word that many tools have.
# - **Embeddings** compare meanings. A table contains a few hundred numbers for each word. Words that occur in similar texts have similar numbers, so *refund* is close
#   to *money back*.

# %%
from zoolab.retrieval import BM25, Embeddings, tool_text

TEXTS = [tool_text(each) for each in ALL]
NAMES = ALL.names()


def best(retriever, question, k=5):
    scores = list(retriever.scores(question, TEXTS))
    order = sorted(range(len(NAMES)), key=lambda index: -scores[index])
    return [(NAMES[index], round(float(scores[index]), 2)) for index in order[:k]]


question = "Customers cannot open our website."
for retriever in (BM25(), Embeddings()):
    print(type(retriever).__name__, best(retriever, question))

# %% [markdown] tags=["slide"]
# ## recall@k
#
# One question is an anecdote. **recall@k** is the share of requests whose right tool is among the k tools with the best scores. If eight tools are sent,
# recall@8 is the best result that any model can reach.

# %%
guess = predict(
    "Eight of forty tools are sent. Which retriever has the higher recall?", ["BM25", "Embeddings"]
)
guess

# %%
import pandas as pd


def ranks(retriever):
    for row in need.itertuples():
        scores = list(retriever.scores(row.prompt, TEXTS))
        mine = scores[NAMES.index(row.tool)]
        yield 1 + sum(score > mine for score in scores)


rank = pd.DataFrame(
    {type(each).__name__: list(ranks(each)) for each in (BM25(), Embeddings())}, index=need.index
)
KS = (1, 3, 5, 8, 16, 40)
recall = pd.DataFrame({name: {k: (rank[name] <= k).mean() for k in KS} for name in rank})
(100 * recall).round().astype(int)

# %% tags=["slide"]
from zoolab_study.plots import RecallDisplay

RecallDisplay.from_ranks(rank)

# %% jupyter={"source_hidden": true}
guess.reveal(
    recall.loc[8].idxmax(),
    because=f"recall@8 is {recall.loc[8, 'BM25']:.0%} for BM25 and {recall.loc[8, 'Embeddings']:.0%} for Embeddings.",
)

# %% [markdown]
# Is the difference more than chance? Compare the two on the same requests, and look at the interval.

# %%
hits = {name: {case: [float(place <= 8)] for case, place in rank[name].items()} for name in rank}
print("Embeddings against BM25, 8 sent:", paired_difference(hits["BM25"], hits["Embeddings"]))

# %% [markdown]
# Where does BM25 fail? Look at each kind of request.

# %%
by_kind = (rank <= 8).groupby(need["difficulty"]).mean()
(100 * by_kind).round().astype(int)

# %%
lost = rank[rank["BM25"] > 8].sort_values("BM25", ascending=False)
for case, places in lost.head(5).iterrows():
    print(f"{need.loc[case, 'tool']} has rank {places['BM25']:2}: {need.loc[case, 'prompt']}")

# %% [markdown]
# ## What was withheld
#
# Pass `retrieve=` to a walk, and each request contains only the best tools. The record of the request names the tools that were withheld, with their scores. So
# a trace can tell you that the model never had a chance.

# %%
from zoolab import Scripted

case = lost.index[0]
prompt, wanted = need.loc[case, "prompt"], need.loc[case, "tool"]
steps = walk(prompt, ALL, Scripted(["I have no tool for that."]), retrieve=BM25(k=8))
request = next(step.record for step in steps if step.kind == "request")
print("question:", prompt)
print("sent:    ", ", ".join(each["function"]["name"] for each in request.tools))
print("withheld, and needed:", *(str(left) for left in request.withheld if left.name == wanted))

# %%
guess = predict(
    "The message is: Good morning! How many tools does BM25(k=8) send?",
    [0, 1, 8, 40],
)
guess

# %%
steps = walk("Good morning!", ALL, Scripted(["Good morning!"]), retrieve=BM25(k=8))
greeting = next(step.record for step in steps if step.kind == "request")
print(len(greeting.tools), "tools were sent")

# %% jupyter={"source_hidden": true}
guess.reveal(
    len(greeting.tools),
    because="Retrieval ranks tools. It does not decide whether one is needed.",
)

# %% [markdown]
# ## The model searches
#
# A retriever sees the question of the user. Sometimes the model knows better what it needs, for instance in the second step of a plan. With `find_tools=True` the
# model gets one more tool, `find_tools`. It takes a few words and returns the descriptions of the best tools. From the next request on these tools are offered, too.
#
# A scripted model shows the order of events.

# %%
from zoolab import Policy, run

searching = Scripted(
    [
        [("find_tools", {"query": "restart a service"})],
        [("restart_service", {"service": "nginx"})],
        "nginx was restarted.",
    ]
)
found = run(
    "Customers cannot open our website.",
    ALL,
    searching,
    retrieve=BM25(k=2),
    find_tools=True,
    policy=Policy(ask=()),
)
for step in found.steps:
    if step.kind == "request":
        print(
            f"turn {step.turn}, offered:", ", ".join(each["function"]["name"] for each in step.record.tools)
        )

# %%
guess = predict(
    "In which turn was restart_service offered for the first time?",
    [1, 2, 3],
)
guess

# %% jupyter={"source_hidden": true}
offered_in = [
    step.turn
    for step in found.steps
    if step.kind == "request"
    and "restart_service" in [each["function"]["name"] for each in step.record.tools]
]
guess.reveal(
    offered_in[0],
    because="The result of find_tools stands in messages[], and the next request offers what it names.",
)

# %% [markdown]
# Step through it. The search is a call like every other: it is validated, executed and answered.

# %%
found.inspect()

# %% [markdown]
# Some providers do this on their side. Anthropic calls it a *tool search tool*: tools are marked with `defer_loading`, and the model searches among them
# ([documentation](https://docs.claude.com/en/docs/agents-and-tools/tool-use/tool-search-tool)). The idea is the same, but you do not see what was withheld.

# %% [markdown]
# ## Your turn
#
# **1. How many must be sent?** Find the smallest k for which Embeddings reach a recall of at least 0.9. What does it save?

# %%
SMALLEST = 1

# %%
reached = (rank["Embeddings"] <= SMALLEST).mean()
fewer = (rank["Embeddings"] <= SMALLEST - 1).mean()
if reached < 0.9:
    print(f"not yet: recall@{SMALLEST} is {reached:.0%}")
elif fewer >= 0.9:
    print(f"not yet: {SMALLEST - 1} are enough")
else:
    share = tokens_in(tools=schemas[:SMALLEST]) / tokens_in(tools=schemas)
    print(f"right: {SMALLEST} of 40 tools, about {share:.0%} of the tokens")

# %% [markdown]
# <details><summary>Hint</summary>
#
# The 90th percentile of the ranks tells you: `rank["Embeddings"].quantile(0.9)`.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# SMALLEST = next(k for k in range(1, 41) if (rank["Embeddings"] <= k).mean() >= 0.9)
# ```
#
# Ninety per cent means: for one request in ten the right tool is not sent, so no model can call it. Whether that is enough depends on what happens then.
#
# </details>

# %% [markdown]
# **2. A retriever of your own.** A retriever is an object with `k` and `scores(query, texts)`. Write one that combines both: it ranks the tools with BM25 and with
# Embeddings, and adds up 1 / (60 + rank). This is called *reciprocal rank fusion*
# ([Cormack and others, 2009](https://doi.org/10.1145/1571941.1572114)).


# %%
class Fusion:
    k = 8

    def scores(self, query, texts):
        return list(BM25().scores(query, texts))


# %%
mine = pd.Series(list(ranks(Fusion())), index=need.index)
same_as_bm25 = (mine == rank["BM25"]).all()
print(f"recall@8 of yours: {(mine <= 8).mean():.0%}, BM25: {recall.loc[8, 'BM25']:.0%}, ", end="")
print(f"Embeddings: {recall.loc[8, 'Embeddings']:.0%}")
example = Fusion().scores("Is redis running?", TEXTS)
expected_best = 2 / 61
if same_as_bm25:
    print("not yet: this is still BM25")
else:
    print(
        "right"
        if max(example) <= expected_best + 1e-9 and len(example) == len(TEXTS)
        else "not yet: no sum is larger than 2 / 61"
    )

# %% [markdown]
# <details><summary>Hint</summary>
#
# Turn scores into ranks first: the best tool has rank 1. `sorted(range(len(texts)), key=lambda index: -scores[index])` gives the order.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# class Fusion:
#     k = 8
#
#     def scores(self, query, texts):
#         total = [0.0] * len(texts)
#         for retriever in (BM25(), Embeddings()):
#             scores = list(retriever.scores(query, texts))
#             order = sorted(range(len(texts)), key=lambda index: -scores[index])
#             for place, index in enumerate(order, 1):
#                 total[index] += 1 / (60 + place)
#         return total
# ```
#
# The scores of the two retrievers have different scales, so you cannot add them. Ranks can be added.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - Tools are sent, and paid, with every request.
# - Retrieval sends the few that fit. recall@k is the upper limit for every model behind it.
# - Requests in other words are the hard ones for a retriever that compares words.
# - A trace must keep what was withheld. Otherwise you blame the model.
# - With `find_tools` the model searches for itself, and every search is a step that you can see.
#
# Next: [06 · Validation](06-validation.ipynb). Lab: [l4 · Select a tool](../labs/l4/l4.ipynb).
