"""The same mistake costs the same, whatever is drawn: what once passed by luck, under several seeds."""

from __future__ import annotations

import pytest

from zoolab.grading import grade, load_lab
from zoolab.grading.isolation import shut_in
from zoolab.grading.labs import labs_folder

LUCKY = {
    "l2": ["wrong_pops_schema"],
    "l3": ["wrong_one_known_tool", "wrong_limit_counts_calls"],
    "l4": ["wrong_slice_after_the_system_prompt", "wrong_skips_what_is_large", "wrong_orphan_results"],
    "l5": ["wrong_repairs_the_valid"],
    "l7": ["wrong_known_codes_only", "wrong_joined_by_position"],
    "l8": ["wrong_exact_results", "wrong_order_of_execution"],
}
# What it plays is drawn by a seeded model: it asks for the whole, and one mistake may not come up.
BY_CHANCE = ["faults_of_a_seeded_model"]


@pytest.mark.slow
@pytest.mark.parametrize("name", LUCKY)
def test_the_draw_decides_nothing(name: str):
    lab = load_lab(name)
    with shut_in(lab) as isolation:
        for stem in LUCKY[name]:
            path = labs_folder() / name / "submissions" / f"{stem}.py"
            grades = [grade(lab, path, isolation, seed) for seed in "abcd"]
            for marks in zip(*(found.cases for found in grades), strict=True):
                assert marks[0].name in BY_CHANCE or len({case.passed for case in marks}) == 1, (
                    stem,
                    marks[0],
                )
