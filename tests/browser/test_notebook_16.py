"""Notebook 16 as a learner meets it: two agents side by side in the inspector."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest
from looking import Looking, shots
from playwright.sync_api import expect

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "16-somebody-elses-agent.ipynb"

pytestmark = pytest.mark.browser


def test_two_agents_are_compared(page, lab, tmp_path):
    copytree(NOTEBOOK.parent / "traffic", lab.root / "traffic")
    lab.open(page, NOTEBOOK)
    cells = lab.run_all(page)
    assert [cell["source"] for cell in cells if "error" in cell["types"]] == []
    expect.set_options(timeout=20_000)
    shown = Looking(page, page.locator(".jp-NotebookPanel:visible .jp-CodeCell .zl").last)
    shown.element.scroll_into_view_if_needed()
    expect(shown.element).to_contain_text("The other trace, smolagents")
    shown.press("ArrowRight", "ArrowRight")
    page.screenshot(path=shots(tmp_path) / "notebook-16.png")
    assert shown.violations() == []
    report = page.locator(".jp-NotebookPanel:visible .jp-OutputArea-output", has_text="did not go back").last
    report.scroll_into_view_if_needed()
    page.screenshot(path=shots(tmp_path) / "notebook-16-report.png")
    assert Looking(page, report).violations() == []
