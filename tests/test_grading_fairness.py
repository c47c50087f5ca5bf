"""The same mistake costs the same, whatever is drawn: every wrong answer has one number of points."""

from __future__ import annotations

import pytest

from tools.wrong_answers import wrong_answers
from zoolab.grading import grade_cells, lab_names, load_lab
from zoolab.grading.isolation import shut_in

SEEDS = tuple("abcdefghij")


@pytest.mark.slow
@pytest.mark.parametrize("name", lab_names())
def test_the_draw_decides_nothing(name: str):
    lab, different = load_lab(name), dict[str, list[float]]()
    with shut_in(lab) as isolation:
        for stem, wrong in wrong_answers(name).items():
            points = {grade_cells(lab, [wrong.code], isolation, seed).points for seed in SEEDS}
            if len(points) > 1:
                different[stem] = sorted(points)
    assert different == {}
