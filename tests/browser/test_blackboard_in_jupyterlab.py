"""What a course shows on a screen of 1366 x 768: all in sight, all by keys, and all in words."""

from __future__ import annotations

import pytest
from looking import AXE, SECONDS, Looking, shots, watched_page, write_notebook
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SCREEN = {"width": 1366, "height": 768}
CELLS = {
    "tools": '''
from zoolab import Scripted, inspect, predict, run, tool, walk
from zoolab.plots import Picture, SequenceDisplay, StepTimelineDisplay

@tool
def add(a: int, b: int = 0) -> int:
    """Add two integers."""
    return a + b

@tool(risk="high")
def wipe(disk: str = "x") -> str:
    """Wipe a disk, for good."""
    return f"wiped {disk}"

def answer(request):
    last = request.messages[-1]
    return [("add", {"a": 42, "b": 58})] if last["role"] == "user" else "It is " + last["content"]
''',
    "trace": """
replies = [[("add", {"a": "2"}), ("fly", {})], [("add", {"a": 2, "b": 2})], "It is 4."]
trace = run("What is 2 + 2?", [add], Scripted(replies))
trace
""",
    "errors": "trace.inspect()",
    "walk": 'inspect(walk("What is 1 + 2?", [add], Scripted([[("add", {"a": 1, "b": 2})], "Done."])))',
    "allow": 'inspect(walk("Wipe it.", [wipe], Scripted([[("wipe", {})], "Done."])))',
    "fork": 'run("What is 42 + 58?", [add], Scripted(answer), envelope="plain").inspect()',
    "question": 'guess = predict("How many calls?", ["none", "one", "two"])\nguess',
    "reveal": 'guess.reveal("two", because="There is one a turn.")',
    "sequence": "SequenceDisplay.from_trace(trace)",
    "timeline": 'StepTimelineDisplay.from_trace(trace, by="seconds")',
    "wires": "trace.show_wires()",
}
EVERYTHING = """async element => (await axe.run(element, {resultTypes: ['violations']})).violations.flatMap(
    found => found.nodes.map(node => `${found.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`))"""
# What of an element is in sight of the notebook that scrolls it.
IN_SIGHT = """element => {
    const box = element.getBoundingClientRect();
    const frame = element.closest('.jp-WindowedPanel-outer').getBoundingClientRect();
    return Math.min(box.bottom, frame.bottom) - Math.max(box.top, frame.top) - box.height > -1;
}"""


class Board:
    """A notebook that was run, on a small screen."""

    def __init__(self, page):
        self.page = page

    def cell(self, name):
        return self.page.locator(".jp-NotebookPanel:visible .jp-CodeCell").nth(list(CELLS).index(name))

    def output(self, name):
        return self.cell(name).locator(".jp-Cell-outputArea")

    def looking(self, name):
        looking = Looking(self.page, self.cell(name).locator(".zl"))
        looking.element.evaluate("element => element.scrollIntoView({block: 'start', behavior: 'instant'})")
        return looking

    def violations(self, element):
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        return element.evaluate(EVERYTHING)


@pytest.fixture(scope="module")
def board(lab, browser, tmp_path_factory):
    expect.set_options(timeout=SECONDS * 1000)
    path = write_notebook(tmp_path_factory.mktemp("written") / "board.ipynb", list(CELLS.values()))
    with watched_page(browser, viewport=SCREEN) as page:
        lab.open(page, path)
        cells = lab.run_all(page)
        assert [cell["source"] for cell in cells if "error" in cell["types"]] == []
        page.set_default_timeout(SECONDS * 1000)
        yield Board(page)


def in_sight(shown):
    return [shown.inside(part).evaluate(IN_SIGHT) for part in (".zl-rail", ".zl-step", ".zl-tab-body")]


@pytest.mark.parametrize("name", ["errors", "walk"])
def test_rail_step_and_tabs_are_on_one_screen(name, board):
    shown = board.looking(name)
    shown.press("Home")
    assert in_sight(shown) == [True, True, True]
    for part, least in ((".zl-step", 250), (".zl-tab-body", 250)):
        box = shown.inside(part).bounding_box()
        assert box["height"] >= least, (part, box)
        assert box["width"] >= 280, (part, box)


def test_d_and_r_bring_their_tab_into_sight(board):
    shown = board.looking("errors")
    board.page.set_viewport_size({"width": 700, "height": 500})  # too little room for all
    try:
        for key, tab in (("r", "Raw wire"), ("d", "Diff")):
            shown.inside(".zl-rail").evaluate("element => element.scrollIntoView({behavior: 'instant'})")
            assert not shown.inside(".zl-tab-body").evaluate(IN_SIGHT)
            shown.press(key)
            expect(shown.inside(f"[role=tab]:has-text('{tab}')")).to_have_attribute("aria-selected", "true")
            assert shown.inside(".zl-tab-body").evaluate(IN_SIGHT)
    finally:
        board.page.set_viewport_size(SCREEN)


def test_the_plain_output_of_a_trace_is_short_and_unfolds(board):
    output = board.output("trace")
    assert output.bounding_box()["height"] <= 600
    expect(output.get_by_text("It is 4.").first).to_be_visible()
    expect(output.locator("li.step").first).to_be_hidden()
    output.get_by_text("turn by turn").click()
    expect(output.locator("li.step").first).to_be_visible()
    assert output.bounding_box()["height"] > 600
    output.get_by_text("turn by turn").click()


def focused(shown):
    return shown.element.evaluate("element => element.contains(document.activeElement)")


def fork(shown, verb, text=None):
    shown.press("Home", *["ArrowRight"] * 4)
    shown.says("returned 100")
    shown.press("f")
    if text is not None:
        shown.find("textarea[data-field=value]").fill(text)
    shown.button(verb).focus()
    shown.page.keyboard.press("Enter")


def test_the_focus_stays_after_a_fork_and_the_forked_steps_stand_side_by_side(board, tmp_path):
    shown = board.looking("fork")
    fork(shown, "Replay")
    expect(shown.find(".zl-totals")).to_contain_text(": step 5, execute add, as it was")
    assert focused(shown)
    shown.page.keyboard.press("ArrowRight")
    shown.at("step 6 of 8, turn 1")
    shown.button("Back").focus()
    shown.page.keyboard.press("Enter")
    expect(shown.button("Back")).to_be_hidden()
    assert focused(shown)
    fork(shown, "Re-run live", "7")
    expect(shown.find(".zl-totals")).to_contain_text(": step 5, execute add, was edited")
    assert focused(shown)
    shown.at("step 5 of 8, turn 1")
    shown.at("step 5 of 8, turn 1", side="other")
    assert in_sight(shown) == [True, True, True]
    assert board.violations(board.output("fork")) == []
    shown.element.screenshot(path=shots(tmp_path) / "board-compared.png")
    shown.click("Back")


def test_another_tool_in_the_forked_step_still_stands_beside_the_old_one(board):
    shown = board.looking("errors")
    shown.press("Home", "ArrowRight", "ArrowRight")
    shown.press("f")
    shown.find("textarea[data-field$=name]").first.fill("plus")
    shown.click("Look")
    shown.at("step 3 of 3, turn 1")
    shown.at("step 3 of 15, turn 1", side="other")
    shown.click("Back")


def test_a_walk_has_its_title_from_the_start_and_the_arrow_keys_step_it(board):
    shown = board.looking("walk")
    expect(shown.find(".zl-title")).to_have_text("What is 1 + 2?")
    shown.press("End", "ArrowRight")
    shown.at("step 2 of 2, turn 1")
    shown.press("ArrowRight")
    shown.at("step 3 of 3, turn 1")
    shown.press("ArrowLeft", "ArrowRight")
    shown.at("step 3 of 3, turn 1")
    expect(shown.find(".zl-title")).to_have_text("What is 1 + 2?")


def test_a_step_that_waits_for_permission_did_not_just_run(board):
    shown = board.looking("allow")
    shown.click("Run to end")
    expect(shown.find(".zl-asking")).to_be_visible()
    expect(shown.inside(".zl-kicker")).to_contain_text("waits for permission: execute")
    assert focused(shown)
    shown.press("ArrowRight")
    expect(shown.find(".zl-status")).to_contain_text("allow or deny")
    shown.press("ArrowLeft")
    expect(shown.inside(".zl-kicker")).to_contain_text("just ran")
    shown.press("End")
    shown.click("Allow once")
    shown.says("wiped x")
    expect(shown.inside(".zl-kicker")).to_contain_text("just ran")


def test_a_question_is_one_labelled_group_and_the_arrow_keys_choose(board):
    group = board.output("question").get_by_role("group", name="Predict first: How many calls?")
    radios = group.get_by_role("radio")
    assert radios.count() == 3
    assert len({radio.get_attribute("name") for radio in radios.all()}) == 1
    radios.first.focus()
    board.page.keyboard.press("ArrowDown")
    expect(radios.nth(1)).to_be_checked()
    board.page.keyboard.press("ArrowDown")
    expect(radios.nth(2)).to_be_checked()
    expect(radios.nth(2)).to_be_focused()
    board.page.wait_for_timeout(
        1000
    )  # ipywidgets holds the second change back until the kernel has the first
    board.page.keyboard.press("Shift+Enter")
    board.page.keyboard.press("Shift+Enter")
    expect(board.cell("reveal")).to_contain_text("You said so.")


def test_a_plot_is_shown_once_and_says_what_it_shows(board):
    for name, words in (("sequence", "User to App: What is 2 + 2?"), ("timeline", "by seconds")):
        picture = board.output(name).locator("img")
        expect(picture).to_have_count(1)
        assert words in picture.get_attribute("alt")


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_axe_finds_nothing_at_all_in_what_a_notebook_shows(theme, board, tmp_path):
    change = (
        "name => { window.jupyterapp.commands.execute('apputils:change-theme', {theme: name}); return 0 }"
    )
    board.page.evaluate(change, theme)
    try:
        board.page.wait_for_timeout(700)
        found = {name: board.violations(board.output(name)) for name in list(CELLS)[1:]}
        assert "\n".join(f"{name}: {each}" for name, every in found.items() for each in every) == ""
    finally:
        for name in ("errors", "trace", "question", "wires"):
            board.output(name).evaluate("element => element.scrollIntoView({behavior: 'instant'})")
            board.page.screenshot(path=shots(tmp_path) / f"board-{name}-{theme.split()[-1].lower()}.png")
        board.page.evaluate(change, "JupyterLab Light")
