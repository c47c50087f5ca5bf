# Right, in a beginner's long style: one loop with counters, no helper, no comprehension.


def measure(pairs):
    right = 0
    total = 0
    no_need = 0
    no_need_but_called = 0
    need = 0
    need_but_none = 0
    counts = {}
    rights = {}
    for pair in pairs:
        expected = pair[0]
        chosen = pair[1]
        total += 1
        if expected not in counts:
            counts[expected] = 0
            rights[expected] = 0
        counts[expected] += 1
        if expected == chosen:
            right += 1
            rights[expected] += 1
        if expected is None:
            no_need += 1
            if chosen is not None:
                no_need_but_called += 1
        else:
            need += 1
            if chosen is None:
                need_but_none += 1
    result = {"accuracy": None, "balanced": None, "needless": None, "missed": None, "pairs": total}
    if total > 0:
        result["accuracy"] = right / total
        balanced = 0
        for name in counts:
            balanced = balanced + rights[name] / counts[name]
        result["balanced"] = balanced / len(counts)
    if no_need > 0:
        result["needless"] = no_need_but_called / no_need
    if need > 0:
        result["missed"] = need_but_none / need
    return result


DESCRIPTIONS = {}
DESCRIPTIONS["find_order"] = "Looks up an order and shows what was bought, the items, the cost and the date. "
DESCRIPTIONS["find_order"] += "It sends an invoice or a receipt."
DESCRIPTIONS["track_parcel"] = "Tracks a parcel. It shows where the shipment is, when it will come, and the last scan "
DESCRIPTIONS["track_parcel"] += "by the carrier, even for late deliveries or lost ones."
DESCRIPTIONS["cancel_order"] = "Cancels an order and stops it before it is shipped. For a customer who changed "
DESCRIPTIONS["cancel_order"] += "his mind or made a mistake."
DESCRIPTIONS["refund_payment"] = "Refunds a payment. The customer gets money back for a return, for broken goods, "
DESCRIPTIONS["refund_payment"] += "for wrong goods, or if the card was charged too much."
DESCRIPTIONS["change_address"] = "Changes an address to a new street, city or postal code if somebody moved or made a typo."
DESCRIPTIONS["check_stock"] = "Checks if a product is in stock, how many are left in the warehouse, "
DESCRIPTIONS["check_stock"] += "and which size or colour is available."
DESCRIPTIONS["small_talk"] = "This key is not one of the six."
