"""The inspector as one file, without a kernel, and the story without scripts."""

from __future__ import annotations

import pytest
from looking import Looking, watched_page
from playwright.sync_api import expect
from test_inspector_in_jupyterlab import HOSTILE

from zoolab import Scripted, Trace, as_tool, run, tool
from zoolab.tools import Tool

pytestmark = pytest.mark.browser

KINDS = ("define", "request", "tool_call", "validate", "execute", "result")


@tool
def add(a: int, b: int = 0) -> int:
    """Add two integers. Use it to find a sum."""
    return a + b


@pytest.fixture(scope="module")
def trace():
    replies = [[("add", {"a": "2"}), ("fly", {})], [("add", {"a": 2, "b": 2})], "It is 4."]
    return run("What is 2 + 2?", [add], Scripted(replies))


def hostile_trace() -> Trace:
    """A trace with scripts in every field; saved and loaded, as one from a stranger would be."""
    schema = {"type": "object", "properties": {HOSTILE: {"type": "string", "description": HOSTILE}}}
    calls = [(HOSTILE, "strange", f'{{"x": "{HOSTILE}"}}'), (HOSTILE, HOSTILE, HOSTILE)]
    message = {
        "role": "assistant",
        "content": HOSTILE,
        "tool_calls": [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in calls
        ],
    }

    def fails(**_arguments):
        raise RuntimeError(HOSTILE)

    trace = run(HOSTILE, [Tool("strange", HOSTILE, schema, fails)], Scripted([message, HOSTILE]))
    trace.meta["notes"] = {"1": HOSTILE}
    trace.meta["parent"] = HOSTILE
    return trace


class Watch:
    """What a page asks for, and what its policy forbids."""

    def __init__(self, page):
        self.asked, self.complaints = [], []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))

    def nothing_but(self, address):
        assert self.asked == [address]
        assert self.complaints == []


@pytest.fixture
def opened(page, tmp_path):
    def opened(html):
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        watch = Watch(page)
        page.goto(path.as_uri())
        return Looking(page, page.locator(".zl")), watch, path.as_uri()

    return opened


def test_an_address_leads_to_a_moment(opened, trace):
    shown, watch, address = opened(trace.to_html(interactive=True))
    shown.at("step 5 of 15, turn 1")
    shown.press("ArrowRight")
    shown.at("step 6 of 15, turn 1")
    assert shown.page.url == f"{address}#step-6"
    for fragment, place in (("step-2", "2"), ("step-15", "15"), ("step-16", "15"), ("<b>", "15")):
        shown.page.evaluate("fragment => { location.hash = fragment }", fragment)
        shown.at(f"step {place} of 15, turn {'3' if place == '15' else '1'}")
    shown.page.goto(f"{address}#step-3")
    shown.page.reload()
    shown.at("step 3 of 15, turn 1")
    assert watch.complaints == []


def test_a_page_without_a_kernel_is_stepped_by_keys(opened, trace):
    shown, watch, address = opened(trace.to_html(interactive=True))
    shown.at("step 5 of 15, turn 1")
    shown.page.keyboard.press("ArrowRight")
    shown.at("step 6 of 15, turn 1")
    shown.page.keyboard.press("End")
    shown.says("It is 4.")
    shown.page.keyboard.press("f")
    assert shown.find(".zl-workbench").is_hidden()
    assert shown.button("Edit or fork").count() == 0
    watch.nothing_but(address)


def test_keys_that_need_a_kernel_say_so_and_are_not_in_the_help(opened, trace):
    shown, _, _ = opened(trace.to_html(interactive=True))
    said = shown.find(".zl-status")
    for key, words in [("f", "Trace.load(path).inspect("), ("c", "inspect(trace, other)")]:
        shown.press(key)
        expect(said).to_contain_text(words)
        expect(said).to_be_in_viewport()
    shown.press("Home")
    expect(said).to_have_text("")
    shown.at("step 1 of 15, set-up")
    shown.press("?")
    keys = shown.find(".zl-help kbd").all_inner_texts()
    assert ("e" in keys, "f" in keys, "c" in keys) == (True, False, False)


def test_e_goes_to_each_error_once(opened, trace):
    shown, _, _ = opened(trace.to_html(interactive=True))
    expect(shown.find(".zl-totals")).to_contain_text("2 errors")
    expect(shown.button("2 errors")).to_be_visible()
    for place in ("step 6 of 15, turn 1", "step 5 of 15, turn 1"):
        shown.press("e")
        shown.at(place)


def test_a_sub_agents_card_names_its_steps(opened):
    inner = as_tool("helper", "Helps.", [add], Scripted([[("add", {"a": 1})], "It is 1."]))
    trace = run("Ask.", [inner], Scripted([[("helper", {"task": "1?"})], "1"]))
    shown, _, _ = opened(trace.to_html(interactive=True))
    shown.press(*["ArrowRight"] * 4)
    shown.says("trace.steps[4].record.trace.inspect() in a notebook")
    shown.find(".zl-card summary").click()
    expect(shown.find(".zl-steps li")).to_have_count(8)


def test_a_page_is_dark_to_its_edges(browser, trace, tmp_path):
    path = tmp_path / "page.html"
    trace.to_html(path, interactive=True)
    with watched_page(browser, color_scheme="dark") as page:
        page.goto(path.as_uri())
        colour = page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
        assert colour == "rgb(15, 17, 20)"


def test_a_narrow_page_does_not_scroll_sideways(opened, trace):
    shown, _, _ = opened(trace.to_html(interactive=True))
    shown.page.set_viewport_size({"width": 420, "height": 900})
    for key in ["Home", *["ArrowRight"] * 14]:
        shown.press(key)
        assert shown.element.evaluate("e => e.scrollWidth - e.clientWidth") == 0
    width = shown.page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 420


def test_a_hostile_page_does_nothing(opened):
    shown, watch, address = opened(hostile_trace().to_html(interactive=True))
    shown.press("Home")
    for _ in range(11):
        for tab in ("Full", "Raw wire", "Python", "Note", "Diff"):
            shown.element.get_by_role("tab", name=tab).first.click()
        shown.press("ArrowRight")
    shown.at("step 11 of 11, turn 2")
    assert shown.page.evaluate("() => window.caught") is None
    assert shown.find("img, script, iframe, a, style").count() == 0
    watch.nothing_but(address)


def test_a_hostile_story_does_nothing(opened):
    shown, watch, address = opened(hostile_trace().to_html())
    assert shown.page.evaluate("() => window.caught") is None
    assert shown.page.locator("img, script, iframe").count() == 0
    watch.nothing_but(address)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_any_kind_of_step(browser, trace, tmp_path, scheme):
    path = tmp_path / "page.html"
    trace.to_html(path, interactive=True)
    with watched_page(browser, color_scheme=scheme, bypass_csp=True) as page:
        page.goto(path.as_uri())
        shown = Looking(page, page.locator(".zl"))
        for kind in KINDS:
            shown.inside(f".zl-rail .zl-kind-{kind}").first.click()
            shown.says(f"just ran {kind}")
            assert shown.violations() == [], kind
        shown.press("?")
        assert shown.violations() == []
