# Writes the metric and leaves the descriptions as they were.
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
    "find_order": "Order function.",
    "track_parcel": "Handles orders.",
    "cancel_order": "Order tool for orders.",
    "refund_payment": "Payment.",
    "change_address": "Updates data.",
    "check_stock": "Product info.",
}
