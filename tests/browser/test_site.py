"""The web site: built from the checkout, with no link that leads nowhere and no request to another host."""

from __future__ import annotations

import functools
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from looking import AXE, RUN_AXE
from playwright.sync_api import Browser, Page, expect

PROJECT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, with notebook 01 as the only one that ran."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "tools.site", str(folder), "--run", "01-*", "--no-lite"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


class Source(HTMLParser):
    """The links, the files that are loaded, the anchors and the pictures of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = {""}
        self.pictures: list[dict[str, str | None]] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to."""
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if tag in ("script", "img", "iframe", "source", "video") and found.get("src"):
            self.loaded.append(str(found["src"]))
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(str(found["href"]))
        if tag == "img":
            self.pictures.append(found)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Source]:
    return {path: Source(path) for path in sorted(site.rglob("*.html"))}


def test_links_and_anchors_lead_somewhere(site: Path, pages: dict[Path, Source]) -> None:
    dead = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            address = urlsplit(link)
            if address.scheme or link.startswith("//"):
                continue
            there = (path.parent / unquote(address.path)).resolve() if address.path else path
            there = there / "index.html" if there.is_dir() else there
            known = pages[there].anchors if there in pages and there.parent.name != "inspectors" else None
            if not there.is_file() or (known is not None and unquote(address.fragment) not in known):
                dead.append(f"{path.relative_to(site)} -> {link}")
    assert not dead


def test_nothing_is_loaded_from_another_host(site: Path, pages: dict[Path, Source]) -> None:
    outside = {link for page in pages.values() for link in page.loaded if re.match(r"(https?:)?//", link)}
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert not outside
    assert not re.search(r"url\(['\"]?(https?:)?//|@import ['\"](https?:)?//", styles)


def test_every_picture_has_a_text(pages: dict[Path, Source]) -> None:
    silent = [
        (path.name, each) for path, page in pages.items() for each in page.pictures if "alt" not in each
    ]
    assert not silent


def test_the_site_has_every_notebook_lab_and_room(site: Path) -> None:
    notebooks = {path.stem for path in (PROJECT / "notebooks").glob("[0-9]*.py")}
    labs = {path.parent.name for path in (PROJECT / "labs").glob("*/master.py")}
    assert {path.stem for path in (site / "notebooks").glob("[0-9]*.html")} == notebooks
    assert {path.parent.name for path in (site / "labs").glob("*/README.html")} == labs
    assert 'id="zoolab.walk"' in (site / "api" / "zoolab.html").read_text("utf-8")


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served, in a sub-folder, as a project's pages often are."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    (site.parent / "www").mkdir()
    (site.parent / "www" / "zoolab").symlink_to(site)
    handler = functools.partial(Quiet, directory=str(site.parent / "www"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/zoolab"
    server.shutdown()
    server.server_close()


def test_the_inspector_is_stepped_on_the_site(address: str, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/notebooks/01-one-loop.html")
    frame = page.frame_locator("iframe.inspector").first
    place = frame.locator(".zl-place").first
    page.locator("iframe.inspector").first.scroll_into_view_if_needed()
    expect(place).to_have_text(re.compile("step 1 of"))
    frame.locator(".zl-rail").first.click(position={"x": 2, "y": 2})
    page.keyboard.press("ArrowRight")
    expect(place).to_have_text(re.compile("step 2 of"))
    ours = (address.rpartition("/")[0], "data:", "blob:")
    assert [url for url in asked if not url.startswith(ours)] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_the_site(address: str, browser: Browser, scheme: str) -> None:
    found: list[str] = []
    for name in ("index", "notebooks/01-one-loop", "labs/l1/README", "api/zoolab"):
        with browser.new_context(color_scheme=scheme) as context:
            page = context.new_page()
            page.goto(f"{address}/{name}.html")
            page.evaluate(AXE.read_text(encoding="utf-8"))
            found += [f"{name}: {each}" for each in page.locator("body").evaluate(RUN_AXE)]
    assert found == []
