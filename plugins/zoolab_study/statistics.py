"""How sure a rate is, and how sure a difference between two variants: intervals and exact tests.

Runs of the same case are alike, so cases count as evidence, not runs.
`Scores` are the runs of one variant: for each case the scores of its runs, from 0 (wrong) to 1 (right);
a difference may also be one of tokens, seconds or whatever else is counted.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

from zoolab.errors import InvalidInput

Scores = Mapping[Hashable, Sequence[float]]

#: What all intervals hold, and how many standard errors of a normal curve that takes.
CONFIDENCE = 0.95
_NORMAL = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
#: As many standard errors for Student's t with 1 to 9 degrees of freedom.
_FEW = (12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157)


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate, and between which values it may really lie."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.0%} ({self.low * 100:.0f} to {self.high * 100:.0f})".replace("%", " %")


@dataclass(frozen=True, slots=True)
class Difference(Interval):
    """How much better the second of two variants is, case by case."""

    #: How many cases both variants have.
    cases: int
    #: "points" between scores from 0 to 1, a hundredth each; "" between other numbers.
    unit: str = "points"

    @property
    def decisive(self) -> bool:
        """Whether the interval leaves out 0: whether one variant can be called the better one."""
        return not self.low <= 0 <= self.high

    def __str__(self) -> str:
        return self.size + ("" if self.decisive else ", not decisive")

    @property
    def size(self) -> str:
        """The difference with its interval, as it is printed."""
        low, high, estimate = (_signed(each, self.unit) for each in (self.low, self.high, self.estimate))
        return f"{' '.join(filter(None, (estimate, self.unit)))} ({low} to {high})"


def wilson(successes: float, runs: float) -> Interval:
    """Return the rate of successes in independent runs, with Wilson's score interval.

    Raises `InvalidInput` if there are no runs, or more successes than runs.
    """
    if not (math.isfinite(runs) and runs > 0 and 0 <= successes <= runs):
        what = f"{successes:g} successes in {runs:g} runs"
        raise InvalidInput(what, expected="0 <= successes <= runs, runs > 0")
    z = _NORMAL
    p = successes / runs
    shrink = 1 + z * z / runs
    middle = p + z * z / (2 * runs)
    half = z * math.sqrt(p * (1 - p) / runs + z * z / (4 * runs * runs))
    # Rounding alone must not put the estimate outside.
    return Interval(p, max(0.0, min(p, (middle - half) / shrink)), min(1.0, max(p, (middle + half) / shrink)))


def rate(scores: Scores) -> Interval:
    """Return the mean score over all runs, with Wilson's interval for the effective number of runs.

    Several runs of one case say less than as many cases. How much less shows in how far cases differ: this
    is the design effect, with Student's t in place of the normal curve when cases are few (Korn and
    Graubard, 1998). The effective number is at least the number of cases and at most the number of runs.
    With one run a case this is `wilson`. In simulations with 5 and more cases a 95 % interval covers the
    truth in 93 to 97 % of all samples (tests/test_stats.py).

    Raises `InvalidInput` if there are no scores, or one is not between 0 and 1.

    >>> print(rate({"a": [1], "b": [0], "c": [1], "d": [1]}))
    75 % (30 to 95)
    >>> print(rate({"a": [1, 1, 1], "b": [0, 0, 0], "c": [1, 1, 1], "d": [1, 1, 1]}))
    75 % (30 to 95)
    """
    checked = _numbers(scores)
    if (wrong := _beyond(checked)) is not None:
        raise InvalidInput(f"a score is {wrong:g}", expected="scores from 0 (wrong) to 1 (right)")
    runs = sum(map(len, checked.values()))
    p = min(1.0, math.fsum(score for case in checked.values() for score in case) / runs)
    effective = min(runs, max(len(checked), _effective_runs(checked, p, runs)))
    return wilson(p * effective, effective)


def paired_difference(first: Scores, second: Scores) -> Difference:
    """Return the mean over the shared cases of how much more the second variant has, with its interval.

    Every case has the same weight, however many runs it has. A case that only one variant has is left out.
    The interval is Student's t of the changes of the cases. If all scores are between 0 and 1, it has the
    adjustment of Agresti and Min (Statistics in Medicine 24, 2005): two cases are added, a half of a case
    better, a half worse and one unchanged. Without it, cases that all agree would give an interval of no
    width. A case is better or worse by as much as cases usually change (the root mean square), since
    changes of cases with several runs are not only 1 or -1.

    How often a 95 % interval covers the truth in 1,000 simulations, in percent (tests/test_stats.py):

        cases x runs of a case      10 x 1   10 x 3   20 x 1   20 x 3   40 x 1   40 x 3
        this interval                 99.0     97.1     97.1     95.8     95.6     95.6
        bootstrap of whole cases      81.3     89.1     92.7     90.7     92.8     93.1

    Raises `InvalidInput` if they have no case in common, or a score is not a finite number.

    >>> before = {case: [0.0] for case in range(30)}
    >>> after = {case: [float(case < 12)] for case in range(30)}
    >>> print(paired_difference(before, after))
    +40 points (+19 to +56)
    >>> print(paired_difference({"a": [200], "b": [310]}, {"a": [250], "b": [330]}))
    +35 (-156 to +226), not decisive
    """
    first = _numbers(first)
    second = _numbers(second)
    shared = [case for case in first if case in second]
    if not shared:
        raise InvalidInput("the two variants have no case in common", advice="run both on the same cases")
    changes = [fmean(second[case]) - fmean(first[case]) for case in shared]
    rated = _beyond(first) is None and _beyond(second) is None
    added = 2 if rated or len(set(changes)) == 1 else 0
    moved = [change * change for change in changes if change]
    usual = fmean(moved) if moved else 1.0
    count = len(changes) + added
    middle = math.fsum(changes) / count
    squares = math.fsum(change * change for change in changes) + usual * added / 2
    variance = max(0.0, squares / count - middle**2) / (count if added else count - 1)
    half = student_t(max(1, len(changes) - 1)) * math.sqrt(variance)
    low = middle - half
    high = middle + half
    if rated:
        low = max(-1.0, low)
        high = min(1.0, high)
    estimate = fmean(changes)
    unit = "points" if rated else ""
    return Difference(estimate, min(low, estimate), max(high, estimate), len(shared), unit)


def student_t(freedom: int) -> float:
    """Return how many standard errors around 0 hold 95 % of Student's t.

    From 10 degrees of freedom on it is the expansion around the normal curve (Abramowitz and Stegun, 26.7.5),
    which is wrong by less than 0.00001 there.
    """
    if freedom <= len(_FEW):
        return _FEW[freedom - 1]
    z = _NORMAL
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return z + sum(term / float(freedom) ** power for power, term in enumerate(terms, 1))


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact p-value of McNemar's test, two-sided: cases that only one of two variants got right.

    For cases with several runs, and for other numbers than scores, it is the sign test: cases in which one
    variant has more than the other.
    """
    if min(only_first, only_second) < 0:
        raise InvalidInput(f"the counts are {only_first} and {only_second}", expected="0 or more")
    differing = only_first + only_second
    term = tail = 1
    for k in range(min(only_first, only_second)):
        term = term * (differing - k) // (k + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << differing))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return P-values of several comparisons, adjusted by Holm's method, in the order given."""
    if not all(0 <= p <= 1 for p in p_values):
        raise InvalidInput(f"the p-values are {list(p_values)}", expected="numbers from 0 to 1")
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = least
    return adjusted


def _numbers(scores: Scores) -> dict[Hashable, list[float]]:
    numbers = {case: [float(score) for score in runs] for case, runs in scores.items() if len(runs)}
    wrong = next((score for runs in numbers.values() for score in runs if not math.isfinite(score)), None)
    if not numbers or wrong is not None:
        what = "there are no scores" if wrong is None else f"a score is {wrong:g}"
        raise InvalidInput(what, expected="one finite number or more")
    return numbers


def _beyond(scores: Mapping[Hashable, list[float]]) -> float | None:
    """Return a score that is not from 0 to 1, if there is one."""
    return next((score for runs in scores.values() for score in runs if not 0 <= score <= 1), None)


def _effective_runs(scores: Mapping[Hashable, list[float]], p: float, runs: int) -> float:
    """Return how many independent runs would make the mean as sure as these do."""
    cases = len(scores)
    # Cases that agree on all or nothing do not show how far cases differ.
    if cases < 2 or p in (0, 1):
        return 0.0
    spread = math.fsum((math.fsum(case) - p * len(case)) ** 2 for case in scores.values())
    variance = spread / runs**2 * cases / (cases - 1)
    wider = (student_t(cases - 1) / _NORMAL) ** 2
    return p * (1 - p) / variance / wider if variance > 0 else math.inf


def _signed(value: float, unit: str) -> str:
    """Return a number with a sign; points in whole ones, unless that would hide on which side of 0
    they are.
    """
    if not unit:
        if abs(value) >= 1000:
            return f"{value:+,.0f}"
        return f"{value:+.3g}" if abs(value) >= 1e-4 else "0"
    points = value * 100
    text = f"{points:+.0f}" if abs(points) >= 0.5 else f"{points:+.1f}"
    return "0" if float(text) == 0 else text
