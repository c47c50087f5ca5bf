"""Which errors many runs met, and what became of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

from zoolab.errors import ERROR_CODES
from zoolab.plots.colours import GREEN, GREY, PINK, RED
from zoolab.plots.display import finish, name_rows, write
from zoolab.plots.inputs import is_known
from zoolab.text.wording import as_words, count
from zoolab_study.plots.graded import GradedDisplay
from zoolab_study.plots.labels import rest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_ROWS = 12
_NOT_GRADED = "not_graded"
_SILENTLY_WRONG = "silently_wrong"
#: The columns of `counts_`, with how each is drawn.
_FATES = {
    "recovered": (GREEN, ""),
    "unrecovered": (RED, "////"),
    _NOT_GRADED: (GREY, "...."),
    _SILENTLY_WRONG: (PINK, "xxxx"),
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

    `counts_` holds a row for each code and the columns recovered, unrecovered, not_graded, silently_wrong.

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
        self.runs = len(runs)
        self.graded = int(runs["blame"].notna().sum())
        if self.runs and not self.graded:
            self.nothing = "no error; whether answers are silently wrong was not graded"

    def _summary(self) -> str:
        sums = ", ".join(f"{number} {as_words(str(fate))}" for fate, number in self.counts_.sum().items())
        return f"{sums}, in {self._runs()}"

    def _runs(self) -> str:
        if self.graded == self.runs:
            return count(self.runs, "run")
        return f"{count(self.runs, 'run')}, {f'{self.graded:,}' if self.graded else 'none'} graded"

    def _draw(self, ax: Axes) -> None:
        shown = self.counts_.head(MOST_ROWS)
        sums = self.counts_.sum()
        rows = range(len(shown))
        ends = [0] * len(shown)
        entries: dict[str, Any] = {}
        for fate, (colour, hatch) in _FATES.items():
            style: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "lw": 0}
            bars = ax.barh(rows, shown[fate], left=ends, height=0.66, **style)
            if fate != _NOT_GRADED or sums[fate]:
                unknown = fate == _SILENTLY_WRONG and not self.graded
                number = as_words(_NOT_GRADED) if unknown else f"{sums[fate]:,}"
                entries[f"{as_words(fate)} ({number})"] = bars
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
        name = run["run_id"]
        blame = run["blame"]
        answered = run["outcome"] == "answer"
        # What became of the errors that no later call made good.
        fate = "recovered"
        if not answered or blame:
            fate = "unrecovered"
        elif blame is None:
            fate = _NOT_GRADED
        for error in errors[name]:
            later = {step["tool"] for step in ran[name] if step["seq"] > error["seq"]}
            made_good = bool(later) if error["error_code"] == "unknown_tool" else error["tool"] in later
            yield error["error_code"], "recovered" if made_good else fate
        if run["outcome"] in ERROR_CODES:
            yield run["outcome"], "unrecovered"
        if answered and blame and not errors[name]:
            yield blame, _SILENTLY_WRONG


def _by_run(steps: pd.DataFrame) -> defaultdict[str, list[dict[Hashable, Any]]]:
    rows = defaultdict[str, list[dict[Hashable, Any]]](list)
    for step in steps[["run_id", "seq", "tool", "error_code"]].to_dict("records"):
        rows[step["run_id"]].append(step)
    return rows
