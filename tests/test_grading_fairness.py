"""The same mistake costs the same, whatever is drawn: what once passed by luck, under several seeds."""

from __future__ import annotations

import pytest

from tools.wrong_answers import wrong_answers
from zoolab.grading import grade_cells, load_lab
from zoolab.grading.isolation import shut_in

LUCKY = {
    "l2": ["pops_schema"],
    "l3": ["one_known_tool", "limit_counts_calls"],
    "l4": ["slice_after_the_system_prompt", "skips_what_is_large", "orphan_results"],
    "l5": ["repairs_the_valid"],
    "l7": ["known_codes_only", "joined_by_position"],
    "l8": ["exact_results", "order_of_execution"],
}
# What it plays is drawn by a seeded model: it asks for the whole, and one mistake may not come up.
BY_CHANCE = ["faults_of_a_seeded_model"]


@pytest.mark.slow
@pytest.mark.parametrize("name", LUCKY)
def test_the_draw_decides_nothing(name: str):
    lab, wrong = load_lab(name), wrong_answers(name)
    with shut_in(lab) as isolation:
        for stem in LUCKY[name]:
            grades = [grade_cells(lab, [wrong[stem].code], isolation, seed) for seed in "abcd"]
            for marks in zip(*(found.cases for found in grades), strict=True):
                assert marks[0].name in BY_CHANCE or len({case.passed for case in marks}) == 1, (
                    stem,
                    marks[0],
                )
