# Right, with a class that can be called, generators and integers where a share is 0 or 1; terse descriptions
# that are built from parts.
class Measure:
    def __call__(self, pairs):
        self.pairs = [tuple(pair) for pair in pairs]
        labels = {expected for expected, _ in self.pairs}
        recalls = [self.of(lambda e, c, label=label: e == label, lambda e, c: e == c) for label in labels]
        return dict(
            missed=self.of(lambda e, c: e is not None, lambda e, c: c is None),
            needless=self.of(lambda e, c: e is None, lambda e, c: c is not None),
            balanced=sum(recalls) / len(recalls) if recalls else None,
            accuracy=self.of(lambda e, c: True, lambda e, c: e == c),
        )

    def of(self, belongs, counts):
        chosen = [pair for pair in self.pairs if belongs(*pair)]
        if not chosen:
            return None
        hits = sum(1 for pair in chosen if counts(*pair))
        return 1 if hits == len(chosen) else hits / len(chosen)


measure = Measure()

PARTS = [
    ("find_order", "Look up an order", "what was bought, items, cost, date, invoice, receipt"),
    ("track_parcel", "Track a parcel", "when it will come, last scan by the carrier, late deliveries, lost shipment"),
    ("cancel_order", "Cancel an order", "to stop it before it is shipped, after a mistake or a changed mind"),
    ("refund_payment", "Refund a payment", "money back for a return, broken goods, wrong goods, a card charged twice"),
    ("change_address", "Change an address", "new street, city, postal code, after somebody moved, or a typo"),
    ("check_stock", "Check the stock of a product", "available or not, size, colour, how many are left, warehouse"),
]
DESCRIPTIONS = {name: f"{does} ({when})." for name, does, when in PARTS}
