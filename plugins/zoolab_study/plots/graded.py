"""Displays of what became of runs, as far as they were graded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.inputs import StepsDisplay, check_frame, is_known, steps_in

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class GradedDisplay(StepsDisplay):
    """A display of what became of runs: right or wrong as far as they were graded."""

    #: What the frame of steps must have.
    columns: ClassVar[tuple[str, ...]]

    def __init__(self, steps: pd.DataFrame, runs: pd.DataFrame) -> None:
        raise NotImplementedError

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, summary: pd.DataFrame | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw all runs of a frame of steps.

        Args:
            frame: The steps; `fault` names the faults of a step, separated by commas.
            summary: One row a run, with run_id, outcome and, if runs were scored, `success` from 0 to 1; by
                default the frame itself has them. Runs that it does not name are left out.
            ax: Axes to draw on.

        Raises:
            InvalidInput: It is no frame of steps, or the score is not from 0 to 1.
        """
        steps = steps_in(frame, *cls.columns)
        return cls(steps, graded_runs(steps, summary)).plot(ax)


def graded_runs(steps: pd.DataFrame, summary: object) -> pd.DataFrame:
    """Return one row a run: run_id, case_id, outcome, expected_tool, and `blame`.

    `blame` says why the answer is known to be wrong: "" if it is not, None if nobody graded the run. A run
    is graded if it has a score or if a tool was expected of it. It is wrong if its score is less than 0.5,
    or, if there is no score, if the expected tool was not called: no_tool_call or wrong_tool, if the tool
    was to blame, and else wrong_answer.
    """
    import pandas as pd

    source = steps if summary is None else check_frame(summary, "run_id", "outcome")
    known = source.assign(run_id=source["run_id"].map(str)).drop_duplicates("run_id").set_index("run_id")
    known = known[known.index.isin(steps["run_id"])]
    nothing = [None] * len(known)
    columns: dict[str, Any] = {"run_id": known.index, "outcome": known["outcome"].tolist()}
    for name in ("case_id", "expected_tool"):
        columns[name] = [value if is_known(value) else None for value in known.get(name, nothing)]
    asked = steps[(steps["step"] == "tool_call") & steps["tool"].notna()]
    called: dict[Any, set[str]] = asked.groupby("run_id")["tool"].agg(set).to_dict()
    scores = known.get("success", nothing)
    columns["blame"] = [
        _blame(value, expected, called.get(run, set()))
        for run, expected, value in zip(known.index, columns["expected_tool"], scores, strict=True)
    ]
    return pd.DataFrame(columns, dtype=object)  # None stays None


def _blame(score: Any, expected: str | None, called: set[str]) -> str | None:
    right = score_of(score) >= 0.5 if is_known(score) else None
    if right is None and not expected:
        return None
    missed = bool(expected) and expected not in called
    if right or (right is None and not missed):
        return ""
    if missed:
        return "wrong_tool" if called else "no_tool_call"
    return "wrong_answer"


def score_of(value: Any) -> float:
    """Return a score; raises `InvalidInput` if it is missing, or not a number from 0 to 1."""
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = -1.0
    if not 0 <= score <= 1:
        expected = "a boolean or a number from 0 to 1"
        raise InvalidInput(f"a score is {excerpt(value)}", expected=expected, advice="give every run a score")
    return score
