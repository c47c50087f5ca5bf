"""Every notebook as a page, in light and in dark: nothing failed, nothing sticks out, nothing is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from looking import shots, watched_page
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from tools import notebooks

FOLDER = Path(__file__).parents[2] / "notebooks"
SOURCES = notebooks.sources(FOLDER)
WIDGET = "application/vnd.jupyter.widget-view+json"
WIDTHS = (800, 1280)

# What is wrong with a page, in words; for an image also whether it could be drawn.
LOOK = """() => {
    const root = document.documentElement, found = [], drawn = image => image.complete && image.naturalWidth;
    if (root.scrollWidth > root.clientWidth) found.push(`${root.scrollWidth - root.clientWidth} px too wide`);
    for (const image of document.images)
        if (!drawn(image)) found.push(`broken image ${image.outerHTML.slice(0, 80)}`);
    const pictures = [...document.images].map(image => image.src);
    if (new Set(pictures).size < pictures.length) found.push('the same picture twice');
    for (const cell of document.querySelectorAll('.jp-MarkdownCell'))
        if (!cell.textContent.trim()) found.push('empty text');
    if (document.querySelectorAll('h1').length !== 1) found.push('not one title');
    return found;
}"""
BRIGHTNESS = """element => {
    const parts = getComputedStyle(element).backgroundColor.match(/[\\d.]+/g).map(Number);
    return (parts[0] + parts[1] + parts[2]) / 3;
}"""

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Path, Future[nbformat.NotebookNode]]]:
    """The notebooks as Jupyter runs them, ahead of the pages that are looked at.

    They run in a copy, so that what their cells write stays out of the checkout.
    """
    folder = tmp_path_factory.mktemp("pages") / "notebooks"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    with ThreadPoolExecutor(1) as pool:
        yield {source: pool.submit(run, folder / source.with_suffix(".ipynb").name) for source in SOURCES}
        pool.shutdown(cancel_futures=True)


def run(path: Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": path.parent}}
    return NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()


def without_widgets(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The page of a reader who gets no scripts from elsewhere: what stands in for a widget shows."""
    for output in outputs(notebook):
        output.get("data", {}).pop(WIDGET, None)
    notebook.metadata.pop("widgets", None)
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def failures(notebook: nbformat.NotebookNode) -> list[str]:
    """Errors that no cell was meant to raise, what was complained about, and figures that were not drawn."""
    unmeant = [cell for cell in notebook.cells if "raises-exception" not in cell.metadata.get("tags", [])]
    made = [output for cell in unmeant for output in cell.get("outputs", [])]
    errors = [output.evalue for output in made if output.output_type == "error"]
    complaints = [output.text for output in made if output.get("name") == "stderr"]
    return errors + complaints + [text for text in map(shown_text, made) if text.startswith("<Figure ")]


def shown_text(output: nbformat.NotebookNode) -> str:
    """The text that a page shows of an output, where it shows nothing better."""
    data = output.get("data", {})
    return data.get("text/plain", "") if data.keys() <= {"text/plain"} else ""


def draw(notebook: nbformat.NotebookNode, theme: str, path: Path) -> Path:
    """Write the notebook as a page that asks for nothing."""
    exporter = HTMLExporter(theme=theme)
    for name in ("mathjax_url", "require_js_url", "jquery_url", "mermaid_js_url", "widget_renderer_url"):
        setattr(exporter, name, "")
    page, _ = exporter.from_notebook_node(notebook)
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_page_looks_right(source: Path, theme: str, ran, browser, tmp_path: Path):
    notebook = without_widgets(ran[source].result())
    assert failures(notebook) == []
    drawn = draw(notebook, theme, tmp_path / f"{source.stem}-{theme}.html")
    with watched_page(browser) as page:
        page.goto(drawn.as_uri(), wait_until="load")
        shown = []
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            shown += [f"at {width} px: {found}" for found in page.evaluate(LOOK)]
        picture = shots(tmp_path) / f"page-{source.stem}-{theme}.png"
        page.screenshot(path=picture, full_page=True)
        assert shown == []
        assert (page.locator("body").evaluate(BRIGHTNESS) < 128) == (theme == "dark")
        assert len(page.locator("main").inner_text()) > 1_000
    assert picture.stat().st_size > 20_000
