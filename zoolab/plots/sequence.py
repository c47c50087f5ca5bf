"""Who said what to whom: a sequence diagram of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.display import BLUE, GREY, INK, ORANGE, PALE, RED, SMALL, Display, count, plain
from zoolab.plots.frames import check_trace
from zoolab.records import Decision, Outcome, Reply, Request, Result, Step, ToolCall, ToolRegistry, Verdict
from zoolab.show.wording import as_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from zoolab.trace.log import TraceLog

LIFELINES = ("User", "App", "Model", "Validator", "Tool")

_TEXT = 7
_MOST = 200
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
    before it runs. Answers to the app are dashed; what went wrong is red and begins with a cross, what
    passed only because it was repaired is orange and begins with a pencil.

    `arrows_` holds a row for each arrow: seq, source, target, text, status (ok, error, pending, repaired).

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
        # A row needs room for its label: more than 18 make a figure higher than 4 inches.
        self.height = max(self.height, 0.19 * (min(most, len(arrows)) + 3))

    @classmethod
    def from_trace(
        cls, trace: TraceLog, *, turn: int | None = None, most: int = 18, ax: Axes | None = None
    ) -> Self:
        """Draw the first `most` arrows of a trace, or of one turn of it; turns count from 1.

        Raises:
            InvalidInput: It is no trace, it has no such turn, or `most` is no number of arrows.
        """
        import pandas as pd

        if type(most) is not int or not 1 <= most <= _MOST:
            raise InvalidInput(f"most={excerpt(most)}", expected=f"1 to {_MOST}")
        steps = list(enumerate(check_trace(trace).steps))
        if turn is not None:
            turns = {step.turn for _, step in steps} - {0}
            if type(turn) is not int or turn not in turns:
                expected = f"1 to {max(turns)}" if turns else "a trace with turns"
                raise InvalidInput(f"turn={excerpt(turn)}", expected=expected)
            steps = [(seq, step) for seq, step in steps if step.turn == turn]
        arrows = [arrow for seq, step in steps for arrow in _arrows(seq, step)]
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

_MARKS = {"error": ("✗ ", RED), "repaired": ("✎ ", ORANGE)}


def _draw_arrow(ax: Axes, y: float, arrow: Any) -> None:
    start, end = LIFELINES.index(arrow.source), LIFELINES.index(arrow.target)
    mark, colour = _MARKS.get(arrow.status, ("", BLUE))
    text = mark + plain(arrow.text, _ROOM * max(1, abs(end - start)) - len(mark))
    if start == end:
        # Above the line of its row: the label of the next arrow comes close below.
        ax.plot([start], [y - 0.25], marker="o", ms=4, color=colour, zorder=3)
        place = start + 0.08, y - 0.25, "left", "center"
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
            yield Arrow(seq, "Validator", "App", *_verdict(record))
        case Decision():
            yield Arrow(seq, "App", "User", plain(f"allow {name}?", 60))
            yield Arrow(seq, "User", "App", record.choice, step.status)
        case Outcome():
            yield Arrow(seq, "App", "Tool", plain(f"run {name}", 60))
            said = as_text(record.value) if record.error is None else record.error.code
            yield Arrow(seq, "Tool", "App", plain(said, 60), step.status)
        case Result():
            yield Arrow(seq, "App", "App", plain(f"result of {name}", 60), step.status)


def _verdict(verdict: Verdict) -> tuple[str, str]:
    if not verdict.ok:
        return plain(verdict.error_code or "no", 60), "error"
    repaired = verdict.repair is not None and verdict.repair.accepted
    return ("yes, repaired", "repaired") if repaired else ("yes", "ok")


def _asked(seq: int, step: Step) -> Iterator[Arrow]:
    """What the user said last, if it is new."""
    said = [message.get("content") for message in step.new_messages if message.get("role") == "user"]
    if said:
        yield Arrow(seq, "User", "App", plain(said[-1], 60))
