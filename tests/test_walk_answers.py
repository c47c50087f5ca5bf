"""Answers cannot get lost, and a choice that the model ignored can be seen."""

from dataclasses import replace

import pytest

from zoolab import Decision, Limits, Scripted, Trace, run, tool, walk
from zoolab.errors import InvalidInput, ToolRetriesExhausted


@tool(risk="high")
def restart(service: str) -> str:
    """Restart a service."""
    return f"{service} is back"


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@tool
def subtract(a: int, b: int) -> int:
    """Subtract two integers."""
    return a - b


BAD, GOOD = ("add", {"a": "x", "b": 2}), ("add", {"a": 1, "b": 2})


@pytest.mark.parametrize("calls", [1, 2, 3, 10])
@pytest.mark.parametrize("recorded", [False, True])
def test_every_pending_call_of_a_reply_can_be_allowed_in_a_for(calls, recorded):
    asks = [("restart", {"service": f"s{i}"}) for i in range(calls)]
    trace = Trace()
    steps = walk("Go.", [restart], Scripted([asks, "Done."]))
    steps = trace.follow(steps) if recorded else steps
    ran = []
    for step in steps:
        if step.status == "pending":
            steps.answer(Decision("once"))
        elif step.kind == "execute":
            ran.append(step.record.value)
    assert ran == [f"s{i} is back" for i in range(calls)]
    if recorded:
        assert len(trace.originals) == calls
        assert trace.outcome == "answer"


def test_two_edits_in_one_for_both_hold():
    trace = Trace()
    steps = trace.follow(walk("Go.", [add], Scripted([[GOOD, GOOD], "Done."]), envelope="plain"))
    for step in steps:
        if step.kind == "tool_call" and step.slot is not None:
            steps.answer(replace(step.record, arguments=f'{{"a": 10, "b": {step.slot}}}'))
    assert [message["content"] for message in trace.messages if message["role"] == "tool"] == ["10", "11"]


@pytest.mark.parametrize("recorded", [False, True])
def test_an_answer_without_a_step_is_one_clear_line(recorded):
    steps = walk("Hi", [], Scripted(["Hello"]))
    steps = Trace().follow(steps) if recorded else steps
    for _ in range(2):
        with pytest.raises(InvalidInput, match=r"^there is no step to answer; take a step first") as caught:
            steps.answer(Decision("once"))
        assert "\n" not in str(caught.value)
        list(steps)


def test_bad_calls_side_by_side_are_one_failure():
    attempts = []
    for step in walk("Go.", [add], Scripted([[BAD] * 3, [BAD, GOOD], "3"]), limits=Limits(retries=2)):
        if step.kind == "validate":
            attempts.append(step.attempt)
    assert attempts == [1, 1, 1, 2, 2]
    assert run("Go.", [add], Scripted([[BAD] * 3, [GOOD], "3"]), limits=Limits(retries=2)).answer == "3"


def test_invented_names_share_one_budget_and_count_once_a_turn():
    invented = [[(f"f{turn}{i}", {}) for i in range(3)] for turn in range(3)]
    assert run("Go.", [add], Scripted([*invented[:2], "No."]), limits=Limits(retries=2)).answer == "No."
    with pytest.raises(ToolRetriesExhausted, match="tools that do not exist failed validation in 3 turns"):
        run("Go.", [add], Scripted(invented), limits=Limits(retries=2))


@pytest.mark.parametrize(
    ("choice", "said", "code"),
    [
        ("required", ["No."], "no_tool_call"),
        ("add", ["No."], "no_tool_call"),
        ("add", [[("subtract", {"a": 1, "b": 2})], "-1"], "wrong_tool"),
        ("add", [[("subtract", {"a": 1, "b": 2}), GOOD], "3"], None),
        ("required", [[GOOD], "3"], None),
        ("none", ["No."], None),
        ("auto", ["No."], None),
    ],
)
@pytest.mark.parametrize("calls", ["native", "text"])
def test_a_forced_choice_that_was_ignored_is_an_outcome(choice, said, code, calls, tmp_path):
    trace = run("1 + 2?", [add, subtract], Scripted(said), tool_choice=choice, calls=calls)
    assert trace.outcome == (code or "answer")
    assert trace.answer == said[-1]
    assert [error.code for error in trace.errors] == ([code] if code else [])
    assert set(trace.to_frame()["outcome"]) == {trace.outcome}
    assert [found.code for found in trace.diagnose()][:1] == ([code] if code else [])
    if code:
        assert trace.errors[0].message.startswith(f"tool_choice was {choice}, and the model called ")
    loaded = Trace.load(trace.save(tmp_path / "trace.jsonl"))
    assert loaded == trace
    assert loaded.errors == trace.errors
    assert trace.to_html()
    assert trace.to_otel()
