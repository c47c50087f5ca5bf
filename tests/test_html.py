"""The story of a run as a page: complete, bounded, and nothing but text and structure."""

from __future__ import annotations

import re
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from counting import lines_of
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from IPython.core.formatters import DisplayFormatter

from zoolab import Scripted, Tool, Trace, tool, walk
from zoolab.errors import InvalidInput, Problem, ZoolabError
from zoolab.records import (
    KINDS,
    Decision,
    Failure,
    Limits,
    Messages,
    Outcome,
    Repair,
    Reply,
    Request,
    Result,
    Step,
    ToolCall,
    Verdict,
    Withheld,
)
from zoolab.show.block_types import Room
from zoolab.show.page import MAX_STEPS, render_blocks, render_fragment, render_page
from zoolab.text.markup import Html, block, join, pictured, style_sheet, tag
from zoolab.text.wording import duration
from zoolab.tools import ToolRegistry
from zoolab_connect.nested import as_tool

ALLOWED = {"class", "lang", "charset", "name", "content", "scope", "value", "tabindex", "role"}
ALLOWED |= {"aria-label", "aria-hidden", "data-label"}

PAYLOADS = [
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title></head><body onload=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    "</pre></code></details></li></ol></section><iframe src=javascript:alert(1)></iframe>",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<style>@import 'x'</style>",
    "<!-- --><script>alert(1)</script><!--",
    "]]><script>alert(1)</script><![CDATA[",
    "&lt;script&gt; &amp;amp; &#60;b&#62; &notit;",
    "<?php x ?><!doctype x><template><math><mtext>",
    "{{7*7}} ${7*7} `x` \\",
    "\u202e<script>\u2066 Ünïcode 🦓 \u2028",
    "<ins>x</ins><del>y</del>",
    "  two\n\nlines\twith  spaces  ",
]


class Reader(HTMLParser):
    """Reads a page strictly: every element is closed, in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.declarations: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.texts.append(data)

    def handle_decl(self, decl: str) -> None:
        self.declarations.append(decl)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a processing instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    @property
    def text(self) -> str:
        return "".join(self.texts)


def read_safely(page: str) -> Reader:
    """Read a page and see that it can run nothing and fetch nothing."""
    reader = Reader(page)
    forbidden = {"script", "iframe", "object", "embed", "link", "img", "svg", "base", "form", "a", "template"}
    assert not forbidden & set(reader.elements)
    assert reader.elements.count("style") == 1
    assert {name for name, _ in reader.attributes} - {"http-equiv"} <= ALLOWED
    return reader


def hostile_trace(text: str) -> Trace:
    """A trace with the text in every field that takes one."""
    user, system = {"role": "user", "content": text}, {"role": "system", "content": f"s{text}"}
    function = {"name": text, "arguments": text}
    asks = {"role": "assistant", "content": f"w{text}", "tool_calls": [{"id": text, "function": function}]}
    tells = {"role": "tool", "tool_call_id": text, "content": text}
    odd = {"role": text, "content": [{"type": "text", "text": text}, {text: text}], text: text}
    key = text[:1_000]
    schema = {
        "type": "object",
        "properties": {key: {"type": key, "description": key, "default": key, "enum": [key]}},
        "required": [key],
    }
    tools = ToolRegistry([Tool("add", f"d{text}", schema, untrusted=text)])
    problems = (Problem(text, text, text, text),) * 2
    call = ToolCall(1, 0, text, text, text, "native", text)
    reply = Reply(asks, text, {text: text}, text)
    repair = Repair(text, f"<b>{text}", False, problems, problems)
    messages = Messages([system, user, odd])
    asked, told = messages.with_next(asks), messages.with_next(asks).with_next(tells)
    answer = Reply({"role": "assistant", "content": f"a{text}", text: text}, text, model=text)
    offered = ({"type": "function", "function": {"name": text}},)
    withheld = (Withheld(text, 9, 0.1, text),)
    inner = Trace()
    inner.add(Step("tool_call", 1, None, answer, messages, 1, None, answer))
    trace = Trace(run_id=text, meta={"model": text, "case_id": text})
    trace.meta[text] = text
    for step in (
        Step("define", 0, None, tools, Messages()),
        Step("request", 1, None, Request(messages, offered, text, {text: text}, withheld), messages, 3),
        Step("tool_call", 1, 0, call, asked, 1, call, reply),
        Step("validate", 1, 0, Verdict(True, {text: text, "a": text}), asked, 0, call),
        Step("execute", 1, 0, Decision("deny", text, text, text, text, {text: text}), asked, 0, call),
        Step("execute", 1, 0, Outcome({text: text}, stdout=text, trace=inner), asked, 0, call),
        Step("execute", 1, 0, Outcome(text), asked, 0, call),
        Step("execute", 1, 0, Outcome(error=Failure(text, text, text)), asked, 0, call),
        Step("result", 1, 0, Result(text, text, 9, 1, text, 3), told, 1, call),
        Step("request", 2, None, Request(told), told),
        Step("validate", 2, 0, Verdict(False, None, problems, repair), told, 0, call),
        Step("tool_call", 2, None, answer, told.with_next(answer.message), 1, None, answer),
    ):
        trace.add(step)
    trace.originals[2] = ToolCall(1, 0, text, f"o{text}", text)
    trace.outcome, trace.error = text, f"e{text}"
    return trace


@pytest.mark.parametrize("text", PAYLOADS)
@pytest.mark.parametrize("render", [render_page, render_fragment])
def test_hostile_text_stays_text(render: Any, text: str) -> None:
    reader = read_safely(render(hostile_trace(text)))
    shown = reader.text
    for mark in ("s", "w", "d", "a", "o", "e"):
        assert mark + text in shown
    assert shown.count(text) > 20


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60))
@example("<script")
@example("&")
def test_any_text_is_shown_as_it_is(text: str) -> None:
    assert text in read_safely(render_page(hostile_trace(text))).text


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters(codec=None), min_size=1, max_size=30))
@example("\x00\x1b[2J\r\ud800\x7f")
def test_text_that_cannot_be_shown_has_a_picture(text: str) -> None:
    page = render_page(hostile_trace(text))
    page.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", page)
    assert pictured(text) in Reader(page).text


def run(*replies: Any, tools: Any = (), **options: Any) -> Trace:
    trace = Trace()
    with suppress(ZoolabError):
        Trace.record(walk("What is 42 + 58?", tools, Scripted(replies), **options), into=trace)
    return trace


def adder() -> Tool:
    build = Tool.build("add", "Add two integers.")
    return build.param("a", "integer", "The first.").param("b", "integer").call(lambda a, b: a + b)


def test_the_six_steps_are_told_in_order() -> None:
    trace = run([("add", {"a": 42, "b": 58})], "It is 100.", tools=[adder()])
    text = read_safely(trace.to_html()).text
    places = [text.index(f"{kind} step {seq + 1} of 8") for seq, kind in enumerate(KINDS)]
    assert places == sorted(places)
    for said in (
        "What is 42 + 58?",
        "It is 100.",
        "add(a=42, b=58)",
        '{"a":42,"b":58}',
        "The model answered",
    ):
        assert said in text
    for seq in range(1, len(trace)):
        change = trace.diff(seq - 1, seq)
        told = f"messages[]: {change}" if change.added else "messages[] unchanged"
        assert told in text


def test_a_run_that_went_wrong_is_told() -> None:
    wrong = [("add", {"a": "2", "c": 3}), ("sub", "{}")]
    trace = run(wrong, wrong, tools=[adder()], limits=Limits(retries=0))
    text = read_safely(trace.to_html()).text
    assert "Ended: no retries left" in text
    assert trace.error is not None
    assert trace.error in text
    assert "/b" in text
    assert "✗ error: unknown_tool" in text
    assert f"errors{len(trace.errors)}tim" in text.replace(" ", "")


def test_the_number_of_errors_is_that_of_the_trace() -> None:
    trace = run(
        [("add", {"a": 1, "b": 2})], "Done.", tools=[Tool("add", "", {"type": "object"}, lambda **_: {1j})]
    )
    assert len(trace.errors) == 1
    assert "errors1" in read_safely(trace.to_html()).text


def test_a_repair_shows_what_it_changed() -> None:
    class Quotes:
        def propose(self, raw: str, schema: dict[str, Any] | None = None) -> str:
            assert schema is not None
            return raw.replace("'", '"')

    page = run([("add", "{'a': 1, \"b\": 2}")], "3", tools=[adder()], repair=Quotes()).to_html()
    assert "<del>'</del><ins>\"</ins>a<del>'</del>" in page
    assert "accepted: it meets the schema" in read_safely(page).text


def test_permission_and_edits_are_told() -> None:
    risky = Tool("wipe", "Wipe a disk.", {"type": "object"}, lambda: "wiped", risk="high")
    trace = Trace()
    steps = trace.follow(walk("Wipe it.", [risky], Scripted([[("wipe", {})], "Done."])))
    step = next(steps)
    while True:
        try:
            pending = isinstance(step.record, Decision)
            step = steps.send(Decision("once", "the teacher said so") if pending else None)
        except StopIteration:
            break
    text = read_safely(trace.to_html()).text
    assert "answered" in text
    assert "the teacher said so" in text
    assert "wipe is of high risk: allow it?" in text
    asked = run([("wipe", {})], "Pity.", tools=[risky]).to_html()
    assert "nobody gave it" in read_safely(asked).text
    assert "… pending" in read_safely(asked).text


def cards_of(page: str, trace: Trace) -> list[str]:
    """The text of each step's card."""
    text = read_safely(page).text
    places = [text.index(f"{step.kind} step {n + 1} of {len(trace)}") for n, step in enumerate(trace.steps)]
    return [text[a:b] for a, b in zip(places, [*places[1:], len(text)], strict=True)]


@pytest.mark.parametrize("choice", ["once", "deny", None])
def test_a_permission_tells_what_was_asked_and_what_was_decided(choice: Any) -> None:
    def erase(path: str) -> str:
        return f"erased {path}"

    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    risky = Tool("erase", "Erase.", schema, erase, risk="high", resource=lambda a: f"/data/{a['path']}")
    trace = Trace()
    model = Scripted([[("erase", {"path": "x.txt"})], "Done."])
    steps = trace.follow(walk("Erase it.", [risky], model))
    step, answer = next(steps), None
    with suppress(StopIteration):
        while True:
            answer = Decision(choice) if choice and isinstance(step.record, Decision) else None
            step = steps.send(answer)
    seq = next(n for n, step in enumerate(trace.steps) if isinstance(step.record, Decision))
    told = cards_of(trace.to_html(), trace)[seq].split("What was asked")[0]
    for said in ("toolerase", "riskhigh", "it touches/data/x.txt", '{"path": "x.txt"}'):
        assert said in told
    assert f"decided{choice or 'nothing yet'}" in told


def test_withheld_tools_are_told_with_why() -> None:
    withheld = tuple(Withheld(f"tool_{n}", n, 0.1, f"rank {n} of 60, 8 are sent") for n in range(9, 160))
    messages = Messages([{"role": "user", "content": "Hi"}])
    trace = Trace()
    trace.add(Step("request", 1, None, Request(messages, withheld=withheld), messages, 1))
    text = read_safely(trace.to_html()).text
    assert "100 withheld" in text
    assert "tool_9: withheld, rank 9 of 60, 8 are sent" in text
    assert "51 more tools are left out here." in text


def test_a_sub_agent_is_told_and_its_steps_are_folded_in_a_line_each() -> None:
    asks = Scripted([[("fly", {})], "It is seven."])
    oracle = as_tool("oracle", "Knows much.", [], asks)
    trace = run([("oracle", {"task": "The number?"})], "7.", tools=[oracle])
    page = trace.to_html()
    text = read_safely(page).text
    assert "<summary>a sub-agent: 7 steps, outcome answer</summary>" in page
    assert "validate: refused: unknown_tool" in text
    assert text.index("validate: refused: unknown_tool") < text.index("result step 6 of 8")


def test_a_large_sub_agent_is_bounded() -> None:
    calls = [[("add", {"a": n, "b": 1})] for n in range(200)]
    inner = run(*calls, "x" * 9_000, tools=[adder()], limits=Limits(turns=300))
    messages, trace = Messages(), Trace()
    for within in (inner, Trace()):
        trace.add(Step("execute", 1, 0, Outcome(1, trace=within), messages))
    page = trace.to_html()
    assert f"{len(inner) - 40:,} more steps in its trace" in read_safely(page).text
    assert len(page.encode()) < 100_000


def test_untrusted_tools_are_marked() -> None:
    shady = Tool("read", "Read.", {"type": "object"}, untrusted="the MCP server <x>")
    assert "untrusted data from the MCP server <x>" in read_safely(run("Hi", tools=[shady]).to_html()).text


def test_what_a_tool_printed_has_a_label_that_can_be_seen() -> None:
    messages, trace = Messages(), Trace()
    trace.add(Step("execute", 1, 0, Outcome(1, stdout="counting"), messages))
    trace.add(Step("execute", 1, 1, Outcome(1), messages))
    text = read_safely(trace.to_html()).text
    assert text.count("What it printed; the model does not see it:counting") == 1
    assert text.count("What it printed") == 1


def test_a_notebook_gets_the_story_and_a_line_of_text() -> None:
    trace = run("Hello")
    bundle, _ = DisplayFormatter().format(trace)
    assert bundle == {"text/html": trace._repr_html_(), "text/plain": repr(trace)}


def test_long_texts_are_cut_and_say_so() -> None:
    tool = Tool("dump", "Dump.", {"type": "object"}, lambda: "x" * 60_000)
    text = read_safely(run([("dump", {})], "y" * 19_000, tools=[tool]).to_html()).text
    assert "cut: the first 16,000 of 60,002 characters" in text
    assert "cut: the first 4,000 of 19,000 characters" in text
    assert "60 kB -> 16 kB" in text
    assert "x" * 16_001 not in text


def test_5000_steps_fit_on_a_page() -> None:
    calls = [[("add", {"a": i, "b": "x" if i == 500 else 1})] for i in range(1_000)]
    trace = run(*calls, "Done.", tools=[adder()], limits=Limits(turns=2_000))
    assert len(trace) > 4_990
    assert lines_of(trace.to_html) < 3_000 * len(trace)
    page = trace.to_html()
    assert len(page.encode()) < 5_000_000
    text = read_safely(page).text
    refused = next(seq for seq, step in enumerate(trace.steps) if step.error_code)
    assert f"trace.steps[{refused}]" in text
    assert "Steps 201 to" in text
    assert f"step {len(trace):,} of {len(trace):,}" in text


def test_a_page_of_large_records_is_bounded() -> None:
    big = "<&\"'>" * 4_000
    trace = Trace()
    for _ in range(80):
        for step in hostile_trace(big).steps:
            trace.add(step)
    assert len(trace) > MAX_STEPS
    page = trace.to_html()
    assert len(page.encode()) < 5_000_000
    assert "the page is full" in read_safely(page).text


def test_every_step_of_a_run_appears() -> None:
    trace = run(*[[("add", {"a": 1, "b": 2})] * 3] * 20, "Done.", tools=[adder()], limits=Limits(turns=30))
    text = read_safely(trace.to_html()).text
    assert len(trace) < MAX_STEPS
    assert all(f"trace.steps[{seq}]" in text for seq in range(len(trace)))


def test_a_trace_from_a_file_and_one_without_steps(tmp_path: Path) -> None:
    path = run([("add", {"a": 1, "b": 2})], "3", tools=[adder()]).save(tmp_path / "t.jsonl")
    assert "add(a=1, b=2)" in read_safely(Trace.load(path).to_html()).text
    assert "Not at its end" in read_safely(Trace().to_html()).text


def test_nothing_is_fetched_and_the_fragment_is_no_page() -> None:
    trace = run("Hello")
    page, fragment = render_page(trace), render_fragment(trace)
    assert not re.search(r"http(?!-equiv)|url\(|@import|src=|href=", page)
    assert '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; ' in page
    assert page.startswith("<!doctype html>")
    assert not {"html", "head", "body", "h1"} & set(Reader(fragment).elements)
    assert 'class="zoolab-story"' in fragment


def test_the_style_is_scoped_and_reads_on_both_grounds() -> None:
    css = style_sheet("zoolab.show", "story.css", ".zoolab-story")
    selectors = re.findall(r"([^{}]+)\{", re.sub(r"/\*.*?\*/|@[^{]+\{", "", css, flags=re.DOTALL))
    assert all(
        ".zoolab-story" in part for selector in selectors for part in selector.split(",") if part.strip()
    )
    named = dict(re.findall(r"--([\w-]+): light-dark\(([^)]+)\)", css))
    hues = re.findall(r"--hue: light-dark\(([^)]+)\)", css)
    grounds = [named[name] for name in ("paper", "card", "well")]
    pairs = [(ink, ground) for ink in [named["ink"], named["soft"], *hues] for ground in grounds]
    pairs += [(named[name], named[f"{name}-tint"]) for name in ("ok", "error", "pending")]
    for side in (0, 1):
        for ink, ground in pairs:
            assert _contrast(ink.split(", ")[side], ground.split(", ")[side]) >= 4.5, (ink, ground, side)


def _contrast(a: str, b: str) -> float:
    low, high = sorted(map(_luminance, (a, b)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_style_of_a_text_is_a_field_and_not_its_label() -> None:
    room = Room(10_000)
    for style, class_ in (("raw", "raw"), ("prose", "prose"), ("call", "raw call")):
        for label in ("the answer", "the Python call", "anything"):
            made = str(render_blocks([room.code(label, "words", style=style)]))
            assert re.findall(r'<pre class="([^"]*)"', made) == [class_]


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (0, "under 1 ms"),
        (0.99, "under 1 ms"),
        (1, "1 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (999.9, "1.0 s"),
        (59_900, "59.9 s"),
        (59_999, "1 min 0 s"),
        (60_000, "1 min 0 s"),
        (90_000, "1 min 30 s"),
        (119_999, "2 min 0 s"),
        (4_000_000, "66 min 40 s"),
        (70_000_000, "1,166 min 40 s"),
        (float("inf"), "unknown"),
        (float("nan"), "unknown"),
    ],
)
def test_a_duration_is_told_in_the_unit_that_fits(milliseconds: float, said: str) -> None:
    assert duration(milliseconds) == said


def test_markup_is_escaped_by_construction() -> None:
    bold = tag("strong", "x")
    assert tag("p", "a" + bold) == "<p>a&lt;strong&gt;x&lt;/strong&gt;</p>"
    assert tag("p", f"{bold}") == "<p>&lt;strong&gt;x&lt;/strong&gt;</p>"
    assert tag("p", bold.replace("x", "<")).count("&lt;") > 1
    assert isinstance(join(bold, bold), Html)
    assert block("\nfirst", "x") == '<pre class="raw"><code>\nfirst</code></pre>'
    for name, attributes in (("script", {}), ("img", {}), ("p", {"onclick": "x"}), ("p", {"style": "x"})):
        with pytest.raises(InvalidInput):
            tag(name, **attributes)


def test_a_value_that_cannot_be_shown_does_not_end_the_program():
    class Rude:
        def __repr__(self):
            raise SystemExit

    @tool
    def rude() -> object:
        """Return it."""
        return Rude()

    trace = Trace.record(walk("Hi", [rude], Scripted([[("rude", {})], "ok"])))
    assert "a Rude that cannot be shown" in trace.to_html()
    assert trace.to_html(interactive=True)
