"""What all displays share: axes, colours, legends, and text that is drawn as it is."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt, one_line
from zoolab.plots.colours import GREY, INK, PALE, SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


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
_WRITTEN: dict[str, Any] = {"fontsize": SMALL, "color": INK, "ha": "center", "va": "center"}


class Picture:
    """A figure with the text that a screen reader says in its place; a notebook shows both.

    Args:
        figure: A figure of matplotlib. It is closed when a notebook shows it, so that it is not shown twice.
        alt: What it shows, in a sentence or two.
    """

    def __init__(self, figure: Figure, alt: str) -> None:
        self._figure = figure
        self.alt = alt

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"

    def _repr_html_(self) -> str:
        return image_of(self._figure, self.alt)


def image_of(figure: Any, alt: str, form: Literal["png", "svg+xml"] = "png") -> str:
    """Return an `<img>` that holds the figure, which is closed."""
    import matplotlib.pyplot as plt

    plt.close(figure)
    drawn = BytesIO()
    name = form.partition("+")[0]
    figure.savefig(drawn, format=name, bbox_inches="tight", metadata={"Date": None})
    return f'<img alt="{escape(alt)}" src="data:image/{form};base64,{b64encode(drawn.getvalue()).decode()}">'


class Display:
    """A plot and the numbers behind it. Subclasses draw on axes and say in a line what they hold."""

    #: The axes, once drawn.
    ax_: Axes
    #: Their figure.
    figure_: Figure | SubFigure
    #: What kind of plot it is: `alt` begins with it.
    what = ""
    #: What the axes say if there is nothing to draw.
    nothing = ""
    #: Whether there is nothing to draw.
    empty: bool

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a figure of its own of 6 x 4 inches; returns the display."""
        from matplotlib.axes import Axes

        self._picture: Picture | None = None
        if ax is None:
            import matplotlib.pyplot as plt

            figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
            self._picture = Picture(figure, self.alt)
        if not isinstance(ax, Axes):
            raise InvalidInput(f"ax is {excerpt(ax)}", expected="matplotlib axes, or None for a new figure")
        self.ax_ = ax
        self.figure_ = ax.figure
        if self.empty:
            ax.set_axis_off()
            said = f"nothing to show: {self.nothing}"
            write(ax, 0.5, 0.5, said, transform=ax.transAxes, fontsize=None, color=GREY, wrap=True)
        else:
            self._draw(ax)
        return self

    @property
    def alt(self) -> str:
        """The plot in words: what kind it is, and the numbers of its headline."""
        return f"{self.what}. " + (
            f"Nothing to show: {self.nothing}." if self.empty else f"{self._summary()}."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._summary()}>"

    def _repr_html_(self) -> str | None:
        """Return the figure with its `alt`; None if it is the caller's, who shows it."""
        return None if self._picture is None else self._picture._repr_html_()

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def _summary(self) -> str:
        raise NotImplementedError


def plain_line(value: object, limit: int = 24) -> str:
    """Return any value as one line of text to draw, cut with an ellipsis.

    >>> plain_line("two\\nlines"), plain_line("x" * 30, 8), plain_line(None)
    ('two lines', 'xxxxxxx…', 'None')
    """
    text = str(value) if value is None or isinstance(value, str) else excerpt(value, limit)
    return one_line("".join(c if c.isprintable() else " " for c in text[: 4 * limit]), limit)


def write(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write a text as it is: a dollar sign begins no formula."""
    ax.text(x, y, text, parse_math=False, **(_WRITTEN | style))


def finish(
    ax: Axes,
    headline: str,
    entries: dict[str, Any] | None = None,
    *,
    x: str = "",
    y: str = "",
    grid: str = "",
    whole: str = "",
) -> None:
    """Add what every plot has around it: a headline, a legend of `entries`, the names `x` and `y` of the
    axes.

    `grid` names the axis ("x" or "y") with lines across the plot, `whole` one whose ticks are whole numbers.
    """
    from matplotlib.ticker import MaxNLocator

    names = [plain_line(name, 40) for name in entries or {}]
    rows = -(-sum(len(name) + 8 for name in names) // _LEGEND_ROOM)
    if headline:
        style: dict[str, Any] = {"loc": "left", "pad": 6 + 15 * rows, "fontsize": 10, "color": INK}
        ax.set_title(plain_line(headline, 80), parse_math=False, **style)
    if entries:
        legend = ax.legend(
            list(entries.values()),
            names,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
            ncols=-(-len(names) // rows),
            **_LEGEND,
        )
        for label in legend.get_texts():
            label.set_parse_math(False)
    ax.set_xlabel(x, fontsize=SMALL + 1)
    ax.set_ylabel(y, fontsize=SMALL + 1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL + 1)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color=PALE)  # type: ignore[arg-type]
    if whole:
        (ax.xaxis if whole == "x" else ax.yaxis).set_major_locator(MaxNLocator(integer=True))


def name_rows(ax: Axes, names: list[str]) -> None:
    """Name the rows, one a name, from the top down."""
    ax.set_yticks(range(len(names)), [plain_line(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
