"""What a notebook shows of a value: readable, escaped, a plain str, and without addresses."""

from html import escape

import pytest

from zoolab import (
    Context,
    Faulty,
    LocalModel,
    Outcome,
    Permissions,
    Policy,
    Replay,
    Scripted,
    Tool,
    ToolCall,
    ToolRegistry,
    ask_again,
    bisect,
    check_call,
    experiment,
    run,
    walk,
)
from zoolab.records import Failure, Messages, Reply, Request, Result, Step
from zoolab.repair import LLMRepair, RuleRepair
from zoolab.toolbox.starter import add
from zoolab_connect.providers import OllamaModel
from zoolab_study.comparison import Comparison, Comparisons
from zoolab_study.statistics import Difference

EVIL = "<script>alert(1)</script>\x1b[2J\ud800"
TRACE = run("Hi", [add], Scripted([[("add", {"a": 1, "b": 2})], "It is 3."]))
CALLS = [{"id": EVIL, "function": {"name": EVIL, "arguments": EVIL}}]
CASES = [{"id": EVIL[:8], "prompt": "Hi", "expected_answer": "3"}]


def an_experiment():
    return experiment(
        CASES, {"plain": {"tools": [add]}}, {"s": lambda _seed: Scripted(["3"])}, progress=False
    )


def comparison(name):
    difference = Difference(0.5, 0.1, 0.9, 3)
    return Comparison(name, "b", "", "success", difference, 3, 0, 2, 0.1, "", 0.1)


SHOWN = {
    "tool": lambda: Tool.from_schema("evil", EVIL, {"type": "object", "title": EVIL}),
    "right": lambda: check_call(ToolCall(1, 0, "c", "add", '{"a": 1, "b": 2}'), ToolRegistry([add])),
    "wrong": lambda: check_call(ToolCall(1, 0, "c", "add", '{"a": "<b>"}'), ToolRegistry([add])),
    "outcome": lambda: Outcome(EVIL, stdout=EVIL),
    "failure": lambda: Outcome(error=Failure("execution_failed", EVIL)),
    "diff": lambda: TRACE.diff(0, 2),
    "trace": lambda: TRACE,
    "wires": lambda: TRACE.show_wires(),
    "experiment": an_experiment,
    "call": lambda: ToolCall(1, 0, EVIL, EVIL, EVIL),
    "request": lambda: Request([{"role": EVIL, "content": EVIL, "tool_calls": CALLS}], settings={EVIL: 1}),
    "reply": lambda: Reply({"role": "assistant", "content": EVIL, "tool_calls": CALLS}, EVIL),
    "result": lambda: Result(EVIL, EVIL, 100, 10, EVIL),
    **{f"step {at}": lambda at=at: TRACE.steps[at] for at in range(len(TRACE.steps))},
    "hostile step": lambda: Step("result", 1, 0, Result(EVIL, EVIL), Messages([{"role": EVIL}])),
    "comparisons": lambda: Comparisons([comparison(EVIL)]),
    "bisection": lambda: bisect(TRACE, run(EVIL, [add], Scripted([EVIL]))),
    "asked again": lambda: ask_again(TRACE, 1, {EVIL: Scripted([EVIL])}),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_rich_display_is_a_plain_str_and_escaped(name):
    shown = SHOWN[name]()._repr_html_()
    assert type(shown) is str
    assert "<script" not in shown
    assert "\x1b" not in shown
    shown.encode()
    assert " at 0x" not in shown


def test_what_they_say():
    assert SHOWN["right"]()._repr_html_() == "<pre>may run, with\n{&quot;a&quot;:1,&quot;b&quot;:2}</pre>"
    assert "/a: expected integer" in SHOWN["wrong"]()._repr_html_()
    assert SHOWN["diff"]()._repr_html_() == f"<pre>{escape(str(TRACE.diff(0, 2)))}</pre>"
    assert "1 of 1 runs" in an_experiment()._repr_html_()
    assert "<table" in an_experiment()._repr_html_()
    assert len(Outcome("x" * 10_000, stdout="y" * 10_000)._repr_html_()) < 5_000


def test_what_calls_requests_and_steps_say():
    steps = TRACE.steps
    assert steps[2].record._repr_html_().startswith("<pre>asks for add, as ")
    assert "1 messages, 1 tools, tool_choice auto" in steps[1].record._repr_html_()
    assert "user: &quot;Hi&quot;" in steps[1].record._repr_html_()
    assert "assistant: &quot;&quot;; add &quot;{" in steps[2].reply._repr_html_()
    for step in steps:
        assert step._repr_html_().startswith(f"<pre>{repr(step)[1:-1]}, {step.status}</pre><pre>")


@pytest.mark.parametrize(
    "value",
    [
        ToolCall(1, 0, "x" * 10_000, "add", "y" * 100_000),
        Request([{"role": "user", "content": "x" * 1000}] * 1_000),
        Reply({"role": "assistant", "content": "x" * 100_000, "tool_calls": CALLS * 1_000}),
        Result("x" * 100_000, "c"),
        TRACE.steps[0]._replace(record=Result("x" * 100_000, "c")),
        Comparisons([comparison("x" * 10_000)] * 1_000),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_notebook_shows_is_bounded(value):
    assert len(value._repr_html_()) < 30_000
    assert "…" in value._repr_html_()


@pytest.mark.parametrize(
    "value",
    [
        Scripted(["Hi"]), Faulty(Scripted([]), ["trailing_comma"]), Replay("starter"), LocalModel(),
        Permissions(Policy()), add, ToolRegistry([add]), TRACE, *TRACE.steps,
        *(step.record for step in TRACE.steps),
        walk("Hi", [add], Scripted(["Hi"])), Replay("starter").recording, OllamaModel("small"), Context({}),
        RuleRepair(), LLMRepair(Scripted([])),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_nothing_prints_an_address(value):
    assert " at 0x" not in repr(value)
    assert " at 0x" not in str(value)
