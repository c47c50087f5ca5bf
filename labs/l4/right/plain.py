"""One function for every share."""


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
    "find_order": "Look up an order: the items that were bought, cost, date, and the invoice or receipt.",
    "track_parcel": "Track a parcel or shipment: where it is, when it will come, what the carrier's last "
    "scan said, and whether deliveries are late or lost.",
    "cancel_order": "Cancel or stop an order that is not shipped yet, if it was a mistake or they "
    "changed their mind.",
    "refund_payment": "Refund a payment: the money goes back after a return, for wrong or broken goods, "
    "or if a card was charged twice.",
    "change_address": "Change the address if somebody moved to another street or city, "
    "or the postal code has a typo.",
    "check_stock": "Check if a product is in stock or available in a size or colour, and how many are left "
    "in the warehouse.",
}
