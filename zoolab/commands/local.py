"""`zoolab local`: the models that run on this machine, and their weights."""

from __future__ import annotations

import argparse
import sys

from zoolab.models import weights


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="what there is, and what is here")
    fetch = actions.add_parser("fetch", help="fetch and check the weights")
    fetch.add_argument("models", nargs="*", metavar="NAME", help="by default all")


def run(options: argparse.Namespace) -> int:
    """List the models, or fetch the weights of those that are named, or of all."""
    table = weights.table()
    if options.action == "fetch":
        for name in [weights.lookup(name).name for name in options.models] or [row["name"] for row in table]:
            print(f"{name}: {weights.fetch(name, _report)}")
        return 0
    for row in table:
        here = "here" if row["present"] else f"zoolab local fetch {row['name']}"
        runtime = "" if row["runtime_installed"] else "; runtime missing: pip install 'zoolab[local]'"
        size = f"{row['size_bytes'] / 1e6:.0f} MB"
        print(f"{row['name']:<10} {row['title']:<40} {row['licence']:<12} {size:>7}  {here}{runtime}")
    return 0


def _report(what: str, done: int, total: int) -> None:
    share = f"{100 * done / total:3.0f} %" if total else ""
    end = "\r" if sys.stderr.isatty() and done < total else "\n"
    if sys.stderr.isatty() or done >= total:
        print(f"{what} {done / 1e6:6.1f} MB {share}  ", end=end, file=sys.stderr, flush=True)
