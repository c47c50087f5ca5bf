# Copies the pages of the tools as they are.
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
    "find_order": "find_order looks up an order by its number or by the customer is name, and shows what was bought: the items, what they cost, the date. Also for invoices and receipts: an invoice is sent again, a receipt printed. It reads a Postgres database that Lena set up.",
    "track_parcel": "tells where a parcel is and when it will come. It asks the carrier for the last scan, so it knows when deliveries are late and when a shipment is lost. The carrier has an API with a limit of five requests a second.",
    "cancel_order": "cancels or stops an order before it is shipped, when customers changed their mind or ordered by mistake. Nothing is paid back by it. It was written in Go, and moved to the new cluster in March.",
    "refund_payment": "refund or give a customer the money back: after a return, for broken or wrong goods, or when a card was charged too much. A nightly job writes all refunds into a CSV file for accounting.",
    "change_address": "changes the address where things are sent: another street, city or postal code, after somebody moved or made a typo. Each address is checked against a map service.",
    "check_stock": "says whether a product is in stock: how many are left in the warehouse, and which size or colour is available. It reads a cache that is ten minutes old.",
}
