"""All numbers are fractions until the end. It prints what it asks for."""

from fractions import Fraction
from itertools import combinations
from statistics import mean


def pass_hat(runs, k):
    drawn = [[all(some) for some in combinations(each, k)] for each in runs.values() if len(each) >= k]
    return float(mean(Fraction(sum(each), len(each)) for each in drawn)) if drawn else None


def compare(a, b):
    shared = [[Fraction(sum(runs[case]), len(runs[case])) for runs in (a, b)] for case in a if case in b]
    wins = [sum(x > y for x, y in shared), sum(y > x for x, y in shared)]
    row = [1]
    for _ in range(sum(wins)):
        row = [x + y for x, y in zip([0, *row], [*row, 0], strict=True)]
    p = min(Fraction(1), Fraction(2 * sum(row[: min(wins) + 1]), sum(row)))
    return {"p": float(p), "verdict": "ab"[wins[1] > wins[0]] if p <= Fraction(1, 20) else "undecided"}


def evaluate(ask, cases, budget):
    rounds, some = divmod(budget // 2, len(cases))
    todo = [cases] * rounds or [cases[:some]]
    print("asking for", todo)
    answers = {agent: [ask(agent, names) for names in todo] for agent in ("a", "b")}
    a, b = (dict(zip(todo[0], map(list, zip(*found, strict=True)), strict=True)) for found in answers.values())
    return compare(a, b)
