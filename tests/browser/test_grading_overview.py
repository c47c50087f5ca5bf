"""The class's page in a browser: it sorts and filters, and asks nobody for anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from looking import shots, watched_page
from playwright.sync_api import Browser, Page

from zoolab_grader.gradebook import ClassGrades, GradeTerms, Row, Store
from zoolab_grader.labs import Case, Lab
from zoolab_grader.report import class_page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def never(_student: object, _chance: object) -> None:
    raise AssertionError


def names(page: Page) -> list[str]:
    return page.locator(".wide tbody tr:visible th").all_inner_texts()


def test_the_book_is_sorted_and_filtered(browser: Browser, tmp_path: Path):
    cases = tuple(Case(name, f"Asks {name}.", "", 5, True, never) for name in ("one", "two"))
    scores = {"a10.py": (5, 5), "a9.py": (5, 0), "<b>bo</b>.py": (0, 5)}
    rows = tuple(
        Row(name, sum(each), each, walks=frozenset(["two"] * (each[1] == 0))) for name, each in scores.items()
    )
    grades = ClassGrades(
        Lab("l0", "Sums", ("f",), cases=cases), GradeTerms("l0", "v", "s"), rows, Store(tmp_path, b"k")
    )
    (tmp_path / "index.html").write_text(class_page(grades), "utf-8")
    with watched_page(browser) as page:
        page.goto((tmp_path / "index.html").as_uri())
        heads = page.locator(".wide thead button")
        heads.nth(0).click()
        assert names(page) == ["<b>bo</b>.py", "a9.py", "a10.py"]
        heads.nth(0).press("Enter")
        assert names(page) == ["a10.py", "a9.py", "<b>bo</b>.py"]
        heads.nth(1).click()
        assert names(page)[-1] == "a10.py"
        page.get_by_label("Name contains").fill("BO")
        assert names(page) == ["<b>bo</b>.py"]
        page.get_by_label("Name contains").fill("")
        page.get_by_label("Show").select_option(label="who failed case 2")
        assert names(page) == ["a9.py"]
        assert page.get_by_role("status").inner_text() == "1 shown"
        assert page.locator(".wide a:visible").nth(1).get_attribute("href").endswith("#two")  # type: ignore[union-attr]
        page.screenshot(path=shots(tmp_path) / "overview.png", full_page=True)
