"""Is one variant better than another? Pair by pair, case by case, and no surer than the cases allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.stats import Difference, Scores, holm, mcnemar, paired_difference

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ENDS", "Comparison", "Comparisons", "check_scored", "compare_runs", "decisive_ones"]

_SURE = 0.05
_ADVICE = "say in each case what is right: expected_tool, expected_calls or expected_answer"
_DRAWS, _MOST_SIGNS = 20_000, 1_000_000
#: How a run ends that the model has brought to its end.
ENDS = {"answer", "loop_limit", "retries_exhausted", "no_tool_call", "wrong_tool"}
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
    #: Of McNemar's exact test; where cases have several runs, of the test with random signs that it is a
    #: case of; where the metric is no score from 0 to 1, of the sign test.
    p: float
    #: What is to be known of runs that count here and broke off; "" where none did.
    broken: str
    #: Adjusted by Holm's method for all comparisons that were asked for at once.
    p_adjusted: float

    @property
    def decisive(self) -> bool:
        """Whether the interval leaves out 0, and of several comparisons this is not decisive by luck.

        What is no score from 0 to 1 has to have more in most cases, too: a few large ones can make a mean.
        """
        mostly = (self.more_b - self.more_a) * self.difference.estimate > 0
        sure = self.difference.decisive and self.p_adjusted <= _SURE
        return sure and (mostly or self.difference.unit != "")

    @property
    def verdict(self) -> str:
        """One sentence: which is better, or has more of what is no merit, or that it is not decisive."""
        more, less = (self.b, self.a) if self.difference.estimate > 0 else (self.a, self.b)
        merit = self.difference.unit and self.metric not in _NO_MERITS
        told = f"{more} is better than {less}" if merit else f"{more} has more {self.metric} than {less}"
        found = told if self.decisive else "not decisive"
        where = f" with {self.within}" if self.within else ""
        return f"{self.b} against {self.a}{where}: {found}"

    def __str__(self) -> str:
        cases = f"{self.said_of_cases}: {self.b} has more in {self.more_b}, {self.a} in {self.more_a}"
        told = f"{self.verdict}; {self.metric} {self.difference.size}, p = {self.p_adjusted:.2g}; {cases}"
        return f"{told}; {self.broken}" if self.broken else told

    @property
    def said_of_cases(self) -> str:
        """How many cases count, and of how many, where some have no score."""
        counted = self.difference.cases
        of = "" if counted == self.cases else f" of {self.cases}"
        return f"{counted}{of} case{'s' * (self.cases != 1)}"


class Comparisons(Sequence[Comparison]):
    """All comparisons that were asked for at once; printed, a line each."""

    def __init__(self, comparisons: Sequence[Comparison]) -> None:
        self._all = list(comparisons)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self._all)

    @overload
    def __getitem__(self, index: int) -> Comparison: ...
    @overload
    def __getitem__(self, index: slice) -> Comparisons: ...
    def __getitem__(self, index: int | slice) -> Comparison | Comparisons:
        return Comparisons(self._all[index]) if isinstance(index, slice) else self._all[index]

    @property
    def decisive(self) -> bool:
        """Whether any of them is."""
        return any(comparison.decisive for comparison in self._all)

    @property
    def frame(self) -> pd.DataFrame:
        """One row a comparison."""
        import pandas as pd

        rows = [
            {
                "a": c.a,
                "b": c.b,
                "within": c.within,
                "metric": c.metric,
                "difference": c.difference.estimate,
                "low": c.difference.low,
                "high": c.difference.high,
                "cases": c.difference.cases,
                "more_a": c.more_a,
                "more_b": c.more_b,
                "p": c.p,
                "p_adjusted": c.p_adjusted,
                "decisive": c.decisive,
                "verdict": c.verdict,
                "broken": c.broken,
            }
            for c in self._all
        ]
        return pd.DataFrame(rows)

    def __str__(self) -> str:
        return "\n".join(map(str, self._all))

    __repr__ = __str__


def compare_runs(
    summary: pd.DataFrame, a: str | None, b: str | None, metric: str = "success", by: str = "variant"
) -> Comparisons:
    """Compare the runs of a summary; see `Experiment.compare`.

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"case_id": [*range(20)] * 2, "model": "tiny"})
    >>> runs["variant"] = ["plain"] * 20 + ["repair"] * 20
    >>> runs["success"] = [False, True] * 10 + [True] * 20
    >>> print(compare_runs(runs, "plain", "repair")[0].verdict)
    repair against plain: repair is better than plain
    >>> print(compare_runs(runs[runs["case_id"] < 4], "plain", "repair")[0].verdict)
    repair against plain: not decisive
    """
    if by not in ("variant", "model"):
        raise InvalidInput(f"by is {excerpt(by)}", expected="variant or model")
    other = "model" if by == "variant" else "variant"
    check_scored(summary, metric, by, other, "case_id")
    names = list(dict.fromkeys(summary[by]))
    pairs = _pairs(names, a, b)
    groups = list(dict.fromkeys(summary[other]))
    found = [
        _compare(summary[summary[other] == group], pair, str(group) if len(groups) > 1 else "", metric, by)
        for group in groups
        for pair in pairs
    ]
    adjusted = holm([comparison["p"] for comparison in found])
    return Comparisons([Comparison(**c, p_adjusted=p) for c, p in zip(found, adjusted, strict=True)])


def decisive_ones(runs: pd.DataFrame, metric: str = "success", by: str = "variant") -> set[str]:
    """The variants that differ from the first, by all runs of each: what a plot of them may call decisive.

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"case_id": [*range(20)] * 2, "variant": ["plain"] * 20 + ["repair"] * 20})
    >>> runs["success"] = [False, True] * 10 + [True] * 20
    >>> decisive_ones(runs)
    {'repair'}
    """
    if by not in runs or runs[by].nunique() < 2:
        return set()
    compared = compare_runs(runs.assign(variant=runs[by].astype(str), model=""), None, None, metric)
    return {comparison.b for comparison in compared if comparison.decisive}


def check_scored(summary: pd.DataFrame, metric: str, *columns: str) -> None:
    """Raise `InvalidInput` where a column is missing, or of no run is known what is asked for.

    >>> import pandas as pd
    >>> check_scored(pd.DataFrame({"success": [None]}), "success")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: no run has a score success; say in each case what is right: ...
    """
    failed = [*summary["scorer_error"].dropna()] if "scorer_error" in summary else []
    missing = next((name for name in (metric, *columns) if name not in summary), None)
    if missing is not None:
        known, why = excerpt([*summary], 300), str(failed[0]) if failed else ""
        raise InvalidInput(f"the summary has no {excerpt(missing)}", expected=known, advice=why)
    if len(summary) and summary[metric].isna().all():
        why = str(failed[0]) if failed else "" if metric in _NO_MERITS else _ADVICE
        raise InvalidInput(f"no run has a score {metric}", advice=why)


def _pairs(names: list[str], a: str | None, b: str | None) -> list[tuple[str, str]]:
    unknown = next((name for name in (a, b) if name is not None and name not in names), None)
    if unknown is not None:
        raise InvalidInput(f"there is no {excerpt(unknown)}", expected=f"one of {excerpt(names, 300)}")
    first = a if a is not None else names[0]
    others = [b] if b is not None else [name for name in names if name != first]
    if not others or first in others:
        raise InvalidInput("there is nothing to compare", expected="two different variants or models")
    return [(first, other) for other in others]


def _compare(runs: pd.DataFrame, pair: tuple[str, str], within: str, metric: str, by: str) -> dict[str, Any]:
    both = runs[runs[by].isin(pair)]
    scored = both[both[metric].notna()]
    first, second = (_scores(scored[scored[by] == name], metric) for name in pair)
    shared = [case for case in first if case in second]
    if not shared:
        what = f"{excerpt(pair[0])} and {excerpt(pair[1])} have no scored case in common"
        raise InvalidInput(what, expected=f"runs of both with a score {metric}")
    difference = paired_difference(first, second)
    changes = [round(_mean(second[case]) - _mean(first[case]), 12) for case in shared]
    more_a, more_b = sum(change < 0 for change in changes), sum(change > 0 for change in changes)
    told = {"a": pair[0], "b": pair[1], "within": within, "metric": metric, "difference": difference}
    told |= {"cases": both["case_id"].nunique(), "more_a": more_a, "more_b": more_b}
    p = _p_of_flips(changes) if difference.unit else mcnemar(more_a, more_b)
    return {**told, "p": p, "broken": _broken(scored, pair, by, metric)}


def _p_of_flips(changes: Sequence[float]) -> float:
    """How often changes of these sizes, each with a random sign, are together as far from 0 as they are.

    >>> _p_of_flips([1.0] * 9 + [-1.0] + [0.0] * 5)
    0.021484375
    >>> _p_of_flips([0.25, 0.5, 0.25, 0.75] * 5) < 0.001
    True
    """
    import numpy as np

    sizes, counts = np.unique(np.round(np.abs(changes), 12), return_counts=True)
    sizes, counts = sizes[sizes > 0], counts[sizes > 0]
    if len(sizes) <= 1:
        return mcnemar(sum(change < 0 for change in changes), sum(change > 0 for change in changes))
    rng, far = np.random.default_rng(0), abs(sum(changes)) - 1e-9
    as_far, at_once = 0, max(1, _MOST_SIGNS // len(sizes))
    for done in range(0, _DRAWS, at_once):
        draws = (min(at_once, _DRAWS - done), len(sizes))
        as_far += int((np.abs((2 * rng.binomial(counts, 0.5, draws) - counts) @ sizes) >= far).sum())
    return (1 + as_far) / (1 + _DRAWS)


def _broken(runs: pd.DataFrame, pair: tuple[str, str], by: str, metric: str) -> str:
    """How many runs ended by no doing of the model, or that none came to an answer."""
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


def _scores(runs: pd.DataFrame, metric: str) -> Scores:
    scores: dict[Hashable, list[float]] = {}
    for case, value in zip(runs["case_id"], runs[metric], strict=True):
        scores.setdefault(case, []).append(_number(value, metric))
    return scores


def _number(value: Any, metric: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"{metric} is {excerpt(value)}", expected="a number, or a truth value") from None


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores)
