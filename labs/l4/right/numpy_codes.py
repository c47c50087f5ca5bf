# Right, with numpy: names become numbers, pairs become a confusion matrix. The shares are plain floats again.
# Descriptions that are lists of words.
import numpy as np


def measure(pairs):
    labels = [None]
    for pair in pairs:
        labels.extend(name for name in pair if name not in labels)
    matrix = np.zeros((len(labels), len(labels)), dtype=int)
    for expected, chosen in pairs:
        matrix[labels.index(expected), labels.index(chosen)] += 1
    rows, hits = matrix.sum(axis=1), np.diag(matrix)
    asked = rows > 0

    def part(some, of):
        return float(some / of) if of else None

    return {
        "accuracy": part(hits.sum(), matrix.sum()),
        "balanced": float(np.mean(hits[asked] / rows[asked])) if asked.any() else None,
        "needless": part(matrix[0, 1:].sum(), rows[0]),
        "missed": part(matrix[1:, 0].sum(), rows[1:].sum()),
    }


DESCRIPTIONS = {
    "find_order": "look up, order, bought, items, cost, date, invoice, receipt",
    "track_parcel": "track, parcel, come, carrier, scan, last scan, late, deliveries, lost, shipment",
    "cancel_order": "cancel, stop, order, before shipped, changed mind, mistake",
    "refund_payment": "refund, payment, money, back, return, broken, wrong, goods, card, charged",
    "change_address": "change, address, new, street, city, postal code, moved, typo",
    "check_stock": "stock, product, how many left, warehouse, available, size, colour",
}
