"""A question that is answered with the mouse, and a notebook that is opened again on another day."""

from __future__ import annotations

import shutil

import pytest
from conftest import KERNEL_IS_READY
from looking import Looking, watched_page, write_notebook
from playwright.sync_api import expect
from test_inspector_in_jupyterlab import SAVE, SAVED

pytestmark = pytest.mark.browser

CELLS = [
    "from zoolab import Scripted, inspect, predict, run, tool, walk",
    'guess = predict("How many?", [2, 3])\nguess',
    'guess.reveal(3, because="It was counted.")',
    'run("Say hello.", [], Scripted(["Hello, whole."])).inspect()',
    'inspect(walk("Say bye.", [], Scripted(["Bye, stepped."])))',
]
ACTIVATE = "index => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = index; return 0 }"
RESTART = """() => {
    window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart();
    return 0;
}"""


def cell(page, index):
    return page.locator(".jp-NotebookPanel:visible .jp-CodeCell").nth(index)


def test_answering_with_the_mouse_and_going_on_with_the_keys(page, lab, tmp_path):
    lab.open(page, write_notebook(tmp_path / "question.ipynb", CELLS[:3]))
    page.evaluate(ACTIVATE, 0)
    for _ in range(2):
        page.keyboard.press("Shift+Enter")
    cell(page, 1).get_by_role("radio").nth(1).click()
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(cell(page, 2)).to_contain_text("You said so.")
    expect(cell(page, 1).get_by_role("radio").nth(1)).to_be_checked()


def test_what_was_saved_is_there_without_its_kernel(page, lab, browser, tmp_path):
    lab.open(page, write_notebook(tmp_path / "saved.ipynb", CELLS))
    cells = lab.run_all(page)
    assert [each["source"] for each in cells if "error" in each["types"]] == []
    stepped = Looking(page, cell(page, 4).locator(".zl"))
    stepped.click("Run to end")
    stepped.says("Bye, stepped.")
    for kept in (".zoolab-kept", ".zoolab-question"):
        expect(page.locator(kept).first).to_be_hidden()
    page.evaluate(SAVE)
    page.wait_for_function(SAVED)
    shutil.copy(lab.root / "saved.ipynb", tmp_path / "another-day.ipynb")
    with watched_page(browser) as later:
        lab.open(later, tmp_path / "another-day.ipynb")
        for index, text in ((1, "How many?"), (3, "Hello, whole."), (4, "Bye, stepped.")):
            expect(cell(later, index).get_by_text(text).locator("visible=true").first).to_be_visible()
        assert later.locator(".zl").count() == 0
        expect(later.get_by_text("Error displaying widget").locator("visible=true")).to_have_count(0)


def test_an_inspector_says_that_its_kernel_was_restarted(page, lab, tmp_path):
    lab.open(page, write_notebook(tmp_path / "restarted.ipynb", [CELLS[0], CELLS[4]]))
    lab.run_all(page)
    dead = Looking(page, cell(page, 1).locator(".zl"))
    dead.at("step 1 of 1, set-up")
    page.evaluate(RESTART)
    page.wait_for_timeout(500)
    page.wait_for_function(KERNEL_IS_READY)
    dead.click("Step")
    expect(dead.find(".zl-status")).to_contain_text("Run the cell again")
