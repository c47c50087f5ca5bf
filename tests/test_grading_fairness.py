"""The same mistake costs the same, whatever is drawn: every wrong answer has one number of points.

ZOOLAB_SEEDS=10 grades every wrong answer with ten seeds, which takes more than an hour. Without it, some
answers of each lab are graded with three seeds; `test_labs.py` grades all of them with two.
"""

from __future__ import annotations

import os

import pytest

from tools.wrong_answers import wrong_answers
from zoolab.grading import grade_cells, lab_names, load_lab
from zoolab.grading.isolation import shut_in

SEEDS = "abcdefghij"[: int(os.environ.get("ZOOLAB_SEEDS", "3"))]
EACH = 1 if "ZOOLAB_SEEDS" in os.environ else 12


@pytest.mark.slow
@pytest.mark.parametrize("name", lab_names())
def test_the_draw_decides_nothing(name: str):
    lab, different = load_lab(name), dict[str, list[float]]()
    with shut_in(lab) as isolation:
        for stem, wrong in list(wrong_answers(name).items())[::EACH]:
            points = {grade_cells(lab, [wrong.code], isolation, seed).points for seed in SEEDS}
            if len(points) > 1:
                different[stem] = sorted(points)
    assert different == {}
