"""The messages in units that stay or go together, taken from the end."""


def units_of(messages):
    units = []
    for message in messages:
        if message["role"] == "tool":
            units[-1].append(message)
        else:
            units.append([message])
    return units


def condense(messages, budget, tokens_of):
    units = units_of(messages)
    last_question = max(n for n, unit in enumerate(units) if unit[0]["role"] == "user")
    kept = {
        n for n, unit in enumerate(units) if unit[0]["role"] in ("system", "developer") or n == last_question
    }

    def size(n):
        return sum(tokens_of(message) for message in units[n])

    used = sum(size(n) for n in kept)
    for n in range(len(units) - 1, -1, -1):
        if n in kept:
            continue
        if used + size(n) > budget:
            break
        used += size(n)
        kept.add(n)
    return [message for n in sorted(kept) for message in units[n]]
