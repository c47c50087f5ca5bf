"""When each step of one run came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.colours import BLUE, GREY, INK, ORANGE, PALE, RED
from zoolab.plots.display import finish, name_rows, plain_line, write
from zoolab.plots.inputs import StepsDisplay, check_trace, is_known, steps_in
from zoolab.records import KINDS
from zoolab.text.wording import count
from zoolab.trace.frame import frame_of
from zoolab.trace.log import TraceLog

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
    In seconds, a request lasts until its reply, and the calls of a turn share the lane, so that calls at the
    same time are seen one above the other. Of a frame, an execution ends where its step came.
    """

    what = "Timeline of the steps of a run"
    nothing = "the run has no steps"

    def __init__(self, steps: pd.DataFrame, by: Literal["sequence", "seconds"]) -> None:
        self.by = by
        self.steps_ = _placed(steps, by)
        self.empty = self.steps_.empty

    @classmethod
    def from_trace(
        cls, trace: TraceLog, *, by: Literal["sequence", "seconds"] = "sequence", ax: Axes | None = None
    ) -> Self:
        """Draw one run, in seconds with the calls of a turn side by side.

        Raises `InvalidInput` if it is no trace, or `by` is something else.
        """
        frame = frame_of([check_trace(trace)])
        for turn in trace.turns:
            ran = {call.ran: call.outcome for call in turn.calls.values() if call.ran and call.outcome}
            first = min((each.started_ms for each in ran.values() if each.started_ms), default=0)
            for seq, each in ran.items():
                ended = trace.started[min(ran) - 1] + (each.started_ms - first + each.duration_ms) / 1000
                frame.loc[seq, "t_start"] = min(ended, trace.started[seq])
        return cls.from_frame(frame, by=by, ax=ax)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, by: Literal["sequence", "seconds"] = "sequence", ax: Axes | None = None
    ) -> Self:
        """Draw the steps of a frame of one run.

        Raises `InvalidInput` if it is no frame of steps, has several runs, or `by` is something else.
        """
        if by not in ("sequence", "seconds"):
            raise InvalidInput(f"by={excerpt(by)}", expected='"sequence" or "seconds"')
        timed = ("t_start", "duration_ms") if by == "seconds" else ()
        steps = steps_in(frame, "turn", "slot", "attempt", "tool", "fault", *timed)
        if steps["run_id"].nunique() > 1:
            what = f"the frame contains {steps['run_id'].nunique()} runs, but this plot shows one"
            raise InvalidInput(what, advice='choose one, as in frame[frame["run_id"] == name]')
        return cls(steps, by).plot(ax)

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
        bars = self._draw_bars(ax)
        marks = self._draw_marks(ax)
        if "error" in bars and "error" in marks:
            marks["error"] = bars["error"], marks["error"]
        if self.by == "sequence" and len(self.steps_) <= _MOST_NAMED:
            self._draw_names(ax)
        name_rows(ax, [*KINDS])
        ax.set_ylim(len(KINDS) - 0.4, -0.6)
        label, whole = ("step", "x") if self.by == "sequence" else ("seconds since the run began", "")
        finish(ax, self._said("turn", "step"), bars | marks, x=label, whole=whole)

    def _draw_turns(self, ax: Axes) -> None:
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
            room = (right - left) / span
            last = right == edges[-1]
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
        for (status, retry, _), rows in groups:
            colour = _COLOURS.get(status, GREY)
            hatch = _HATCH if retry else ""
            # In seconds, what failed may come at the same moment as what did not.
            order = 2.1 if status == "error" else 2.0
            style = {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "zorder": order, **fine}
            bars = _bars(rows[["start", "width", "top", "height"]].to_numpy())
            ax.add_collection(PathCollection([bars], **style), autolim=False)
            entries.setdefault(plain_line(status), Patch(color=colour))
        if self.steps_["retry"].any():
            entries["retry"] = Patch(facecolor="white", edgecolor=INK, hatch=_HATCH, lw=0.4)
        return entries

    def _draw_marks(self, ax: Axes) -> dict[str, Any]:
        steps = self.steps_.assign(
            middle=self.steps_["start"] + self.steps_["width"] / 2,
            lane=self.steps_["top"] + self.steps_["height"] / 2,
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
        upright = len(self.steps_) > _MOST_ABREAST or self.steps_["slot"].gt(0).any()
        calls = self.steps_[self.steps_["step"] == "tool_call"]
        for middle, name in zip(calls["seq"] + 1, calls["tool"], strict=True):
            text = plain_line(name, 14) if is_known(name) else "answer"
            write(ax, middle, 2.36, text, rotation=90 if upright else 0, va="top", fontsize=7)


def _placed(steps: pd.DataFrame, by: str) -> pd.DataFrame:
    # Only validation counts attempts; the other steps of that call belong to it.
    places = list(zip(steps["turn"], steps["slot"].map(str), strict=True))
    retried = {place for place, attempt in zip(places, steps["attempt"], strict=True) if attempt > 1}
    placed = steps.assign(
        retry=[place in retried for place in places], top=steps["step"].map(KINDS.index) - 0.31, height=0.62
    )
    if by == "sequence":
        return placed.assign(start=placed["seq"] + 0.5, width=1.0)  # steps count from 1
    placed = placed[placed["t_start"].notna()].reset_index(drop=True)
    # The calls of a turn may run at the same time, so each has a part of the lane.
    ran = placed[placed["step"] == "execute"].groupby("turn")["slot"]
    placed.loc[ran.cumcount().index, "height"] /= ran.transform("size")
    placed["top"] += placed["height"] * ran.cumcount().reindex(placed.index, fill_value=0)
    seconds = placed["duration_ms"].fillna(0).clip(lower=0) / 1000
    began = placed["t_start"] - seconds.where(placed["step"] == "execute", 0)
    # What takes no time would not be seen.
    least = 0.006 * ((placed["t_start"] + seconds).max() - began.min()) if len(placed) else 0.0
    return placed.assign(start=began, width=seconds.clip(lower=least or 1e-3))


def _bars(spans: Any) -> Any:
    """Return all bars of a lane as one path: thousands of single ones, hatched, take seconds to draw."""
    import numpy as np
    from matplotlib.path import Path

    left, width, low, height = spans.T
    right = left + width
    high = low + height
    corners = np.array([[left, right, right, left], [low, low, high, high]])
    return Path.make_compound_path_from_polys(corners.T)
