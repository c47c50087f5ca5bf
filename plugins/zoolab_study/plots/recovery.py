"""How often runs recover from each fault."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from zoolab.plots.colours import BLUE, GREY
from zoolab.plots.display import finish, name_rows, write
from zoolab.plots.inputs import is_known
from zoolab.text.wording import as_words, count
from zoolab_study.plots.graded import GradedDisplay
from zoolab_study.plots.labels import rest
from zoolab_study.statistics import Scores, rate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
from zoolab_study.plots.runs import MOST_ROWS

#: The row of the runs without a fault.
NO_FAULT = "no_fault"


def draw_rates(
    ax: Axes,
    rates: pd.DataFrame,
    most: int,
    *,
    compared_with: str | None,
    label: str,
    headline: str = "",
    called: str = "",
) -> pd.DataFrame:
    """Draw the first `most` rows of rate, low and high, from 0 to 100 %; returns them.

    The row that the others are compared with has a grey square, they have dots. It is `called` something
    else than its index says, if that is a code.
    """
    shown = rates.head(most)
    for row, (name, found) in enumerate(shown.iterrows()):
        reach = [[found["rate"] - found["low"]], [found["high"] - found["rate"]]]
        colour, marker = (GREY, "s") if name == compared_with else (BLUE, "o")
        ax.errorbar(found["rate"], row, xerr=reach, fmt=marker, ms=6, color=colour, capsize=4, lw=1.6)
    name_rows(ax, [called if called and name == compared_with else str(name) for name in shown.index])
    reference = rates["rate"].get(compared_with)
    if reference is not None:
        ax.axvline(reference, color=GREY, lw=0.8, linestyle=":", zorder=0)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    finish(ax, headline, x=f"{label}, with 95 % intervals{rest(len(rates), len(shown))}", grid="x")
    return shown


class FaultRecoveryDisplay(GradedDisplay):
    """For each injected fault, how often the run came to its answer all the same.

    A run recovers if it ends in an answer that was graded and is right, as
    `zoolab_study.plots.graded.graded_runs` tells. A run that nobody graded is left out; if no run is graded,
    the picture shows how many answered and says that they are not graded. A run with several faults counts
    for each of them. Below, for comparison, the
    runs without a fault. Intervals are of `zoolab_study.statistics.rate`.

    `rates_` holds for each fault, and as `no_fault` for the runs without one, recovered (`answered`, if no
    run is graded), rate, low, high, runs, cases.
    """

    what = "Rates of recovery by injected fault, with 95 % intervals"
    nothing = "no fault was injected"
    columns = ("tool", "fault", "outcome")

    def __init__(self, steps: pd.DataFrame, runs: pd.DataFrame) -> None:
        graded = runs["blame"].notna()
        self.graded = bool(graded.any())
        counted = runs[graded] if self.graded else runs
        fine = (counted["outcome"] == "answer") & (counted["blame"].fillna("") == "")
        counted = counted.assign(fine=fine.astype(float), faults=counted["run_id"].map(_faults_of(steps)))
        self.rates_ = _recoveries(counted, "recovered" if self.graded else "answered")
        faulty = counted[counted["faults"].astype(bool)]
        self._fine = int(faulty["fine"].sum())
        self._faulty = len(faulty)
        self.empty = not self._faulty
        self._left_out = len(runs) - len(counted)
        if self._left_out:
            self.nothing = "no run with a fault was graded"

    def _summary(self) -> str:
        faults = sum(name != NO_FAULT for name in self.rates_.index)
        return f"{count(faults, 'fault')}, {self._finding()}"

    def _finding(self) -> str:
        said = f"{self._fine:,} of {count(self._faulty, 'run')} with a fault"
        if not self.graded:
            return f"{said} answered, not graded"
        left_out = f"; {count(self._left_out, 'run')} not graded" if self._left_out else ""
        return f"{said} recovered{left_out}"

    def _draw(self, ax: Axes) -> None:
        names = [*self.rates_.index]
        if NO_FAULT in names[MOST_ROWS:]:  # if there is no room for all, the runs without a fault are drawn
            names.insert(MOST_ROWS - 1, names.pop())
        label = "runs that recover" if self.graded else "runs that answer, rightly or not: not graded"
        style: dict[str, Any] = {"label": label, "headline": self._finding(), "called": as_words(NO_FAULT)}
        shown = draw_rates(ax, self.rates_.loc[names], MOST_ROWS, compared_with=NO_FAULT, **style)
        for row, (fine, runs) in enumerate(zip(shown.iloc[:, 0], shown["runs"], strict=True)):
            write(ax, 1.04, row, f"{fine:,} of {runs:,}", ha="left")


def _faults_of(steps: pd.DataFrame) -> dict[Any, tuple[str, ...]]:
    found: dict[Any, dict[str, None]] = {}
    for run, cell in zip(steps["run_id"], steps["fault"], strict=True):
        names = [name.strip() for name in str(cell).split(",")] if is_known(cell) else []
        found.setdefault(run, {}).update(dict.fromkeys(filter(None, names)))
    return {run: tuple(names) for run, names in found.items()}


def _recoveries(runs: pd.DataFrame, fine: str) -> pd.DataFrame:
    """Return the faults from the worst to the best; at the end the runs without one."""
    scores: dict[str, dict[Hashable, list[float]]] = {}
    for run in runs.to_dict("records"):
        # Without a case, each run is one of its own.
        case = run["run_id"] if run["case_id"] is None else run["case_id"]
        for name in run["faults"] or (NO_FAULT,):
            scores.setdefault(name, {}).setdefault(case, []).append(run["fine"])
    rates = rates_of(scores, "fault")
    rates.insert(0, fine, [int(sum(map(sum, cases.values()))) for cases in scores.values()])
    return rates.loc[sorted(rates.index, key=lambda name: (name == NO_FAULT, rates.at[name, "rate"]))]


def rates_of(scores: Mapping[str, Scores], index: str) -> pd.DataFrame:
    """Return rate, low, high, runs and cases of each."""
    import pandas as pd

    rows = []
    for cases in scores.values():
        found = rate(cases)
        rows.append((found.estimate, found.low, found.high, sum(map(len, cases.values())), len(cases)))
    columns = ["rate", "low", "high", "runs", "cases"]
    return pd.DataFrame(rows, index=pd.Index([*scores], name=index), columns=columns)
