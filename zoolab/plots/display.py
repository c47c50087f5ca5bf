"""What all displays share: axes, colours, legends, and text that is drawn as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, SubFigure

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
BLUE, SKY, GREEN, ORANGE, RED, PINK = "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7"
INK, GREY, PALE = "#222222", "#767676", "#EEEEEE"

SMALL = 8

# How many characters fit in a row of a legend on 6 inches; a handle takes as much as 8.
_LEGEND_ROOM = 95
_LEGEND: dict[str, Any] = {
    "frameon": False,
    "fontsize": SMALL,
    "handlelength": 1.6,
    "handletextpad": 0.5,
    "columnspacing": 1.2,
    "borderpad": 0.2,
}


class Display:
    """A plot and the numbers behind it. Subclasses draw on axes and say in a line what they hold."""

    #: The axes, once drawn.
    ax_: Axes
    #: Their figure.
    figure_: Figure | SubFigure
    #: What the axes say if there is nothing to draw.
    nothing = ""
    #: Inches of a figure of its own, which is 6 wide.
    height = 4.0

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a figure of its own of 6 x 4 inches; returns the display."""
        self.ax_ = _axes(ax, self.height)
        self.figure_ = self.ax_.figure
        if self._is_empty():
            _say(self.ax_, f"nothing to show: {self.nothing}")
        else:
            self._draw(self.ax_)
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._summary()}>"

    def _is_empty(self) -> bool:
        raise NotImplementedError

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def _summary(self) -> str:
        raise NotImplementedError


def plain(value: object, limit: int = 24) -> str:
    """Any value as one line of text to draw, cut with an ellipsis.

    >>> plain("two\\nlines"), plain("x" * 30, 8), plain(None)
    ('two lines', 'xxxxxxx…', 'None')
    """
    text = value if isinstance(value, str) else str(value) if value is None else excerpt(value, limit)
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * limit])
    line = " ".join(line.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "run"), count(5000, "run")
    ('1 run', '5,000 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def headline(ax: Axes, text: str, entries: dict[str, Any] | None = None) -> None:
    """What the plot says, in a line above it; between the two, what colours, hatches and markers mean.

    >>> from matplotlib.figure import Figure
    >>> from matplotlib.patches import Patch
    >>> ax = Figure().subplots()
    >>> headline(ax, "3 runs for $2 or $3", {"ok": Patch()})
    >>> ax.get_title(loc="left"), [text.get_text() for text in ax.get_legend().get_texts()]
    ('3 runs for $2 or $3', ['ok'])
    """
    names = [plain(name, 40) for name in entries or {}]
    rows = -(-sum(len(name) + 8 for name in names) // _LEGEND_ROOM)
    ax.set_title(plain(text, 80), loc="left", pad=6 + 15 * rows, fontsize=10, color=INK, parse_math=False)
    if entries:
        made = ax.legend(
            list(entries.values()),
            names,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
            ncols=-(-len(names) // rows),
            **_LEGEND,
        )
        for label in made.get_texts():
            label.set_parse_math(False)


def tidy(ax: Axes, *, grid: str = "") -> None:
    """Only the lines that help to read: no frame at the top and the right; a grid along "x" or "y".

    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> tidy(ax, grid="x")
    >>> ax.spines["top"].get_visible()
    False
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL + 1)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color=PALE)  # type: ignore[arg-type]


def whole_numbers(axis: Axis) -> None:
    """No ticks between whole numbers.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> whole_numbers(ax.xaxis)
    >>> ax.get_xticks().tolist()
    [0.0, 1.0]
    """
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def rest(number: int, drawn: int) -> str:
    """What to say of rows that there is no room for.

    >>> rest(12, 10), rest(10, 10)
    (' (2 more rows are not drawn)', '')
    """
    left = number - drawn
    return f" ({left:,} more {'row is' if left == 1 else 'rows are'} not drawn)" if left > 0 else ""


def name_rows(ax: Axes, names: list[str]) -> None:
    """One row a name, from the top down.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> name_rows(ax, ["add", "divide"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['add', 'divide']
    """
    ax.set_yticks(range(len(names)), [plain(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def _axes(ax: Axes | None, height: float) -> Axes:
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(6, height), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise InvalidInput(f"ax is {excerpt(ax)}", expected="matplotlib axes, or None for a new figure")
    return ax


def _say(ax: Axes, text: str) -> None:
    ax.set_axis_off()
    ax.text(
        0.5,
        0.5,
        text,
        transform=ax.transAxes,
        ha="center",
        va="center",
        color=GREY,
        wrap=True,
        parse_math=False,
    )
