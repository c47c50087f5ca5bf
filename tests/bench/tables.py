"""Rows as lines of a table, for a terminal and for Markdown."""

from __future__ import annotations

from pairs import Row

UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
TEXT_HEAD = f"{'':<11}{'':<54}{'zoolab':>10}{'beside':>10}{'ratio':>8}  beside what"
MARKDOWN_HEAD = "| what | zoolab | beside | ratio | beside what |\n| --- | ---: | ---: | ---: | --- |"


def amount(value: float, unit: str) -> str:
    """A number of seconds or bytes as people read it: `1.2 ms`, `34 kB`."""
    if unit == "bytes":
        return f"{value / 1000:,.0f} kB"
    name, size = next((each for each in UNITS if value >= each[1]), UNITS[-1])
    return f"{digits(value / size)} {name}"


def digits(value: float) -> str:
    """Two digits that matter, or all before the point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def ratio_of(row: Row) -> str:
    """The ratio; below a hundredth, two digits that matter."""
    return f"{row.ratio:.2f}" if row.ratio >= 0.01 else f"{row.ratio:.2g}"


def text_line(row: Row) -> str:
    """A line for a terminal."""
    ours, baseline = amount(row.ours, row.unit), amount(row.baseline, row.unit)
    return f"{row.benchmark:<11}{row.what:<54}{ours:>10}{baseline:>10}{ratio_of(row):>8}  {row.beside}"


def markdown_line(row: Row) -> str:
    """A line for README."""
    cells = (
        f"{row.benchmark}: {row.what}",
        amount(row.ours, row.unit),
        amount(row.baseline, row.unit),
        f"**{ratio_of(row)}**",
        row.beside,
    )
    return f"| {' | '.join(cells)} |"
