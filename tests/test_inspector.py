"""The widget as the browser meets it, over a comm; and the page that needs no kernel."""

from __future__ import annotations

import gc
import hashlib
import json
import re
import signal
import weakref
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import ipywidgets
import psutil
import pytest
from comm.base_comm import BaseComm
from counting import lines_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inspected import TRACES, gone, hostile, long_trace
from shell import Shell
from tills import Till, pay
from walks import CALL, TOOLS

import zoolab
from zoolab import Decision, Outcome, Replay, Scripted, Tool, Trace, inspect, run, tool, walk
from zoolab.errors import InvalidInput, ModelError
from zoolab.show.inspector.inspector import Inspector
from zoolab.show.inspector.static_page import in_script, render_interactive_page

BOOM = "<script>alert(1)</script></script><!--<img src=x onerror=alert(1)>\u2028"


class Wire(BaseComm):
    """A comm whose other end is a list."""

    def publish_msg(self, _kind: str, data: Any = None, *_more: Any, **_keys: Any) -> None:
        self.sent = [*getattr(self, "sent", []), data or {}]


class Browser:
    """What the browser sees of an inspector, and what it says to it."""

    def __init__(self, inspector: Inspector) -> None:
        self.inspector = inspector
        inspector.comm = self.wire = Wire(target_name="jupyter.widget")

    def say(self, message: Any) -> list[dict[str, Any]]:
        """Send a custom message; returns those that come back."""
        self.wire.sent = []
        self.wire.handle_msg({"content": {"data": {"method": "custom", "content": message}}, "buffers": []})
        json.dumps(self.wire.sent, allow_nan=False, ensure_ascii=False).encode()
        return [data["content"] for data in self.wire.sent if data.get("method") == "custom"]

    def fails(self, message: Any) -> str:
        """Send a message that cannot be met; returns the one line that says so."""
        (failed,) = [each for each in self.say(message) if each["type"] == "failed"]
        assert set(failed) >= {"type", "message", "difference"}
        assert "\n" not in failed["message"]
        assert 0 < len(failed["message"]) <= 500
        return str(failed["message"])

    def panel(self, seq: int, which: str = "main") -> dict[str, Any]:
        (answer,) = self.say({"type": "get", "which": which, "steps": [seq]})
        assert (answer["type"], answer["which"]) == ("panels", which)
        panel: dict[str, Any] = answer["panels"][str(seq)]
        return panel


def walking(*replies: Any, **options: Any) -> Browser:
    return Browser(inspect(walk("Hi", TOOLS, Scripted(replies), envelope="plain", **options)))


def test_in_a_terminal_it_says_what_to_do() -> None:
    told = repr(inspect(run("Hi", [], Scripted(["Hello."]))))
    assert told.startswith("<Inspector of <Trace ")
    assert "inspector.trace.save('trace.jsonl'), then in a shell: zoolab inspect trace.jsonl" in told


def test_it_opens_on_the_first_error() -> None:
    assert TRACES["errors"].inspect().step == 5
    assert inspect(TRACES["plain"]).step == 0
    assert inspect(TRACES["empty"]).overview["n"] == 0


@pytest.mark.parametrize("thing", ["trace.jsonl", 5, None, [1], {"a": 1}])
def test_only_traces_and_walks_are_inspected(thing: Any) -> None:
    with pytest.raises(InvalidInput, match="expected a trace or a walk"):
        inspect(thing)


def test_only_traces_are_compared() -> None:
    for thing in ("x", 5, [1]):
        with pytest.raises(InvalidInput, match=r"cannot compare with .*expected a trace"):
            inspect(TRACES["plain"], thing)  # type: ignore[arg-type]


def test_opening_5000_steps_takes_bounded_work_and_is_small() -> None:
    trace = long_trace()
    assert lines_of(lambda: inspect(trace).get_state()) < 500 * len(trace)
    inspector = inspect(trace)
    state = json.dumps(inspector.get_state())
    assert len(state) < 300_000
    assert inspector.step == next(seq for seq, step in enumerate(trace.steps) if step.error_code)


def test_panels_are_fetched_as_they_are_shown() -> None:
    browser = Browser(inspect(TRACES["errors"]))
    (answer,) = browser.say({"type": "get", "which": "main", "steps": [4, 5, 6]})
    assert list(answer["panels"]) == ["4", "5", "6"]
    assert browser.panel(0)["kind"] == "define"
    assert "there is no step" in browser.fails({"type": "get", "which": "main", "steps": [99]})


JUNK_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JUNK = st.recursive(
    JUNK_LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
TYPES = ["get", "step", "run", "until", "answer", "decide", "fork", "ask", "open", "back", "note", "compare"]
FIELDS = ["which", "steps", "kind", "tool", "error", "seq", "edits", "then", "choice", "verb", "text", "with"]
FIELDS += ["models", "repeats"]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        JUNK | st.fixed_dictionaries({"type": st.sampled_from(TYPES)}, optional=dict.fromkeys(FIELDS, JUNK)),
        max_size=4,
    )
)
def test_junk_never_reaches_the_kernel(messages: list[Any]) -> None:
    browser = walking(CALL, "Done.")
    for message in messages:
        answers = browser.say(message)
        steps = message.get("steps") if isinstance(message, dict) else None
        most = len(steps) if isinstance(steps, list) else 1  # of each step that cannot be shown it is said
        assert sum(answer["type"] == "failed" for answer in answers) <= max(1, most)
        assert all(answer["type"] in ("failed", "panels", "forget") for answer in answers)


@pytest.mark.parametrize(
    "message",
    [
        None,
        5,
        [],
        {},
        {"type": "lunch"},
        {"type": ["get"]},
        {"type": "get"},
        {"type": "get", "steps": [1]},
        {"type": "get", "which": "main", "steps": 1},
        {"type": "get", "which": "both", "steps": [1]},
        {"type": "get", "which": "main", "steps": [True]},
        {"type": "get", "which": "main", "steps": ["1"]},
        {"type": "get", "which": "main", "steps": [-1]},
        {"type": "get", "which": "main", "steps": [10**30]},
        {"type": "until", "kind": "lunch"},
        {"type": "until", "tool": 5},
        {"type": "decide", "choice": "always"},
        {"type": "answer", "seq": 0, "edits": [{"field": "x", "text": "y"}]},
        {"type": "answer", "seq": 0, "then": "jump"},
        {"type": "fork", "seq": 0},
        {"type": "fork", "verb": "live", "seq": 99},
        {"type": "ask"},
        {"type": "ask", "seq": 0, "models": [0], "repeats": 1},
        {"type": "open", "seq": 0},
        {"type": "back"},
        {"type": "note", "seq": 0, "text": 5},
        {"type": "note", "seq": 0, "text": "x" * 200_000},
        {"type": "compare", "with": "parent"},
        {"type": "compare", "with": "everybody"},
        {"type": BOOM},
    ],
    ids=repr,
)
def test_what_cannot_be_done_is_said_in_one_line(message: Any) -> None:
    browser = walking(CALL, "Done.")
    browser.fails(message)
    assert len(browser.inspector.trace) == 1


def test_a_live_walk_is_driven_from_the_browser() -> None:
    browser = walking(CALL, "Done.")
    live = browser.inspector.live
    assert (live["state"], live["next"]) == ("paused", "request")
    assert live["can"][:4] == ["step", "run", "until", "answer"]
    assert browser.say({"type": "step"}) == [{"type": "forget", "from": 0}]
    assert (browser.inspector.overview["kind"], browser.inspector.step) == ("dq", 1)
    browser.say({"type": "until", "kind": "validate"})
    assert browser.inspector.overview["kind"] == "dqtv"
    assert browser.panel(3)["next"] == "execute: Python runs add"
    browser.say({"type": "run"})
    assert (browser.inspector.live["state"], browser.inspector.overview["outcome"]) == ("done", "answer")
    assert "the walk is over" in browser.fails({"type": "step"})


def test_arguments_are_edited_in_place_and_the_walk_goes_on() -> None:
    browser = walking(CALL, "Done.")
    browser.say({"type": "until", "kind": "tool_call"})
    (field,) = [field for field in browser.panel(2)["edit"] if field["field"] == "arguments"]
    edits = [{"field": field["field"], "text": field["text"].replace("1", "40")}]
    browser.say({"type": "answer", "seq": 2, "edits": edits, "then": None})
    assert browser.inspector.live["held"] is True
    assert "kept" in browser.panel(2)["blocks"][0]["text"]
    browser.say({"type": "run"})
    assert browser.inspector.trace.messages[2]["content"] == "42"
    assert "edited" in browser.panel(2)["marks"]
    assert "Before that" in browser.panel(2)["blocks"][0]["text"]


@pytest.mark.parametrize("then", ["step", "run"])
def test_an_edited_result_is_what_the_model_reads(then: str) -> None:
    browser = walking(CALL, lambda request: request.messages[-1]["content"])
    browser.say({"type": "until", "kind": "result"})
    edits = [{"field": "content", "text": "a lie"}]
    browser.say({"type": "answer", "seq": 5, "edits": edits, "then": then})
    browser.say({"type": "run"})
    assert browser.inspector.trace.answer == "a lie"


def test_bad_json_changes_nothing() -> None:
    browser = walking(CALL, "Done.")
    browser.say({"type": "until", "kind": "execute"})
    edits = [{"field": "value", "text": "{"}]
    assert "value is not JSON" in browser.fails({"type": "answer", "seq": 4, "edits": edits, "then": "run"})
    assert len(browser.inspector.trace) == 5


@pytest.mark.parametrize(("choice", "said"), [("once", "wiped x"), ("session", "wiped x"), ("deny", "ERROR")])
def test_a_permission_is_given_in_the_browser(choice: str, said: str) -> None:
    browser = walking([("wipe", {})], "Done.")
    browser.say({"type": "run"})
    live = browser.inspector.live
    assert (live["waits"], live["can"][:2]) == ("permission", ["decide", "answer"])
    assert browser.panel(4)["blocks"][0]["b"] == "permission"
    browser.say({"type": "decide", "choice": choice})
    browser.say({"type": "run"})
    assert browser.inspector.trace.messages[2]["content"].startswith(said)


def test_an_error_that_ends_the_walk_is_shown() -> None:
    browser = walking(CALL)
    browser.say({"type": "run"})
    assert "the script has no reply to request" in browser.inspector.live["error"]
    assert "the script has no reply to request" in browser.inspector.overview["error"]


def test_the_three_verbs_fork_and_the_parent_stays() -> None:
    model = Scripted(lambda r: CALL if len(r.messages) == 1 else f"It is {r.messages[-1]['content']}.")
    trace = run("Hi", TOOLS, model, envelope="plain")
    before = trace.to_markdown()
    browser = Browser(inspect(trace))
    edits = [{"field": "value", "text": "7"}]
    browser.say({"type": "fork", "verb": "look", "seq": 4, "edits": edits})
    assert browser.inspector.overview["parent"] == {"run_id": trace.run_id, "forked_at": 4}
    assert (browser.inspector.overview["n"], browser.inspector.step) == (5, 4)
    assert browser.inspector.other["marks"].endswith(",32*3")
    assert browser.panel(5, "other")["marks"] == ["stale"]
    browser.say({"type": "back"})
    assert browser.inspector.trace is trace
    *_, failed = browser.say({"type": "fork", "verb": "replay", "seq": 4, "edits": edits})
    assert '+   "content": "7"' in failed["difference"]
    assert (browser.inspector.overview["kind"], browser.inspector.step) == ("dqtverq", 4)
    assert browser.inspector.overview["outcome"] == "replay_miss"
    browser.say({"type": "back"})
    browser.say({"type": "fork", "verb": "live", "seq": 4, "edits": edits})
    assert browser.inspector.trace.answer == "It is 7."
    assert browser.inspector.other["diverges"] == [4, 4]
    assert browser.inspector.pairs == [[i, i] for i in range(8)]
    assert trace.to_markdown() == before


def asking(models: Any) -> tuple[Till, Browser]:
    """A run that paid 5, in an inspector that may ask these models."""
    till = Till()
    return till, Browser(inspect(till.run([pay(5)], "Paid."), models=models))


def rows_of(browser: Browser, seq: int) -> list[list[str]]:
    (table,) = [each for each in browser.panel(seq)["blocks"] if each["b"] == "table"]
    assert all(len(row) == len(table["heads"]) for row in table["rows"])
    rows: list[list[str]] = table["rows"]
    return rows


def test_others_are_asked_at_a_request_so_often_as_the_message_says() -> None:
    seen: list[Any] = []

    def careful(request: Any) -> Any:
        seen.append(request)
        return [pay(6)] if len(seen) % 2 else "No."

    def failing(_request: Any) -> Any:
        raise ModelError("the endpoint is down")

    models = {"careful": Scripted(careful), BOOM: Scripted(failing), "left out": Scripted([])}
    till, browser = asking(models)
    before = browser.inspector.trace.to_markdown()
    assert browser.inspector.live["verbs"]["others"] == [*models]
    assert "ask" in browser.inspector.live["can"]
    assert browser.panel(1)["blocks"][0]["b"] != "table"
    answers = browser.say({"type": "ask", "seq": 1, "models": [0, 1], "repeats": 3})
    assert [answer["type"] for answer in answers] == ["forget"]
    assert [row[:4] for row in rows_of(browser, 1)] == [
        ["careful", "pay, other arguments", "may run", "2 of 3, 67 % (21 to 94)"],
        ["careful", "answer", "", "1 of 3, 33 % (6 to 79)"],
        [BOOM, "error", "model_error", "3 of 3, 100 % (44 to 100)"],
    ]
    assert {request.body() == browser.inspector.trace.turns[0].request.body() for request in seen} == {True}
    assert (len(seen), till.paid, browser.inspector.trace.to_markdown()) == (3, [5], before)
    browser.say({"type": "ask", "seq": 1, "models": [0], "repeats": 1})
    assert len(rows_of(browser, 1)) == 1
    assert all(each["b"] != "table" for each in browser.panel(2)["blocks"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"models": []}, "no model is chosen"),
        ({"models": [2]}, "the models are"),
        ({"models": [0, 0]}, "the models are"),
        ({"models": [True]}, "the models are"),
        ({"models": ["a"]}, "the models are"),
        ({"repeats": 0}, "expected from 1 to 200 requests"),
        ({"repeats": 101}, "expected from 1 to 200 requests"),
        ({"repeats": "5"}, "expected from 1 to 200 requests"),
        ({"repeats": True}, "expected from 1 to 200 requests"),
        ({"seq": 0}, "comes before the first request"),
        ({"seq": 99}, "there is no step"),
    ],
)
def test_nobody_is_asked_what_cannot_be_asked(more: dict[str, Any], said: str) -> None:
    seen: list[Any] = []
    counting = Scripted(lambda request: seen.append(request) or "No.")
    _, browser = asking({"a": counting, "b": counting})
    assert said in browser.fails({"type": "ask", "seq": 1, "models": [0, 1], "repeats": 5, **more})
    assert seen == []


def test_without_models_it_says_how_to_give_them() -> None:
    _, browser = asking(None)
    assert browser.inspector.live["verbs"]["others"] == []
    message = {"type": "ask", "seq": 1, "models": [0], "repeats": 1}
    assert "use inspect(trace, models=...)" in browser.fails(message)
    with pytest.raises(InvalidInput, match="there are no models"):
        asking({})


def test_asking_that_is_interrupted_keeps_what_came_before() -> None:
    def stuck(_request: Any) -> str:
        signal.raise_signal(signal.SIGINT)
        return "No."

    _, browser = asking({"quick": Scripted(["No."]), "stuck": Scripted(stuck)})
    said = browser.fails({"type": "ask", "seq": 1, "models": [0, 1], "repeats": 2})
    assert "asking was interrupted" in said
    assert [row[0] for row in rows_of(browser, 1)] == ["quick"]


def test_no_verb_of_the_inspector_pays_again() -> None:
    till, browser = asking({"other": Scripted([[pay(5)]]), "odd": Scripted([[pay(7)]])})
    trace = browser.inspector.trace
    for seq in range(len(trace)):
        for verb in ("look", "replay", "live"):
            browser.say({"type": "fork", "verb": verb, "seq": seq, "edits": []})
            browser.say({"type": "compare", "with": "parent"})
            browser.panel(seq, "other")
            while browser.inspector.trace is not trace:
                browser.say({"type": "back"})
        browser.say({"type": "ask", "seq": seq, "models": [0, 1], "repeats": 2})
        browser.panel(seq)
    assert till.paid == [5]


def test_a_live_fork_stops_before_a_call_that_is_not_on_the_tape_and_goes_on_when_it_is_allowed() -> None:
    ran: list[str] = []

    @tool(risk="high")
    def send(to: str) -> str:
        """Send."""
        ran.append(to)
        return f"sent to {to}"

    model = Scripted(lambda r: [("send", {"to": "a"})] if len(r.messages) == 1 else r.messages[-1]["content"])
    browser = Browser(inspect(run("Hi", [send], model, ask=lambda _: Decision("once"), envelope="plain")))
    browser.say({"type": "fork", "verb": "live", "seq": 1, "edits": []})
    assert (browser.inspector.trace.answer, ran) == ("sent to a", ["a"])
    browser.say({"type": "back"})
    edits = [{"field": "arguments", "text": '{"to": "b"}'}]
    browser.say({"type": "fork", "verb": "live", "seq": 2, "edits": edits})
    waiting = len(browser.inspector.trace) - 1
    assert (browser.inspector.trace.outcome, ran) == ("open", ["a"])
    assert browser.panel(waiting)["blocks"][0]["b"] == "permission"
    browser.say(
        {"type": "fork", "verb": "live", "seq": waiting, "edits": [{"field": "choice", "text": "once"}]}
    )
    assert (browser.inspector.trace.answer, ran) == ("sent to b", ["a", "b"])


def test_comparison_can_be_left_and_taken_up_again() -> None:
    browser = Browser(inspect(TRACES["plain"], TRACES["errors"]))
    assert browser.inspector.other["run_id"] == TRACES["errors"].run_id
    browser.say({"type": "compare", "with": "none"})
    assert (browser.inspector.other, browser.inspector.pairs) == (None, None)
    browser.say({"type": "compare", "with": "parent"})
    assert browser.inspector.pairs[0] == [0, 0]
    assert browser.panel(5, "other")["kind"] == "validate"


def test_a_thousand_open_inspectors_are_small_and_go_when_they_are_closed() -> None:
    memory = psutil.Process().memory_info
    inspect(TRACES["plain"]).close()
    before = memory().rss
    opened = [inspect(TRACES["plain"]) for _ in range(1_000)]
    assert memory().rss - before < 100_000 * len(opened)
    seen = [weakref.ref(each) for each in opened]
    for each in opened:
        each.close()
    del opened, each
    gc.collect()
    assert sum(ref() is not None for ref in seen) == 0


def test_a_sub_agent_opens_and_closes() -> None:
    trace = TRACES["agent"]
    seq = next(i for i, step in enumerate(trace.steps) if isinstance(step.record, Outcome))
    browser = Browser(inspect(trace))
    browser.say({"type": "open", "seq": seq})
    assert browser.inspector.overview["title"] == "1?"
    assert "back" in browser.inspector.live["can"]
    browser.say({"type": "back"})
    assert browser.inspector.overview["title"] == "Ask."


def test_notes_are_saved_with_the_trace(tmp_path: Path) -> None:
    trace = gone("Hi", [], ["Hello"])
    browser = Browser(inspect(trace))
    browser.say({"type": "note", "seq": 1, "text": BOOM})
    assert browser.inspector.notes == {"1": BOOM}
    assert browser.panel(1)["tabs"]["note"] == BOOM
    assert inspect(Trace.load(trace.save(tmp_path / "t.jsonl"))).notes == {"1": BOOM}
    browser.say({"type": "note", "seq": 1, "text": ""})
    assert browser.inspector.notes == {}


def test_a_call_with_other_arguments_runs_nothing_in_a_replay() -> None:
    ran: list[str] = []
    send = Tool("send", "Send.", {"type": "object"}, lambda **to: ran.append(str(to)))
    browser = Browser(inspect(gone("Hi", [send], [[("send", {"to": "a"})], "Done."])))
    edits = [{"field": "arguments", "text": '{"to": "b"}'}]
    *_, failed = browser.say({"type": "fork", "verb": "replay", "seq": 2, "edits": edits})
    assert (failed["type"], '+  "to": "b"' in failed["difference"], len(ran)) == ("failed", True, 1)
    assert (browser.inspector.overview["kind"], browser.inspector.step) == ("dqtvr", 2)
    assert browser.inspector.trace.steps[2].record.arguments == '{"to": "b"}'


def test_a_recording_answers_a_replay_that_misses(tmp_path: Path) -> None:
    trace = gone("Hi", TOOLS, [CALL, "3"], envelope="plain")
    last = Scripted(lambda request: request.messages[-1]["content"])
    trace.fork(4, Outcome(9), model=Replay(tmp_path / "r.jsonl", live=last))
    browser = Browser(inspect(trace, model=Replay(tmp_path / "r.jsonl")))
    browser.say({"type": "fork", "verb": "replay", "seq": 4, "edits": [{"field": "value", "text": "9"}]})
    assert browser.inspector.trace.answer == "9"


def test_a_loaded_trace_is_asked_again_with_the_model_that_is_given(tmp_path: Path) -> None:
    loaded = Trace.load(gone("Hi", TOOLS, [CALL, "3"]).save(tmp_path / "t.jsonl"))
    assert inspect(loaded).live["verbs"]["live"] is False
    browser = Browser(inspect(loaded, model=Scripted(["Good day"]), tools=TOOLS))
    browser.say({"type": "fork", "verb": "live", "seq": 1, "edits": []})
    assert browser.inspector.trace.answer == "Good day"


@pytest.mark.parametrize("text", [BOOM, "\ud800", "x" * 100_000])
def test_a_hostile_trace_is_shown_over_the_comm(text: str) -> None:
    browser = Browser(inspect(hostile(text), hostile(text[::-1])))
    for seq in range(12):
        browser.panel(seq)
        browser.panel(seq, "other")
    for verb in ("look", "replay", "live"):
        for seq in range(12):
            browser.say({"type": "fork", "verb": verb, "seq": seq, "edits": []})
    json.dumps(browser.inspector.get_state(), ensure_ascii=False).encode()


def test_it_lies_in_layouts_and_links() -> None:
    one, other = inspect(TRACES["plain"]), inspect(TRACES["errors"])
    ipywidgets.link((one, "step"), (other, "step"))
    slider = ipywidgets.IntSlider()
    ipywidgets.link((slider, "value"), (one, "step"))
    slider.value = 3
    assert (one.step, other.step) == (3, 3)
    ipywidgets.HBox([one, other])


def test_a_step_out_of_range_is_the_nearest() -> None:
    inspector = inspect(TRACES["plain"])
    inspector.step = 99
    assert inspector.step == len(TRACES["plain"]) - 1
    inspector.step = -5
    assert inspector.step == 0
    assert inspect(TRACES["empty"]).step == 0


def test_a_reader_who_moves_fast_is_not_taken_back() -> None:
    browser = Browser(inspect(TRACES["plain"]))
    browser.wire.sent = []
    update = {"method": "update", "state": {"step": 3, "tab": "raw"}, "buffer_paths": []}
    browser.wire.handle_msg({"content": {"data": update}, "buffers": []})
    assert (browser.inspector.step, browser.inspector.tab) == (3, "raw")
    assert [sent for sent in browser.wire.sent if "step" in sent.get("state", {})] == []


def test_a_fork_is_shown_whole_with_the_step_to_be_at() -> None:
    browser = Browser(inspect(TRACES["plain"]))
    browser.inspector.step = 2
    browser.say({"type": "fork", "verb": "look", "seq": 4, "edits": []})
    (update,) = [sent["state"] for sent in browser.wire.sent if sent.get("method") == "update"]
    assert {"overview", "live", "other", "pairs", "step", "other_step"} <= update.keys()
    assert (update["step"], update["other_step"]) == (4, 4)


def test_the_output_is_what_is_asked_for() -> None:
    inspector = TRACES["plain"].inspect()
    assert set(inspector._repr_mimebundle_(include={"text/plain", "image/png"})[0]) == {"text/plain"}
    assert "text/html" not in inspector._repr_mimebundle_(exclude={"text/html"})[0]


def test_the_output_carries_widget_story_and_text() -> None:
    data, _ = TRACES["plain"].inspect()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"] == TRACES["plain"]._repr_html_()
    assert repr(TRACES["plain"]) in data["text/plain"]


class Page(HTMLParser):
    """A page, read strictly."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.content: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.content:
            self.inside = tag
            self.content[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = "" if tag == self.inside else self.inside

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.content[self.inside][-1] += data

    @property
    def policy(self) -> str:
        return next(str(a["content"]) for tag, a in self.elements if "http-equiv" in a)

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.content["script"][0])
        return data


@pytest.mark.parametrize(
    "text", [BOOM, "</noscript><script>alert(1)</script>", "</style>", "\ud800\x00", "{{x}}"]
)
def test_a_hostile_page_has_two_scripts_and_both_are_its_own(text: str) -> None:
    page = render_interactive_page(hostile(text))
    page.encode()
    read = Page(page)
    scripts = [attributes for tag, attributes in read.elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "zoolab-data"}, {"type": "module"}]
    forbidden = {"img", "iframe", "link", "object", "embed", "base", "form", "svg"}
    assert not forbidden & {tag for tag, _ in read.elements}
    assert not any(name.startswith("on") for _, attributes in read.elements for name in attributes)
    assert len(read.data["panels"]) == 12


def hashed(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_page_allows_its_own_script_and_styles_alone() -> None:
    page = render_interactive_page(TRACES["errors"])
    read = Page(page)
    module = read.content["script"][1]
    rules = dict(rule.split(" ", 1) for rule in read.policy.split("; "))
    assert (
        rules["default-src"] == rules["connect-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    )
    assert rules["script-src"] == hashed(module)
    assert set(rules["style-src"].split()) == {hashed(text) for text in read.content["style"]}
    assert "render({" in module
    assert not re.search(r"https?://|\bimport\b\s*[({'\"*]", page.replace("http://www.w3.org/", ""))


def test_the_page_holds_everything_and_opens_on_the_error() -> None:
    data = Page(render_interactive_page(TRACES["errors"])).data
    assert data["held"] == len(TRACES["errors"]) == len(data["panels"])
    assert data["state"]["step"] == 5
    assert data["panels"]["5"]["kind"] == "validate"


def test_a_long_page_says_what_is_missing_and_keeps_the_errors() -> None:
    trace = gone("Hi", TOOLS, [CALL, CALL, [("fly", {})], "Done."])
    page = render_interactive_page(trace, room=40_000)
    data = Page(page).data
    assert 0 < data["held"] < len(trace)
    assert f"the panels of {data['held']} of {len(trace)} steps" in page
    wrong = next(seq for seq, step in enumerate(trace.steps) if step.error_code)
    assert str(wrong) in data["panels"]


@given(st.text(st.characters(codec=None)))
def test_data_in_a_script_stays_data(text: str) -> None:
    written = in_script({"x": text})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"x": text}


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(capsys)
    trace = TRACES["plain"].save(tmp_path / "t.jsonl")
    done = shell("inspect", str(trace))
    assert (done.code, done.out.strip()) == (0, str(tmp_path / "t.html"))
    assert Page((tmp_path / "t.html").read_text()).data["state"]["overview"]["n"] == len(TRACES["plain"])
    assert shell("inspect", str(trace), "-o", str(tmp_path / "p.html")).code == 0
    missing = shell("inspect", str(tmp_path / "none.jsonl"))
    assert (missing.code, missing.err.count("\n")) == (2, 1)


def test_the_trace_writes_it_too(tmp_path: Path) -> None:
    page = TRACES["plain"].to_html(tmp_path / "p.html", interactive=True)
    assert (tmp_path / "p.html").read_text() == page
    assert "<script" not in TRACES["plain"].to_html()
    assert zoolab.inspect is inspect
