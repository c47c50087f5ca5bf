"""The last messages that fit, wherever the cut falls."""


def condense(messages, budget, tokens_of):
    kept = []
    for message in reversed(messages):
        if sum(map(tokens_of, kept)) + tokens_of(message) > budget:
            break
        kept.insert(0, message)
    return kept
