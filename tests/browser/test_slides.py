"""Slides in a real browser: one at a time, by keys, and no request leaves the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from looking import AXE, RUN_AXE, shots, watched_page
from playwright.sync_api import Browser, expect

from tools import slides

SOURCE = slides.FOLDER / "13-context-and-cost.py"
pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_slides_turn_by_keys_and_ask_for_nothing(browser: Browser, tmp_path: Path):
    path = tmp_path / "slides.html"
    path.write_text(slides.deck(SOURCE.stem, slides.read(SOURCE)), encoding="utf-8")
    with watched_page(browser) as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        expect(page.locator("section:visible")).to_have_count(1)
        expect(page.locator("h1")).to_be_visible()
        count = page.locator("section").count()
        for number in range(2, count + 1):
            page.keyboard.press("ArrowRight")
            expect(page.locator("section:visible")).to_have_attribute("aria-label", f"{number} of {count}")
            if page.locator("section:visible details").count():
                page.keyboard.press(" ")
                expect(page.locator("section:visible details[open]")).to_have_count(1)
        expect(page.get_by_role("heading", name="What to keep")).to_be_visible()
        page.keyboard.press("ArrowRight")
        expect(page.locator("section:visible")).to_have_count(1)
        assert page.locator("img").count() >= 1
        assert {url.partition(":")[0] for url in requests} <= {"file", "data"}
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert page.locator("html").evaluate(RUN_AXE) == []
        page.goto(f"{path.as_uri()}#6")
        expect(page.locator("section:visible")).to_have_attribute("aria-label", f"6 of {count}")
        page.screenshot(path=shots(tmp_path) / "slides.png")
