"""Notebook 09 as a learner meets it: two forks in the inspector, and the second one finds the cause."""

from __future__ import annotations

from pathlib import Path

import pytest
from looking import Looking
from playwright.sync_api import expect

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "09-traces.ipynb"

pytestmark = pytest.mark.browser


def test_a_student_forks_twice_and_finds_the_cause(page, lab):
    lab.open(page, NOTEBOOK)
    cells = lab.run_all(page)
    assert [cell["source"] for cell in cells if "error" in cell["types"]] == []
    shown = Looking(page, page.locator(".jp-NotebookPanel:visible .jp-CodeCell .zl").first)
    shown.element.scroll_into_view_if_needed()
    expect.set_options(timeout=20_000)
    shown.at("step 9 of 12, turn 2")  # the first error

    shown.press("ArrowLeft")
    shown.at("step 8 of 12, turn 2")
    fork(shown, "arguments", '{"order_id": 31}')
    shown.press("ArrowRight", "ArrowRight")
    shown.says("mug")

    shown.click("Back")
    shown.at("step 8 of 12, turn 2")
    shown.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    shown.at("step 5 of 12, turn 1")
    fork(shown, "value", "[2, 5]")
    shown.press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    shown.says("lamp")
    assert shown.violations() == []


def fork(shown: Looking, field: str, text: str) -> None:
    """Change a field of the step on show, and run the rest again."""
    before = shown.find(".zl-totals").first.inner_text()
    shown.click("Edit or fork")
    shown.find(f"textarea[data-field={field}]").first.fill(text)
    shown.click("Re-run live")
    expect(shown.find(".zl-totals").first).not_to_have_text(before)
