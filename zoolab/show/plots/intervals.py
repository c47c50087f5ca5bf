"""Rates with their intervals, a row each: what two displays draw alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoolab.show.plots.display import BLUE, GREY, SMALL, name_rows, rest, tidy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def draw_rates(
    ax: Axes, rates: pd.DataFrame, most: int, *, compared_with: str | None, label: str
) -> pd.DataFrame:
    """Draw the first `most` rows of rate, low and high, from 0 to 100 %; returns them.

    The row that the others are compared with has a grey square, they have dots.

    >>> import pandas as pd
    >>> from matplotlib.figure import Figure
    >>> rates = pd.DataFrame({"rate": [0.5], "low": [0.2], "high": [0.8]}, index=["plain"])
    >>> len(draw_rates(Figure().subplots(), rates, 7, compared_with="plain", label="rate"))
    1
    """
    shown = rates.head(most)
    for row, (name, found) in enumerate(shown.iterrows()):
        reach = [[found["rate"] - found["low"]], [found["high"] - found["rate"]]]
        colour, marker = (GREY, "s") if name == compared_with else (BLUE, "o")
        ax.errorbar(found["rate"], row, xerr=reach, fmt=marker, ms=6, color=colour, capsize=4, lw=1.6)
    name_rows(ax, [str(name) for name in shown.index])
    reference = rates["rate"].get(compared_with)
    if reference is not None:
        ax.axvline(reference, color=GREY, lw=0.8, linestyle=":", zorder=0)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    ax.set_xlabel(f"{label}, with 95 % intervals{rest(len(rates), len(shown))}", fontsize=SMALL + 1)
    tidy(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    return shown
