# -*- coding: latin-1 -*-
# Right, with pandas and numpy, numbers of numpy, and a file that is not UTF-8.
import numpy as np
import pandas as pd

NOTHING = "§ nothing"


def measure(pairs):
    table = pd.DataFrame(pairs, columns=["expected", "chosen"], dtype=object)
    table = table.where(table.notna(), NOTHING)
    table["right"] = (table["expected"] == table["chosen"]).astype(float)
    table["silent"] = (table["chosen"] == NOTHING).astype(float)
    needed = table["expected"] != NOTHING
    shares = {
        "accuracy": table["right"].mean(),
        "balanced": table.groupby("expected")["right"].mean().mean(),
        "needless": 1 - table.loc[~needed, "silent"].mean(),
        "missed": table.loc[needed, "silent"].mean(),
    }
    return {name: None if np.isnan(share) else np.float64(share) for name, share in shares.items()}


DESCRIPTIONS = dict(
    find_order="Look up an order: items, cost, date, and what was bought. Invoice or receipt of an order.",
    track_parcel="Track a parcel: where it is, when it will come. Shipment lost, deliveries late, the carrier's scan.",
    cancel_order="Cancel an order, or stop it before it is shipped: ordered by mistake, changed their mind.",
    refund_payment="Refund a payment, money back: return, broken or wrong goods, card charged too much.",
    change_address="Change the address: new street, city, postal code; moved, or a typo.",
    check_stock="Is a product in stock, how many are left in the warehouse, which size or colour is available.",
)
