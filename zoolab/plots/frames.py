"""The frames that displays are made from: checked, and reduced to what is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.display import BLUE, GREY, SMALL, name_rows, rest, tidy
from zoolab.records import KINDS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from zoolab.trace.log import TraceLog


def check_trace(trace: object) -> TraceLog:
    """The trace, or an error that says what came instead.

    Raises:
        InvalidInput: It is no trace.

    >>> from zoolab import Trace
    >>> len(check_trace(Trace()))
    0
    """
    from zoolab.trace.log import TraceLog

    if not isinstance(trace, TraceLog):
        raise InvalidInput(
            f"found {excerpt(trace)}", expected="a Trace", advice="from_frame takes data frames"
        )
    return trace


def check_frame(frame: object, *columns: str) -> pd.DataFrame:
    """The frame, if it has these columns.

    Raises:
        InvalidInput: It is no data frame, or a column is missing or there twice.

    >>> import pandas as pd
    >>> len(check_frame(pd.DataFrame({"seq": [1, 2]}), "seq"))
    2
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise InvalidInput(
            f"found {excerpt(frame)}", expected="a data frame", advice="trace.to_frame() makes one"
        )
    names = list(frame.columns)
    missing = [name for name in columns if names.count(name) != 1]
    if missing:
        raise InvalidInput(
            f"the frame has {', '.join(map(str, names[:30])) or 'no columns'}",
            expected=f"one column each of {', '.join(missing)}",
            advice="trace.to_frame() makes a frame of steps",
        )
    return frame


def steps_in(frame: object, *columns: str) -> pd.DataFrame:
    """The rows of a frame of steps, in order, with these columns and those that every step has.

    Raises:
        InvalidInput: It is no frame of steps.

    >>> from zoolab import Trace
    >>> len(steps_in(Trace().to_frame()))
    0
    """
    rows = check_frame(frame, "run_id", "seq", "step", "status", *columns)
    unknown = next((kind for kind in rows["step"] if kind not in KINDS), None)
    if unknown is not None:
        raise InvalidInput(f"a step {excerpt(unknown)}", expected=f"one of {', '.join(KINDS)}")
    rows = rows.reset_index(drop=True)
    rows["run_id"] = rows["run_id"].map(str)
    for name in ("seq", "status", *columns):
        rows[name] = (_numbers if name in _NUMBERS else _texts)(rows[name], name)
    # Runs stay in the order in which they come.
    return rows.sort_values("seq", kind="stable", ignore_index=True)


def one_run(steps: pd.DataFrame, run_id: str | None = None) -> pd.DataFrame:
    """The steps of one run of a frame.

    Raises:
        InvalidInput: The frame holds several runs and none is named, or not the one that is.

    >>> from zoolab import Trace
    >>> len(one_run(steps_in(Trace().to_frame())))
    0
    """
    runs = list(dict.fromkeys(steps["run_id"]))
    if run_id is None and len(runs) <= 1:
        return steps
    if run_id not in runs:
        what = f"the frame holds {len(runs)} runs" if run_id is None else f"no run {excerpt(run_id)}"
        raise InvalidInput(what, expected=f"run_id= one of {excerpt(runs)}")
    return steps[steps["run_id"] == run_id].reset_index(drop=True)


def runs_in(frame: pd.DataFrame, score: str | None = None, summary: object = None) -> pd.DataFrame:
    """One row a run: run_id, case_id, outcome, expected_tool, and `right`.

    `right` is True if the score is 0.5 or more, False if it is less, and None if there is no
    score: the column `score` (by default `success`, if there is one) of `summary`, or of the frame
    itself. `summary` has one row a run; runs that it does not name are left out.

    Raises:
        InvalidInput: A column is missing, or a score is no number from 0 to 1.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"run_id": ["a", "b"], "outcome": "answer", "success": [1, 0]})
    >>> runs_in(frame, "success")["right"].tolist()
    [True, False]
    """
    import pandas as pd

    source = frame if summary is None else check_frame(summary, "run_id", "outcome")
    if score is not None:
        check_frame(source, score)
    score = score or "success"
    source = source.assign(run_id=source["run_id"].map(str))
    known = source.drop_duplicates("run_id").set_index("run_id")
    if summary is not None:
        known = known[known.index.isin(frame["run_id"])]
    columns: dict[str, Any] = {"run_id": known.index, "outcome": known["outcome"].tolist()}
    for name in ("case_id", "expected_tool"):
        columns[name] = [value if is_known(value) else None for value in known.get(name, [None] * len(known))]
    scores = known[score] if score in known else [None] * len(known)
    columns["right"] = [score_of(value) >= 0.5 if is_known(value) else None for value in scores]
    return pd.DataFrame(columns, dtype=object)  # None stays None


def graded_in(runs: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """The runs with `blame`: why the answer is known to be wrong, "" if it is not, None if not graded.

    A run is graded if it has a score or if a tool was expected of it. It is wrong if its score is less
    than 0.5, or, if there is no score, if the expected tool was not called: no_tool_call or wrong_tool,
    if the tool was to blame, and else wrong_answer.

    >>> from zoolab import Scripted, Trace, run
    >>> steps = steps_in(run("Hi", [], Scripted(["Hello"]), meta={"expected_tool": "add"}).to_frame())
    >>> graded_in(runs_in(steps), steps)["blame"].tolist()
    ['no_tool_call']
    """
    import pandas as pd

    asked = steps[(steps["step"] == "tool_call") & steps["tool"].notna()]
    called: dict[Any, Any] = asked.groupby("run_id")["tool"].agg(set).to_dict()
    blames = [_blame(run, called.get(run["run_id"], set())) for run in runs.to_dict("records")]
    return runs.assign(blame=pd.Series(blames, runs.index, dtype=object))


def errors_in(steps: pd.DataFrame) -> pd.DataFrame:
    """The rows where something went wrong, each error once: a result only says again what its call had.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted([[("fly", {})], "I cannot."]))
    >>> errors_in(steps_in(trace.to_frame()))["step"].tolist()
    ['validate']
    """
    failed = steps[steps["error_code"].map(is_known).astype(bool)]
    # A retried call is a call of its own, in a later turn.
    return failed.drop_duplicates(["run_id", "turn", "slot"])


def _blame(run: dict[Any, Any], called: set[str]) -> str | None:
    right, expected = run["right"], run["expected_tool"]
    if right is None and not expected:
        return None
    missed = bool(expected) and expected not in called
    if right or (right is None and not missed):
        return ""
    if missed:
        return "wrong_tool" if called else "no_tool_call"
    return "wrong_answer"


def is_known(value: Any) -> bool:
    """Whether a cell of a frame holds something.

    >>> is_known("add"), is_known(None), is_known(float("nan"))
    (True, False, False)
    """
    import pandas as pd

    return not (pd.api.types.is_scalar(value) and pd.isna(value))


def _texts(values: Any, name: str) -> Any:
    wrong = next((value for value in values if not isinstance(value, str) and is_known(value)), None)
    if wrong is not None:
        raise InvalidInput(f"the column {name} holds {excerpt(wrong)}", expected="text")
    return values


def score_of(value: Any) -> float:
    """A score from 0 to 1.

    Raises:
        InvalidInput: It is something else, or missing.

    >>> score_of(True), score_of(0.25)
    (1.0, 0.25)
    """
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = -1.0
    if not 0 <= score <= 1:
        raise InvalidInput(
            f"a score is {excerpt(value)}",
            expected="a boolean or a number from 0 to 1",
            advice="grade all runs",
        )
    return score


_NUMBERS = {"seq", "turn", "slot", "attempt", "t_start", "duration_ms"}


def _numbers(values: Any, name: str) -> Any:
    import pandas as pd

    try:
        return pd.to_numeric(values).astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"the column {name} holds {excerpt(str(error), 120)}", expected="numbers"
        ) from None


def draw_rates(
    ax: Axes, rates: pd.DataFrame, most: int, *, compared_with: str | None, label: str
) -> pd.DataFrame:
    """Draw the first `most` rows of rate, low and high, from 0 to 100 %; returns them.

    The row that the others are compared with has a grey square, they have dots.

    >>> import pandas as pd
    >>> from matplotlib.figure import Figure
    >>> rates = pd.DataFrame({"rate": [0.5], "low": [0.2], "high": [0.8]}, index=["plain"])
    >>> len(draw_rates(Figure().subplots(), rates, 7, compared_with="plain", label="rate"))
    1
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
    ax.set_xlabel(f"{label}, with 95 % intervals{rest(len(rates), len(shown))}", fontsize=SMALL + 1)
    tidy(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    return shown
