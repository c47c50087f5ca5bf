"""What the browser tests of the inspector share: an inspector as its reader uses it, and the notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import nbformat
from axe_playwright_python import sync_playwright as axe
from playwright.sync_api import Browser, Locator, Page, expect

AXE = Path(axe.__file__).with_name("axe.min.js")
SECONDS = 15
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}

# Serious for sure; what axe cannot decide by itself is not counted.
RUN_AXE = """async element => {
    const {violations} = await axe.run(element, {resultTypes: ['violations']});
    const serious = violations.filter(found => ['serious', 'critical'].includes(found.impact));
    return serious.flatMap(found => found.nodes.map(
        node => `${found.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""


@contextmanager
def watched_page(browser: Browser, **options: Any) -> Iterator[Page]:
    """A page with a context of its own; an uncaught JavaScript error in it is an error here.

    But for one of JupyterLab's own: it takes an element away twice when a notebook is written again on disk.
    """
    options = {"viewport": {"width": 1280, "height": 900}, **options}
    with closing(browser.new_context(**options)) as context:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(f"{error}\n{error.stack}"))
        yield page
        errors = [error for error in errors if not ("removeChild" in error and "jlab_core" in error)]
        assert not errors, errors


class Looking:
    """One inspector on a page."""

    def __init__(self, page: Page, element: Locator) -> None:
        self.page, self.element = page, element

    def find(self, selector: str) -> Locator:
        return self.element.locator(selector)

    def inside(self, selector: str, side: str = "main") -> Locator:
        """What is in the column of the trace, or of the one it is compared with."""
        return self.find(f".zl-column[data-side={side}]").locator(selector)

    def press(self, *keys: str) -> None:
        """Press keys while the inspector is focused."""
        self.element.evaluate("element => element.focus()")
        for key in keys:
            self.page.keyboard.press(key)

    def button(self, name: str) -> Locator:
        return self.element.get_by_role("button", name=name, exact=True)

    def click(self, name: str) -> None:
        self.button(name).click()

    def at(self, place: str, side: str = "main") -> None:
        """Wait until a step is on show, with its panel: "step 3 of 8, turn 1"."""
        expect(self.inside(".zl-place", side)).to_have_text(place)
        expect(self.inside(".zl-step", side)).to_have_attribute("aria-busy", "false")

    def says(self, text: str, side: str = "main") -> None:
        """Wait until the panel of the step says this."""
        expect(self.inside(".zl-step", side)).to_contain_text(text)

    def tells(self, text: str) -> None:
        """Wait until the tab below says this."""
        expect(self.inside(".zl-tab-body")).to_contain_text(text)

    def violations(self) -> list[str]:
        """What axe finds serious or critical."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        return self.element.evaluate(RUN_AXE)


def write_notebook(path: Path, cells: list[str]) -> Path:
    notebook = nbformat.v4.new_notebook(metadata=KERNEL)
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    nbformat.write(notebook, path)
    return path


def shots(otherwise: Path) -> Path:
    """Where pictures go: the folder of the test's artefacts."""
    return Path(os.environ.get("ZOOLAB_SHOTS") or otherwise)
