"""How often runs survive each fault that was injected into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.plots.display import count, draw_rates, write
from zoolab.plots.frames import GradedDisplay, is_known
from zoolab.study.statistics import rate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NO_FAULT = "no fault"

_MOST_ROWS = 12


class FaultRecoveryDisplay(GradedDisplay):
    """For each injected fault, how often the run came to its answer all the same.

    A run recovers if it ends in an answer that was graded and is not wrong: its score is 0.5 or more, or,
    if there is no score, the tool that was expected was called. A run that nobody graded is left out;
    if no run is graded, the picture shows how many answered and says that they are not graded. A run
    with several faults counts for each of them. Below, for comparison, the runs without a fault. Intervals
    are Wilson's, at 95 % (`zoolab.study.statistics.rate`).

    `rates_` holds for each fault recovered (`answered`, if no run is graded), runs, rate, low, high.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted(["Hello"]))
    >>> frame = trace.to_frame().assign(fault=[None, "cut_reply", None])
    >>> FaultRecoveryDisplay.from_frame(frame)
    <FaultRecoveryDisplay: 1 fault, 1 of 1 run with a fault answered, not graded>
    """

    nothing = "no fault was injected"
    columns = ("tool", "fault", "outcome")

    def __init__(self, steps: pd.DataFrame, runs: pd.DataFrame) -> None:
        graded = runs["blame"].notna()
        self.graded = bool(graded.any())
        counted = runs[graded] if self.graded else runs
        fine = (counted["outcome"] == "answer") & (counted["blame"].fillna("") == "")
        counted = counted.assign(fine=fine.astype(float), faults=counted["run_id"].map(_faults_of(steps)))
        self.rates_ = _rates(counted, "recovered" if self.graded else "answered")
        faulty = counted[counted["faults"].astype(bool)]
        self._fine, self._faulty = int(faulty["fine"].sum()), len(faulty)
        self._left_out = len(runs) - len(counted)
        if self._left_out:
            self.nothing = "no run with a fault was graded"

    def _is_empty(self) -> bool:
        return not self._faulty

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
        if NO_FAULT in names[_MOST_ROWS:]:  # if there is no room for all, the runs without a fault are drawn
            names.insert(_MOST_ROWS - 1, names.pop())
        label = "runs that recover" if self.graded else "runs that answer, rightly or not: not graded"
        style: dict[str, Any] = {"compared_with": NO_FAULT, "label": label, "headline": self._finding()}
        shown = draw_rates(ax, self.rates_.loc[names], _MOST_ROWS, **style)
        for row, (fine, runs) in enumerate(zip(shown.iloc[:, 0], shown["runs"], strict=True)):
            write(ax, 1.04, row, f"{fine:,} of {runs:,}", ha="left")


def _faults_of(steps: pd.DataFrame) -> dict[Any, tuple[str, ...]]:
    found: dict[Any, dict[str, None]] = {}
    for run, cell in zip(steps["run_id"], steps["fault"], strict=True):
        names = [name.strip() for name in str(cell).split(",")] if is_known(cell) else []
        found.setdefault(run, {}).update(dict.fromkeys(filter(None, names)))
    return {run: tuple(names) for run, names in found.items()}


def _rates(runs: pd.DataFrame, fine: str) -> pd.DataFrame:
    """The faults from the worst to the best; at the end the runs without one."""
    import pandas as pd

    scores: dict[str, dict[Any, list[float]]] = {}
    for run in runs.to_dict("records"):
        # Without a case, each run is one of its own.
        case = run["run_id"] if run["case_id"] is None else run["case_id"]
        for name in run["faults"] or (NO_FAULT,):
            scores.setdefault(name, {}).setdefault(case, []).append(run["fine"])
    rows: list[tuple[Any, ...]] = []
    for name, cases in scores.items():
        found, values = rate(cases), [value for case in cases.values() for value in case]
        rows.append((name, int(sum(values)), len(values), found.estimate, found.low, found.high))
    rows.sort(key=lambda row: (row[0] == NO_FAULT, row[3]))
    columns = ["fault", fine, "runs", "rate", "low", "high"]
    return pd.DataFrame(rows, columns=columns).set_index("fault")
