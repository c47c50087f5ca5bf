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
from zoolab.records import Failure
from zoolab.repair import LLMRepair, RuleRepair
from zoolab.toolbox.starter import add
from zoolab_connect.providers import OllamaModel

EVIL = "<script>alert(1)</script>\x1b[2J\ud800"
TRACE = run("Hi", [add], Scripted([[("add", {"a": 1, "b": 2})], "It is 3."]))
CASES = [{"id": EVIL[:8], "prompt": "Hi", "expected_answer": "3"}]


def an_experiment():
    return experiment(
        CASES, {"plain": {"tools": [add]}}, {"s": lambda _seed: Scripted(["3"])}, progress=False
    )


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
