# Right, with Counter and statistics; warns and logs to stderr, and prints at every call. Descriptions of its own.
import logging
import sys
import warnings
from collections import Counter
from statistics import fmean

logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)


def share(part, whole):
    return part / whole if whole else None


def measure(pairs):
    print(len(pairs), "pairs")
    warnings.warn("counting", stacklevel=2)
    logging.getLogger("lab").error("still counting")
    counts = Counter((expected, chosen) for expected, chosen in pairs)
    wanted = Counter()
    for (expected, _), count in counts.items():
        wanted[expected] += count
    recalls = {name: counts[name, name] / total for name, total in wanted.items()}
    tools = sum(total for name, total in wanted.items() if name is not None)
    return {
        "accuracy": share(sum(counts[name, name] for name in wanted), len(pairs)),
        "balanced": fmean(recalls.values()) if recalls else None,
        "needless": share(wanted[None] - counts[None, None], wanted[None]),
        "missed": share(sum(counts[name, None] for name in wanted if name is not None), tools),
        "by_tool": {str(name): recall for name, recall in recalls.items()},
    }


DESCRIPTIONS = {
    "find_order": "Looks up an order, its items, cost and date. Use it when a customer asks what they bought, or "
    "needs an invoice or a receipt.",
    "track_parcel": "Says where a parcel is and when it will come, by the carrier's last scan. For late deliveries "
    "and lost shipments.",
    "cancel_order": "Cancels an order. Use it to stop what has not been shipped, if the customer ordered it by "
    "mistake or has changed their mind.",
    "refund_payment": "Gives money back as a refund of a payment: for a return, broken or wrong goods, or if a card "
    "was charged wrongly.",
    "change_address": "Changes the address of a customer who moved to a new street or city, or corrects a typo or a "
    "postal code in it.",
    "check_stock": "Tells how many of a product are in stock, which size and colour is available, and what is left "
    "in the warehouse.",
    "talk_to_human": "Not one of the six.",
}
