"""The course in the browser: built from the checkout, run by Pyodide, with no request to another host."""

from __future__ import annotations

import functools
import http.server
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from looking import AXE, RUN_AXE
from playwright.sync_api import Browser, Page, expect

from tools.site.lite import Downloads, build_lite
from tools.site.plan import PATHS, address_of

PROJECT = Path(__file__).resolve().parents[2]
#: What a reader waits for and downloads before the first cell has run.
MOST_BYTES, MOST_SECONDS = 40_000_000, 150
STARTED = ".jp-Notebook .jp-CodeCell .jp-InputPrompt"
# The frontend of JupyterLite keeps the notebook's model out of reach, so the page tells what has run.
ENDED = """() => {
    const cells = document.querySelectorAll('.jp-Notebook .jp-InputPrompt');
    const prompts = [...cells].map(cell => cell.textContent);
    return prompts.some(text => /\\d/.test(text)) && !prompts.some(text => text.includes('*'));
}"""
ERRORS = '[data-mime-type="application/vnd.jupyter.error"], [data-mime-type="application/vnd.jupyter.stderr"]'

pytestmark = [pytest.mark.browser, pytest.mark.slow]


#: Chromium 150 asks this host by itself, beside an empty page, too.
CHROMIUMS_OWN = "www.google.com:443"


@dataclass
class Served:
    """What two servers saw: the site's bytes, and what the browser asked of any other host."""

    address: str = ""
    proxy: str = ""
    pyodide: Path = Path()
    bytes: int = 0
    #: Those until the first cell of a notebook had run.
    bytes_at_first: int = 0
    outside: list[str] = field(default_factory=list)


@contextmanager
def serving(handler: Callable[..., http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, download: Any) -> Iterator[Served]:
    """The site without Pyodide's distribution, in a sub-folder, as plain files are served."""
    downloads = Downloads(PROJECT / ".site" / "downloads")
    downloads = download(downloads.found, downloads.fetched)
    root, seen = tmp_path_factory.mktemp("www"), Served()
    build_lite(root / "zoolab" / "lite", downloads, distribution="")
    seen.pyodide = root / "zoolab" / "lite" / "static" / "pyodide"

    class Site(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def copyfile(self, source: Any, outputfile: Any) -> None:
            data = source.read()
            seen.bytes += len(data)
            outputfile.write(data)

    class Outside(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != CHROMIUMS_OWN:
                seen.outside.append(self.path)
            self.send_error(502)

        do_CONNECT = do_POST = do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with serving(functools.partial(Site, directory=str(root))) as site, serving(Outside) as proxy:
        seen.address, seen.proxy = f"{site}/zoolab/lite", proxy
        yield seen


@pytest.fixture
def lite(browser: Browser, served: Served) -> Iterator[Page]:
    """A page whose browser has no cache; whatever goes to another host ends in a proxy that keeps a list."""
    served.bytes = 0
    with browser.new_context(proxy={"server": served.proxy, "bypass": "127.0.0.1"}) as context:
        page = context.new_page()
        page.set_default_timeout(MOST_SECONDS * 1000)
        yield page


def run_all(page: Page, served: Served, notebook: str) -> float:
    """Open a notebook and run its cells; the seconds until the first of them had run."""
    began = time.monotonic()
    page.goto(f"{served.address}/{address_of(notebook)}")
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).first.click()
    expect(page.locator(STARTED).first).to_have_text("[1]:", timeout=MOST_SECONDS * 1000)
    seconds = time.monotonic() - began
    served.bytes_at_first = served.bytes
    page.wait_for_function(ENDED)
    return seconds


def test_notebook_01_runs_and_its_inspector_is_stepped(
    lite: Page, served: Served, record_property: Callable[[str, object], None]
) -> None:
    said: list[str] = []
    lite.on("console", lambda message: said.append(message.text))
    seconds = run_all(lite, served, "notebooks/01-one-loop.ipynb")
    size = served.bytes_at_first
    record_property("seconds to the first cell", round(seconds, 1))
    record_property("bytes to the first cell", size)
    print(f"first cell after {seconds:.1f} s and {size / 1e6:.1f} MB")
    assert lite.locator(ERRORS).all_text_contents() == []
    assert size < MOST_BYTES
    assert not [line for line in said if line.startswith("Loading ")], "all is loaded while Pyodide starts"
    (openai,) = served.pyodide.glob("openai-*.whl")
    assert "openai/__pycache__/__init__.cpython-314.pyc" in ZipFile(openai).namelist()
    assert "json/decoder.pyc" in ZipFile(served.pyodide / "python_stdlib.zip").namelist()

    inspector = lite.locator(".zl").first
    inspector.scroll_into_view_if_needed()
    step = inspector.locator(".zl-step[data-seq]")
    before = step.get_attribute("data-seq")
    inspector.get_by_role("button", name="Step", exact=True).click()  # the walk goes on, in Pyodide
    expect(step).not_to_have_attribute("data-seq", str(before), timeout=60_000)
    lite.evaluate(AXE.read_text(encoding="utf-8"))
    assert inspector.evaluate(RUN_AXE) == []
    assert served.outside == []


@pytest.mark.parametrize("notebook", [path for path in PATHS if "01" not in path and "labs" not in path])
def test_the_other_notebooks_run_too(lite: Page, served: Served, notebook: str) -> None:
    run_all(lite, served, notebook)
    assert lite.locator(ERRORS).all_text_contents() == []
    assert served.outside == []


def test_a_check_says_that_it_ran_in_this_process(lite: Page, served: Served) -> None:
    run_all(lite, served, "labs/l1/l1.ipynb")
    expect(lite.get_by_text("Your code ran in this process").first).to_be_attached()
    assert served.outside == []
