# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 8 · Evaluate an agent
#
# "The new prompt is better: 7 of 10 tasks instead of 5." Would the next ten tasks agree? And an agent that solves a task in 4 of 5 runs solves it
# five times in a row in a third of all weeks. This lab is about numbers that you can trust: **pass^k**, an exact test, and more cases. Read
# notebook 14 first. This lab takes about 75 minutes and needs no key and no network.
#
# You may use numpy and pandas. Return each number as an `int`, a `float` or a number of numpy, not as a `Fraction`. Below are five runs of the same eleven
# tasks. A run passed if the first call was the right one (or none, if none was needed).

# %%
from math import comb

# Recorded: Qwen2.5-Coder-1.5B-Instruct (Q4_K_M), run by xllamacpp, temperature 0.8, seeds 1 to 5. 1: the run passed.
RECORDED = {
    "Multiply 7 by 6, then add 8.": [0, 1, 1, 1, 1],
    "Add 15 and 27, then multiply the sum by 3.": [0, 0, 0, 0, 0],
    "What is the weather in Oslo, and what is 3 times 19?": [0, 1, 1, 1, 1],
    "Is it warmer in Paris or in Tokyo?": [1, 1, 1, 0, 1],
    "What time is it in Tokyo and in New York?": [0, 1, 1, 1, 0],
    "Is redis running?": [0, 1, 1, 1, 1],
    "Check nginx, redis and cron.": [0, 1, 1, 0, 1],
    "What is 42 + 58?": [1, 1, 1, 1, 1],
    "Who wrote Hamlet?": [0, 0, 0, 1, 0],
    "Get the temperature in Paris in celsius and add 10 to it.": [0, 1, 1, 1, 0],
    "What is the weather in Atlantis?": [1, 1, 1, 1, 1],
}

# %% [markdown]
# ## pass^k
#
# Write `pass_hat(runs, k)`: how often a task is solved k times in a row. `runs` is a dict. For each case it has a list of `True` and `False`.
#
# - Of a case with n runs, of which c passed, draw k runs without replacement. How often do all of them pass? `comb(c, k) / comb(n, k)`. (Do not
#   compute c / n to the power of k. It can draw the same failure more than once, so it is too low if there are few runs.)
#   You may change `runs`: each call gets its own dict.
# - The result is the mean over the cases. Each case counts the same, however many runs it has.
# - A case with fewer than k runs is left out. If no case is left, the result is `None`.


# %%
def pass_hat(runs, k):
    "The mean over the cases of how often k runs of a case all pass."
    # BEGIN SOLUTION
    shares = [comb(sum(each), k) / comb(len(each), k) for each in runs.values() if len(each) >= k]
    return sum(shares) / len(shares) if shares else None
    # END SOLUTION


# %% [markdown]
# **Predict first:** Qwen passes two thirds of these runs. Of how many tasks would you say that it solves them five times in a row?

# %%
for k in (1, 2, 3, 5):
    print(f"pass^{k}:", pass_hat(RECORDED, k))

# %% [markdown]
# ## A verdict
#
# Write `compare(a, b)`. Both are such dicts, of two agents. It returns `{"p": ..., "verdict": ...}`.
#
# - Each case that both have is one **vote**, for the agent with the larger share of passed runs. Equal shares are no vote. Ten runs of one case are
#   not ten votes, because the same reason often makes all of them fail.
# - `p` is the p-value of the **exact sign test**, two-sided. Suppose that a coin decided each of the n votes. How probable is a result that is at
#   least as uneven as yours? With m votes for the agent that has fewer, it is 2 (comb(n, 0) + ... + comb(n, m)) / 2**n, but at most 1. There
#   are 500 votes at most. Without votes it is 1.
# - `verdict` is `"a"` or `"b"`, the agent with more votes, if p is at most 0.05. Otherwise it is `"undecided"`.


# %%
def compare(a, b):
    "Which of two agents is better, case by case, and how probable that is by luck alone."
    # BEGIN SOLUTION
    gains = [sum(a[case]) / len(a[case]) - sum(b[case]) / len(b[case]) for case in a if case in b]
    for_a, for_b = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    votes = for_a + for_b
    p = min(1, 2 * sum(comb(votes, i) for i in range(min(for_a, for_b) + 1)) / 2**votes)
    better = "a" if for_a > for_b else "b"
    return {"p": p, "verdict": better if p <= 0.05 else "undecided"}
    # END SOLUTION


# %% [markdown]
# ## A whole evaluation
#
# Write `evaluate(ask, cases, budget)`. `ask(agent, names)` runs an agent, `"a"` or `"b"`, once for each of these cases and returns a list of `True` and
# `False`. Each such run costs 1 of the budget. `cases` are the names of all cases. It returns what `compare` says of all runs.
#
# - Ask both agents for the same cases, each once, and for as many cases as the budget pays for. More cases tell you more than more runs of the same
#   cases. With a budget of 0 or 1 there is nothing to compare: p is 1.
# - If the budget pays for more than one run of all cases by both agents, ask for all cases again, in whole rounds.
# - Compare once, at the end. If you look after every case and stop as soon as p is small, you will often find a difference that is not there. If
#   the verdict is "undecided", you need more cases.


# %%
def evaluate(ask, cases, budget):
    "Run two agents within a budget, and compare them once."
    # BEGIN SOLUTION
    chosen = cases[: budget // 2]
    runs = {"a": {case: [] for case in chosen}, "b": {case: [] for case in chosen}}
    for _ in range(max(1, budget // 2 // len(cases))):
        for agent, seen in runs.items():
            for case, passed in zip(chosen, ask(agent, chosen), strict=True):
                seen[case].append(passed)
    return compare(runs["a"], runs["b"])
    # END SOLUTION


# %% [markdown]
# ## Try it by hand
#
# Here are two agents for which we know the truth. Each passes half of the cases, but not the same half. How often do you claim a difference? A good
# test claims one in 5 % of all evaluations or fewer.

# %%
from random import Random


def two_equal_agents(seed, cases):
    chance = Random(seed)
    able = {agent: set(chance.sample(cases, len(cases) // 2)) for agent in "ab"}
    return lambda agent, names: [name in able[agent] for name in names]


names = [f"case {n}" for n in range(100)]
verdicts = [evaluate(two_equal_agents(seed, names), names, 100) for seed in range(200)]
print(sum(1 for each in verdicts if each and each["verdict"] != "undecided"), "claims of 200")

# %% [markdown]
# ## Check it
#
# Save the notebook, then run this cell. It runs the public cases with its own values. Your teacher has more cases.

# %%
from zoolab import check

check("l8")
