"""pandas: runs are rows of a long table, and cases are groups."""

from functools import cache
from math import comb

import pandas as pd


def long(runs):
    rows = [(name, passed) for name, results in runs.items() for passed in results]
    return pd.DataFrame(rows, columns=["case", "passed"]).astype({"passed": int})


def pass_hat(runs, k):
    cases = long(runs).groupby("case")["passed"].agg(["size", "sum"])
    cases = cases[cases["size"] >= k]
    if cases.empty:
        return None
    return float(sum(comb(c, k) / comb(n, k) for n, c in cases.itertuples(index=False)) / len(cases))


@cache
def at_most(wins, votes):
    "The chance of at most so many heads, by recursion on the last coin."
    if wins < 0:
        return 0.0
    if wins >= votes:
        return 1.0
    return (at_most(wins - 1, votes - 1) + at_most(wins, votes - 1)) / 2


def compare(a, b):
    both = pd.concat([long(a).assign(agent="a"), long(b).assign(agent="b")])
    means = both.groupby(["case", "agent"])["passed"].mean().unstack()
    means = means.reindex(columns=["a", "b"]).dropna()
    better = (means["a"] - means["b"]).round(9)
    votes = {"a": int((better > 0).sum()), "b": int((better < 0).sum())}
    loser = min(votes, key=votes.get)
    p = min(1.0, 2 * at_most(votes[loser], sum(votes.values())))
    return {"p": p, "verdict": "undecided" if p > 0.05 else {"a": "b", "b": "a"}[loser]}


def evaluate(ask, cases, budget):
    each = budget // 2
    runs = {"a": {}, "b": {}}
    while True:
        names = cases[:each]
        for agent, seen in runs.items():
            for name, passed in zip(names, ask(agent, names), strict=True):
                seen.setdefault(name, []).append(passed)
        each -= len(names)
        if each < len(cases):
            return compare(runs["a"], runs["b"])
