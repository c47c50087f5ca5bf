"""numpy throughout: shares as arrays, binomials as products and as rows of Pascal's triangle, built by convolution."""

import numpy as np


def pass_hat(runs, k):
    counts = np.array([(len(each), np.count_nonzero(each)) for each in runs.values() if len(each) >= k])
    if not counts.size:
        return None
    n, c = counts.T.astype(float)
    steps = np.arange(k)[:, np.newaxis]
    factors = np.clip(c - steps, 0, None) / (n - steps)
    return float(factors.prod(axis=0).mean())


def compare(a, b):
    shared = [name for name in a if name in b]
    rates = np.array([[np.mean(side[name]) for name in shared] for side in (a, b)]).reshape(2, -1)
    # Shares of whole counts: equal ones may differ in their last bit.
    signs = np.where(np.isclose(*rates, rtol=0, atol=1e-12), 0, np.sign(rates[0] - rates[1]))
    wins, losses = int((signs > 0).sum()), int((signs < 0).sum())
    row = np.ones(1)
    for _ in range(wins + losses):
        row = np.convolve(row, [0.5, 0.5])
    p = min(1.0, 2 * float(row[: min(wins, losses) + 1].sum()))
    verdict = "undecided" if p > 0.05 else ("a" if wins > losses else "b")
    return dict(p=p, verdict=verdict)


def evaluate(ask, cases, budget):
    cases = np.array(cases)
    rounds = max(1, budget // (2 * len(cases)))
    chosen = cases[: min(len(cases), budget // 2)].tolist()
    table = {agent: np.array([ask(agent, chosen) for _ in range(rounds)]).T for agent in "ab"}
    return compare(*(dict(zip(chosen, table[agent].tolist(), strict=True)) for agent in "ab"))
