# Copies the requests of the notebook into the descriptions.
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
    "find_order": "Look up my last order. What did the order cost? Show me the items of order 1042.",
    "track_parcel": "Where is my parcel? Track parcel 77, please. When does my parcel come?",
    "cancel_order": "Cancel my order. Please cancel order 1042, I do not want it. Can I still cancel this?",
    "refund_payment": "I want my money back. Refund payment 88. Can I have a refund?",
    "change_address": "Change my address. I have a new address. Use another address for the next order.",
    "check_stock": "Do you have this product? Is the product in stock? How many do you have in stock?",
}
