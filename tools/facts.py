"""The claims of the course about APIs, products and prices, and which of them are to be read again.

    python -m tools.facts [--days 90] [--on 2026-11-27]

`notebooks/facts.toml` has a row for each claim: its source, the day on which the source was read, the file in
which the claim stands, and words that must stand there. The command lists the rows that are older than
90 days, and ends with 1 if there are any.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Fact", "facts", "missing", "older"]

FACTS = Path(__file__).parents[1] / "notebooks" / "facts.toml"
DAYS = 90


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim, where it was read, and where it stands."""

    name: str
    claim: str
    source: str
    read: date
    file: str
    words: tuple[str, ...]


def facts(path: Path = FACTS) -> list[Fact]:
    """Read the rows of a file of facts, in its order."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Fact(name, **{**row, "words": tuple(row["words"])}) for name, row in table.items()]


def older(rows: Iterable[Fact], today: date, days: int = DAYS) -> list[Fact]:
    """Choose the rows that were read more than so many days ago, the oldest first.

    >>> row = Fact("x", "A costs 1.", "https://example.org", date(2026, 1, 1), "a.py", ("costs",))
    >>> [len(older([row], date(2026, 4, day))) for day in (1, 2)]
    [0, 1]
    """
    return sorted((row for row in rows if (today - row.read).days > days), key=lambda row: row.read)


def missing(row: Fact, root: Path) -> list[str]:
    """List the words of a row that do not stand in its file; lines and spaces do not count."""
    place = root / row.file
    if not place.is_file():
        return [f"no file {row.file}"]
    lines = place.read_text(encoding="utf-8").splitlines()
    text = " ".join(" ".join(line.removeprefix("#").strip() for line in lines).split())
    return [word for word in row.words if word not in text]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.facts", description="List claims to read again.")
    parser.add_argument("--days", type=int, default=DAYS, help="how old a claim may be")
    parser.add_argument(
        "--on", type=date.fromisoformat, default=date.today(), help="the day, by default today"
    )
    given = parser.parse_args(arguments)
    found = older(facts(), given.on, given.days)
    for row in found:
        print(f"{row.read}  {row.file}  {row.claim}\n            {row.source}")
    print(f"{len(found)} of {len(facts())} claims were read more than {given.days} days before {given.on}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
