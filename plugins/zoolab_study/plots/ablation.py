"""What a variant changes: rates side by side."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, Any, Self

from zoolab.errors import InvalidInput
from zoolab.plots.colours import INK, SMALL
from zoolab.plots.display import Display, plain_line
from zoolab.plots.inputs import check_frame, is_known
from zoolab.text.wording import count
from zoolab_study.plots.graded import score_of
from zoolab_study.plots.labels import percent
from zoolab_study.statistics import Scores, paired_difference

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
from zoolab_study.plots.recovery import draw_rates, rates_of

_MOST_VARIANTS = 7
_NOTE: dict[str, Any] = {
    "textcoords": "offset points",
    "fontsize": SMALL,
    "color": INK,
    "bbox": {"boxstyle": "square,pad=0", "facecolor": "white", "edgecolor": "none"},
    "parse_math": False,
}


class AblationDisplay(Display):
    """The rate of success of each variant with its 95 % interval, and the difference to the first variant.

    Intervals of rates are Wilson's, with the effective number of runs (`zoolab_study.statistics.rate`).
    Differences are taken case by case (`zoolab_study.statistics.paired_difference`), and are not decisive
    while their interval contains 0. Rates may overlap and the difference still be decisive:
    it is the difference that answers the question. Each interval stands for itself; with many variants one
    of them looks decisive by luck, unless `decisive` tells which ones are, as `Experiment.plot` does.

    `rates_` holds for each variant rate, low, high, runs, cases; `differences_` for each but the first
    difference, low, high, cases, decisive.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"case_id": [*range(20)] * 2, "variant": ["plain"] * 20 + ["repair"] * 20})
    >>> frame["success"] = [False, True] * 10 + [True] * 20
    >>> AblationDisplay.from_frame(frame)
    <AblationDisplay: 2 variants, 20 cases, 40 runs; repair +50 points (+21 to +70)>
    """

    what = "Rates of success of variants, with 95 % intervals"
    nothing = "no runs"

    def __init__(self, scores: dict[str, Scores], decisive: Collection[str] | None = None) -> None:
        import pandas as pd

        self.rates_ = rates_of(scores, "variant")
        self.empty = self.rates_.empty
        names = [*scores]
        self.baseline = names[0] if names else None
        found = {name: paired_difference(scores[names[0]], scores[name]) for name in names[1:]}
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
        decisive: Collection[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the runs of a frame.

        Args:
            frame: One row a run, with case_id, the variant and a score from 0 to 1; of a frame of steps the
                first row of each run counts.
            by: The column of the variant.
            score: The column of the score.
            decisive: The variants whose difference counts as decisive, if a test of all of them at once
                has told; by default those whose interval leaves out 0.
            ax: Axes to draw on.

        Raises:
            InvalidInput: A column is missing, a score is no number from 0 to 1, or a variant shares no case
                with the first one.
        """
        return cls(scores_of_variants(frame, by, score), decisive).plot(ax)

    def _summary(self) -> str:
        said = f"{count(len(self.rates_), 'variant')}, {self._sizes}"
        return "; ".join([said, *(f"{plain_line(name)} {told}" for name, told in self._told.items())])

    def _draw(self, ax: Axes) -> None:
        headline = self._sizes
        differences = self.differences_
        if len(differences):
            decisive = int(differences["decisive"].sum())
            headline += f": {decisive} of {count(len(differences), 'difference')} decisive"
        style: dict[str, Any] = {"compared_with": self.baseline, "headline": headline}
        shown = draw_rates(ax, self.rates_, _MOST_VARIANTS, label="runs that succeed", **style)
        for row, (name, share) in enumerate(shown["rate"].items()):
            below = f"difference {self._told[str(name)]}" if name in self._told else ""
            if name == self.baseline and self._told:
                below = "the others are compared with this"
            ax.annotate(percent(share), (share, row), (0, 6), ha="center", va="bottom", **_NOTE)
            ax.annotate(below, (0, row), (0, -6), ha="left", va="top", **_NOTE)


def scores_of_variants(frame: pd.DataFrame, by: str, score: str) -> dict[str, Scores]:
    """Return the scores of each case in each variant; raises what `AblationDisplay.from_frame` does."""
    rows = check_frame(frame, "case_id", by, score)
    rows = rows.drop_duplicates("run_id") if "run_id" in rows else rows
    found: dict[str, dict[Hashable, list[float]]] = {}
    for variant, case, value in zip(rows[by], rows["case_id"], rows[score], strict=True):
        if not is_known(variant) or not is_known(case):
            raise InvalidInput(f"a run lacks {by} or case_id", advice="fill in both, or remove the run")
        found.setdefault(str(variant), {}).setdefault(str(case), []).append(score_of(value))
    return dict(found)
