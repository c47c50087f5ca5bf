"""`zoolab datasets`: which data sets there are, and which can be fetched."""

from __future__ import annotations

import argparse
from collections import Counter

from zoolab.datasets.berkeley import fetch_bfcl
from zoolab.datasets.loading import DATA_SETS, folder, rows_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="what there is")
    fetch = actions.add_parser("fetch", help="fetch the data of others")
    fetch.add_argument("name", choices=["bfcl"], help="bfcl: the Berkeley Function-Calling Leaderboard's")


def run(options: argparse.Namespace) -> int:
    """List the data sets, or fetch Berkeley's."""
    if options.action == "fetch":
        print(f"bfcl: {fetch_bfcl()}")
        return 0
    for data_set in DATA_SETS.values():
        made = Counter(str(row["made"]) for row in rows_of(data_set.name))
        counts = ", ".join(f"{count} {name}" for name, count in made.most_common())
        print(f"{data_set.name:<18} {data_set.what}: {counts}")
    print(f"in {folder()}")
    return 0
