import re


def condense(messages, budget, tokens_of):
    """A string of letters for the roles, and a regular expression for the units."""
    letters = "".join({"system": "s", "developer": "s", "user": "u", "tool": "t"}.get(m["role"], "a") for m in messages)
    spans = [m.span() for m in re.finditer(r".t*", letters)]
    cost = [tokens_of(m) for m in messages]
    last = letters.rfind("u")
    must = [s for s in spans if letters[s[0]] == "s" or s[0] == last]
    total = sum(sum(cost[a:b]) for a, b in must)
    keep = list(must)
    for span in spans[::-1]:
        if span in must:
            continue
        total += sum(cost[slice(*span)])
        if total > budget:
            break
        keep.append(span)
    return [m for a, b in sorted(keep) for m in messages[a:b]]
