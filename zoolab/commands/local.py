"""`zoolab local`: the weights of the models that run on this machine."""

from __future__ import annotations

import sys

from zoolab.models import weights


def show_table() -> int:
    """A line for each model: what it is, and whether it is here."""
    for row in weights.table():
        here = "here" if row["present"] else f"zoolab local fetch {row['name']}"
        runtime = "" if row["runtime_installed"] else "; runtime missing: pip install 'zoolab[local]'"
        size = f"{row['size_bytes'] / 1e6:.0f} MB"
        print(f"{row['name']:<10} {row['title']:<40} {row['licence']:<12} {size:>7}  {here}{runtime}")
    return 0


def fetch_all(names: list[str]) -> int:
    """Fetch the weights of these models, or of all."""
    wanted = [weights.lookup(name).name for name in names] or [row["name"] for row in weights.table()]
    for name in wanted:
        path = weights.fetch(name, _report)
        print(f"{name}: {path}")
    return 0


def _report(what: str, done: int, total: int) -> None:
    share = f"{100 * done / total:3.0f} %" if total else ""
    end = "\r" if sys.stderr.isatty() and done < total else "\n"
    if sys.stderr.isatty() or done >= total:
        print(f"{what} {done / 1e6:6.1f} MB {share}  ", end=end, file=sys.stderr, flush=True)
