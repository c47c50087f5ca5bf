"""The loop: every call has exactly one answer, and every walk ends."""

import time

import pytest
from counting import lines_of
from hypothesis import given, settings
from hypothesis import strategies as st
from walks import CALL, TOOLS, Watched, add, check_paired

from zoolab.errors import InvalidInput, LoopError, ModelError, ToolLoopLimitReached, ToolRetriesExhausted
from zoolab.loop import walk
from zoolab.models.scripted import Scripted
from zoolab.records import Limits, Reply
from zoolab.repair import RuleRepair
from zoolab.runs import Trace, run
from zoolab.steps.define import tool
from zoolab_connect.nested import as_tool


def test_check_status_as_documented():
    @tool
    def check_status(service: str) -> str:
        """Check if a service is running. Use this when user asks about service status."""
        return f"Service {service} is ONLINE"

    model = Watched([("check_status", {"service": "auth"})], "The auth service is online.")
    trace = run("Is auth up?", [check_status], model, system="You are a helpful assistant.", envelope="plain")
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "check_status", "arguments": '{"service":"auth"}'},
    }
    assert trace.messages == [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "Is auth up?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Service auth is ONLINE"},
        {"role": "assistant", "content": "The auth service is online."},
    ]
    assert [len(request.messages) for request in model.requests] == [2, 4]
    assert model.requests[0].tools == (check_status.schema(),)
    assert trace.answer == "The auth service is online."


def test_every_call_is_answered_once_in_order_whatever_happens_to_it():
    calls = [
        ("add", {"a": 1}),
        ("nobody", {}),
        ("add", "{"),
        ("add", {"a": "x"}),
        ("fail", {}),
        ("wipe", {}),
        ("add", {"a": 2}),
        ("add", {"a": 3}),
    ]
    model = Watched(calls, "Done.")
    trace = run("Hi", TOOLS, model, deny=["fail"], limits=Limits(calls_per_turn=7, retries=5))
    check_paired(model.last)
    codes = [step.record.error_code for step in trace.steps if step.kind == "result"]
    assert codes == [
        *(None, "unknown_tool", "invalid_json", "invalid_arguments", "permission_denied"),
        *("permission_denied", None, "loop_limit"),
    ]


names = st.sampled_from(["add", "fail", "wipe", "nobody", ""])
arguments = st.sampled_from(
    ['{"a": 1}', '{"a": "x"}', "", "{", "[]", "null", '{"a": 1e999}', {}, {"a": 2}, None]
)
calls = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({"name": names}, optional={"arguments": arguments})},
    optional={"id": st.sampled_from(["call_1", "call_2", "x", "", None]), "type": st.just("function")},
)
replies = st.lists(st.lists(calls, min_size=1, max_size=20), max_size=5)


@given(replies, st.booleans(), st.integers(0, 60))
@settings(max_examples=100)
def test_any_replies_leave_a_conversation_that_can_be_sent(replies, parallel, retries):
    script = [{"content": None, "tool_calls": calls} for calls in replies]
    model, trace = Watched(*script, "Done."), Trace()
    try:
        limits = Limits(turns=6, calls_per_turn=10, retries=retries)
        run("Hi", TOOLS, model, limits=limits, parallel=parallel, trace=trace)
    except LoopError as error:
        ended = error.trace is trace and trace.outcome == error.code
    else:
        ended = trace.outcome == "answer"
    assert ended
    for request in model.requests:
        check_paired(request.messages)
    check_paired(trace.messages)
    asked = sum(len(calls) for calls in replies[: len(model.requests)])
    assert len(trace.tool_calls) == asked


@pytest.mark.parametrize("turns", [1, 3])
def test_a_walk_ends_at_its_limit_of_turns_with_all_calls_answered(turns):
    model = Watched(*[[("add", {"a": n})] for n in range(9)])
    with pytest.raises(ToolLoopLimitReached, match=f"after {turns} turns") as caught:
        run("Hi", TOOLS, model, limits=Limits(turns=turns))
    assert len(model.requests) == turns
    check_paired(caught.value.trace.messages)


def test_a_walk_ends_at_its_limit_of_seconds():
    @tool
    def sleep() -> None:
        """Sleep."""
        time.sleep(5)

    with pytest.raises(ToolLoopLimitReached, match=r"0\.2 seconds") as caught:
        run("Hi", [sleep], Watched([("sleep", {})], "Done."), limits=Limits(seconds=0.2))
    (outcome,) = [s.record for s in caught.value.trace.steps if s.kind == "execute"]
    assert (outcome.error.code, outcome.still_running) == ("timeout", True)


def test_retries_are_counted_for_each_tool():
    bad = [("add", "{"), ("fail", "{")]
    assert run("Hi", TOOLS, Watched(bad, bad, "Done."), limits=Limits(retries=2)).answer == "Done."
    with pytest.raises(ToolRetriesExhausted, match="calls of add failed validation in 3 turns") as caught:
        run("Hi", TOOLS, Watched(bad, bad, bad, "Done."), limits=Limits(retries=2))
    assert [error.code for error in caught.value.trace.errors][-1] == "retries_exhausted"
    check_paired(caught.value.trace.messages)


def test_invented_names_share_one_budget():
    script = [[(f"tool_{n}", {})] for n in range(9)]
    with pytest.raises(ToolRetriesExhausted, match="tools that do not exist"):
        run("Hi", TOOLS, Watched(*script), limits=Limits(retries=2, turns=9))


def test_failures_of_execution_and_refusals_spend_no_retries():
    script = [[("fail", {"a": n}), ("wipe", {}), ("add", {"a": 1})] for n in range(4)]
    limits = Limits(retries=0, calls_per_turn=2)
    assert run("Hi", TOOLS, Watched(*script, "Done."), limits=limits).answer == "Done."


def test_attempts_are_counted_on_the_verdicts():
    trace = run("Hi", TOOLS, Watched([("add", "{")], [("add", "[")], [("add", {"a": 1})], "Done."))
    assert [step.attempt for step in trace.steps if step.kind == "validate"] == [1, 2, 3]


def test_the_same_call_with_the_same_result_ends_a_walk():
    script = [[("add", {"a": 1})] for _ in range(9)]
    with pytest.raises(ToolLoopLimitReached, match="loop detected") as caught:
        run("Hi", TOOLS, Watched(*script), limits=Limits(turns=9, repeats=3))
    results = [step.record for step in caught.value.trace.steps if step.kind == "result"]
    assert [result.repeats for result in results] == [1, 2, 3]
    assert [result.loop_detected for result in results] == [False, False, True]


@pytest.mark.parametrize(
    ("written", "repeats"),
    [
        (['{"a":1,"b":2}', '{"a": 1, "b": 2}', '{ "b" : 2,\n"a":1 }'], [1, 2, 3]),
        (['{"a":1}', '{"a":2}', '{"a": 1}'], [1, 1, 2]),
        (['{"a":1', '{"a": 1', '{"a":1'], [1, 1, 2]),
        (["", "{}", " "], [1, 2, 3]),
        (['{"a":1}', '{"a":"1"}', '{"a":true}'], [1, 1, 1]),
        (['{"a":[1,2]}', '{"a":[2,1]}', '{"a":[ 1,2 ]}'], [1, 1, 2]),
    ],
)
def test_the_arguments_of_repeated_calls_are_compared_as_json(written, repeats):
    trace = run("Hi", TOOLS, Watched(*([("add", raw)] for raw in written), "Done."), limits=Limits(retries=9))
    assert [step.record.repeats for step in trace.steps if step.kind == "result"] == repeats


def test_a_repaired_call_is_the_same_as_one_that_needed_no_repair():
    written = ['{"a":1,"b":2}', "{'a': 1, 'b': 2}", '{"a":1,"b":2,}']
    trace = run("Hi", TOOLS, Watched(*([("add", raw)] for raw in written), "Done."), repair=RuleRepair())
    assert [step.record.repeats for step in trace.steps if step.kind == "result"] == [1, 2, 3]


def test_a_round_takes_the_same_work_however_long_the_walk_is():
    def lines_of_rounds(rounds):
        model = Scripted([*([("add", {"a": number})] for number in range(rounds)), "Done."])
        steps = walk("Hi", [add], model, limits=Limits(turns=rounds + 1))
        return lines_of(lambda: Trace.record(steps))

    lines_of_rounds(1)  # what is compiled and imported at the first use
    few, more, many = (lines_of_rounds(rounds) for rounds in (10, 110, 310))
    assert many - more == 2 * (more - few)
    assert more - few < 100 * 1_000


def test_polling_with_changing_results_is_no_loop():
    states = iter(["queued", "running", "running", "done"])

    @tool
    def poll() -> str:
        """Poll."""
        return next(states)

    script = [[("poll", {})]] * 4
    trace = run("Hi", [poll], Watched(*script, "Done."), limits=Limits(turns=9, repeats=3))
    assert [s.record.repeats for s in trace.steps if s.kind == "result"] == [1, 1, 2, 1]


@pytest.mark.parametrize("choice", ["required", "add"])
def test_a_forced_choice_holds_for_one_turn(choice):
    model = Watched([("add", {"a": 1})], [("add", {"a": 2})], "Done.")
    run("Hi", TOOLS, model, tool_choice=choice)
    assert [request.tool_choice for request in model.requests] == [choice, "auto", "auto"]


def test_none_stays_none_and_an_unknown_choice_is_refused():
    model = Watched("Done.")
    run("Hi", TOOLS, model, tool_choice="none")
    assert model.requests[0].body()["tool_choice"] == "none"
    with pytest.raises(InvalidInput, match="tool_choice='nobody'"):
        run("Hi", TOOLS, model, tool_choice="nobody")


def test_a_sub_agent_is_a_tool():
    inner = Watched(CALL, "It is 3.")
    agent = as_tool("agent", "Adds.", [add], inner)
    trace = run("1 + 2?", [agent], Watched([("agent", {"task": "1 + 2"})], "3."), envelope="plain")
    assert trace.messages[-2]["content"] == "It is 3."
    assert inner.requests[0].messages == [{"role": "user", "content": "1 + 2"}]


def test_a_sub_agent_that_does_not_end_is_a_failed_call():
    agent = as_tool("agent", "Adds.", [add], Watched(*[CALL] * 9), limits=Limits(turns=2))
    trace = run("1 + 2?", [agent], Watched([("agent", {"task": "1 + 2"})], "Sorry."))
    assert [error.code for error in trace.errors] == ["execution_failed"]


def test_calls_in_text():
    model = Watched('I will. {"name": "add", "arguments": {"a": 1, "b": 2}}', "It is 3.")
    trace = run("1 + 2?", TOOLS, model, calls="text", envelope="plain")
    assert model.requests[0].tools == ()
    assert "add: Add two integers." in model.requests[0].messages[0]["content"]
    assert [call.origin for call in trace.tool_calls] == ["text"]
    check_paired(model.last)
    assert trace.answer == "It is 3."


def test_a_conversation_is_continued():
    first = run("1 + 2?", TOOLS, Watched(CALL, "It is 3."))
    model = Watched(CALL, "Still 3.")
    second = run("Again?", TOOLS, model, messages=first.messages)
    check_paired(model.last)
    assert second.messages[: len(first.messages)] == first.messages
    ids = [call["id"] for message in second.messages for call in message.get("tool_calls", ())]
    assert ids == ["call_1", "call00001"]


@pytest.mark.parametrize(
    "junk",
    [
        None,
        "text",
        {"role": "assistant"},
        Reply({"role": "user", "content": "Hi"}),
        Reply({}),
        Reply("Hi"),
        Reply({"role": "assistant", "tool_calls": "add"}),
        Reply({"role": "assistant", "tool_calls": [None]}),
    ],
)
def test_a_model_that_returns_junk_is_a_model_error(junk):
    with pytest.raises(ModelError) as caught:
        run("Hi", TOOLS, lambda _: junk)
    assert caught.value.trace.outcome == "model_error"
    assert [step.kind for step in caught.value.trace.steps] == ["define", "request"]


def test_a_script_that_ends_is_a_model_error_with_the_trace():
    with pytest.raises(ModelError, match="the script has no reply to request") as caught:
        run("Hi", TOOLS, Watched(CALL))
    check_paired(caught.value.trace.messages)
    assert caught.value.trace.messages[-1]["role"] == "tool"


def test_nothing_to_send_is_invalid_input():
    with pytest.raises(InvalidInput, match="nothing to send"):
        run(None, TOOLS, Watched("Done."))
