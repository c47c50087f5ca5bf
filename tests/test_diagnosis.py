"""The four diagnoses: each is made where there is evidence, and nowhere else."""

from __future__ import annotations

import pytest

from zoolab import Replay, Reply, Scripted, Tool, Trace, run, walk
from zoolab.toolbox.starter import starter_tools

GOOD = starter_tools("check_status")
POOR = Tool.from_schema(
    "go", "Go.", {"type": "object", "properties": {"x": {"type": "string"}}}, lambda x="": x
)


def codes(trace: Trace) -> list[str]:
    return [found.code for found in trace.diagnose()]


def told(replies, tools=GOOD, **meta) -> Trace:
    """The trace of a scripted walk."""
    return Trace.record(walk("Is nginx up?", tools, Scripted(replies)), meta=meta)


def test_a_good_run_has_none():
    assert (
        codes(
            run("Is nginx running?", starter_tools("add", "get_weather", "check_status"), Replay("starter"))
        )
        == []
    )


def test_an_answer_without_a_call_is_none_by_itself():
    assert codes(told(["Hello!"])) == []


@pytest.mark.parametrize(
    "answer",
    [
        "I will use check_status for that.",
        'Sure: {"name": "check_status", "arguments": {"service": "nginx"}}',
    ],
)
def test_a_call_that_stayed_text_is_a_missing_call(answer):
    assert codes(told([answer])) == ["no_tool_call"]


CALLED = '{"name": "check_status", "arguments": {"service": "nginx"}}'


@pytest.mark.parametrize("replies", [[CALLED], [[("check_status", {"service": "nginx"})], CALLED]])
def test_a_call_in_the_text_is_read_with_calls_auto(replies):
    (found,) = told(replies).diagnose()
    assert found.code == "no_tool_call"
    assert 'calls="auto"' in found.advice
    assert found.evidence[-1].startswith("the answer holds a call as text: ")
    trace = run("Is nginx up?", GOOD, Scripted([*replies, "Up."]), calls="auto")
    assert (trace.answer, codes(trace)) == ("Up.", [])


@pytest.mark.parametrize("answer", ["It is up.", 'The body was {"name": "ada", "arguments": {}}.'])
def test_an_answer_after_a_call_is_none(answer):
    assert codes(told([[("check_status", {"service": "nginx"})], answer])) == []


def test_a_tool_that_was_expected_and_not_called_is_a_missing_call():
    (found,) = told(["It is up."], expected_tool="check_status").diagnose()
    assert (found.code, found.evidence, found.steps) == ("no_tool_call", ("check_status was expected",), (2,))


@pytest.mark.parametrize("arguments", ['{"service": "nginx"', "{}", '{"service": 5}'])
def test_broken_arguments_name_the_problem_and_the_step(arguments):
    (found,) = told([[("check_status", arguments)], "Sorry."]).diagnose()
    assert found.code == "broken_arguments"
    assert found.evidence[0].startswith("check_status: ")
    assert found.steps == (3,)


def test_arguments_cut_by_length_have_advice_of_their_own():
    function = {"name": "check_status", "arguments": '{"ser'}
    call = {"id": "c", "type": "function", "function": function}
    cut = Reply({"role": "assistant", "content": None, "tool_calls": [call]}, "length")
    (found,) = told([cut, "Sorry."]).diagnose()
    assert "max_tokens" in found.advice


def test_an_invented_tool_is_shown_beside_those_there_are():
    (found,) = told([[("check_nginx", {})], "Sorry."]).diagnose()
    assert (found.code, found.evidence) == (
        "unknown_tool",
        ("'check_nginx' does not exist; there is one of check_status",),
    )


def test_a_poor_description_is_named_where_the_tool_was_not_chosen():
    found = told(
        [[("check_status", {"service": "nginx"})], "Up."], [*GOOD, POOR], expected_tool="go"
    ).diagnose()
    assert [each.code for each in found] == ["poor_description"]
    assert all(line.startswith("go") for line in found[0].evidence)


def test_a_good_description_is_not_blamed():
    trace = told([[("check_status", "{}")], "Sorry."])
    assert "poor_description" not in codes(trace)


def test_a_loaded_trace_is_diagnosed_the_same(tmp_path):
    trace = told([[("fly", {})], [("check_status", "[]")], "Sorry."])
    assert Trace.load(trace.save(tmp_path / "t.jsonl")).diagnose() == trace.diagnose()


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ('Action: check\nAction Input: {"service": "nginx"}', "ReAct"),
        ('{"tool": "check", "arguments": {"service": "nginx"}}', '"tool" and "arguments"'),
    ],
)
def test_text_that_is_nearly_a_call_is_an_answer_with_a_diagnosis(answer, form):
    trace = told([answer])
    (found,) = trace.diagnose()
    assert (found.code, trace.answer) == ("no_tool_call", answer)
    assert form in found.evidence[0]
    assert (trace.steps[-1].status, trace.steps[-1].record.notes) == ("ok", found.evidence)
