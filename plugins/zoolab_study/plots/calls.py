"""At which attempt the calls of many runs become valid."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Self

from zoolab.plots.colours import BLUE, GREEN, GREY, INK, RED, SMALL
from zoolab.plots.display import finish
from zoolab.plots.inputs import StepsDisplay, steps_in
from zoolab.text.wording import count
from zoolab_study.plots.labels import percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MODELS_FAULT = {"unknown_tool", "invalid_json", "invalid_arguments"}
_LAST = 6
_NEVER = 0


class RetryWaterfallDisplay(StepsDisplay):
    """All calls on the left; each bar takes away those that became valid at that attempt.

    A call and its retries are one: in a run, the calls of one tool up to the first that passes
    validation (a repaired call passes). What is left at the end of the run was never valid: a tool that
    does not exist never is. Calls that a limit or a rule refused are no attempts.

    `counts_` holds a row for each bar: how many calls became valid there, and how many were left.

    >>> from zoolab import Scripted, run
    >>> RetryWaterfallDisplay.from_trace(run("Hi", [], Scripted([[("fly", {})], "I cannot."])))
    <RetryWaterfallDisplay: 1 call, 0 valid at once, 0 at a retry, 1 never>
    """

    what = "Waterfall: at which attempt calls become valid"
    nothing = "no call was validated"

    def __init__(self, attempts: Counter[int]) -> None:
        import pandas as pd

        last = max([*attempts, 1])
        names = ["at once", *(f"attempt {n}" for n in range(2, last + 1)), "never"]
        if last == _LAST:
            names[-2] += " or later"
        calls = [attempts[n] for n in (*range(1, last + 1), _NEVER)]
        self.counts_ = pd.DataFrame({"calls": calls}, index=pd.Index(names, name="valid"))
        self.counts_["left"] = attempts.total() - self.counts_["calls"].cumsum()
        self._total = attempts.total()
        self.empty = not self._total

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, ax: Axes | None = None) -> Self:
        """Draw the calls of all runs of a frame of steps.

        Raises `InvalidInput` if it is no frame of steps.
        """
        return cls(_attempts(steps_in(frame, "tool", "error_code"))).plot(ax)

    def _summary(self) -> str:
        once, *retries, never = self.counts_["calls"]
        return f"{count(self._total, 'call')}, {once} valid at once, {sum(retries)} at a retry, {never} never"

    def _draw(self, ax: Axes) -> None:
        total = self._total
        bars = self.counts_
        names = ["all calls", *bars.index]
        bottoms = [0, *bars["left"][:-1], 0]
        heights = [total, *bars["calls"]]
        colours = [BLUE, *[GREEN] * (len(bars) - 1), RED]
        hatches = ["", "", *["////"] * (len(bars) - 2), "xxxx"]
        drawn = ax.bar(range(len(names)), heights, bottom=bottoms, color=colours, width=0.7)
        for bar, hatch in zip(drawn, hatches, strict=True):
            bar.set(hatch=hatch, edgecolor="white", linewidth=0)
        labels = [f"{n:,}\n{percent(n / total)}" for n in heights]
        ax.bar_label(drawn, labels, fontsize=SMALL, color=INK, padding=2)
        for at, level in enumerate([total, *bars["left"][:-1]]):
            ax.plot([at - 0.35, at + 1.35], [level, level], color=GREY, lw=0.8, zorder=0)
        ax.set_xticks(range(len(names)), [name.replace(" or ", "\nor ") for name in names])
        ax.set_ylim(0, total * 1.16)
        once = bars["calls"].iloc[0] / total
        never = bars["calls"].iloc[-1] / total
        headline = f"{percent(once)} valid at once, {percent(1 - never)} after retries"
        finish(ax, headline, y="calls", whole="y")


def _attempts(steps: pd.DataFrame) -> Counter[int]:
    found = Counter[int]()
    failed = Counter[tuple[object, object]]()
    judged = steps[(steps["step"] == "validate") & steps["tool"].notna()]  # final answers are no calls
    for run, tool, status, code in judged[["run_id", "tool", "status", "error_code"]].itertuples(index=False):
        if status == "ok":
            found[min(_LAST, failed.pop((run, tool), 0) + 1)] += 1
        elif code in _MODELS_FAULT:
            failed[run, tool] += 1
    found[_NEVER] = len(failed)
    return found
