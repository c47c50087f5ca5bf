"""The first notebook, as a learner meets it: opened in JupyterLab, every cell run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01-one-loop.ipynb"
STEPS = ("define", "request", "tool_call", "validate", "execute", "result")

pytestmark = pytest.mark.browser


def test_it_tells_the_story_of_the_six_steps(page, lab):
    lab.open(page, NOTEBOOK)
    cells = lab.run_all(page)
    assert [cell["source"] for cell in cells if "error" in cell["types"]] == []
    assert missing_steps(lab, page) == []


def missing_steps(lab, page, seconds=120) -> list[str]:
    """The steps that no output names; widgets may take a moment to draw."""
    deadline = time.monotonic() + seconds
    while True:
        shown = lab.outputs(page)
        missing = [step for step in STEPS if step not in shown]
        if not missing or time.monotonic() > deadline:
            return missing
        page.wait_for_timeout(200)
