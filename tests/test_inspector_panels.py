"""What the inspector sends to the browser: every step of every trace, whatever it holds, small and plain."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from counting import lines_of
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from inspected import TRACES, Two, gone, hostile, long_trace
from test_recordings import hold, prompts
from walks import CALL, TOOLS

from zoolab import Decision, Faulty, Outcome, Replay, Scripted, Tool, Trace
from zoolab.errors import InvalidInput
from zoolab.jsontext import visible
from zoolab.records import Verdict
from zoolab.show.block_types import browser_json
from zoolab.show.blocks import blocks as blocks_of
from zoolab.show.inspector.overview import (
    EDITED,
    ERROR,
    LETTERS,
    MARK_WORDS,
    PERMISSION,
    first_error,
    marks_of,
    overview_of,
)
from zoolab.show.inspector.panel import list_patch
from zoolab.show.inspector.panel import panel_of as panel_of_moment
from zoolab.show.moment import Moment, moments_of
from zoolab.show.text import details
from zoolab.toolbox import starter

SHAPES = {
    "facts": {"rows"},
    "code": {"label", "style", "text", "cut"},
    "messages": {"rows"},
    "checks": {"label", "rows"},
    "diff": {"label", "pieces"},
    "stream": {"label", "pieces"},
    "fields": {"label", "rows"},
    "tools": {"rows"},
    "flow": {"label", "rows"},
    "note": {"tone", "text"},
    "permission": {"tool", "risk", "resource", "arguments", "choice", "reason"},
    "nested": {"label", "title", "steps", "outcome", "rows", "cut"},
}
PAYLOADS = [
    "<script>alert(1)</script>",
    "\ud800\x00\x1b[2J",
    "",
    "'\"\\" * 500,
    "x" * 300_000,
    "é🦓\u2028" * 9_000,
]


def panel_of(trace: Trace, seq: int) -> dict[str, Any]:
    return panel_of_moment(Moment(trace, trace.index(seq)))


def check_panel(panel: dict[str, Any]) -> int:
    """A panel is what the browser expects; returns its bytes."""
    text = json.dumps(panel, ensure_ascii=False, allow_nan=False)
    for block in panel["blocks"] + panel["tabs"]["raw"] + panel["tabs"]["full"]:
        assert set(block) - {"b", "before", "fold"} == SHAPES[block["b"]]
    assert set(panel["tabs"]) == {"diff", "full", "raw", "python", "note"}
    compile(panel["tabs"]["python"], "<step>", "exec")
    return len(text.encode())


def panels_of(trace: Trace) -> list[dict[str, Any]]:
    return [panel_of(trace, seq) for seq in range(len(trace))]


def blocks(trace: Trace, seq: int, kind: str) -> list[dict[str, Any]]:
    return [block for block in panel_of(trace, seq)["blocks"] if block["b"] == kind]


def step_of(trace: Trace, kind: str, number: int = 0) -> int:
    return [seq for seq, step in enumerate(trace.steps) if step.kind == kind][number]


@pytest.mark.parametrize("name", TRACES)
def test_every_step_of_every_walk_has_a_panel(name: str) -> None:
    trace = TRACES[name]
    overview = overview_of(trace)
    assert overview["n"] == len(trace) == len(overview["kind"]) == len(overview["marks"])
    for seq, panel in enumerate(panels_of(trace)):
        assert check_panel(panel) < 200_000
        assert LETTERS[panel["kind"]] == overview["kind"][seq]
        assert panel["marks"] == [word for bit, word in MARK_WORDS.items() if overview["marks"][seq] & bit]


@pytest.mark.parametrize("name", ["starter", "authored", "domains"])
def test_every_step_of_every_recording_has_a_panel(name: str) -> None:
    replay = Replay(name)
    for asked in prompts(name)[::3]:
        trace = hold(asked, replay)
        for panel in panels_of(trace):
            assert check_panel(panel) < 200_000


@pytest.mark.parametrize("text", PAYLOADS, ids=range(len(PAYLOADS)))
def test_hostile_text_is_bounded_and_sendable(text: str) -> None:
    trace = hostile(text)
    for panel in panels_of(trace):
        assert check_panel(panel) < 200_000
    json.dumps(overview_of(trace), ensure_ascii=False, allow_nan=False).encode()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters(codec=None), max_size=40))
@example("/~1")
def test_any_text_anywhere_has_panels(text: str) -> None:
    for panel in panels_of(hostile(text)):
        check_panel(panel)


def test_a_file_from_a_stranger_has_panels(tmp_path: Any) -> None:
    for name, trace in TRACES.items():
        loaded = Trace.load(trace.save(tmp_path / f"{name}.jsonl"))
        assert overview_of(loaded)["kind"] == overview_of(trace)["kind"]
        for panel in panels_of(loaded):
            check_panel(panel)


def test_wide_and_deep_traces_stay_small() -> None:
    deep: Any = {}
    for _ in range(20):
        deep = {"type": "object", "properties": {"a": deep}}
    many = [Tool(f"t{i}", "x" * 3_000, deep) for i in range(100)]
    calls = [(f"t{i}", {"a": ["y" * 900] * 9}) for i in range(100)]
    trace = gone("z" * 500_000, many, [calls, "Done."])
    assert len(trace) > 200
    for seq in (*range(4), 120, len(trace) - 1):
        assert check_panel(panel_of(trace, seq)) < 200_000


def test_5000_steps_fit_in_an_overview() -> None:
    trace = long_trace()
    assert len(trace) > 5_000
    assert lines_of(lambda: overview_of(trace)) < 500 * len(trace)
    overview = overview_of(trace)
    assert len(json.dumps(overview)) < 300_000
    first = max(lines_of(lambda seq=seq: panel_of(trace, seq)) for seq in range(10, 20))
    for seq in range(4_990, 5_000):
        assert check_panel(panel_of(trace, seq)) < 200_000
        # A late step costs what an early one does.
        assert lines_of(lambda seq=seq: panel_of(trace, seq)) < 3 * first


def test_the_overview_counts_messages_by_branch() -> None:
    overview = overview_of(TRACES["errors"])
    ledger = overview["ledger"][-1]
    assert overview["length"][-1] == len(ledger["role"]) == len(ledger["size"])
    assert ledger["role"] == "uatttata"
    assert ledger["id"][2] == TRACES["errors"].tool_calls[0].id


@pytest.mark.parametrize("name", TRACES)
def test_each_error_is_marked_and_counted_once(name: str) -> None:
    trace = TRACES[name]
    overview = overview_of(trace)
    marked = [seq for seq, marks in enumerate(overview["marks"]) if marks & ERROR]
    assert marked == [error.seq for error in trace.errors if error.seq is not None]
    assert overview["totals"]["errors"] == len(marked)
    assert first_error(trace) == (marked[0] if marked else None)
    assert [marks_of(moment) for moment in moments_of(trace)] == overview["marks"]


def test_a_permission_is_no_edit() -> None:
    overview = overview_of(TRACES["allowed"])
    seq = next(seq for seq, marks in enumerate(overview["marks"]) if marks & PERMISSION)
    assert overview["marks"][seq] == PERMISSION
    assert [block["b"] for block in panel_of(TRACES["allowed"], seq)["blocks"]] == ["permission", "code"]
    pretended = gone("Wipe it.", TOOLS, [[("wipe", {})], "Done."], ask=lambda _step: Outcome("pretended"))
    assert overview_of(pretended)["marks"][seq] == PERMISSION | EDITED
    facts = dict(blocks(pretended, seq + 1, "facts")[0]["rows"])
    assert facts["permission"] == "not given: a value was, in place of running it"


@pytest.mark.parametrize("loaded", [False, True])
def test_a_permission_is_shown_as_it_was_asked_and_looking_runs_nothing(loaded: bool, tmp_path: Any) -> None:
    looked: list[Any] = []

    def resource(arguments: Any) -> str:
        looked.append(arguments)
        return f"disk {arguments['disk']}"

    schema = {"type": "object", "properties": {"disk": {"type": "string"}}}
    wipe = Tool("wipe", "Wipe.", schema, lambda disk: disk, risk="high", resource=resource)
    trace = gone("Wipe it.", [wipe], [[("wipe", {"disk": "c"})], "Done."], ask=lambda _step: Decision("once"))
    if loaded:
        trace = Trace.load(trace.save(tmp_path / "t.jsonl"))
    asked_for = len(looked)
    card = blocks(trace, 4, "permission")[0]
    assert (card["risk"], card["resource"], card["arguments"]) == ("high", "disk c", '{"disk": "c"}')
    facts = dict(blocks(trace, 5, "facts")[0]["rows"])
    assert (facts["permission"], facts["risk"], facts["resource"]) == ("once", "high", "disk c")
    assert len(looked) == asked_for


def test_arguments_that_a_fault_changed_are_not_the_models() -> None:
    model = Faulty(
        Scripted([[("add", {"a": 1}), ("add", {"a": 2})], "Done."]), {"trailing_comma": 1}, times=1
    )
    trace = gone("Sum?", TOOLS, model)
    first, second = (panel_of(trace, seq)["blocks"] for seq in (2, 3))
    assert (first[0]["tone"], "trailing_comma" in first[0]["text"]) == ("fault", True)
    labels = [next(block["label"] for block in panel if block["b"] == "code") for panel in (first, second)]
    assert labels == [
        "arguments, as they came (a fault changed them)",
        "arguments, as the model wrote them",
    ]
    first, second = (panel_of(trace, step_of(trace, "validate", n))["blocks"] for n in (0, 1))
    assert (first[0]["tone"], second[0]["b"]) == ("fault", "facts")
    labels = [next(block["label"] for block in panel if block["b"] == "checks") for panel in (first, second)]
    assert labels == [
        "the arguments, as they came (a fault changed them)",
        "the arguments, as the model wrote them",
    ]


def test_a_tool_that_is_called_though_it_was_withheld_is_both() -> None:
    trace = gone("Sum?", TOOLS, [[("wipe", {})], "Done."], retrieve=Two())
    row = blocks(trace, 2, "tools")[0]["rows"][0]
    assert (row["name"], row["state"]) == ("wipe", "chosen and withheld")


def test_durations_and_types_have_one_form() -> None:
    assert overview_of(TRACES["answer"])["totals"]["time"].endswith(" ms")
    assert overview_of(TRACES["empty"])["totals"]["time"] == "under 1 ms"
    assert blocks(TRACES["plain"], 4, "code")[1]["label"] == "it returned, int"
    assert blocks(TRACES["plain"], 5, "code")[0]["label"] == "the Python value, int"


def test_a_sub_agents_steps_are_named() -> None:
    inner = blocks(TRACES["agent"], step_of(TRACES["agent"], "execute"), "nested")[0]
    assert [row.partition(":")[0] for row in inner["rows"]] == [
        *("define", "request", "tool_call", "validate", "execute", "result", "request", "tool_call")
    ]
    assert inner["cut"] == 0


def test_a_step_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="there is no step"):
        panel_of(TRACES["answer"], 3)


def test_define_links_signature_and_schema() -> None:
    field = blocks(TRACES["plain"], 0, "fields")[0]
    assert field["label"] == "add(a: int, b: int = 0) -> int"
    assert [(row["annotation"], row["schema"], row["required"]) for row in field["rows"]] == [
        ("int", "integer", True),
        ("int", "integer", False),
    ]
    notes = [block["text"] for block in blocks(TRACES["plain"], 0, "note")]
    assert any(text.startswith("undescribed-parameter: add/properties/a") for text in notes)
    assert "estimate" in json.dumps(blocks(TRACES["plain"], 0, "facts"))


def test_a_description_in_a_hint_stands_in_its_own_column_alone() -> None:
    trace = gone("What is 42 + 58?", [starter.add], ["100"])
    [field] = blocks(trace, 0, "fields")
    assert field["label"] == "add(a: int, b: int) -> int"
    assert [(row["annotation"], row["description"]) for row in field["rows"]] == [
        ("int", "The first number."),
        ("int", "The second number."),
    ]


def test_request_tells_new_from_old_and_offered_from_withheld() -> None:
    trace = TRACES["withheld"]
    second = step_of(trace, "request", 1)
    rows = blocks(trace, second, "messages")[0]["rows"]
    assert [row["new"] for row in rows] == [False, True, True]
    assert rows[1]["calls"][0]["name"] == "add"
    states = {row["name"]: (row["state"], row["why"]) for row in blocks(trace, 1, "tools")[0]["rows"]}
    assert states["add"][0] == "offered"
    assert states["wipe"] == ("withheld", "rank 3 of 3, the best 2 are sent")


def test_new_messages_are_shown_however_large_the_old_ones_are() -> None:
    trace = gone("x" * 100_000, TOOLS, [CALL, "3"], system="y" * 100_000)
    rows = blocks(trace, step_of(trace, "request", 1), "messages")[0]["rows"]
    assert [(row["new"], row["cut"] > 0) for row in rows] == [
        (False, True),
        (False, True),
        (True, False),
        (True, False),
    ]
    full = panel_of(trace, len(trace) - 1)["tabs"]["full"][0]["rows"]
    assert full[-1]["text"] == "3"


def test_a_text_that_cannot_be_sent_whole_is_not_offered_for_editing() -> None:
    panel = panel_of(gone("x" * 100_000, TOOLS, ["Hello"]), 1)
    assert [field["field"] for field in panel["edit"]] == ["tool_choice"]
    assert panel["blocks"][-1]["text"].startswith("1 text too long to be edited here")


def test_tool_call_shows_the_raw_text_and_its_pieces() -> None:
    seq = step_of(TRACES["streamed"], "tool_call")
    assert blocks(TRACES["streamed"], seq, "stream")[0]["pieces"] == ['{"a"', ": 42, ", '"b": 58}']
    assert blocks(TRACES["streamed"], seq, "code")[0]["text"] == '{"a": 42, "b": 58}'
    assert panel_of(TRACES["streamed"], seq)["tabs"]["diff"]["words"].endswith(
        "+12 tokens, counted by the endpoint"
    )
    unknown = step_of(TRACES["errors"], "tool_call", 1)
    chosen = blocks(TRACES["errors"], unknown, "tools")[0]["rows"][0]
    assert (chosen["name"], chosen["state"]) == ("fly", "unknown")


def test_validate_is_a_checklist_with_each_problem() -> None:
    rows = blocks(TRACES["errors"], step_of(TRACES["errors"], "validate"), "checks")[0]["rows"]
    assert [row["state"] for row in rows] == ["ok", "ok", "ok", "bad", "ok", "bad"]
    assert (rows[3]["pointer"], rows[3]["expected"], rows[3]["received"]) == ("/a", "integer", '"2"')
    assert rows[5]["pointer"] == "/c"
    unknown = blocks(TRACES["errors"], step_of(TRACES["errors"], "validate", 1), "checks")[0]["rows"]
    assert [row["state"] for row in unknown] == ["bad", "none", "none"]


def test_validate_shows_what_a_repair_changed() -> None:
    seq = step_of(TRACES["repair"], "validate")
    pieces = blocks(TRACES["repair"], seq, "diff")[0]["pieces"]
    assert "".join(text for kind, text in pieces if kind != "ins") == "{'a': 1}"
    assert "".join(text for kind, text in pieces if kind != "del") == '{"a": 1}'
    refused = step_of(TRACES["repair"], "validate", 1)
    assert "refused" in blocks(TRACES["repair"], refused, "note")[0]["text"]


def test_execute_shows_call_permission_fault_and_sub_agent() -> None:
    seq = step_of(TRACES["allowed"], "execute", 1)
    facts = dict(blocks(TRACES["allowed"], seq, "facts")[0]["rows"])
    assert facts["permission"] == "once"
    asked = blocks(TRACES["allowed"], seq - 1, "permission")[0]
    assert (asked["tool"], asked["risk"], asked["choice"]) == ("wipe", "high", "once")
    fault = blocks(TRACES["fault"], step_of(TRACES["fault"], "execute"), "note")[0]
    assert (fault["tone"], "wrong_value" in fault["text"]) == ("fault", True)
    inner = blocks(TRACES["agent"], step_of(TRACES["agent"], "execute"), "nested")[0]
    assert (inner["title"], inner["outcome"]) == ("1?", "answer")


def test_result_pairs_by_id_and_says_what_was_cut() -> None:
    trace = TRACES["long"]
    seq = step_of(trace, "result")
    flow = blocks(trace, seq, "flow")[0]["rows"]
    assert [(row["what"], row["message"]) for row in flow] == [("asked", 1), ("answered", 2)]
    assert flow[0]["id"] == flow[1]["id"]
    assert dict(blocks(trace, seq, "facts")[0]["rows"])["size"] == "60 kB -> 16 kB"


@pytest.mark.parametrize("name", TRACES)
def test_the_python_tab_gives_the_same_verdicts_and_results(name: str) -> None:
    trace, names = TRACES[name], {"define": "tools", "validate": "verdict"}
    for seq, step in enumerate(trace.steps):
        code = panel_of(trace, seq)["tabs"]["python"]
        if step.kind == "execute":
            continue  # it runs the tool, or answers a walk
        made: dict[str, Any] = {"trace": trace}
        exec(code, made)
        if "record" in made:
            continue
        made_of_call = made["call"] if "read_calls" in code and "call" in made else made.get("reply")
        got = made_of_call if step.kind == "tool_call" else made[names.get(step.kind, step.kind)]
        if step.kind == "validate":
            assert isinstance(step.record, Verdict)
            assert (got.ok, got.arguments) == (step.record.ok, step.record.arguments)
            assert got.problems == step.record.problems
        elif step.kind == "tool_call" and "call" in made:
            assert (got.name, got.arguments) == (step.record.name, step.record.arguments)
        else:
            assert got == step.record


def test_most_steps_have_code_of_their_own() -> None:
    codes = [panel["tabs"]["python"] for trace in TRACES.values() for panel in panels_of(trace)]
    assert sum("\nrecord = " in code for code in codes) < len(codes) / 10


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-1, 1) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


def applied(patch: list[dict[str, Any]], to: list[Any]) -> list[Any]:
    """RFC 6902 for the members of a list."""
    result = list(to)
    for operation in patch:
        index = int(operation["path"].removeprefix("/"))
        if operation["op"] == "add":
            assert index <= len(result)
            result.insert(index, operation["value"])
        elif operation["op"] == "remove":
            del result[index]
        else:
            result[index] = operation["value"]
    return result


@given(st.lists(JSON, max_size=6), st.lists(JSON, max_size=6), st.lists(JSON, max_size=3))
def test_a_patch_gives_the_new_list(before: list[Any], after: list[Any], kept: list[Any]) -> None:
    patch = list_patch(before, after)
    assert json.dumps(applied(patch, before)) == json.dumps(after)
    shifted = list_patch(before, after, start=len(kept))
    assert json.dumps(applied(shifted, kept + before)) == json.dumps(kept + after)


@given(st.lists(JSON, max_size=6), JSON)
def test_a_list_that_grows_takes_one_operation(before: list[Any], item: Any) -> None:
    assert list_patch(before, [*before, item]) == [{"op": "add", "path": f"/{len(before)}", "value": item}]
    assert list_patch(before, before) == []


def test_the_diff_tab_is_the_change_of_messages() -> None:
    trace = TRACES["errors"]
    for seq in range(1, len(trace)):
        tab = panel_of(trace, seq)["tabs"]["diff"]
        assert applied(tab["patch"], trace.messages_at(seq - 1)) == trace.messages_at(seq)
        assert tab["patch_cut"] == 0


def test_the_wire_is_the_body() -> None:
    trace = TRACES["plain"]
    body = json.loads(panel_of(trace, 1)["tabs"]["raw"][0]["text"])
    assert body == trace.steps[1].record.body()


@given(JSON | st.floats() | st.integers())
def test_what_is_sent_is_json_for_any_browser(value: Any) -> None:
    text = json.dumps(browser_json({"x": [value]}), allow_nan=False, ensure_ascii=False)
    text.encode()


@pytest.mark.parametrize("name", TRACES)
def test_the_page_and_the_terminal_show_the_blocks_of_the_panel(name: str) -> None:
    trace = TRACES[name]
    page = unescape(re.sub(r"</?[a-z][^>]*>", "", trace.to_html()))
    for moment in moments_of(trace):
        terminal = "\n".join(details(moment))
        for block in browser_json(blocks_of(moment)):
            if block["b"] == "note" and not block["text"].startswith("Answered by hand"):
                assert block["text"] in page
            if block["b"] == "code" and len(block["text"]) < 600:
                assert block["text"] in page
                assert block.get("fold") or visible(block["text"].rstrip()) in visible(terminal)
