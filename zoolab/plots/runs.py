"""Which variant is better: the rates of many runs, with intervals."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Self

from zoolab.errors import InvalidInput
from zoolab.plots.colours import BLUE, GREY, INK, SMALL
from zoolab.plots.display import Display, finish, name_rows, percent, plain, rest
from zoolab.plots.frames import check_frame, is_known, score_of
from zoolab.show.wording import count
from zoolab.study.statistics import Scores, paired_difference, rate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def rates_of(scores: Mapping[str, Scores], index: str) -> pd.DataFrame:
    """Rate, low, high, runs and cases of each."""
    import pandas as pd

    rows = []
    for cases in scores.values():
        found = rate(cases)
        rows.append((found.estimate, found.low, found.high, sum(map(len, cases.values())), len(cases)))
    columns = ["rate", "low", "high", "runs", "cases"]
    return pd.DataFrame(rows, index=pd.Index([*scores], name=index), columns=columns)


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
        return "; ".join([said, *(f"{plain(name)} {told}" for name, told in self._told.items())])

    def _draw(self, ax: Axes) -> None:
        """A row for each variant; the first has a grey square, the others have dots."""
        shown = self.rates_.head(_MOST_VARIANTS)
        name_rows(ax, [str(name) for name in shown.index])
        for row, (name, found) in enumerate(shown.iterrows()):
            share, reach = found["rate"], [[found["rate"] - found["low"]], [found["high"] - found["rate"]]]
            colour, marker = (GREY, "s") if name == self.baseline else (BLUE, "o")
            ax.errorbar(share, row, xerr=reach, fmt=marker, ms=6, color=colour, capsize=4, lw=1.6)
            below = f"difference {self._told[str(name)]}" if name in self._told else ""
            if name == self.baseline and self._told:
                below = "the others are compared with this"
            ax.annotate(percent(share), (share, row), (0, 6), ha="center", va="bottom", **_NOTE)
            ax.annotate(below, (0, row), (0, -6), ha="left", va="top", **_NOTE)
        ax.axvline(self.rates_["rate"].iloc[0], color=GREY, lw=0.8, linestyle=":", zorder=0)
        ax.set_xlim(-0.02, 1.02)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        headline, differences = self._sizes, self.differences_
        if len(differences):
            decisive = int(differences["decisive"].sum())
            headline += f": {decisive} of {count(len(differences), 'difference')} decisive"
        label = f"runs that succeed, with 95 % intervals{rest(len(self.rates_), len(shown))}"
        finish(ax, headline, x=label, grid="x")


def scores_of_variants(frame: pd.DataFrame, by: str, score: str) -> dict[str, Scores]:
    """The scores of each case in each variant; raises what `AblationDisplay.from_frame` does."""
    rows = check_frame(frame, "case_id", by, score)
    rows = rows.drop_duplicates("run_id") if "run_id" in rows else rows
    found: dict[str, dict[Hashable, list[float]]] = {}
    for variant, case, value in zip(rows[by], rows["case_id"], rows[score], strict=True):
        if not is_known(variant) or not is_known(case):
            raise InvalidInput(f"a run lacks {by} or case_id", advice="fill in both, or remove the run")
        found.setdefault(str(variant), {}).setdefault(str(case), []).append(score_of(value))
    return dict(found)
