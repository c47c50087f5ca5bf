"""Who said what to whom: a sequence diagram of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.display import BLUE, GREY, ORANGE, PALE, RED, SMALL, Display, count, plain, write
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
_HEAD = {"boxstyle": "round,pad=0.35", "facecolor": PALE, "edgecolor": GREY, "linewidth": 0.8}
_LABEL = {"boxstyle": "square,pad=0", "facecolor": "white", "edgecolor": "none"}
_MARKS = {"error": ("✗ ", RED), "repaired": ("✎ ", ORANGE)}


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
            write(ax, x, -1, name, fontsize=SMALL + 1, bbox=_HEAD)
        for row, arrow in enumerate(drawn.itertuples(index=False)):
            _draw_arrow(ax, row + 0.35, arrow)
        left = len(self.arrows_) - rows
        if left:
            said = f"and {count(left, 'more arrow')}"
            write(ax, 2, rows + 0.4, said, fontsize=_TEXT, color=GREY, va="baseline")


def _draw_arrow(ax: Axes, y: float, arrow: Any) -> None:
    start, end = LIFELINES.index(arrow.source), LIFELINES.index(arrow.target)
    mark, colour = _MARKS.get(arrow.status, ("", BLUE))
    text = mark + plain(arrow.text, _ROOM * max(1, abs(end - start)) - len(mark))
    style: dict[str, Any] = {"fontsize": _TEXT, "bbox": _LABEL, "zorder": 2.5}
    if start == end:
        # Above the line of its row: the label of the next arrow comes close below.
        ax.plot([start], [y - 0.25], marker="o", ms=4, color=colour, zorder=3)
        write(ax, start + 0.08, y - 0.25, text, ha="left", **style)
        return
    dashed = "--" if arrow.source in ("Validator", "Tool") else "-"
    line = {"arrowstyle": "-|>", "color": colour, "linestyle": dashed, "lw": 1.1, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (end, y), (start, y), arrowprops=line, zorder=2)
    write(ax, (start + end) / 2, y - 0.08, text, va="bottom", **style)


def _arrows(seq: int, step: Step) -> Iterator[Arrow]:
    def arrow(source: str, target: str, text: Any, status: str = "ok") -> Arrow:
        return Arrow(seq, source, target, plain(text, 60), status)

    record, name = step.record, step.call.name if step.call else ""
    match record:
        case ToolRegistry():
            yield arrow("App", "App", f"defines {count(len(record), 'tool')}")
        case Request():
            asked = [message.get("content") for message in step.new_messages if message.get("role") == "user"]
            if asked:
                yield arrow("User", "App", asked[-1])
            sent = f"{count(len(record.prefix), 'message')}, {count(len(record.tools), 'tool')}"
            yield arrow("App", "Model", sent)
        case ToolCall():
            yield arrow("Model", "App", f"{record.name} {record.arguments}")
        case Reply():
            yield arrow("Model", "App", "answer")
            yield arrow("App", "User", record.text)
        case Verdict():
            yield arrow("App", "Validator", f"may {name} run so?")
            if not record.ok:
                yield arrow("Validator", "App", record.error_code or "no", "error")
            elif record.repair is not None and record.repair.accepted:
                yield arrow("Validator", "App", "yes, repaired", "repaired")
            else:
                yield arrow("Validator", "App", "yes")
        case Decision():
            yield arrow("App", "User", f"allow {name}?")
            yield arrow("User", "App", record.choice, step.status)
        case Outcome():
            yield arrow("App", "Tool", f"run {name}")
            said = as_text(record.value) if record.error is None else record.error.code
            yield arrow("Tool", "App", said, step.status)
        case Result():
            yield arrow("App", "App", f"result of {name}", step.status)
