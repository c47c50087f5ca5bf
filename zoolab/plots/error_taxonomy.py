"""Which errors there were, and what became of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, Self

from zoolab.errors import ERROR_CODES
from zoolab.plots.display import (
    GREEN,
    GREY,
    INK,
    PINK,
    RED,
    SMALL,
    Display,
    count,
    headline,
    name_rows,
    rest,
    tidy,
    whole_numbers,
)
from zoolab.plots.frames import check_trace, errors_in, graded_in, runs_in, steps_in
from zoolab.trace.frame import to_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from zoolab.trace.log import TraceLog

_NOT_GRADED = "not graded"
_FATES = ("recovered", "unrecovered", _NOT_GRADED, "silently wrong")
_STYLES = ((GREEN, ""), (RED, "////"), (GREY, "...."), (PINK, "xxxx"))
_MOST_ROWS = 12


class ErrorTaxonomyDisplay(Display):
    """Errors by code: recovered, unrecovered, not graded, and answers that are silently wrong.

    An error is a step that failed (its result only says again what the call had), or the end of a run
    without an answer.

    recovered: later in the run a call of the same tool ran without an error (of any tool, if the tool
        does not exist), or the run ended in an answer that was graded and is not wrong.
    not graded: no such call, and the run ended in an answer that nobody graded: it may be right or wrong.
    unrecovered: none of these; and every error that ended a run.
    silently wrong: a run that ended in an answer, showed no error, and is wrong. Where no run was graded,
        the picture says so in place of a number.

    A run is graded if it has a score or if a tool was expected of it. It is wrong if its score is less than
    0.5, or, if there is no score, if the tool that was expected was not called. It stands as no_tool_call
    or wrong_tool, if the tool was to blame, and else as wrong_answer.

    `counts_` holds a row for each code and a column for each of the four.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted([[("fly", {})], "I cannot."]))
    >>> display = ErrorTaxonomyDisplay.from_trace(trace)
    >>> display
    <ErrorTaxonomyDisplay: 0 recovered, 0 unrecovered, 1 not graded, 0 silently wrong, in 1 run, none graded>
    >>> display.counts_["not graded"].to_dict()
    {'unknown_tool': 1}
    """

    nothing = "no error, and no answer known to be wrong"

    def __init__(self, fates: list[tuple[str, str]], runs: int, graded: int) -> None:
        import pandas as pd

        counts = Counter(fates)
        codes = [code for code, _ in Counter(code for code, _ in fates).most_common()]
        rows = [[counts[code, fate] for fate in _FATES] for code in codes]
        self.counts_ = pd.DataFrame(rows, index=pd.Index(codes, name="code"), columns=[*_FATES], dtype=int)
        self.runs, self.graded = runs, graded
        if runs and not graded:
            self.nothing = "no error; whether answers are silently wrong was not graded"

    @classmethod
    def from_trace(cls, trace: TraceLog, *, ax: Axes | None = None) -> Self:
        """Draw the errors of one run."""
        return cls.from_frame(to_frame(check_trace(trace)), ax=ax)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        summary: pd.DataFrame | None = None,
        score: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the errors of all runs of a frame of steps.

        Args:
            frame: The steps.
            summary: One row a run, with run_id, outcome and the score; by default the frame itself has it.
            score: The column of the score, from 0 to 1; by default `success`, if there is one.
            ax: Axes to draw on.

        Raises:
            InvalidInput: It is no frame of steps, or the score is not from 0 to 1.
        """
        steps = steps_in(frame, "turn", "slot", "tool", "error_code", "outcome")
        runs = graded_in(runs_in(steps, score, summary), steps)
        return cls(list(_fates(steps, runs)), len(runs), int(runs["blame"].notna().sum())).plot(ax)

    def _is_empty(self) -> bool:
        return self.counts_.empty

    def _summary(self) -> str:
        sums = ", ".join(f"{number} {fate}" for fate, number in self.counts_.sum().items())
        return f"{sums}, in {self._runs()}"

    def _runs(self) -> str:
        if self.graded == self.runs:
            return count(self.runs, "run")
        return f"{count(self.runs, 'run')}, {f'{self.graded:,}' if self.graded else 'none'} graded"

    def _legend(self, fate: str) -> str:
        unknown = fate == "silently wrong" and not self.graded
        return f"{fate} ({_NOT_GRADED if unknown else f'{self.counts_[fate].sum():,}'})"

    def _draw(self, ax: Axes) -> None:
        shown = self.counts_.head(_MOST_ROWS)
        rows, ends = range(len(shown)), [0] * len(shown)
        entries: dict[str, Any] = {}
        for fate, (colour, hatch) in zip(_FATES, _STYLES, strict=True):
            style: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "lw": 0}
            bars = ax.barh(rows, shown[fate], left=ends, height=0.66, **style)
            if fate != _NOT_GRADED or self.counts_[fate].any():
                entries[self._legend(fate)] = bars
            ends = [end + width for end, width in zip(ends, shown[fate], strict=True)]
        for row, end in zip(rows, ends, strict=True):
            ax.text(end, row, f" {end:,}", va="center", fontsize=SMALL, color=INK)
        name_rows(ax, [str(code) for code in shown.index])
        ax.set_xlim(0, max(ends) * 1.12)
        whole_numbers(ax.xaxis)
        ax.set_xlabel(
            "errors, and silently wrong answers" + rest(len(self.counts_), len(shown)), fontsize=SMALL + 1
        )
        tidy(ax)
        ax.tick_params(axis="y", length=0)
        headline(ax, self._finding(), entries)

    def _finding(self) -> str:
        recovered, unrecovered, not_graded, _ = self.counts_.sum()
        errors = recovered + unrecovered + not_graded
        said = f"{recovered:,} of {count(errors, 'error')} recovered" if errors else "No error that shows"
        return f"{said}; {self._runs()}"


def _fates(steps: pd.DataFrame, runs: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """The code and the fate of each error and of each answer that is silently wrong."""
    errors = _by_run(errors_in(steps))
    ran = _by_run(steps[(steps["step"] == "execute") & (steps["status"] == "ok")])
    for run in runs.to_dict("records"):
        name, blame = run["run_id"], run["blame"]
        fate = _fate_of_run(run["outcome"] == "answer", blame)
        for error in errors[name]:
            yield error["error_code"], "recovered" if _ran_later(ran[name], error) else fate
        if run["outcome"] in ERROR_CODES:
            yield run["outcome"], "unrecovered"
        if run["outcome"] == "answer" and blame and not errors[name]:
            yield blame, "silently wrong"


def _fate_of_run(answered: bool, blame: str | None) -> str:
    """What became of the errors that no later call made good."""
    if not answered or blame:
        return "unrecovered"
    return _NOT_GRADED if blame is None else "recovered"


def _by_run(steps: pd.DataFrame) -> defaultdict[str, list[dict[Hashable, Any]]]:
    rows = defaultdict[str, list[dict[Hashable, Any]]](list)
    for step in steps[["run_id", "seq", "tool", "error_code"]].to_dict("records"):
        rows[step["run_id"]].append(step)
    return rows


def _ran_later(ran: list[dict[Hashable, Any]], error: dict[Hashable, Any]) -> bool:
    later = {step["tool"] for step in ran if step["seq"] > error["seq"]}
    return bool(later) if error["error_code"] == "unknown_tool" else error["tool"] in later
