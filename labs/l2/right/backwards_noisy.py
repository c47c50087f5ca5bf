"""Goes back message by message and keeps what it has gathered at each beginning of a unit; talks a lot."""

import logging
import sys
import warnings

logging.basicConfig(level=logging.DEBUG)


def condense(messages, budget, tokens_of):
    warnings.warn("about to condense", UserWarning, stacklevel=2)
    print("condensing", len(messages), "messages into", budget)
    last_user = next((i for i in reversed(range(len(messages))) if messages[i]["role"] == "user"), None)
    chosen = {i for i, m in enumerate(messages) if m["role"] in ("system", "developer")} | {last_user}
    used = sum(tokens_of(messages[i]) for i in chosen if i is not None)
    unit = []
    for i in reversed(range(len(messages))):
        if i in chosen:
            continue
        unit.append(i)
        if messages[i]["role"] == "tool":
            continue
        cost = sum(tokens_of(message=messages[j]) for j in unit)
        logging.debug("unit %s costs %s", unit, cost)
        if used + cost > budget:
            print("stop", file=sys.stderr)
            break
        used += cost
        chosen.update(unit)
        unit = []
    return [message for i, message in enumerate(messages) if i in chosen]
