# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 14 · Evaluation
#
# "It worked when I tried it." One try proves little. An **agent** is a program that lets a model choose what is
# done next. A model chooses its words partly by chance, so the same question can get another answer tomorrow.
# And an answer can sound right while the order was never cancelled.
#
# So an evaluation needs three things: tasks whose right outcome is known, a check of the *world* and not only of the words, and more than one try.
#
# Afterwards you can
#
# - repeat a task, and say how reliable the agent is;
# - compute **pass^k**, and explain why it falls so fast;
# - let a simulated user talk to an agent, and check what the agent left behind;
# - compare two agents without fooling yourself.
#
# About 45 minutes. It runs offline.

# %% [markdown]
# ## Who answers?
#
# Qwen2.5-Coder-1.5B-Instruct, a small model that runs on a laptop. It was asked every question five times at **temperature** 0.8. The temperature says how
# much chance there is in the choice of words: at 0 the model always takes the word with the best score. All 5 tries were recorded, good ones and bad ones.

# %%
from zoolab import model_for, predict

SEEDS = range(1, 6)
models = {seed: model_for(None, f"qwen-sampled-seed{seed}") for seed in SEEDS}
header = models[1].recording.header
print("who answers:", header.who)
print("temperature:", header.settings["temperature"])

# %% [markdown]
# ## The same task, five times
#
# Each task has a text that a right answer must contain. This is a weak check, and we will come back to it.

# %%
from zoolab import Limits, Policy, Trace, walk
from zoolab.errors import LoopError
from zoolab.toolbox.catalog import tools_named

TASKS = {
    "Multiply 7 by 6, then add 8.": "50",
    "Add 15 and 27, then multiply the sum by 3.": "126",
    "What is 42 + 58?": "100",
    "Is redis running?": "stopped",
    "Say hello in French.": "bonjour",
    "Who wrote Hamlet?": "shakespeare",
    "Get the temperature in Paris in celsius and add 10 to it.": "28",
    "What is the weather in Atlantis?": "no weather",
}

# %%
SYSTEM = (
    "Use the tools where they help. When you have the results that you need, answer in one short sentence, "
    "without a call."
)
tools = tools_named("add", "multiply", "get_weather", "get_time", "check_status")


def attempt(prompt, model):
    "One try: the whole trace, also if the walk ended at its limit."
    trace = Trace()
    try:
        for _ in trace.follow(
            walk(prompt, tools, model, system=SYSTEM, policy=Policy(ask=()), limits=Limits(turns=6))
        ):
            pass
    except LoopError:
        pass
    return trace


tries = {(prompt, seed): attempt(prompt, models[seed]) for prompt in TASKS for seed in SEEDS}
for seed in SEEDS:
    print(seed, repr((tries["What is 42 + 58?", seed].answer or "")[:70]))

# %%
guess = predict("Of these five answers to 42 + 58, how many are right?", range(6))
guess

# %% tags=["slide"]
import pandas as pd


def right(prompt, trace):
    return TASKS[prompt] in (trace.answer or "").lower()


results = pd.DataFrame(
    [{"task": prompt, "seed": seed, "right": right(prompt, trace)} for (prompt, seed), trace in tries.items()]
)
grid = results.pivot(index="task", columns="seed", values="right").loc[list(TASKS)]
grid.replace({True: "right", False: "-"})

# %% jupyter={"source_hidden": true}
guess.reveal(
    int(grid.loc["What is 42 + 58?"].sum()),
    because="The words differ, because the seed of the chance differs. Each answer contains 100.",
)

# %% [markdown]
# If you had tried each task once, you would have got one of these columns. The columns differ:

# %%
print("right in each column:", (grid.sum().to_dict()))

# %% [markdown] tags=["slide"]
# ## pass^k
#
# A user does not ask once. A help desk gets the same kind of request hundreds of times. **pass^k** (say: pass hat k) is the chance that k tries of a task *all*
# succeed. Suppose that a task had n tries, and c of them succeeded. There are C(n, k) ways to choose k of the tries. In C(c, k) of these ways, all k tries
# succeeded. So C(c, k) / C(n, k) estimates pass^k for this task, without bias. Then take the mean over the tasks.

# %%
from math import comb


def pass_hat(successes, tries, k):
    return comb(successes, k) / comb(tries, k)


guess = predict(
    "About a third of all tries succeed. What will pass^5 be: how many of the 8 tasks succeed five times in five?",
    range(9),
)
guess

# %%
successes = grid.sum(axis=1)
curve = pd.Series(
    {k: successes.map(lambda c, k=k: pass_hat(int(c), 5, k)).mean() for k in SEEDS}, name="pass^k"
)
curve.round(2).to_frame().T

# %% jupyter={"source_hidden": true}
guess.reveal(
    int((successes == 5).sum()),
    because="A single failure in five tries is enough to miss.",
)

# %%
from zoolab_study.plots import ReliabilityDisplay

equally_hard = [curve[1] ** k for k in curve.index]
ReliabilityDisplay({"measured": [*curve], "if all tasks were equally hard": equally_hard}).plot()

# %% [markdown]
# The line with squares is what you would get if every try of every task had the same chance. From k = 2 on the measured curve lies higher, because tasks
# differ: one is solved every time, and others never. So do not compute reliability as "rate to the power of k". Measure it.
#
# Is this only a problem of small models? No. The authors of tau-bench report that GPT-4o solved fewer than half of their tasks, and that pass^8 was below a
# quarter in its retail domain ([Yao and others, 2024](https://arxiv.org/abs/2406.12045)). Models have become better since. So measure the one that you use.

# %% [markdown] tags=["slide"]
# ## How sure are we?
#
# Eight tasks are few. The interval says how much the share could differ with other tasks of the same kind. Tries of the same task are not independent, and
# `rate` takes that into account.

# %%
from zoolab_study.statistics import rate, wilson

by_task = {task: [float(hit) for hit in row] for task, row in grid.iterrows()}
print("as if 40 tries were independent:", wilson(int(grid.to_numpy().sum()), grid.size))
print("8 tasks with 5 tries each:      ", rate(by_task))

# %% [markdown]
# The second interval is wider. Use the second one. More tries of the same eight tasks would not help much: *more tasks* would.

# %% [markdown] tags=["slide"]
# ## Words are not the world
#
# Now a task that changes something. A customer wants to cancel an order. The **world** is a dictionary; the tools change it; the check looks at it at the end.
# A **simulated user** answers the agent's questions, because an agent may need to ask one before it acts.
#
# The agents here are scripts (authored): with them you know the truth, so you see what each check finds.

# %%
from dataclasses import dataclass, field

from zoolab import Scripted, run


def new_orders():
    return {
        "31": {"customer": "Grace", "article": "lamp", "state": "open"},
        "32": {"customer": "Grace", "article": "mug", "state": "open"},
        "33": {"customer": "Alan", "article": "lamp", "state": "shipped"},
    }


# %%
@dataclass
class Shop:
    orders: dict = field(default_factory=new_orders)

    def find_orders(self, customer: str) -> list[dict]:
        "Find the orders of a customer."
        return [{"id": key, **order} for key, order in self.orders.items() if order["customer"] == customer]

    def cancel_order(self, order_id: str) -> str:
        "Cancel an order that is open."
        if self.orders[order_id]["state"] != "open":
            return "not cancelled: it was shipped"
        self.orders[order_id]["state"] = "cancelled"
        return "cancelled"


# %%
def user(agent_says):
    "Grace wants the lamp cancelled, and only the lamp."
    return "The lamp, please." if "which" in agent_says.lower() else None


# %% [markdown]
# A conversation is several runs. After each answer the user may say something more. Then the next run continues from the messages so far.

# %%


def converse(agent, shop, opening="I am Grace. Please cancel my order.", rounds=4):
    "Let a user and an agent talk; return all traces."
    traces, messages, said = [], [], opening
    for _ in range(rounds):
        trace = run(
            said, [shop.find_orders, shop.cancel_order], agent, messages=messages, policy=Policy(ask=())
        )
        traces.append(trace)
        messages = list(trace.messages)
        said = user(trace.answer or "")
        if said is None:
            break
    return traces


# %%
AGENTS = {
    "asks": [
        [("find_orders", {"customer": "Grace"})],
        "You have a lamp and a mug. Which one?",
        [("cancel_order", {"order_id": "31"})],
        "The lamp is cancelled.",
    ],
    "promises": [
        [("find_orders", {"customer": "Grace"})],
        "You have a lamp and a mug. Which one?",
        "The lamp is cancelled.",
    ],
    "hurries": [
        [("find_orders", {"customer": "Grace"})],
        [("cancel_order", {"order_id": "31"}), ("cancel_order", {"order_id": "32"})],
        "The lamp is cancelled.",
    ],
}
# %%
finals = {}
for name, script in AGENTS.items():
    shop = Shop()
    traces = converse(Scripted(script), shop)
    finals[name] = (traces[-1].answer, shop.orders)
    print(f"{name:9} said: {traces[-1].answer}")

# %%
guess = predict(
    "All three end with the same sentence. How many of them did what Grace wanted?",
    [0, 1, 2, 3],
)
guess

# %%
WANTED = {"31": "cancelled", "32": "open", "33": "shipped"}


def world_is_right(orders):
    return {key: order["state"] for key, order in orders.items()} == WANTED


for name, (said, orders) in finals.items():
    states = {key: order["state"] for key, order in orders.items()}
    print(f"{name:9} the words: {'right' if 'lamp is cancelled' in said else 'wrong'} | the world:", states)

# %% jupyter={"source_hidden": true}
guess.reveal(
    sum(world_is_right(orders) for _, orders in finals.values()),
    because="One never called the tool, and one cancelled the mug as well. Only the state of the world tells them apart.",
)

# %% [markdown]
# The check of the words finds all three agents right. The check of the world looks at *everything*: at what should have changed, and at what should not.

# %% [markdown]
# Some worlds cost money, or change something that nobody can undo. `experiment(..., tools="recorded")` asks such a tool once: each call of a case runs in one run, and
# all later runs of this case, with other prompts or models, get the result that was recorded. Here a tool that counts its calls:

# %%
from zoolab import experiment, tool

asked = []


@tool
def price(article: str) -> int:
    "Ask a paid service for a price."
    asked.append(article)
    return 9


case = {"id": "mug", "prompt": "What does the mug cost?", "tools": [price], "expected_answer": "9"}
buyer = Scripted([[("price", {"article": "mug"})], "It costs 9 euros."])
bought = experiment(
    [case],
    {"short": {"system": "Be brief."}, "long": {}},
    {"script": buyer},
    5,
    tools="recorded",
    progress=False,
)
print(len(bought), "runs, and the service was asked", len(asked), "time")

# %% [markdown]
# ## Data by others
#
# The [Berkeley Function Calling Leaderboard](https://gorilla.cs.berkeley.edu/leaderboard.html) (BFCL) publishes its cases in a
# [package](https://pypi.org/project/bfcl-eval/). They are not part of zoolab. The command `zoolab datasets fetch bfcl` downloads the package once. This needs the
# network. Then `datasets.bfcl()` reads the cases. A case contains a request, its tools and the accepted calls. Some kinds, such as `irrelevance`, contain requests
# that fit no tool. So you can ask your own model the same questions as the leaderboard. Use the cases as in [04](04-selection.ipynb): each has the columns `prompt`,
# `offered` and `tool`.

# %%
from zoolab_study import datasets
from zoolab.errors import ZoolabError

try:
    cases = datasets.bfcl()
    print(len(cases), "cases:", cases["category"].value_counts().to_dict())
    for case in cases.groupby("category").head(1).head(3).itertuples():
        print(f"\n{case.category}: {case.prompt[:150]}\n  accepted: {case.ground_truth}")
except ZoolabError as error:
    print(error)

# %% [markdown]
# ## Comparing two agents
#
# Suppose that you changed the system prompt. Ask both agents the *same* tasks, compare task by task, and decide the number of tasks before you look.

# %%
from zoolab_study.statistics import paired_difference

before = {task: [float(task % 3 == 0)] for task in range(24)}
after = {task: [float(task % 3 == 0 or task % 8 == 1)] for task in range(24)}
print("24 made-up tasks:", paired_difference(before, after))

# %% [markdown]
# "Not decisive" does not mean "equal". It means that these tasks are too few to decide.

# %% [markdown]
# ## Your turn
#
# **1. Write pass^k yourself.** Write pass@k, too. This is the chance that *at least one* of k tries succeeds.


# %%
def pass_at(successes, tries, k):
    return 0.0


# %%
EXPECTED = [((5, 5, 1), 1.0), ((4, 5, 1), 0.8), ((2, 5, 2), 0.7), ((2, 5, 4), 1.0), ((0, 5, 3), 0.0)]
for arguments, value in EXPECTED:
    mine = pass_at(*arguments)
    print("right  " if abs(mine - value) < 1e-9 else "not yet", "| pass_at", arguments, "should be", value)

# %% [markdown]
# <details><summary>Hint</summary>
#
# "At least one succeeds" is the opposite of "all k fail". How many ways are there to choose k failures?
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def pass_at(successes, tries, k):
#     return 1 - comb(tries - successes, k) / comb(tries, k)
# ```
#
# pass@k grows with k, and pass^k falls. A paper that reports pass@10 tells you what is possible. A user wants to know pass^10.
#
# </details>

# %% [markdown]
# **2. Check the world.** This agent was asked to cancel order 31. Write `verdict` so that it returns `"done"`, `"not done"` or `"did harm"`.
# Harm is any other change. Harm counts even if the task was done.

# %%
START = {"31": "open", "32": "open", "33": "shipped"}


def verdict(states):
    return "done"


# %%
ENDS = [
    ({"31": "cancelled", "32": "open", "33": "shipped"}, "done"),
    ({"31": "open", "32": "open", "33": "shipped"}, "not done"),
    ({"31": "cancelled", "32": "cancelled", "33": "shipped"}, "did harm"),
    ({"31": "open", "32": "cancelled", "33": "shipped"}, "did harm"),
    ({"31": "cancelled", "32": "open"}, "did harm"),
]
for states, expected in ENDS:
    print("right  " if verdict(states) == expected else "not yet", "|", expected, "|", states)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Compare everything but order 31 first. An order that has vanished is a change, too.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def verdict(states):
#     if {**states, "31": None} != {**START, "31": None}:
#         return "did harm"
#     return "done" if states["31"] == "cancelled" else "not done"
# ```
#
# It names the one allowed change and compares the rest as a whole. A check that lists forbidden changes would forget one.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - One success is an anecdote. Repeat each task, and report pass^k for the k that your users need.
# - More tasks narrow the interval. More tries of the same tasks hardly do.
# - Check the world: what should have changed, and everything that should not.
# - Compare two agents on the same tasks, and decide how many before you look.
#
# Next: [15 · Faults and attacks](15-faults-and-attacks.ipynb). Lab: [l8 · Evaluate an agent](../labs/l8/l8.ipynb).
