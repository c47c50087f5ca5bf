"""Shares and numbers of rows, as the labels of a plot say them."""

from __future__ import annotations


def percent(share: float) -> str:
    """Return a share in whole percent: "50 %"."""
    return f"{share:.0%}".replace("%", " %")


def rest(number: int, drawn: int) -> str:
    """Return what to say of rows that there is no room for; nothing if all are drawn."""
    left = number - drawn
    return f" ({left:,} more {'row is' if left == 1 else 'rows are'} not drawn)" if left > 0 else ""
