"""Our rules for calls and the Berkeley leaderboard's own checker give the same verdict on its own cases."""

import random
from collections import Counter

import pytest
from berkeley import CATEGORIES, NO_CALL, Berkeley, answers

from zoolab.tools import name_for_apis
from zoolab_course.weights import cache_folder
from zoolab_study.datasets.berkeley import WHEEL, as_schema, checked_wheel, fetch_bfcl
from zoolab_study.expected import are_expected, expected_calls

pytestmark = pytest.mark.slow

#: Answers whose verdicts differ, and why.
REASONS = {
    "permuted": "the checker lets each expected call take the first call that fits, though it may be the"
    " only one that fits another",
}


@pytest.fixture(scope="module")
def package(download):
    """Berkeley's package, or no test."""
    return Berkeley(download(lambda: checked_wheel(cache_folder() / WHEEL), fetch_bfcl))


def verdicts(package):
    """Case, kind, our verdicts and the checker's on answers of many kinds to each case.

    Ours is given with the tools as Berkeley writes them, and again with JSON Schema's names for types.
    """
    check = package.checker()
    for category in CATEGORIES:
        for row in package.rows(category):
            written = {f["name"]: f["parameters"] for f in row["function"]}
            usual = {name_for_apis(name): as_schema(schema) for name, schema in written.items()}
            wanted = expected_calls(row["ground_truth"])
            for kind, calls in answers(row, random.Random(f"{row['id']} 0")):
                ours = {are_expected(calls, wanted, schemas) for schemas in (written, usual)}
                yield row["id"], kind, ours, check(row["function"], calls, row["ground_truth"], category)


def test_verdicts_agree_on_99_5_percent_and_the_others_have_a_reason(package):
    judged = list(verdicts(package))
    differing = [(case, kind) for case, kind, ours, theirs in judged if ours != {theirs}]
    print(f"{len(judged):,} answers, {len(differing)} verdicts differ: {differing}")
    assert len(judged) > 50_000
    assert len(differing) <= 0.005 * len(judged)
    assert {kind for _, kind in differing} <= REASONS.keys()
    by_kind = Counter((kind, theirs) for _, kind, _, theirs in judged)
    assert by_kind["right", True] > 2_200
    assert by_kind["another function", True] == by_kind["too many", True] == 0


def test_where_no_call_is_right_any_call_is_wrong(package):
    for category in NO_CALL:
        for row in package.rows(category):
            schemas = {f["name"]: f["parameters"] for f in row["function"]}
            assert are_expected([], [], schemas)
            for function in row["function"]:
                assert not are_expected([(name_for_apis(function["name"]), {})], [], schemas)
