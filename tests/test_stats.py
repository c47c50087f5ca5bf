"""Intervals and exact tests: known values, what must always hold, and how often the intervals cover."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab.errors import InvalidInput
from zoolab_study.statistics import Interval, holm, mcnemar, paired_difference, rate, student_t, wilson

SCORES = st.dictionaries(st.integers(0, 30), st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=1)


# Values of statsmodels' proportion_confint(method="wilson"), which Wilson's formula gives by hand, too.
@pytest.mark.parametrize(
    ("successes", "runs", "low", "high"),
    [
        (8, 10, 0.4901625, 0.9433178),
        (0, 10, 0.0, 0.2775328),
        (10, 10, 0.7224672, 1.0),
        (50, 100, 0.4038315, 0.5961685),
    ],
)
def test_wilsons_interval_has_the_known_values(successes, runs, low, high):
    found = wilson(successes, runs)
    assert (found.estimate, found.low, found.high) == pytest.approx((successes / runs, low, high), abs=1e-6)


@given(st.integers(1, 10_000).flatmap(lambda runs: st.tuples(st.integers(0, runs), st.just(runs))))
def test_wilsons_interval_contains_the_rate_and_mirrors(pair):
    successes, runs = pair
    found, mirrored = wilson(successes, runs), wilson(runs - successes, runs)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.low < found.high
    assert found.low == pytest.approx(1 - mirrored.high, abs=1e-12)


def test_more_runs_make_the_interval_narrower():
    def width(found: Interval) -> float:
        return found.high - found.low

    assert width(wilson(80, 100)) < width(wilson(8, 10))


@given(SCORES)
def test_a_rate_is_the_mean_of_all_runs_and_inside_its_interval(scores):
    runs = [score for case in scores.values() for score in case]
    found = rate(scores)
    assert found.estimate == pytest.approx(sum(runs) / len(runs))
    assert 0 <= found.low <= found.estimate <= found.high <= 1


def test_with_one_run_a_case_a_rate_has_wilsons_interval():
    assert rate({case: [case < 8] for case in range(10)}) == wilson(8, 10)


def test_repeats_of_cases_that_never_change_are_worth_nothing():
    once, often = ({case: [case < 8] * runs for case in range(10)} for runs in (1, 20))
    assert rate(often).low == pytest.approx(rate(once).low)


def test_repeats_of_cases_that_are_all_alike_are_worth_all_their_runs():
    assert rate({case: [1, 0, 1, 0] for case in range(10)}) == wilson(20, 40)


# Values of printed tables of Student's t.
@pytest.mark.parametrize(
    ("freedom", "value"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (10, 2.2281), (30, 2.0423)],
)
def test_students_t_has_the_known_values(freedom, value):
    assert student_t(freedom) == pytest.approx(value, abs=1e-4)
    assert student_t(100_000) == pytest.approx(1.95996, abs=1e-4)


# Values of scipy's binomtest(k, n).pvalue and of R's p.adjust(method="holm").
@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [(1, 9, 0.021484375), (0, 5, 0.0625), (3, 12, 0.03515625), (5, 5, 1.0), (0, 0, 1.0), (4000, 5000, 0.0)],
)
def test_mcnemars_exact_test_has_the_known_values(only_first, only_second, p):
    assert mcnemar(only_first, only_second) == pytest.approx(p, abs=1e-12)
    assert mcnemar(only_second, only_first) == mcnemar(only_first, only_second)


def test_holms_method_has_the_known_values():
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holms_method_only_raises_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))
    ranked = [after for _, after in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)


def test_a_difference_is_the_mean_over_the_cases_of_both():
    first = {"a": [0, 1], "b": [0], "c": [1], "only here": [1]}
    second = {"a": [1, 1, 1, 1], "b": [0], "c": [1], "only there": [0]}
    found = paired_difference(first, second)
    assert (found.estimate, found.cases) == (pytest.approx((0.5 + 0 + 0) / 3), 3)


@given(SCORES)
def test_a_difference_lies_in_its_interval(scores):
    other = {case: [1 - score for score in runs] for case, runs in scores.items()}
    found = paired_difference(scores, other)
    assert -1 <= found.low <= found.estimate <= found.high <= 1


@given(SCORES, st.integers(1, 1_000_000), st.integers(-1000, 1000))
def test_a_difference_may_be_one_of_any_numbers_and_lies_in_its_interval(scores, scale, shift):
    other = {case: [shift + scale * (2 + score) for score in runs] for case, runs in scores.items()}
    found = paired_difference(scores, other)
    assert found.low <= found.estimate <= found.high
    assert (found.decisive, found.cases) == (not found.low <= 0 <= found.high, len(scores))


def test_the_unit_of_what_is_measured_changes_nothing_but_the_scale():
    first = {case: [3.0 + case % 5] for case in range(20)}
    second = {case: [4.0 + case % 7] for case in range(20)}
    small = paired_difference(first, second)
    large = paired_difference(
        *({case: [1e6 * x for x in runs] for case, runs in s.items()} for s in (first, second))
    )
    assert (large.low, large.high) == pytest.approx((1e6 * small.low, 1e6 * small.high))
    # Student's t by hand: mean of the changes plus or minus 2.093 standard errors.
    changes = np.array([second[case][0] - first[case][0] for case in first])
    half = 2.093 * changes.std(ddof=1) / math.sqrt(20)
    assert (small.low, small.high) == pytest.approx((changes.mean() - half, changes.mean() + half), abs=0.02)


@pytest.mark.parametrize("cases", [1, 2, 3])
def test_a_handful_of_cases_that_all_cost_the_same_more_decides_nothing(cases):
    assert not paired_difference({c: [100] for c in range(cases)}, {c: [150] for c in range(cases)}).decisive


@pytest.mark.parametrize("cases", [1, 2, 3])
def test_a_handful_of_cases_decides_nothing_however_much_they_agree(cases):
    found = paired_difference({c: [0] for c in range(cases)}, {c: [1] for c in range(cases)})
    assert found.estimate == 1
    assert not found.decisive


def test_the_same_scores_are_no_decisive_difference_and_opposite_ones_are():
    same = {case: [case % 2] for case in range(40)}
    assert not paired_difference(same, same).decisive
    assert paired_difference({c: [0] for c in range(40)}, {c: [1] for c in range(40)}).decisive
    assert str(paired_difference(same, same)).endswith("not decisive")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: wilson(1, 0),
        lambda: wilson(2, 1),
        lambda: wilson(-1, 1),
        lambda: wilson(1, math.nan),
        lambda: rate({}),
        lambda: rate({"a": []}),
        lambda: rate({"a": [1.5]}),
        lambda: rate({"a": [math.nan]}),
        lambda: paired_difference({"a": [1]}, {"b": [1]}),
        lambda: paired_difference({"a": [1]}, {"a": [math.inf]}),
        lambda: mcnemar(-1, 2),
        lambda: holm([0.1, 1.2]),
        lambda: holm([math.nan]),
    ],
)
def test_what_cannot_be_computed_is_an_invalid_input(wrong):
    with pytest.raises(InvalidInput):
        wrong()


def sample(rng, cases, runs, lift):
    """Runs of two variants on cases of very different difficulty, and a second variant that helps."""
    easy = rng.beta(1.4, 0.6, size=(cases, 1))
    odds = easy / (1 - easy + 1e-9) * np.exp(rng.normal(lift, 0.5, size=(cases, 1)))
    return [rng.random((cases, runs)) < chance for chance in (easy, odds / (1 + odds))]


def as_scores(hits):
    return dict(enumerate(hits.tolist()))


def coverage_of_differences(cases, runs, samples=1000):
    """How many of the intervals hold what is true; the seed decides."""
    rng = np.random.default_rng(20)
    truth = np.subtract(*[hits.mean() for hits in sample(rng, 400_000, 1, 0.6)][::-1])
    pairs = (map(as_scores, sample(rng, cases, runs, 0.6)) for _ in range(samples))
    found = [paired_difference(first, second) for first, second in pairs]
    return sum(interval.low <= truth <= interval.high for interval in found) / samples


@pytest.mark.parametrize(("cases", "runs"), [(10, 3), (12, 5), (20, 1), (20, 3), (40, 1), (40, 3)])
def test_95_percent_intervals_of_a_difference_cover_in_93_to_98_percent(cases, runs):
    assert 0.93 <= coverage_of_differences(cases, runs) <= 0.98


def coverage_of_a_bootstrap(cases, runs, samples=1000):
    """How many intervals of a bootstrap of whole cases hold what is true, for comparison."""
    rng, draw = np.random.default_rng(20), np.random.default_rng(0)
    truth = np.subtract(*[hits.mean() for hits in sample(rng, 400_000, 1, 0.6)][::-1])
    covered = 0
    for _ in range(samples):
        first, second = (hits.mean(1) for hits in sample(rng, cases, runs, 0.6))
        means = (second - first)[draw.integers(0, cases, (1000, cases))].mean(1)
        low, high = np.quantile(means, [0.025, 0.975])
        covered += low <= truth <= high
    return covered / samples


TOLD = re.findall(r"^ {4,}(cases x runs|this interval|bootstrap) .*?  (.*)", paired_difference.__doc__, re.M)
CELLS, *ROWS = [re.split(r"  +", row.strip()) for _, row in TOLD]


@pytest.mark.parametrize(("cell", "ours", "theirs"), [*zip(CELLS, *ROWS, strict=True)])
def test_the_table_of_the_docstring_is_what_simulations_give(cell, ours, theirs):
    cases, runs = map(int, cell.split(" x "))
    assert 100 * coverage_of_differences(cases, runs) == pytest.approx(float(ours), abs=0.5)
    assert 100 * coverage_of_a_bootstrap(cases, runs) == pytest.approx(float(theirs), abs=0.5)


@pytest.mark.parametrize(("cases", "runs"), [(5, 5), (8, 1)])
def test_a_handful_of_cases_is_never_taken_for_more_than_it_shows(cases, runs):
    assert coverage_of_differences(cases, runs, samples=300) >= 0.95


def tokens(rng, cases, runs):
    """What two variants take on cases of very different length; the second takes about 60 more."""
    length = rng.lognormal(5, 1, (cases, 1))
    first, second = (length * rng.lognormal(0, 0.2, (cases, runs)) for _ in range(2))
    return first, second + rng.normal(60, 40, (cases, 1))


def seconds(rng, cases, runs):
    """What two variants take at an endpoint that is mostly quick."""
    return rng.exponential(2, (cases, runs)), rng.exponential(2, (cases, runs)) + 0.5


@pytest.mark.parametrize(("cases", "runs"), [(20, 3), (40, 1)])
@pytest.mark.parametrize(("take", "truth"), [(tokens, 60), (seconds, 0.5)])
def test_95_percent_intervals_of_what_is_counted_cover_in_93_to_97_percent(take, truth, cases, runs):
    rng = np.random.default_rng(22)
    pairs = (map(as_scores, take(rng, cases, runs)) for _ in range(1000))
    found = [paired_difference(first, second) for first, second in pairs]
    assert 0.93 <= sum(interval.low <= truth <= interval.high for interval in found) / 1000 <= 0.97


def test_wilsons_interval_covers_in_93_to_97_percent_whatever_the_rate_on_average():
    intervals = [wilson(hits, 40) for hits in range(41)]
    covered = []
    for truth in np.linspace(0.02, 0.98, 97):
        chances = [math.comb(40, hits) * truth**hits * (1 - truth) ** (40 - hits) for hits in range(41)]
        covered.append(sum(c for c, i in zip(chances, intervals, strict=True) if i.low <= truth <= i.high))
    assert 0.93 <= sum(covered) / len(covered) <= 0.97


@pytest.mark.parametrize(("cases", "runs"), [(5, 5), (10, 5), (20, 3), (40, 5)])
def test_95_percent_intervals_of_a_rate_with_repeats_cover_in_93_to_97_percent(cases, runs):
    rng = np.random.default_rng(21)
    truth = 0.7
    covered, by_runs = 0, 0
    for _ in range(1000):
        hits = sample(rng, cases, runs, 0)[0]
        found, plain = rate(as_scores(hits)), wilson(int(hits.sum()), hits.size)
        covered += found.low <= truth <= found.high
        by_runs += plain.low <= truth <= plain.high
    assert 930 <= covered <= 970
    # Were repeats taken for cases, the interval would be far too narrow.
    assert by_runs < 900
