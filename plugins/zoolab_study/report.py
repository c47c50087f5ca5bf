"""An experiment as one page that needs nothing else: no script, no link, nothing fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from zoolab.errors import InvalidInput
from zoolab.plots.display import Display, image_of
from zoolab.text.markup import Html, clipped, note, page, style_sheet, table, tag
from zoolab.text.wording import listed
from zoolab_study.comparison import Comparison, compare_runs
from zoolab_study.journal import WHICH_RUN
from zoolab_study.plots import AblationDisplay, ErrorTaxonomyDisplay

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS = 200
_MOST_NAMED = 5
_MOST_RUNS_DRAWN = 2_000
_LONGEST = 300
_NOT_SCORES = {*WHICH_RUN, "outcome", "said", "error"}


def render_report(
    summary: pd.DataFrame,
    steps: Callable[[], pd.DataFrame],
    title: str,
    subtitle: str,
    missing: Sequence[tuple[object, ...]],
    why: str,
) -> str:
    """Return the page of an experiment, from its summary. Whatever models have said is escaped.

    `steps` gives one row a step, and is only asked for if they are drawn; `missing` are the runs that are not
    done, each as case, variant, model and repeat.
    """
    sections = [_section("How runs ended", _counted(summary))]
    if len(summary):
        sections += _rates(summary)
        sections.append(_section("Scores and costs, on average", _averages(summary)))
    if went_wrong := _errors(summary, steps):
        sections.append(_section("What went wrong", *went_wrong))
    if missing:
        undone = _table("Runs not done", ("case", "variant", "model", "repeat"), missing[:_MOST_ROWS])
        sections.append(_section("Not done", tag("p", f"{len(missing)} runs. {why}"), undone))
    head = tag("h1", title), tag("p", subtitle)
    return page(title, style_sheet("zoolab_study", "report.css"), tag("main", *head, *sections))


def _rates(summary: pd.DataFrame) -> list[Html]:
    """Return a plot for each model, and what may be said of the differences."""
    if "success" not in summary or summary["success"].isna().all():
        return [_section("Success", note("No case says what would be right."))]
    decisive: list[Comparison] = []
    with suppress(InvalidInput):
        decisive = [comparison for comparison in compare_runs(summary) if comparison.decisive]
    found: list[Html] = []
    for model, runs in summary[summary["success"].notna()].groupby("model", sort=False):
        # A model that is the only one has no name in a comparison.
        ones = {comparison.b for comparison in decisive if comparison.within in ("", str(model))}
        picture = _image(AblationDisplay.from_frame(runs, decisive=ones))
        found.append(_section(f"Success with {model}", picture))
    for by in ("variant", "model"):
        if summary[by].nunique() > 1:
            found.append(_section(f"Is one {by} better?", *_comparisons(summary, by)))
    return found


def _comparisons(summary: pd.DataFrame, by: str) -> list[Html]:
    try:
        compared = compare_runs(summary, by=by)
    except InvalidInput as error:
        return [note(str(error))]
    how = (
        "Cases are what counts as evidence. Intervals are of 95 %; p is of McNemar's exact test (if cases "
        "have several runs, of the cases in which one has more), adjusted by Holm's method for all "
        "comparisons of this table. What a plot calls decisive is so in this table."
    )
    rows = [
        (
            "; ".join(filter(None, (c.verdict, c.broken))),
            f"{c.difference.estimate * 100:+.0f} points",
            f"{c.difference.low * 100:+.0f}\u00a0to\u00a0{c.difference.high * 100:+.0f}",
            f"{c.p_adjusted:.2g}",
            c.said_of_cases,
        )
        for c in compared
    ]
    return [tag("p", how), _table("Comparisons", ("verdict", "difference", "interval", "p", "cases"), rows)]


def _averages(summary: pd.DataFrame) -> Html:
    import pandas as pd

    names = [name for name in summary if name not in _NOT_SCORES]
    numbers = summary[names].apply(pd.to_numeric, errors="coerce").dropna(axis=1, how="all")
    means = numbers.groupby([summary["model"], summary["variant"]], sort=False).mean()
    rows = [(*place, *map(_number, row)) for place, row in zip(means.index, means.values, strict=True)]
    return _table("Means over runs", ("model", "variant", *means.columns), rows)


def _counted(summary: pd.DataFrame) -> Html:
    if not len(summary):
        return note("No run is done.")
    names = ("model", "variant", "outcome")
    counts = summary.groupby([*names], sort=False).size().reset_index()
    return _table("Runs by outcome", (*names, "runs"), counts.itertuples(index=False))


def _errors(summary: pd.DataFrame, steps: Callable[[], pd.DataFrame]) -> list[Html]:
    ended = _alike(summary, "outcome", "error") + _alike(summary, None, "scorer_error")
    if not ended and not (len(summary) and summary["errors"].sum()):
        return []
    told: list[Html] = []
    if len(summary) <= _MOST_RUNS_DRAWN:
        scores = summary if "success" in summary else None
        told.append(_image(ErrorTaxonomyDisplay.from_frame(steps(), summary=scores)))
    if ended:
        head = ("variant", "model", "outcome", "error", "runs", "cases")
        told.append(_table("Errors, the most frequent first", head, ended))
    return told


def _alike(summary: pd.DataFrame, outcome: str | None, error: str) -> list[tuple[object, ...]]:
    """Return runs with the same error in one row, those with the most first; some of their cases are
    named.
    """
    if error not in summary:
        return []
    failed = summary[summary[error].notna()]
    ends = failed[outcome] if outcome else failed[error].map(lambda _: "not scored").rename("outcome")
    rows: list[tuple[object, ...]] = []
    for place, cases in failed.groupby([failed["variant"], failed["model"], ends, failed[error]], sort=False)[
        "case_id"
    ]:
        names = [*map(str, cases.unique())]
        rows.append((*place, len(cases), listed(names, _MOST_NAMED)))
    return sorted(rows, key=lambda row: -int(str(row[4])))[:_MOST_ROWS]


def _image(display: Display) -> Html:
    return Html(image_of(display.figure_, display.alt, "svg+xml"))


def _section(title: str, *content: str) -> Html:
    return tag("section", tag("h2", title), *content)


def _table(caption: str, head: Iterable[object], rows: Iterable[Iterable[object]]) -> Html:
    cells = [[clipped(str(cell), _LONGEST) for cell in row] for row in rows]
    return tag(
        "div",
        table(caption, [*map(str, head)], cells),
        class_="wide",
        tabindex=0,
        role="group",
        aria_label=caption,
    )


def _number(value: float) -> str:
    if value != value:
        return ""
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
