"""Is one variant better than another? Pair by pair, case by case, and no surer than the cases allow."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.stats import Difference, Scores, holm, mcnemar, paired_difference

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "Comparisons", "compare_runs"]

_SURE = 0.05
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
    #: Cases that only one of them gets right, in more than half of its runs; where the metric is no score
    #: from 0 to 1, those in which it has more.
    only_a: int
    only_b: int
    #: Of McNemar's exact test.
    p: float
    #: Adjusted by Holm's method for all comparisons that were asked for at once.
    p_adjusted: float

    @property
    def decisive(self) -> bool:
        """Whether the interval leaves out 0, and of several comparisons this is not decisive by luck."""
        return self.difference.decisive and self.p_adjusted <= _SURE

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
        d, how = self.difference, "only" if self.difference.unit else "more"
        cases = f"{d.cases} cases, {self.only_b} {how} with {self.b}, {self.only_a} {how} with {self.a}"
        return f"{self.verdict}; {self.metric} {d.size}, p = {self.p_adjusted:.2g}; {cases}"


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
                "only_a": c.only_a,
                "only_b": c.only_b,
                "p": c.p,
                "p_adjusted": c.p_adjusted,
                "decisive": c.decisive,
                "verdict": c.verdict,
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
    missing = next((name for name in (metric, by, other, "case_id") if name not in summary), None)
    if missing is not None:
        raise InvalidInput(f"the summary has no {excerpt(missing)}", expected=excerpt([*summary], 300))
    runs = summary[summary[metric].notna()]
    names = list(dict.fromkeys(summary[by]))
    pairs = _pairs(names, a, b)
    groups = list(dict.fromkeys(summary[other]))
    found = [
        _compare(runs[runs[other] == group], pair, str(group) if len(groups) > 1 else "", metric, by)
        for group in groups
        for pair in pairs
    ]
    adjusted = holm([comparison["p"] for comparison in found])
    return Comparisons([Comparison(**c, p_adjusted=p) for c, p in zip(found, adjusted, strict=True)])


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
    first, second = (_scores(runs[runs[by] == name], metric) for name in pair)
    if not set(first) & set(second):
        what = f"{excerpt(pair[0])} and {excerpt(pair[1])} have no scored case in common"
        raise InvalidInput(what, expected=f"runs of both with a score {metric}")
    told = {"a": pair[0], "b": pair[1], "within": within, "metric": metric}
    difference = paired_difference(first, second)
    ahead = _ahead_in_rates if difference.unit else _ahead
    signs = [ahead(first[case], second[case]) for case in first if case in second]
    only_a, only_b = signs.count(-1), signs.count(1)
    return {
        **told,
        "difference": difference,
        "only_a": only_a,
        "only_b": only_b,
        "p": mcnemar(only_a, only_b),
    }


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


def _ahead_in_rates(first: Sequence[float], second: Sequence[float]) -> int:
    """1 where only the second is right in more than half of its runs, -1 where only the first is."""
    return _is_right(second) - _is_right(first)


def _ahead(first: Sequence[float], second: Sequence[float]) -> int:
    """1 where the second has more on average, -1 where the first has."""
    a, b = (sum(scores) / len(scores) for scores in (first, second))
    return (b > a) - (b < a)


def _is_right(scores: Sequence[float]) -> bool:
    return sum(scores) > len(scores) / 2
