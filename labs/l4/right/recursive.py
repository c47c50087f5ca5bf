# Right, with recursion, fractions and match: a pair is taken off and the rest is measured.
import sys
from fractions import Fraction

sys.setrecursionlimit(10_000)


def tally(pairs, counts):
    match pairs:
        case []:
            return counts
        case [[None, None], *rest]:
            group, key = None, "right"
        case [[None, _], *rest]:
            group, key = None, "wrong"
        case [[name, None], *rest]:
            group, key = name, "none"
        case [[name, other], *rest]:
            group, key = name, "right" if name == other else "wrong"
    found = {**{"right": 0, "wrong": 0, "none": 0}, **counts.get(group, {})}
    return tally(rest, {**counts, group: {**found, key: found[key] + 1}})


def of(part, whole):
    return float(Fraction(part, whole)) if whole else None


def measure(pairs):
    groups = tally(pairs, {})
    sizes = {name: sum(group.values()) for name, group in groups.items()}
    tools = [name for name in groups if name is not None]
    idle = groups.get(None, {"wrong": 0})
    recalls = [Fraction(groups[name]["right"], sizes[name]) for name in groups]
    return {
        "balanced": float(sum(recalls) / len(recalls)) if recalls else None,
        "accuracy": of(sum(group["right"] for group in groups.values()), sum(sizes.values())),
        "missed": of(sum(groups[name]["none"] for name in tools), sum(sizes[name] for name in tools)),
        "needless": of(idle["wrong"], sizes.get(None, 0)),
    }


DESCRIPTIONS = dict(
    check_stock="Is a product in stock? Available size, available colour, how many are left in a warehouse.",
    change_address="New address: change the street, the city or the postal code. Moved, or a typo.",
    refund_payment="Refund: a payment back, money for a return, broken or wrong goods, a card charged.",
    cancel_order="Cancel: stop what was ordered before it is shipped; a changed mind, a mistake.",
    track_parcel="Track: where a parcel or shipment is, last carrier scan, when deliveries come; late or lost.",
    find_order="Look up: order, items bought, cost, date, invoice, receipt.",
)
