"""What became of many runs: which errors they met, which faults they survived, which variant is better."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from zoolab.errors import ERROR_CODES, InvalidInput
from zoolab.plots.colours import BLUE, GREEN, GREY, INK, PINK, RED, SMALL
from zoolab.plots.display import Display, finish, name_rows, plain_line, write
from zoolab.plots.inputs import check_frame, is_known
from zoolab.text.wording import count
from zoolab_study.plots.graded import GradedDisplay, score_of
from zoolab_study.plots.labels import percent, rest
from zoolab_study.statistics import Scores, paired_difference, rate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MOST_ROWS = 12
_NOT_GRADED = "not graded"
_FATES = {
    "recovered": (GREEN, ""),
    "unrecovered": (RED, "////"),
    _NOT_GRADED: (GREY, "...."),
    "silently wrong": (PINK, "xxxx"),
}


class ErrorTaxonomyDisplay(GradedDisplay):
    """Errors by code: recovered, unrecovered, not graded, and answers that are silently wrong.

    An error is a step that failed (its result only says again what the call had), or the end of a run
    without an answer.

    - recovered: later in the run a call of the same tool ran without an error (of any tool, if the tool
      does not exist), or the run ended in an answer that was graded and is not wrong.
    - not graded: no such call, and the run ended in an answer that nobody graded: it may be right or wrong.
    - unrecovered: none of these; and every error that ended a run.
    - silently wrong: a run that ended in an answer, showed no error, and is wrong. Where no run was graded,
      the picture says so in place of a number.

    Which runs are graded and wrong is told by `zoolab_study.plots.graded.graded_runs`; a wrong one stands as
    no_tool_call or wrong_tool, if the tool was to blame, and else as wrong_answer.

    `counts_` holds a row for each code and a column for each of the four.

    >>> from zoolab import Scripted, run
    >>> ErrorTaxonomyDisplay.from_trace(run("Hi", [], Scripted([[("fly", {})], "I cannot."])))
    <ErrorTaxonomyDisplay: 0 recovered, 0 unrecovered, 1 not graded, 0 silently wrong, in 1 run, none graded>
    """

    what = "Bars: what became of the errors, by code"
    nothing = "no error, and no answer known to be wrong"
    columns = ("turn", "slot", "tool", "error_code", "outcome")

    def __init__(self, steps: pd.DataFrame, runs: pd.DataFrame) -> None:
        import pandas as pd

        fates = list(_fates(steps, runs))
        counts = Counter(fates)
        codes = [code for code, _ in Counter(code for code, _ in fates).most_common()]
        rows = [[counts[code, fate] for fate in _FATES] for code in codes]
        self.counts_ = pd.DataFrame(rows, index=pd.Index(codes, name="code"), columns=[*_FATES], dtype=int)
        self.empty = self.counts_.empty
        self.runs, self.graded = len(runs), int(runs["blame"].notna().sum())
        if self.runs and not self.graded:
            self.nothing = "no error; whether answers are silently wrong was not graded"

    def _summary(self) -> str:
        sums = ", ".join(f"{number} {fate}" for fate, number in self.counts_.sum().items())
        return f"{sums}, in {self._runs()}"

    def _runs(self) -> str:
        if self.graded == self.runs:
            return count(self.runs, "run")
        return f"{count(self.runs, 'run')}, {f'{self.graded:,}' if self.graded else 'none'} graded"

    def _draw(self, ax: Axes) -> None:
        shown, sums = self.counts_.head(_MOST_ROWS), self.counts_.sum()
        rows, ends = range(len(shown)), [0] * len(shown)
        entries: dict[str, Any] = {}
        for fate, (colour, hatch) in _FATES.items():
            style: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "lw": 0}
            bars = ax.barh(rows, shown[fate], left=ends, height=0.66, **style)
            if fate != _NOT_GRADED or sums[fate]:
                unknown = fate == "silently wrong" and not self.graded
                entries[f"{fate} ({_NOT_GRADED if unknown else f'{sums[fate]:,}'})"] = bars
            ends = [end + width for end, width in zip(ends, shown[fate], strict=True)]
        for row, end in zip(rows, ends, strict=True):
            write(ax, end, row, f" {end:,}", ha="left")
        name_rows(ax, [str(code) for code in shown.index])
        ax.set_xlim(0, max(ends) * 1.12)
        errors = sums["recovered"] + sums["unrecovered"] + sums[_NOT_GRADED]
        recovered = f"{sums['recovered']:,} of {count(errors, 'error')} recovered"
        said = recovered if errors else "No error that shows"
        label = "errors, and silently wrong answers" + rest(len(self.counts_), len(shown))
        finish(ax, f"{said}; {self._runs()}", entries, x=label, whole="x")


def _fates(steps: pd.DataFrame, runs: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield the code and the fate of each error and of each answer that is silently wrong."""
    failed = steps[steps["error_code"].map(is_known).astype(bool)]
    # A result only says again what its call had; a retried call is a call of its own, in a later turn.
    errors = _by_run(failed.drop_duplicates(["run_id", "turn", "slot"]))
    ran = _by_run(steps[(steps["step"] == "execute") & (steps["status"] == "ok")])
    for run in runs.to_dict("records"):
        name, blame, answered = run["run_id"], run["blame"], run["outcome"] == "answer"
        # What became of the errors that no later call made good.
        fate = "unrecovered" if not answered or blame else _NOT_GRADED if blame is None else "recovered"
        for error in errors[name]:
            later = {step["tool"] for step in ran[name] if step["seq"] > error["seq"]}
            made_good = bool(later) if error["error_code"] == "unknown_tool" else error["tool"] in later
            yield error["error_code"], "recovered" if made_good else fate
        if run["outcome"] in ERROR_CODES:
            yield run["outcome"], "unrecovered"
        if answered and blame and not errors[name]:
            yield blame, "silently wrong"


def _by_run(steps: pd.DataFrame) -> defaultdict[str, list[dict[Hashable, Any]]]:
    rows = defaultdict[str, list[dict[Hashable, Any]]](list)
    for step in steps[["run_id", "seq", "tool", "error_code"]].to_dict("records"):
        rows[step["run_id"]].append(step)
    return rows


NO_FAULT = "no fault"


def draw_rates(
    ax: Axes, rates: pd.DataFrame, most: int, *, compared_with: str | None, label: str, headline: str = ""
) -> pd.DataFrame:
    """Draw the first `most` rows of rate, low and high, from 0 to 100 %; returns them.

    The row that the others are compared with has a grey square, they have dots.
    """
    shown = rates.head(most)
    for row, (name, found) in enumerate(shown.iterrows()):
        reach = [[found["rate"] - found["low"]], [found["high"] - found["rate"]]]
        colour, marker = (GREY, "s") if name == compared_with else (BLUE, "o")
        ax.errorbar(found["rate"], row, xerr=reach, fmt=marker, ms=6, color=colour, capsize=4, lw=1.6)
    name_rows(ax, [str(name) for name in shown.index])
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

    `rates_` holds for each fault recovered (`answered`, if no run is graded), rate, low, high, runs, cases.
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
        self._fine, self._faulty = int(faulty["fine"].sum()), len(faulty)
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
        headline, differences = self._sizes, self.differences_
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
