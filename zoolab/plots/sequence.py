"""Who said what to whom in one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from zoolab.messages import text_of
from zoolab.plots.colours import BLUE, GREY, ORANGE, PALE, RED, SMALL
from zoolab.plots.display import Display, plain_line, write
from zoolab.plots.inputs import check_trace
from zoolab.records import Decision, Outcome, Reply, Request, Result, Step, ToolCall, Verdict
from zoolab.show.wording import readable
from zoolab.text.wording import count
from zoolab.tools import ToolRegistry
from zoolab.trace.log import TraceLog

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LIFELINES = ("User", "App", "Model", "Validator", "Tool")
_TEXT = 7
# Rows with a label that have room on 4 inches.
_MOST_ARROWS = 18
# How many characters fit between two lifelines that stand side by side, on 6 inches.
_ROOM = 20
_HEAD = {"boxstyle": "round,pad=0.35", "facecolor": PALE, "edgecolor": GREY, "linewidth": 0.8}
_LABEL = {"boxstyle": "square,pad=0", "facecolor": "white", "edgecolor": "none"}
_MARKS = {"error": ("✗ ", RED), "repaired": ("✎ ", ORANGE)}


class SequenceDisplay(Display):
    """Who said what to whom: User, App, Model, Validator and Tool, from the top down.

    The app stands in the middle of everything: the model only ever asks, and what it asks for is checked
    before it runs. Answers to the app are dashed; what went wrong is red and begins with a cross, what
    passed only because it was repaired is orange and begins with a pencil.

    `arrows_` holds a row for each arrow: seq, source, target, text, status (ok, error, pending, repaired).
    """

    what = "Sequence diagram of a run"
    nothing = "the run has no steps"

    def __init__(self, arrows: pd.DataFrame) -> None:
        self.arrows_ = arrows
        self.empty = arrows.empty

    @classmethod
    def from_trace(cls, trace: TraceLog, *, ax: Axes | None = None) -> Self:
        """Draw the first 18 arrows of a trace; raises `InvalidInput` if it is no trace."""
        import pandas as pd

        steps = enumerate(check_trace(trace).steps)
        arrows = [arrow for seq, step in steps for arrow in _arrows(seq, step)]
        return cls(pd.DataFrame(arrows, columns=["seq", "source", "target", "text", "status"])).plot(ax)

    @property
    def alt(self) -> str:
        """What is said, arrow by arrow, as far as it is drawn."""
        drawn = self.arrows_.head(_MOST_ARROWS).itertuples(index=False)
        return "; ".join([super().alt[:-1], *(f"{a.source} to {a.target}: {a.text}" for a in drawn)]) + "."

    def _summary(self) -> str:
        return f"{count(len(self.arrows_), 'arrow')}, {min(_MOST_ARROWS, len(self.arrows_))} drawn"

    def _draw(self, ax: Axes) -> None:
        drawn = self.arrows_.head(_MOST_ARROWS)
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
    start = LIFELINES.index(arrow.source)
    end = LIFELINES.index(arrow.target)
    mark, colour = _MARKS.get(arrow.status, ("", BLUE))
    text = mark + plain_line(arrow.text, _ROOM * max(1, abs(end - start)) - len(mark))
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


def _arrows(seq: int, step: Step) -> Iterator[tuple[object, ...]]:
    """Yield the messages of a step between two lifelines; one to itself is what the app does alone."""

    def arrow(source: str, target: str, text: Any, status: str = "ok") -> tuple[object, ...]:
        return seq, source, target, plain_line(text, 60), status

    record = step.record
    name = step.call.name if step.call else ""
    match record:
        case ToolRegistry():
            yield arrow("App", "App", f"defines {count(len(record), 'tool')}")
        case Request():
            asked = [text_of(message) for message in step.new_messages if message.get("role") == "user"]
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
            said = readable(record.value) if record.error is None else record.error.code
            yield arrow("Tool", "App", said, step.status)
        case Result():
            yield arrow("App", "App", f"result of {name}", step.status)
