"""Who said what to whom: a sequence diagram of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.display import BLUE, GREY, INK, PALE, RED, SMALL, Display, count, plain
from zoolab.plots.frames import check_trace
from zoolab.records import Decision, Outcome, Reply, Request, Result, Step, ToolCall, ToolRegistry, Verdict
from zoolab.trace.story.words import as_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from zoolab.trace import Trace

LIFELINES = ("User", "App", "Model", "Validator", "Tool")

_TEXT = 7
# How many characters fit between two lifelines that stand side by side, on 6 inches.
_ROOM = 20


class Arrow(NamedTuple):
    """One message between two lifelines; to itself, it is something that the app does alone."""

    seq: int
    source: str
    target: str
    text: str
    status: str = "ok"


class SequenceDisplay(Display):
    """Who said what to whom: User, App, Model, Validator and Tool, from the top down.

    The app stands in the middle of everything: the model only ever asks, and what it asks for is checked
    before it runs. Answers to the app are dashed; what went wrong is red and begins with a cross.

    `arrows_` holds a row for each arrow: seq, source, target, text, status.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted(["Hello"]))
    >>> display = SequenceDisplay.from_trace(trace)
    >>> display
    <SequenceDisplay: 5 arrows, 5 drawn>
    >>> display.arrows_[["source", "target", "text"]].to_numpy().tolist()[-1]
    ['App', 'User', 'Hello']
    """

    nothing = "the run has no steps"

    def __init__(self, arrows: pd.DataFrame, most: int) -> None:
        self.arrows_ = arrows
        self.most = most

    @classmethod
    def from_trace(cls, trace: Trace, *, most: int = 18, ax: Axes | None = None) -> Self:
        """Draw the first `most` arrows of a trace.

        Raises:
            InvalidInput: It is no trace, or `most` is no number of arrows.
        """
        import pandas as pd

        if type(most) is not int or most < 1:
            raise InvalidInput(f"most={excerpt(most)}", expected="1 or more")
        steps = check_trace(trace).steps
        arrows = [arrow for seq, step in enumerate(steps) for arrow in _arrows(seq, step)]
        return cls(pd.DataFrame(arrows, columns=list(Arrow._fields)), most).plot(ax)

    def _is_empty(self) -> bool:
        return self.arrows_.empty

    def _summary(self) -> str:
        return f"{count(len(self.arrows_), 'arrow')}, {min(self.most, len(self.arrows_))} drawn"

    def _draw(self, ax: Axes) -> None:
        drawn = self.arrows_.head(self.most)
        rows = len(drawn)
        ax.set_axis_off()
        ax.set_xlim(-0.45, len(LIFELINES) - 0.55)
        ax.set_ylim(max(rows, 11) + 0.6, -1.6)
        for x, name in enumerate(LIFELINES):
            ax.plot([x, x], [-0.5, rows], color=GREY, lw=0.8, zorder=1)
            ax.text(x, -1, name, ha="center", va="center", fontsize=SMALL + 1, color=INK, bbox=_HEAD)
        for row, arrow in enumerate(drawn.itertuples(index=False)):
            _draw_arrow(ax, row + 0.35, arrow)
        left = len(self.arrows_) - rows
        if left:
            ax.text(
                2, rows + 0.4, f"and {count(left, 'more arrow')}", ha="center", fontsize=_TEXT, color=GREY
            )


_HEAD = {"boxstyle": "round,pad=0.35", "facecolor": PALE, "edgecolor": GREY, "linewidth": 0.8}
_LABEL = {"boxstyle": "square,pad=0", "facecolor": "white", "edgecolor": "none"}


def _draw_arrow(ax: Axes, y: float, arrow: Any) -> None:
    start, end = LIFELINES.index(arrow.source), LIFELINES.index(arrow.target)
    failed = arrow.status == "error"
    colour = RED if failed else BLUE
    text = ("✗ " if failed else "") + plain(arrow.text, _ROOM * max(1, abs(end - start)) - 2 * failed)
    if start == end:
        ax.plot([start], [y], marker="o", ms=4, color=colour, zorder=3)
        place = start + 0.08, y, "left", "center"
    else:
        dashed = "--" if arrow.source in ("Validator", "Tool") else "-"
        style = {
            "arrowstyle": "-|>",
            "color": colour,
            "linestyle": dashed,
            "lw": 1.1,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        ax.annotate("", (end, y), (start, y), arrowprops=style, zorder=2)
        place = (start + end) / 2, y - 0.08, "center", "bottom"
    ax.text(
        *place[:2],
        text,
        ha=place[2],
        va=place[3],
        fontsize=_TEXT,
        color=INK,
        bbox=_LABEL,
        zorder=2.5,
        parse_math=False,
    )


def _arrows(seq: int, step: Step) -> Iterator[Arrow]:
    record, name = step.record, step.call.name if step.call else ""
    match record:
        case ToolRegistry():
            yield Arrow(seq, "App", "App", f"defines {count(len(record), 'tool')}")
        case Request():
            yield from _asked(seq, step)
            sent = f"{count(len(record.prefix), 'message')}, {count(len(record.tools), 'tool')}"
            yield Arrow(seq, "App", "Model", sent)
        case ToolCall():
            yield Arrow(seq, "Model", "App", plain(f"{record.name} {record.arguments}", 60))
        case Reply():
            yield Arrow(seq, "Model", "App", "answer")
            yield Arrow(seq, "App", "User", plain(record.text, 60))
        case Verdict():
            yield Arrow(seq, "App", "Validator", plain(f"may {name} run so?", 60))
            said = "yes" if record.ok else record.error_code or "no"
            yield Arrow(seq, "Validator", "App", plain(said, 60), "ok" if record.ok else "error")
        case Decision():
            yield Arrow(seq, "App", "User", plain(f"allow {name}?", 60))
            yield Arrow(seq, "User", "App", record.choice, step.status)
        case Outcome():
            yield Arrow(seq, "App", "Tool", plain(f"run {name}", 60))
            said = as_text(record.value) if record.error is None else record.error.code
            yield Arrow(seq, "Tool", "App", plain(said, 60), step.status)
        case Result():
            yield Arrow(seq, "App", "App", plain(f"result of {name}", 60), step.status)


def _asked(seq: int, step: Step) -> Iterator[Arrow]:
    """What the user said last, where it is new."""
    said = [message.get("content") for message in step.new_messages if message.get("role") == "user"]
    if said:
        yield Arrow(seq, "User", "App", plain(said[-1], 60))
