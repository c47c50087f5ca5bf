"""The inspector as its reader meets it: in a real JupyterLab, driven by buttons and keys."""

from __future__ import annotations

import os

import nbformat
import pytest
from looking import SECONDS, Looking, shots, watched_page, write_notebook
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

# Each would set window.caught or ask a server that is not there.
HOSTILE = (
    "<script>window.caught=1</script><img src=http://evil.invalid/x onerror=window.caught=1>"
    "</script></textarea></style><svg onload=window.caught=1>javascript:window.caught=1"
)
CELLS = {
    "tools": '''
from zoolab import Limits, Scripted, Trace, inspect, run, tool, walk
from zoolab_connect.nested import as_tool
from zoolab.repair import RuleRepair
from zoolab.tools import Tool

@tool
def add(a: int, b: int = 0) -> int:
    """Add two integers. Use it to find a sum.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b

@tool(risk="high")
def wipe(disk: str = "x") -> str:
    """Wipe a disk, for good."""
    return f"wiped {disk}"

def answer(request):
    last = request.messages[-1]
    return [("add", {"a": 42, "b": 58})] if last["role"] == "user" else "It is " + last["content"]
''',
    "errors": """
replies = [[("add", {"a": "2"}), ("fly", {})], [("add", {"a": 2, "b": 2})], "It is 4."]
run("What is 2 + 2?", [add], Scripted(replies)).inspect()
""",
    "walk": 'inspect(walk("What is 1 + 2?", [add], Scripted([[("add", {"a": 1, "b": 2})], "Done."])))',
    "allow": 'inspect(walk("Wipe it.", [wipe], Scripted([[("wipe", {})], [("wipe", {})], "Done."])))',
    "deny": 'inspect(walk("Wipe it.", [wipe], Scripted([[("wipe", {})], "It stays."])))',
    "arriving": """
import time
from zoolab.models.assembly import assemble

def slowly(request):
    def chunks():
        for part in ('{"a": 42', ', "b": 5', '8}', ' ', ' '):
            function = {"name": "add", "arguments": part}
            yield {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": function}]}}]}
            time.sleep(1)
    return assemble(chunks())

inspect(walk("What is 42 + 58?", [add], slowly))
""",
    "fork": 'run("What is 42 + 58?", [add], Scripted(answer), envelope="plain").inspect()',
    "two": """
short = run("What is 1 + 2?", [add], Scripted(["3"]))
run("What is 1 + 2?", [add], Scripted([[("add", {"a": 1, "b": 2})], "3"])).inspect(short)
""",
    "others": f"""
models = {{
    "careful": Scripted([[("add", {{"a": 1, "b": 2}})]]),
    {HOSTILE!r}: Scripted([{HOSTILE!r}]),
    "down": lambda request: 1 / 0,
}}
run("What is 1 + 2?", [add], Scripted([[("add", {{"a": 1, "b": 2}})], "3"])).inspect(models=models)
""",
    "agent": """
helper = as_tool("helper", "Helps with sums.", [add], Scripted([[("add", {"a": 1, "b": 2})], "3"]))
run("Ask the team.", [helper], Scripted([[("helper", {"task": "What is 1 + 2?"})], "It is 3."])).inspect()
""",
    "hostile": f"""
bad = {HOSTILE!r}
parameters = {{"type": "object", "properties": {{bad: {{"type": "string", "description": bad}}}}}}
strange = Tool("strange", bad, parameters, lambda **arguments: bad)
calls = [("strange", '{{"x": "' + bad + '"}}'), (bad, bad)]
message = {{"role": "assistant", "content": bad, "tool_calls": [
    {{"id": bad, "type": "function", "function": {{"name": name, "arguments": arguments}}}}
    for name, arguments in calls]}}
hostile = run(bad, [strange], Scripted([message, bad]))
hostile.meta["notes"] = {{"1": bad}}
hostile.inspect()
""",
    "repaired": """
replies = [
    [("add", {"a": 42, "b": 58}), ("plus", {"a": 1, "b": 2})],
    [("add", "{'a': 1, 'b': 2,}")],
    "42 + 58 is 100, and 1 + 2 is 3.",
]
run("What is 42 + 58, and 1 + 2?", [add], Scripted(replies), repair=RuleRepair()).inspect()
""",
    "make": """
calls = [[("add", {"a": i, "b": "x" if i == 500 else 1})] for i in range(1000)]
long = run("Add, and add again.", [add], Scripted([*calls, "Done."]), limits=Limits(turns=2000))
""",
    "long": "long.inspect()",
}
NO_SIDEBAR = "() => { window.jupyterapp.shell.collapseLeft(); return 0 }"
SAVE = "() => { window.jupyterapp.commands.execute('docmanager:save'); return 0 }"
SAVED = "() => !window.jupyterapp.shell.currentWidget.context.model.dirty"
CELLS_OF_NOTEBOOK = "() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.type)"
THEME = """async name => {
    await window.jupyterapp.commands.execute('apputils:change-theme', {theme: name});
}"""
# Runs one cell, and waits until its inspector shows a step.
OPEN = """async index => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    const shown = () => notebook.widgets[index].node.querySelector('.zl-step[data-seq]');
    notebook.widgets[index].model.clearExecution();
    while (shown()) await new Promise(requestAnimationFrame);
    notebook.activeCellIndex = index;
    window.jupyterapp.commands.execute('notebook:run-cell');
    while (!shown()) await new Promise(requestAnimationFrame);
}"""


class Notebook:
    """The notebook with all inspectors, run once; each test has an inspector of its own."""

    def __init__(self, page, lab, path):
        self.page, self.lab, self.path = page, lab, path
        self.asked, self.sizes = [], []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("websocket", lambda socket: socket.on("framereceived", self.count))

    def count(self, frame):
        self.sizes.append(len(frame if isinstance(frame, bytes) else frame.encode()))

    def strangers(self):
        """Addresses other than the server's that were asked for something."""
        known = (self.lab.address, "data:", "blob:")
        return [url for url in self.asked if not url.startswith(known)]

    def cell(self, name):
        return self.page.locator(".jp-NotebookPanel:visible .jp-CodeCell").nth(list(CELLS).index(name))

    def looking(self, name):
        looking = Looking(self.page, self.cell(name).locator(".zl"))
        looking.element.scroll_into_view_if_needed()
        return looking


@pytest.fixture(scope="module")
def notebook(lab, browser, tmp_path_factory):
    expect.set_options(timeout=SECONDS * 1000)
    path = write_notebook(tmp_path_factory.mktemp("written") / "inspector.ipynb", list(CELLS.values()))
    with watched_page(browser, viewport={"width": 1280, "height": 1200}) as page:
        notebook = Notebook(page, lab, path)
        lab.open(page, path)
        page.evaluate(NO_SIDEBAR)
        cells = lab.run_all(page)
        assert [cell["source"] for cell in cells if "error" in cell["types"]] == []
        page.set_default_timeout(SECONDS * 1000)
        yield notebook


@pytest.fixture
def look(notebook, request):
    """Look at the inspector of a cell; its picture is kept as an artefact."""
    looked = []

    def look(name):
        looked.append(notebook.looking(name))
        return looked[-1]

    yield look
    if folder := os.environ.get("ZOOLAB_SHOTS"):
        for looking in looked:
            looking.element.screenshot(path=f"{folder}/{request.node.name}.png")


def test_a_trace_opens_on_its_first_error_and_the_keys_move(notebook, look):
    shown, cells = look("errors"), notebook.page.evaluate(CELLS_OF_NOTEBOOK)
    shown.at("step 5 of 15, turn 1")
    shown.says("expected")
    shown.press("ArrowRight")
    shown.at("step 6 of 15, turn 1")
    shown.press("Shift+ArrowRight", "ArrowLeft")
    shown.at("step 8 of 15, turn 1")
    shown.press("Home")
    shown.at("step 1 of 15, set-up")
    shown.says("runs next request")
    shown.press("e", "e")
    shown.at("step 6 of 15, turn 1")
    shown.press("r")
    expect(shown.element.get_by_role("tab", name="Raw wire").first).to_have_attribute("aria-selected", "true")
    shown.press("d", "End")
    shown.at("step 15 of 15, turn 3")
    shown.tells("messages[] 6 -> 7")
    assert notebook.page.evaluate(CELLS_OF_NOTEBOOK) == cells, "JupyterLab took a key for its own"


def test_buttons_slider_and_ledger_move_too(look):
    shown = look("errors")
    shown.click("First step")
    shown.click("Next step")
    shown.at("step 2 of 15, turn 1")
    shown.inside(".zl-rail [role=option]").nth(3).click()
    shown.at("step 4 of 15, turn 1")
    shown.inside(".zl-slider").focus()
    shown.page.keyboard.press("ArrowRight")
    shown.at("step 5 of 15, turn 1")
    shown.inside(".zl-row").nth(2).click()
    shown.at("step 7 of 15, turn 1")
    shown.says("goes back to the model")
    expect(shown.inside(".zl-new-row")).to_have_count(1)


def test_help_keeps_the_focus_and_escape_closes_it(look):
    shown = look("errors")
    shown.press("?")
    expect(shown.find("dialog")).to_be_visible()
    shown.page.keyboard.press("Tab")
    assert shown.find("dialog").evaluate("dialog => dialog.contains(document.activeElement)")
    shown.page.keyboard.press("Escape")
    expect(shown.find("dialog")).to_be_hidden()


def test_arrow_keys_pick_a_tab_and_a_text_keeps_its_keys(look):
    shown = look("errors")
    shown.press("Home", "d")
    shown.element.get_by_role("tab", name="Diff").focus()
    shown.page.keyboard.press("End")
    note = shown.inside(".zl-tab-body textarea")
    note.fill("")
    note.press_sequentially("drefc?")
    note.press("ArrowLeft")
    shown.at("step 1 of 15, set-up")
    shown.click("Save the note")
    expect(shown.inside(".zl-rail .zl-is-noted")).to_have_count(1)
    expect(note).to_have_value("drefc?")
    shown.press("d")


def test_an_argument_is_edited_and_the_walk_goes_on(look):
    shown = look("walk")
    shown.at("step 1 of 1, set-up")
    shown.click("Step")
    shown.at("step 2 of 2, turn 1")
    shown.find(".zl-select").select_option(label="a validate step")
    shown.click("Run until")
    shown.at("step 4 of 4, turn 1")
    shown.press("f")
    field = shown.find("textarea[data-field=arguments]")
    field.fill('{"a": 40, "b"')
    shown.click("One step")
    expect(shown.find(".zl-said-wrong")).to_contain_text("Not JSON yet")
    expect(field).to_have_value('{"a": 40, "b"')
    field.fill('{"a": 40, "b": 2}')
    shown.click("One step")
    shown.at("step 5 of 5, turn 1")
    shown.says("returned 42")
    shown.click("Run to end")
    shown.at("step 8 of 8, turn 2")
    expect(shown.find(".zl-live")).to_be_hidden()
    shown.press("ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    shown.says("Answered by hand")


def test_a_text_that_python_refuses_is_not_lost(look):
    shown = look("walk")
    shown.press("Home", "f")
    field = shown.find("textarea[data-field='tools/add/parameters']")
    field.fill('{"type": 5}')
    shown.click("Look")
    expect(shown.element.get_by_role("alert")).to_contain_text("That did not work")
    expect(field).to_have_value('{"type": 5}')
    shown.click("Undo my edits")
    shown.press("f")


def test_a_permission_waits_and_is_given(look):
    shown = look("allow")
    shown.click("Run to end")
    shown.at("step 5 of 5, turn 1")
    expect(shown.find(".zl-asking")).to_contain_text("May wipe run?")
    expect(shown.button("Step")).to_be_hidden()
    shown.click("Allow for this session")
    shown.says("wiped x")
    shown.click("Run to end")
    shown.says("the answer")
    shown.at("step 14 of 14, turn 3")


def test_a_permission_is_denied(look):
    shown = look("deny")
    shown.click("Run to end")
    shown.click("Deny")
    shown.says("permission_denied")
    shown.click("Run to end")
    shown.says("It stays.")
    expect(shown.inside(".zl-rail .zl-is-error")).not_to_have_count(0)


def test_the_arguments_of_a_call_fill_in_while_they_arrive(look):
    shown = look("arriving")
    shown.click("Step")
    shown.at("step 2 of 2, turn 1")
    shown.click("Step")
    expect(shown.find(".zl-arriving")).to_contain_text("the arguments of add, as they arrive")
    expect(shown.find(".zl-arriving pre")).to_have_text('{"a": 42, "b": 5')
    expect(shown.find(".zl-state")).to_have_text("running…")
    shown.at("step 3 of 3, turn 1")
    expect(shown.find(".zl-arriving")).to_be_hidden()
    shown.says("58}")


def test_three_ways_to_fork_and_the_parent_stays(look):
    shown = look("fork")
    edit_the_value(shown, "7")
    shown.click("Look")
    shown.at("step 5 of 5, turn 1")
    expect(shown.find(".zl-totals")).to_contain_text("a fork of")
    shown.click("Back")
    shown.at("step 5 of 8, turn 1")
    edit_the_value(shown, "7")
    shown.click("Replay")
    expect(shown.element.get_by_role("alert")).to_contain_text("the trace does not contain this request")
    expect(shown.element.get_by_role("alert")).to_contain_text('"content": "7"')
    shown.at("step 5 of 7, turn 1")
    shown.press("f")
    expect(shown.find("textarea[data-field=value]")).to_be_focused()
    expect(shown.find("textarea[data-field=value]")).to_have_value("7")
    shown.press("f")
    shown.click("Back")
    edit_the_value(shown, "7")
    expect(shown.find(".zl-fork-live")).to_contain_text("Free.")
    shown.click("Re-run live")
    shown.at("step 5 of 8, turn 1", side="other")
    shown.press("End")
    shown.says("It is 7")
    shown.says("It is 100", side="other")
    shown.says("stale", side="other")
    shown.click("Back")
    shown.at("step 5 of 8, turn 1")
    shown.press("End")
    shown.says("It is 100")


def edit_the_value(shown, text):
    """Go to the step in which the tool ran, and edit what it gave."""
    shown.press("Home", *["ArrowRight"] * 4)
    shown.says("returned 100")
    shown.press("f")
    shown.find("textarea[data-field=value]").fill(text)


def test_others_are_asked_once_the_button_says_how_many_requests_that_is(notebook, look):
    shown = look("others")
    shown.press("Home")
    shown.at("step 1 of 8, set-up")
    expect(shown.button("Ask others")).to_be_hidden()
    shown.press("ArrowRight")
    shown.at("step 2 of 8, turn 1")
    shown.click("Ask others")
    form = shown.find(".zl-others")
    expect(form).to_contain_text("nothing is run")
    expect(shown.button("Send 15 requests")).to_be_visible()
    for box in form.get_by_role("checkbox").all():
        box.uncheck()
    expect(shown.button("Choose a model")).to_have_attribute("aria-disabled", "true")
    for box in form.get_by_role("checkbox").all():
        box.check()
    form.get_by_role("spinbutton").fill("2")
    shown.click("Send 6 requests")
    shown.says("Others asked: nothing was run. The trace: add")
    shown.says("add, equal arguments")
    shown.says("ZeroDivisionError")
    expect(shown.inside(".zl-step table tbody tr")).to_have_count(3)
    expect(form).to_be_hidden()
    assert shown.page.evaluate("() => window.caught") is None
    assert notebook.strangers() == []
    shown.click("Ask others")
    shown.page.keyboard.press("Escape")
    expect(form).to_be_hidden()
    expect(shown.button("Ask others")).to_be_focused()


def test_two_traces_side_by_side_move_together(look):
    shown = look("fork")
    edit_the_value(shown, "8")
    shown.click("Re-run live")
    expect(shown.find(".zl-comparing")).to_be_visible()
    shown.press("Home", "ArrowRight")
    shown.at("step 2 of 8, turn 1")
    shown.at("step 2 of 8, turn 1", side="other")
    shown.click("First divergence")
    shown.at("step 5 of 8, turn 1", side="other")
    shown.click("Sliders linked")
    shown.press("ArrowRight")
    shown.at("step 6 of 8, turn 1")
    shown.at("step 5 of 8, turn 1", side="other")
    shown.click("Sliders linked")
    shown.press("c")
    expect(shown.find(".zl-column[data-side=other]")).to_be_hidden()
    shown.press("c")
    expect(shown.find(".zl-column[data-side=other]")).to_be_visible()
    shown.click("Back")


def test_a_step_that_the_other_trace_has_not_is_said_to_be_missing(look):
    shown = look("two")
    expect(shown.find(".zl-comparing")).to_contain_text("5 more steps")
    shown.press("Home", *["ArrowRight"] * 4)
    shown.says("execute")
    shown.says("No such step in this trace.", side="other")
    shown.press("Home")
    shown.says("1 tool: add", side="other")


def test_the_trace_of_a_sub_agent_opens(look):
    shown = look("agent")
    shown.press("Home", *["ArrowRight"] * 4)
    shown.click("Open its trace")
    expect(shown.find(".zl-title")).to_have_text("What is 1 + 2?")
    shown.at("step 1 of 8, set-up")
    shown.click("Back")
    expect(shown.find(".zl-title")).to_have_text("Ask the team.")


def test_a_hostile_trace_does_nothing(notebook, look):
    shown = look("hostile")
    shown.press("Home")
    total = int(shown.inside(".zl-rail [role=option]").first.get_attribute("aria-setsize"))
    for step in range(total):
        expect(shown.inside(".zl-step[data-seq]")).to_have_attribute("data-seq", str(step))
        for tab in ("Full", "Raw wire", "Python", "Note", "Diff"):
            shown.element.get_by_role("tab", name=tab).click()
        shown.click("Edit or fork")
        shown.click("Edit or fork")
        shown.press("ArrowRight")
    assert notebook.page.evaluate("() => window.caught") is None
    assert shown.find("img, script, iframe, [style*=url], a, svg[onload]").count() == 0
    assert notebook.strangers() == []


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_axe_finds_nothing_serious_in(theme, notebook, look):
    notebook.page.evaluate(THEME, theme)
    try:
        for name in ("errors", "deny", "fork", "repaired"):
            assert look(name).violations() == [], name
    finally:
        notebook.page.evaluate(THEME, "JupyterLab Light")


def test_five_thousand_steps_open_and_move_with_few_bytes_and_few_elements(notebook, look):
    notebook.sizes.clear()
    notebook.page.evaluate(OPEN, list(CELLS).index("long"))
    assert sum(notebook.sizes) < 300_000
    shown = look("long")
    shown.press("Home")
    shown.at("step 1 of 5002, set-up")
    for step in range(1, 41):
        shown.press("ArrowRight")
        expect(shown.inside(".zl-step[data-seq]")).to_have_attribute("data-seq", str(step))
    assert sum(notebook.sizes) < 3_000_000
    shown.press("End")
    shown.at("step 5002 of 5002, turn 1001")
    assert shown.find("[role=option]").count() < 200


def test_the_picture_of_the_readme(look, tmp_path):
    """With `ZOOLAB_SHOTS=folder` the picture stays there; `notebooks/inspector.png` is a copy of it."""
    shown = look("repaired")
    shown.press("End", *["ArrowLeft"] * 4)
    shown.says("what the repair changed")
    shown.inside(".zl-body").evaluate("body => { body.style.height = '690px' }")
    path = shots(tmp_path) / "inspector.png"
    shown.element.screenshot(path=path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 20_000


def test_a_saved_notebook_tells_the_story_where_it_is_not_trusted(notebook, lab, browser, tmp_path):
    notebook.page.evaluate(SAVE)
    notebook.page.wait_for_function(SAVED)
    saved = nbformat.read(lab.root / notebook.path.name, 4)
    saved.cells.append(nbformat.v4.new_markdown_cell("A stranger wrote this, so that no signature fits."))
    nbformat.write(saved, tmp_path / "stranger.ipynb")
    with watched_page(browser) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        lab.open(page, tmp_path / "stranger.ipynb")
        story = page.locator(".jp-NotebookPanel:visible .jp-CodeCell").nth(list(CELLS).index("errors"))
        expect(story).to_contain_text("It is 4.")
        assert page.locator(".zl").count() == 0
        for kind in ("define", "request", "tool_call", "validate", "execute", "result"):
            expect(story).to_contain_text(kind)
        assert page.evaluate("() => window.caught") is None
        assert [url for url in asked if not url.startswith((lab.address, "data:", "blob:"))] == []
