"""Variants side by side, and whether one of them can be called better."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, Any, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.display import INK, SMALL, Display, count, draw_rates, percent, plain
from zoolab.plots.frames import check_frame, is_known, score_of
from zoolab.study.statistics import Scores, paired_difference, rate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MOST_ROWS = 7
_NOTE: dict[str, Any] = {
    "textcoords": "offset points",
    "fontsize": SMALL,
    "color": INK,
    "bbox": {"boxstyle": "square,pad=0", "facecolor": "white", "edgecolor": "none"},
    "parse_math": False,
}


class AblationDisplay(Display):
    """The rate of success of each variant with its 95 % interval, and the difference to the first variant.

    Intervals of rates are Wilson's, with the effective number of runs (`zoolab.study.statistics.rate`).
    Differences are taken case by case (`zoolab.study.statistics.paired_difference`), and are not decisive
    while their interval contains 0. Rates may overlap and the difference still be decisive:
    it is the difference that answers the question. Each interval stands for itself; with many variants one
    of them looks decisive by luck, unless `decisive` tells which ones are, as `Experiment.plot` does.

    `rates_` holds for each variant rate, low, high, runs, cases; `differences_` for each but the first
    difference, low, high, cases, decisive.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"case_id": [*range(20)] * 2, "variant": ["plain"] * 20 + ["repair"] * 20})
    >>> frame["success"] = [False, True] * 10 + [True] * 20
    >>> display = AblationDisplay.from_frame(frame)
    >>> display
    <AblationDisplay: 2 variants, 20 cases, 40 runs; repair +50 points (+21 to +70)>
    >>> bool(display.differences_.loc["repair", "decisive"])
    True
    """

    nothing = "no runs"

    def __init__(
        self, scores: dict[str, Scores], baseline: str | None, decisive: Collection[str] | None = None
    ) -> None:
        import pandas as pd

        self.baseline = baseline
        self.rates_ = pd.DataFrame(
            [(name, *_rate_of(runs)) for name, runs in scores.items()],
            columns=["variant", "rate", "low", "high", "runs", "cases"],
        ).set_index("variant")
        found = {
            name: paired_difference(scores[baseline], runs)
            for name, runs in scores.items()
            if baseline is not None and name != baseline
        }
        if decisive is None:
            decisive = [name for name, d in found.items() if d.decisive]
        self.differences_ = pd.DataFrame(
            [(name, d.estimate, d.low, d.high, d.cases, name in decisive) for name, d in found.items()],
            columns=["variant", "difference", "low", "high", "cases", "decisive"],
        ).set_index("variant")
        self._told = {
            name: d.size + ("" if name in decisive else ", not decisive") for name, d in found.items()
        }
        cases = len({case for runs in scores.values() for case in runs})
        self._sizes = f"{count(cases, 'case')}, {count(int(self.rates_['runs'].sum()), 'run')}"

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        by: str = "variant",
        score: str = "success",
        baseline: str | None = None,
        decisive: Collection[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the runs of a frame.

        Args:
            frame: One row a run, with case_id, the variant and a score from 0 to 1; of a frame of steps the
                first row of each run counts.
            by: The column of the variant.
            score: The column of the score.
            baseline: The variant to compare with; by default the first one.
            decisive: The variants whose difference counts as decisive, if a test of all of them at once
                has told; by default those whose interval leaves out 0.
            ax: Axes to draw on.

        Raises:
            InvalidInput: A column is missing, a score is no number from 0 to 1, there is no such baseline, or
                a variant shares no case with it.
        """
        rows = check_frame(frame, "case_id", by, score)
        rows = rows.drop_duplicates("run_id") if "run_id" in rows else rows
        scores = _by_variant(rows, by, score)
        if baseline is not None and baseline not in scores:
            raise InvalidInput(
                f"there is no variant {excerpt(baseline)}", expected=f"one of {excerpt([*scores])}"
            )
        return cls(scores, baseline or next(iter(scores), None), decisive).plot(ax)

    def _is_empty(self) -> bool:
        return self.rates_.empty

    def _summary(self) -> str:
        said = f"{count(len(self.rates_), 'variant')}, {self._sizes}"
        return "; ".join([said, *(f"{plain(name)} {told}" for name, told in self._told.items())])

    def _draw(self, ax: Axes) -> None:
        headline, differences = self._sizes, self.differences_
        if len(differences):
            decisive = int(differences["decisive"].sum())
            headline += f": {decisive} of {count(len(differences), 'difference')} decisive"
        style: dict[str, Any] = {"compared_with": self.baseline, "headline": headline}
        shown = draw_rates(ax, self.rates_, _MOST_ROWS, label="runs that succeed", **style)
        for row, (name, share) in enumerate(shown["rate"].items()):
            below = f"difference {self._told[str(name)]}" if name in self._told else ""
            if name == self.baseline and self._told:
                below = "the others are compared with this"
            ax.annotate(percent(share), (share, row), (0, 6), ha="center", va="bottom", **_NOTE)
            ax.annotate(below, (0, row), (0, -6), ha="left", va="top", **_NOTE)


def _rate_of(scores: Scores) -> tuple[float, ...]:
    found = rate(scores)
    return found.estimate, found.low, found.high, sum(map(len, scores.values())), len(scores)


def _by_variant(rows: pd.DataFrame, by: str, score: str) -> dict[str, Scores]:
    found: dict[str, dict[Hashable, list[float]]] = {}
    for variant, case, value in zip(rows[by], rows["case_id"], rows[score], strict=True):
        if not is_known(variant) or not is_known(case):
            raise InvalidInput(f"a run lacks {by} or case_id", advice="fill in both, or remove the run")
        found.setdefault(str(variant), {}).setdefault(str(case), []).append(score_of(value))
    return dict(found)
