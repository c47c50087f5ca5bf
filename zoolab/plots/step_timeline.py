"""The six steps of a run, each in its lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.display import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PALE,
    RED,
    count,
    finish,
    name_rows,
    plain,
    write,
)
from zoolab.plots.frames import StepsDisplay, is_known, steps_in
from zoolab.records import KINDS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_COLOURS = {"ok": BLUE, "error": RED, "pending": ORANGE}
_HATCH = "////"
_MOST_NAMED = 30
_MOST_TURNS = 60
_MOST_EDGED = 200
_MOST_ABREAST = 10


class StepTimelineDisplay(StepsDisplay):
    """Which step came when: one lane a step, from define down to result.

    A turn is a staircase from request to result; what failed is red with a cross, a retry is hatched, and
    a triangle marks a step with an injected fault.

    `steps_` holds the steps that are drawn, with `start` and `width` in steps, which count from 1, or in
    seconds, and `retry`.
    In seconds, a request lasts until its reply, and an execution ends where its step came.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted(["Hello"]))
    >>> StepTimelineDisplay.from_trace(trace)
    <StepTimelineDisplay: 3 steps, 1 turn, 0 retries, by sequence>
    """

    nothing = "the run has no steps"

    def __init__(self, steps: pd.DataFrame, by: Literal["sequence", "seconds"]) -> None:
        self.by = by
        self.steps_ = _placed(steps, by)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        run_id: str | None = None,
        by: Literal["sequence", "seconds"] = "sequence",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the steps of one run of a frame; `run_id` says which, if there are several.

        Raises:
            InvalidInput: It is no frame of steps, has several runs, or `by` is something else.
        """
        if by not in ("sequence", "seconds"):
            raise InvalidInput(f"by={excerpt(by)}", expected='"sequence" or "seconds"')
        timed = ("t_start", "duration_ms") if by == "seconds" else ()
        steps = steps_in(frame, "turn", "slot", "attempt", "tool", "fault", *timed)
        runs = list(dict.fromkeys(steps["run_id"]))
        if run_id is not None or len(runs) > 1:
            if run_id not in runs:
                what = (
                    f"the frame contains {len(runs)} runs, but this plot shows one"
                    if run_id is None
                    else f"no run {excerpt(run_id)}"
                )
                raise InvalidInput(what, expected=f"run_id= one of {excerpt(runs)}")
            steps = steps[steps["run_id"] == run_id].reset_index(drop=True)
        return cls(steps, by).plot(ax)

    def _is_empty(self) -> bool:
        return self.steps_.empty

    def _summary(self) -> str:
        return f"{self._said('step', 'turn')}, by {self.by}"

    def _said(self, *order: str) -> str:
        steps = self.steps_
        sizes = {"step": len(steps), "turn": steps["turn"][steps["turn"] > 0].nunique()}
        # A retry is a call, however many of its steps are drawn hatched.
        retries = int((steps["retry"] & (steps["step"] == "validate")).sum())
        told = [count(sizes[name], name) for name in order]
        return ", ".join([*told, f"{retries:,} {'retry' if retries == 1 else 'retries'}"])

    def _draw(self, ax: Axes) -> None:
        self._draw_turns(ax)
        bars, marks = self._draw_bars(ax), self._draw_marks(ax)
        if "error" in bars and "error" in marks:
            marks["error"] = bars["error"], marks["error"]
        if self.by == "sequence" and len(self.steps_) <= _MOST_NAMED:
            self._draw_names(ax)
        name_rows(ax, [*KINDS])
        ax.set_ylim(len(KINDS) - 0.4, -0.6)
        label, whole = ("step", "x") if self.by == "sequence" else ("seconds since the run began", "")
        finish(ax, self._said("turn", "step"), bars | marks, x=label, whole=whole)

    def _draw_turns(self, ax: Axes) -> None:
        """Every other turn stands on grey, and is named, if there is room."""
        steps = self.steps_
        turns = steps[steps["turn"] > 0].groupby("turn")["start"].min()
        edges = [*turns, float((steps["start"] + steps["width"]).max())]
        ax.set_xlim(min(steps["start"]), edges[-1])
        if len(turns) > _MOST_TURNS:
            return
        span = edges[-1] - min(steps["start"])
        for number, left, right in zip(turns.index, edges, edges[1:], strict=False):
            if number % 2:
                ax.axvspan(left, right, color=PALE, alpha=0.6, lw=0, zorder=0)
            room, last = (right - left) / span, right == edges[-1]
            if room > 1 / 30 or last:
                # The last turn has fewer steps than others; if they are many, its number stands out a bit.
                place, ha = ((left + right) / 2, "center") if room > 1 / 30 else (left, "left")
                said = f"turn {number:.0f}" if room > 1 / 12 else f"{number:.0f}"
                write(ax, place, -0.58, said, ha=ha, va="top", color=GREY)

    def _draw_bars(self, ax: Axes) -> dict[str, Any]:
        from matplotlib.collections import PathCollection
        from matplotlib.patches import Patch

        entries: dict[str, Any] = {}
        # Thin bars without an edge, not moved to whole pixels: else lanes look like fewer bars than they are.
        many = len(self.steps_) > _MOST_EDGED
        fine: dict[str, Any] = {"lw": 0, "snap": False} if many else {"lw": 0.4}
        groups: Any = self.steps_.groupby(["status", "retry", "step"], sort=False)
        for (status, retry, kind), rows in groups:
            colour, hatch = _COLOURS.get(status, GREY), _HATCH if retry else ""
            # In seconds, what failed may come at the same moment as what did not.
            order = 2.1 if status == "error" else 2.0
            style = {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "zorder": order, **fine}
            bars = _bars(rows[["start", "width"]].to_numpy(), KINDS.index(kind))
            ax.add_collection(PathCollection([bars], **style), autolim=False)
            entries.setdefault(plain(status), Patch(color=colour))
        if self.steps_["retry"].any():
            entries["retry"] = Patch(facecolor="white", edgecolor=INK, hatch=_HATCH, lw=0.4)
        return entries

    def _draw_marks(self, ax: Axes) -> dict[str, Any]:
        steps = self.steps_.assign(
            middle=self.steps_["start"] + self.steps_["width"] / 2,
            lane=self.steps_["step"].map(KINDS.index).astype(float),
        )
        failed = steps[steps["status"] == "error"]
        faulty = steps[steps["fault"].map(is_known).astype(bool)]
        entries: dict[str, Any] = {}
        if len(failed):
            style: dict[str, Any] = {"marker": "x", "s": 18, "color": INK, "lw": 1.4, "zorder": 3}
            entries["error"] = ax.scatter(failed["middle"], failed["lane"], **style)
        if len(faulty):
            style = {"marker": "v", "s": 30, "color": INK, "lw": 0, "zorder": 4}
            entries["injected fault"] = ax.scatter(faulty["middle"], faulty["lane"] - 0.42, **style)
        return entries

    def _draw_names(self, ax: Axes) -> None:
        """What the model asked for, below each tool call."""
        upright = len(self.steps_) > _MOST_ABREAST or self.steps_["slot"].gt(0).any()
        calls = self.steps_[self.steps_["step"] == "tool_call"]
        for middle, name in zip(calls["seq"] + 1, calls["tool"], strict=True):
            text = plain(name, 14) if is_known(name) else "answer"
            write(ax, middle, 2.36, text, rotation=90 if upright else 0, va="top", fontsize=7)


def _placed(steps: pd.DataFrame, by: str) -> pd.DataFrame:
    """The steps with `start`, `width` and `retry`."""
    # Only validation counts attempts; the other steps of that call belong to it.
    places = list(zip(steps["turn"], steps["slot"].map(str), strict=True))
    retried = {place for place, attempt in zip(places, steps["attempt"], strict=True) if attempt > 1}
    placed = steps.assign(retry=[place in retried for place in places])
    if by == "sequence":
        return placed.assign(start=placed["seq"] + 0.5, width=1.0)  # steps count from 1
    placed = placed[placed["t_start"].notna()].reset_index(drop=True)
    seconds = placed["duration_ms"].fillna(0).clip(lower=0) / 1000
    began = placed["t_start"] - seconds.where(placed["step"] == "execute", 0)
    # What takes no time would not be seen.
    least = 0.006 * ((placed["t_start"] + seconds).max() - began.min()) if len(placed) else 0.0
    return placed.assign(start=began, width=seconds.clip(lower=least or 1e-3))


def _bars(spans: Any, lane: int) -> Any:
    """All bars of a lane as one path: thousands of single ones, hatched, take seconds to draw."""
    import numpy as np
    from matplotlib.path import Path

    left, right, low, high = spans[:, 0], spans.sum(axis=1), lane - 0.31, lane + 0.31
    corners = [(left, low), (right, low), (right, high), (left, high), (left, low)]
    vertices = np.stack([np.column_stack(np.broadcast_arrays(x, y)) for x, y in corners], axis=1)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(spans)
    return Path(vertices.reshape(-1, 2), codes)
