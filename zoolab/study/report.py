"""An experiment as one page that needs nothing else: no script, no link, nothing fetched."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidInput
from zoolab.plots import AblationDisplay, ErrorTaxonomyDisplay
from zoolab.study.comparison import Comparison, compare_runs

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS, _MOST_NAMED, _MOST_RUNS_DRAWN, _LONGEST = 200, 5, 2_000, 300
_NOT_SCORES = {
    *("run_id", "case_id", "variant", "model", "repeat", "seed"),
    *("expected_tool", "outcome", "said", "error"),
}
_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; color: light-dark(#222, #ddd); }
body { background: light-dark(#fff, #161616); }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; }
th, td { border-bottom: 1px solid light-dark(#ddd, #444); }
img { max-width: 100%; background: #fff; } .wide { overflow-x: auto; }
.no { color: light-dark(#6a6a6a, #9a9a9a); }
"""


def render_report(
    summary: pd.DataFrame,
    steps: Callable[[], pd.DataFrame],
    title: str,
    subtitle: str,
    missing: Sequence[tuple[object, ...]],
    why: str,
) -> str:
    """The page of an experiment, from its summary. Whatever models have said is escaped.

    `steps` gives one row a step, and is only asked for if they are drawn; `missing` are the runs that are not
    done, each as case, variant, model and repeat.
    """
    sections = [
        f"<h1>{escape(title)}</h1><p>{escape(subtitle)}</p>",
        _section("How runs ended", _counted(summary)),
    ]
    if len(summary):
        sections += _rates(summary)
        sections.append(_section("Scores and costs, on average", _averages(summary)))
    sections.append(_errors(summary, steps))
    if missing:
        table = _table(("case", "variant", "model", "repeat"), missing[:_MOST_ROWS])
        sections.append(_section("Not done", f"<p>{len(missing)} runs. {escape(why)}</p>{table}"))
    body = "\n".join(section for section in sections if section)
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    safe = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    safe += "style-src 'unsafe-inline'; img-src data:\">"
    head += f"{safe}<title>{escape(title)}</title><style>{_STYLE}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _rates(summary: pd.DataFrame) -> list[str]:
    """A plot for each model, and what may be said of the differences."""
    if "success" not in summary or summary["success"].isna().all():
        return [_section("Success", '<p class="no">No case says what would be right.</p>')]
    decisive: list[Comparison] = []
    with suppress(InvalidInput):
        decisive = [comparison for comparison in compare_runs(summary) if comparison.decisive]
    found: list[str] = []
    for model, runs in summary[summary["success"].notna()].groupby("model", sort=False):
        # A model that is the only one has no name in a comparison.
        ones = {comparison.b for comparison in decisive if comparison.within in ("", str(model))}
        picture = _image(
            AblationDisplay.from_frame(runs, decisive=ones), f"success of each variant with {model}"
        )
        found.append(_section(f"Success with {model}", picture))
    for by in ("variant", "model"):
        if summary[by].nunique() > 1:
            found.append(_section(f"Is one {by} better?", _comparisons(summary, by)))
    return found


def _comparisons(summary: pd.DataFrame, by: str) -> str:
    try:
        compared = compare_runs(summary, by=by)
    except InvalidInput as error:
        return f'<p class="no">{escape(str(error))}</p>'
    note = (
        "Cases are what counts as evidence. Intervals are of 95 %; p is of McNemar's exact test, or, where "
        "cases have several runs, of its like with random signs, adjusted by Holm's method for all "
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
    return f"<p>{note}</p>" + _table(("verdict", "difference", "interval", "p", "cases"), rows)


def _averages(summary: pd.DataFrame) -> str:
    import pandas as pd

    names = [name for name in summary if name not in _NOT_SCORES]
    numbers = summary[names].apply(pd.to_numeric, errors="coerce").dropna(axis=1, how="all")
    means = numbers.groupby([summary["model"], summary["variant"]], sort=False).mean()
    rows = [(*place, *map(_number, row)) for place, row in zip(means.index, means.values, strict=True)]
    return _table(("model", "variant", *means.columns), rows)


def _counted(summary: pd.DataFrame) -> str:
    if not len(summary):
        return '<p class="no">No run is done.</p>'
    names = ("model", "variant", "outcome")
    counts = summary.groupby([*names], sort=False).size().reset_index()
    return _table((*names, "runs"), counts.itertuples(index=False))


def _errors(summary: pd.DataFrame, steps: Callable[[], pd.DataFrame]) -> str:
    ended = _alike(summary, "outcome", "error") + _alike(summary, None, "scorer_error")
    if not ended and not (len(summary) and summary["errors"].sum()):
        return ""
    table = _table(("variant", "model", "outcome", "error", "runs", "cases"), ended) if ended else ""
    drawn = ""
    if len(summary) <= _MOST_RUNS_DRAWN:
        scores = summary if "success" in summary else None
        drawn = _image(ErrorTaxonomyDisplay.from_frame(steps(), summary=scores), "what went wrong")
    return _section("What went wrong", drawn + table)


def _alike(summary: pd.DataFrame, outcome: str | None, error: str) -> list[tuple[object, ...]]:
    """Runs with the same error in one row, those with the most first; some of their cases are named."""
    if error not in summary:
        return []
    found: dict[tuple[str, ...], list[str]] = {}
    for run in summary[summary[error].notna()].to_dict("records"):
        end = str(run[outcome]) if outcome else "not scored"
        key = (str(run["variant"]), str(run["model"]), end, str(run[error]))
        found.setdefault(key, []).append(str(run["case_id"]))
    rows: list[tuple[object, ...]] = []
    for place, cases in sorted(found.items(), key=lambda row: -len(row[1]))[:_MOST_ROWS]:
        names = list(dict.fromkeys(cases))
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        rows.append((*place, len(cases), ", ".join(names[:_MOST_NAMED]) + more))
    return rows


def _image(display: Any, words: str) -> str:
    from matplotlib import pyplot as plt

    picture = io.BytesIO()
    display.figure_.savefig(picture, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(display.figure_)
    data = base64.b64encode(picture.getvalue()).decode()
    return f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{data}">'


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    lines = [f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows]
    names = "".join(f"<th>{_cell(name)}</th>" for name in head)
    return f'<div class="wide"><table><tr>{names}</tr>{"".join(lines)}</table></div>'


def _cell(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def _number(value: float) -> str:
    return "" if value != value else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
