"""Counts back from the end once, then looks up how far the budget goes."""

import copy
from bisect import bisect_right
from itertools import accumulate


def condense(messages, budget, tokens_of):
    messages = copy.deepcopy(messages)
    starts = [i for i, message in enumerate(messages) if message["role"] != "tool"]
    units = [messages[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]
    users = [i for i, unit in enumerate(units) if unit[0]["role"] == "user"]
    fixed = [
        i for i, unit in enumerate(units) if unit[0]["role"] in {"system", "developer"} or i in users[-1:]
    ]
    movable = [i for i in range(len(units)) if i not in fixed][::-1]
    cost = [sum(map(tokens_of, unit)) for unit in units]
    reach = list(accumulate(cost[i] for i in movable))
    chosen = set(fixed) | set(movable[: bisect_right(reach, budget - sum(cost[i] for i in fixed))])
    return [message for i, unit in enumerate(units) if i in chosen for message in unit]
