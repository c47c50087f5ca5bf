"""Products in place of binomials, a table of counts, and one case at a time."""

from collections import Counter


def pass_hat(runs, k):
    total = cases = 0
    for results in runs.values():
        n, c, chance = len(results), results.count(True), 1.0
        if n < k:
            continue
        for i in range(k):
            chance *= max(c - i, 0) / (n - i)
        total, cases = total + chance, cases + 1
    return total / cases if cases else None


def compare(a, b):
    votes = Counter()
    for name in set(a) & set(b):
        left, right = a[name].count(True) * len(b[name]), b[name].count(True) * len(a[name])
        votes["a" if left > right else "b" if right > left else "tie"] += 1
    n, few = votes["a"] + votes["b"], min(votes["a"], votes["b"])
    tail = term = 0.5**n
    for i in range(few):
        term *= (n - i) / (i + 1)
        tail += term
    p = min(1.0, 2 * tail)
    return {"verdict": "undecided" if p > 0.05 else max("ab", key=votes.__getitem__), "p": p}


def evaluate(ask, cases, budget):
    seen = {"a": {}, "b": {}}
    todo = cases * (budget // (2 * len(cases))) or cases[: budget // 2]
    for name in todo:
        for agent in "ba":
            seen[agent].setdefault(name, []).extend(ask(agent=agent, names=[name]))
    return compare(**seen)
