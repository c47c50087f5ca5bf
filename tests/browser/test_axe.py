"""axe finds nothing, serious or not, on any page that zoolab writes: in light, in dark, and on a phone."""

from __future__ import annotations

import pytest
from looking import AXE, shots, watched_page
from test_grading_report import FAILED, PASSED, kept, lab_of

from zoolab import Scripted, experiment, run, tool
from zoolab_grader.gradebook import ClassGrades, GradeTerms, Store
from zoolab_grader.report import write_report
from zoolab_study import Case

pytestmark = pytest.mark.browser

EVERYTHING = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations.flatMap(
    found => found.nodes.map(node => `${found.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`))"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@tool
def add(a: int, b: int = 0) -> int:
    """Add two integers."""
    return a + b


def a_run():
    replies = [[("add", {"a": "2"}), ("fly", {})], [("add", {"a": 2, "b": 2})], "It is 4."]
    return run("What is 2 + 2?", [add], Scripted(replies))


def a_report():
    cases = [Case(str(n), f"What is {n} + 1?", [add], "add") for n in range(6)]
    models = {"right": Scripted(lambda _: [("add", {"a": 1})]), "wrong": Scripted(lambda _: "It is 3.")}
    variants = {"plain": {}, "again": {"envelope": "plain"}}
    return experiment(cases, variants, models, progress=False).to_html()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The address of each page, by name."""
    folder = tmp_path_factory.mktemp("pages")
    a_run().to_html(folder / "story.html")
    a_run().to_html(folder / "inspector.html", interactive=True)
    (folder / "experiment.html").write_text(a_report(), encoding="utf-8")
    store = Store(folder / "book", b"a key")
    store.save(kept("a.py", PASSED, FAILED))
    terms = GradeTerms("l0", "version1", "the seed")
    graded = ClassGrades(lab_of(PASSED, FAILED), terms, (), store, given=frozenset(["a.py"]))
    found = {name: folder / f"{name}.html" for name in ("story", "inspector", "experiment")}
    found["class"] = write_report(graded)
    found["student"] = next((found["class"].parent / "students").iterdir())
    return found


@pytest.mark.parametrize(("scheme", "width"), [("light", 1366), ("dark", 1366), ("light", 400)])
@pytest.mark.parametrize("name", ["story", "inspector", "experiment", "class", "student"])
def test_axe_finds_nothing_at_all_on(name, scheme, width, browser, pages, tmp_path):
    size = {"width": width, "height": 768}
    with watched_page(browser, color_scheme=scheme, viewport=size, bypass_csp=True) as page:
        page.goto(pages[name].as_uri())
        page.evaluate(AXE.read_text(encoding="utf-8"))
        page.screenshot(path=shots(tmp_path) / f"axe-{name}-{scheme}-{width}.png")
        assert "\n".join(page.evaluate(EVERYTHING)) == ""
        assert page.evaluate(TOO_WIDE) <= 0
