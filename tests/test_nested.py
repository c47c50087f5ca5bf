"""Tools as classes, models with tools of their own, and calls that somebody else runs."""

from __future__ import annotations

import pytest

from zoolab import (
    Decision,
    Outcome,
    Policy,
    Request,
    Scripted,
    Tool,
    Trace,
    as_tool,
    run,
    tool,
    walk,
    with_tools,
)
from zoolab.errors import CallError, InvalidInput, PermissionDenied, ToolLoopLimitReached, UnknownTool
from zoolab.records import Limits

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


class Weather:
    """A tool as the Rust trait has it: a descriptor, and an awaited call."""

    def descriptor(self):
        return WEATHER

    async def call(self, arguments):
        return f"Sunny in {arguments['city']}"


class SyncWeather(Weather):
    def call(self, arguments):
        return f"Rain in {arguments['city']}"


@pytest.mark.parametrize(("made", "said"), [(Weather(), "Sunny in Oslo"), (SyncWeather(), "Rain in Oslo")])
def test_an_object_with_a_descriptor_is_a_tool(made, said):
    model = Scripted([[("get_weather", {"city": "Oslo"})], "Done."])
    trace = run("Weather in Oslo?", [made, add], model, envelope="plain")
    assert trace.messages[2]["content"] == said
    assert trace.steps[1].record.tools[0] == WEATHER


def test_its_arguments_are_validated_before_it_is_called():
    trace = run("Weather?", [Weather()], Scripted([[("get_weather", {})], "Sorry."]))
    assert [error.code for error in trace.errors] == ["invalid_arguments"]


@pytest.mark.parametrize("descriptor", [None, {}, {"name": 5}, {"function": []}])
def test_a_descriptor_that_describes_nothing_is_refused(descriptor):
    broken = Weather()
    broken.descriptor = lambda: descriptor
    with pytest.raises(InvalidInput, match="a descriptor is"):
        run("Hi", [broken], Scripted(["x"]))


def test_a_model_with_tools_calls_them_itself_and_answers():
    model = with_tools(Scripted([[("add", {"a": 1, "b": 2})], "3"]), [add])
    assert model(Request([{"role": "user", "content": "1 + 2?"}])).text == "3"
    assert [step.kind for step in model.steps].count("execute") == 1


def test_it_serves_as_the_model_of_another_walk():
    inner = with_tools(Scripted([[("add", {"a": 1, "b": 2})], "3"]), [add])
    assert run("1 + 2?", [], inner).answer == "3"


def test_its_limits_are_its_own():
    model = with_tools(Scripted([[("add", {"a": 1, "b": 2})]] * 3), [add], limits=Limits(turns=2))
    with pytest.raises(ToolLoopLimitReached):
        model(Request([{"role": "user", "content": "1 + 2?"}]))


@pytest.mark.parametrize("arguments", [{"a": 1, "b": 2}, '{"a": 1, "b": 2}'])
def test_call_tool_takes_data_and_raw_text(arguments):
    assert with_tools(Scripted([]), [add]).call_tool("add", arguments) == 3


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("sub", {}, UnknownTool),
        ("sub", "{}", UnknownTool),
        ("add", {"a": "1"}, CallError),
        ("add", "{", CallError),
    ],
)
def test_call_tool_says_what_is_wrong(name, arguments, error):
    with pytest.raises(error):
        with_tools(Scripted([]), [add]).call_tool(name, arguments)


def test_a_tool_without_a_function_waits_to_be_given_its_outcome():
    described = Tool.from_schema("add", "Add.", add.parameters)
    trace = Trace()
    steps = trace.follow(
        walk("1 + 2?", [described], Scripted([[("add", {"a": 1, "b": 2})], "3"]), envelope="plain")
    )
    waiting = next(step for step in steps if step.status == "pending")
    assert isinstance(waiting.record, Decision)
    assert steps.send(Outcome(3)).record == Outcome(3)
    assert [step.kind for step in steps] == ["result", "request", "tool_call"]
    assert trace.messages[2]["content"] == "3"


def test_and_is_answered_with_an_error_when_nobody_does():
    described = Tool.from_schema("add", "Add.", add.parameters)
    trace = run(
        "1 + 2?", [described], Scripted([[("add", {"a": 1, "b": 2})], "?"]), policy=Policy(allow={"add"})
    )
    assert [error.code for error in trace.errors] == ["permission_denied"]


def test_a_forced_choice_holds_for_the_first_request():
    trace = run("Hi", [add], Scripted([[("add", {"a": 1, "b": 2})], "3"]), tool_choice="required")
    assert [step.record.tool_choice for step in trace.steps if step.kind == "request"] == ["required", "auto"]


def expert(name: str, replies: list, *tools, **options) -> Tool:
    return as_tool(name, "Knows.", list(tools), Scripted(replies), **options)


def test_the_walk_of_a_sub_agent_is_a_trace_inside_the_parents(tmp_path):
    inner = expert("clerk", [[("add", {"a": 1, "b": 2})], "Three."], add)
    outer = expert("manager", [[("clerk", {"task": "1 + 2?"})], "3."], inner)
    trace = run("1 + 2?", [outer], Scripted([[("manager", {"task": "1 + 2?"})], "It is 3."]))
    child = next(step.record.trace for step in trace.steps if isinstance(step.record, Outcome))
    grandchild = next(step.record.trace for step in child.steps if isinstance(step.record, Outcome))
    assert (trace.answer, child.answer, grandchild.answer) == ("It is 3.", "3.", "Three.")
    assert [call.name for call in grandchild.tool_calls] == ["add"]
    loaded = Trace.load(trace.save(tmp_path / "trace.jsonl"))
    again = next(step.record.trace for step in loaded.steps if isinstance(step.record, Outcome))
    assert (loaded, again) == (trace, child)


def test_a_sub_agent_that_fails_leaves_its_trace():
    stuck = expert("stuck", [[("add", {"a": 1, "b": 2})]] * 3, add, limits=Limits(turns=2))
    trace = run("1 + 2?", [stuck], Scripted([[("stuck", {"task": "1 + 2?"})], "I give up."]))
    outcome = next(step.record for step in trace.steps if isinstance(step.record, Outcome))
    assert (outcome.ok, outcome.trace.outcome, len(outcome.trace.tool_calls)) == (False, "loop_limit", 2)


def test_a_sub_agent_asks_the_person_whom_it_was_given():
    wipe = Tool("wipe", "Wipe.", {"type": "object"}, lambda: "wiped", risk="high")
    replies = [[("wipe", {})], lambda request: request.messages[-1]["content"]]
    asks = [[("janitor", {"task": "Wipe."})], "Done."]
    allowed = run("Wipe.", [expert("janitor", replies, wipe, ask=lambda _: Decision("once"))], Scripted(asks))
    alone = run("Wipe.", [expert("janitor", replies, wipe)], Scripted(asks))
    assert "wiped" in str(allowed.messages)
    assert "wiped" not in str(alone.messages)


def test_call_tool_needs_permission_as_a_walk_does():
    wipe = Tool("wipe", "Wipe.", {"type": "object"}, lambda: "wiped", risk="high")
    with pytest.raises(PermissionDenied, match="nobody allowed it"):
        with_tools(Scripted([]), [wipe]).call_tool("wipe", {})
    assert with_tools(Scripted([]), [wipe], policy=Policy(allow={"wipe"})).call_tool("wipe", "{}") == "wiped"
