"""Is one variant better than another? Compares pairs of variants case by case, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt, lines_as_html, one_line
from zoolab_study.journal import ENDS
from zoolab_study.statistics import Difference, Scores, holm, mcnemar, paired_difference

if TYPE_CHECKING:
    import pandas as pd

_SURE = 0.05
_ADVICE = "say in each case what is right: expected_tool, expected_calls or expected_answer"
#: The share of pairs that may fall out, because a run broke off, before a comparison decides nothing.
MOST_MISSING = 0.2
#: How many comparisons a notebook shows.
_SHOWN = 20
#: Columns of a summary of which more is no better.
_NO_MERITS = {
    *("turns", "steps", "calls", "errors", "duration_ms", "seconds", "tokens_in", "tokens_out", "repeat"),
    *("silently_wrong", "missed_call", "needless_call", "wrong_tool"),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much more of `metric` `b` has than `a`."""

    a: str
    b: str
    #: The model, or with `by="model"` the variant, that both have in common; "" where there is only one.
    within: str
    metric: str
    difference: Difference
    #: How many cases there are, scored with both or not.
    cases: int
    #: Cases in which it has more than the other, on average over its runs.
    more_a: int
    more_b: int
    #: Of McNemar's exact test; where cases have several runs, or the metric is no score, of the sign test.
    p: float
    #: What is to be known of runs that broke off, and do not count; "" where none did.
    broken: str
    #: Adjusted by Holm's method for all comparisons that were asked for at once.
    p_adjusted: float
    #: How many pairs of runs there are, a run of `a` and one of `b`, and how many do not count, because one
    #: of the two broke off.
    pairs: int = 0
    fell_out: int = 0

    @property
    def undecided(self) -> str:
        """Why this decides nothing; "" if enough pairs count."""
        if self.fell_out <= MOST_MISSING * self.pairs:
            return ""
        return f"decides nothing: {self.fell_out} of {self.pairs} pairs fell out, because a run broke off"

    @property
    def decisive(self) -> bool:
        """Whether the interval leaves out 0, and of several comparisons this is not decisive by luck.

        What is no score from 0 to 1 has to have more in most cases, too: a few large ones can make a mean.
        """
        mostly = (self.more_b - self.more_a) * self.difference.estimate > 0
        sure = self.difference.decisive and self.p_adjusted <= _SURE and not self.undecided
        return sure and (mostly or self.difference.unit != "")

    @property
    def verdict(self) -> str:
        """One sentence: which is better, or has more of what is no merit, or that it is not decisive."""
        more, less = (self.b, self.a) if self.difference.estimate > 0 else (self.a, self.b)
        merit = self.difference.unit and self.metric not in _NO_MERITS
        told = f"{more} is better than {less}" if merit else f"{more} has more {self.metric} than {less}"
        found = self.undecided or (told if self.decisive else "not decisive")
        where = f" with {self.within}" if self.within else ""
        return f"{self.b} against {self.a}{where}: {found}"

    def __str__(self) -> str:
        if not self.difference.cases:
            return "; ".join(filter(None, (self.verdict, self.broken)))
        cases = f"{self.said_of_cases}: {self.b} has more in {self.more_b}, {self.a} in {self.more_a}"
        told = f"{self.verdict}; {self.metric} {self.difference.size}, p = {self.p_adjusted:.2g}; {cases}"
        return f"{told}; {self.broken}" if self.broken else told

    @property
    def said_of_cases(self) -> str:
        """How many cases count, and of how many, where some have no score."""
        counted = self.difference.cases
        of = "" if counted == self.cases else f" of {self.cases}"
        return f"{counted}{of} case{'s' * (self.cases != 1)}"


class Comparisons(list[Comparison]):
    """All comparisons that were asked for at once; printed, a line each."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        more = [f"… {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return lines_as_html(*(one_line(str(each), 600) for each in self[:_SHOWN]), *more)


def compare_runs(
    summary: pd.DataFrame,
    a: str | None = None,
    b: str | None = None,
    metric: str = "success",
    by: str = "variant",
) -> Comparisons:
    """Compare the runs of a summary; see `Experiment.compare`."""
    if by not in ("variant", "model"):
        raise InvalidInput(f"the argument by= is {excerpt(by)}", expected="variant or model")
    other = "model" if by == "variant" else "variant"
    check_scored(summary, metric, by, other, "case_id")
    names = list(dict.fromkeys(summary[by]))
    groups = list(dict.fromkeys(summary[other]))
    unknown = next((name for name in (a, b) if name is not None and name not in names), None)
    if unknown is not None:
        raise InvalidInput(f"there is no {excerpt(unknown)}", expected=f"one of {excerpt(names, 300)}")
    first = a if a is not None else names[0]
    others = [b] if b is not None else [name for name in names if name != first]
    if not others or first in others:
        raise InvalidInput("there is nothing to compare", expected="two different variants or models")
    found = [
        _compare(
            summary[summary[other] == group], first, name, str(group) if len(groups) > 1 else "", metric, by
        )
        for group in groups
        for name in others
    ]
    adjusted = holm([comparison.p for comparison in found])
    return Comparisons(replace(c, p_adjusted=p) for c, p in zip(found, adjusted, strict=True))


def decisive_ones(runs: pd.DataFrame, metric: str = "success", by: str = "variant") -> set[str]:
    """Return the variants that differ from the first, by all runs of each: what a plot of them may call
    decisive.
    """
    if by not in runs or runs[by].nunique() < 2:
        return set()
    within = runs["model"].astype(str) + "/" + runs["variant"].astype(str) if "model" in runs else ""
    known = runs.assign(variant=runs[by].astype(str), model="", within=within)
    compared = compare_runs(known, None, None, metric)
    return {comparison.b for comparison in compared if comparison.decisive}


def check_scored(summary: pd.DataFrame, metric: str, *columns: str) -> None:
    """Raise `InvalidInput` where a column is missing, or of no run is known what is asked for."""
    failed = [*summary["scorer_error"].dropna()] if "scorer_error" in summary else []
    missing = next((name for name in (metric, *columns) if name not in summary), None)
    if missing is not None:
        known = excerpt([*summary], 300)
        why = str(failed[0]) if failed else ""
        raise InvalidInput(f"the summary has no {excerpt(missing)}", expected=known, advice=why)
    if len(summary) and "outcome" in summary and not summary["outcome"].isin(ENDS).any():
        how = ", ".join(dict.fromkeys(map(str, summary["outcome"])))
        what = f"decides nothing: all {len(summary)} runs broke off ({how})"
        raise InvalidInput(what, advice="see the errors; the same journal asks for those runs again")
    if len(summary) and summary[metric].isna().all():
        advice = "" if metric in _NO_MERITS else _ADVICE
        why = str(failed[0]) if failed else advice
        raise InvalidInput(f"no run has a score {metric}", advice=why)


def _compare(runs: pd.DataFrame, a: str, b: str, within: str, metric: str, by: str) -> Comparison:
    both = runs[runs[by].isin([a, b])]
    lost = _lost(both)
    scored = both[both[metric].notna() & ~lost]
    first, second = (scores_by_case(scored[scored[by] == name], metric) for name in (a, b))
    shared = [case for case in first if case in second]
    if not shared and not lost.any():
        what = f"{excerpt(a)} and {excerpt(b)} have no scored case in common"
        raise InvalidInput(what, expected=f"runs of both with a score {metric}")
    difference = paired_difference(first, second) if shared else Difference(0.0, -1.0, 1.0, 0)
    changes = [round(fmean(second[case]) - fmean(first[case]), 12) for case in shared]
    more_a = sum(change < 0 for change in changes)
    more_b = sum(change > 0 for change in changes)
    return Comparison(
        a=a,
        b=b,
        within=within,
        metric=metric,
        difference=difference,
        cases=both["case_id"].nunique(),
        more_a=more_a,
        more_b=more_b,
        p=mcnemar(more_a, more_b),
        broken=_broken(both, (a, b), by, metric),
        p_adjusted=1.0,
        pairs=len(both[_pair_columns(both)].drop_duplicates()),
        fell_out=len(both[lost][_pair_columns(both)].drop_duplicates()),
    )


def _pair_columns(runs: pd.DataFrame) -> list[str]:
    """Return what the two runs of a pair have in common."""
    return [name for name in ("case_id", "repeat", "within") if name in runs]


def _lost(runs: pd.DataFrame) -> pd.Series[bool]:
    """Return which runs do not count: they, or the other of the pair, broke off."""
    import pandas as pd

    if "outcome" not in runs:
        return pd.Series(data=False, index=runs.index)
    keys = runs[_pair_columns(runs)].astype(str).agg("\0".join, axis=1)
    return keys.isin(keys[~runs["outcome"].isin(ENDS)])


def _broken(runs: pd.DataFrame, pair: tuple[str, str], by: str, metric: str) -> str:
    """Return how many runs ended by no doing of the model, or that none came to an answer."""
    if "outcome" not in runs:
        return ""
    found: list[str] = []
    for name in pair:
        ends = runs[runs[by] == name]["outcome"]
        counts = Counter(end for end in ends if end not in ENDS)
        if counts:
            found.append(f"{counts.total()} of {len(ends)} runs of {name} broke off ({', '.join(counts)})")
    if metric == "success" and not found and not (runs["outcome"] == "answer").any():
        how = ", ".join(dict.fromkeys(map(str, runs["outcome"])))
        return f"no run came to an answer ({how}), which success needs: see other metrics"
    return "; ".join(found)


def scores_by_case(runs: pd.DataFrame, metric: str) -> Scores:
    """Return the scores of the runs of a summary, by case; raises `InvalidInput` if one is no number."""
    scores: dict[Hashable, list[float]] = {}
    for case, value in zip(runs["case_id"], runs[metric], strict=True):
        try:
            scores.setdefault(case, []).append(float(value))
        except (TypeError, ValueError):
            raise InvalidInput(f"{metric} is {excerpt(value)}", expected="a number, or a boolean") from None
    return scores
