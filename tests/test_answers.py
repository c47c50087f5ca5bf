"""Answering a step: the edited record goes on instead, and shows in the next request."""

import json
from dataclasses import replace

import pytest
from walks import CALL, TOOLS, Watched, add, drive, fail

from zoolab.errors import InvalidInput
from zoolab.loop import walk
from zoolab.policy import Policy
from zoolab.records import Decision, Failure, Limits, Outcome, Reply, Result, Verdict
from zoolab.runs import run


def test_define_can_be_answered_with_other_tools():
    model = Watched([("fail", {})], "Done.")
    drive(walk("Hi", [add], model), define=[fail])
    assert [tool["function"]["name"] for tool in model.requests[0].tools] == ["fail"]
    assert "no 0" in model.last[-1]["content"]


def test_a_request_can_be_answered_with_other_messages_and_tools():
    model = Watched(CALL, "Done.")

    def edit(step):
        request = step.record
        return replace(request, messages=[{"role": "user", "content": "Edited"}], tools=request.tools[:1])

    drive(walk("Hi", TOOLS, model, envelope="plain"), request=edit)
    assert model.requests[0].messages == [{"role": "user", "content": "Edited"}]
    assert len(model.requests[0].tools) == 1
    assert [m["content"] for m in model.last] == ["Edited", None, "3"]


def test_a_call_can_be_answered_with_other_arguments():
    model = Watched([*CALL, ("add", {"a": 5})], "Done.")
    steps = walk("Hi", TOOLS, model, envelope="plain")
    drive(steps, tool_call=lambda step: replace(step.record, arguments='{"a": 40}'))
    assert [m["content"] for m in model.last if m["role"] == "tool"] == ["40", "5"]
    assert model.last[1]["tool_calls"][0]["function"]["arguments"] == '{"a": 40}'


def test_a_final_reply_can_be_answered_with_another():
    final = Reply({"role": "assistant", "content": "Edited"})
    steps = walk("Hi", TOOLS, Watched("Done."))
    while True:
        try:
            step = next(steps)
            if isinstance(step.record, Reply):
                steps.send(final)
        except StopIteration as end:
            assert end.value[-1]["content"] == "Edited"  # noqa: PT017
            break


@pytest.mark.parametrize(
    ("arguments", "overruled", "code"),
    [
        ({"a": "x"}, Verdict(True, {"a": 7}), None),
        ({"a": 1}, Verdict(False), "invalid_arguments"),
    ],
    ids=["allowed", "refused"],
)
def test_a_verdict_can_be_overruled_both_ways(arguments, overruled, code):
    model = Watched([("add", arguments)], "Done.")
    steps = drive(walk("Hi", TOOLS, model), validate=overruled)
    body = json.loads(model.last[-1]["content"])
    assert body["data"] == (7 if code is None else None)
    assert [step.error_code for step in steps if step.kind == "result"] == [code]


def test_an_unknown_tool_that_is_allowed_is_one_clear_error():
    model = Watched([("nobody", {})], "Done.")
    drive(walk("Hi", TOOLS, model), validate=Verdict(True, {}))
    assert json.loads(model.last[-1]["content"])["success"] is False


@pytest.mark.parametrize(
    ("choice", "runs"), [("once", [True, False]), ("session", [True, True]), ("deny", [False, False])]
)
def test_a_pending_decision_can_be_answered(choice, runs):
    model = Watched([("wipe", {})], [("wipe", {"disk": "y"})], "Done.")
    steps = drive(walk("Hi", TOOLS, model, envelope="plain"), execute=Decision(choice, "why not"))
    contents = [step.record.content for step in steps if step.kind == "result"]
    assert [content.startswith("wiped") for content in contents] == runs
    assert choice != "deny" or "why not" in contents[0]


def test_a_pending_decision_that_is_only_iterated_denies():
    trace = run("Hi", TOOLS, Watched([("wipe", {})], "Done."))
    assert [step.status for step in trace.steps if step.kind == "execute"] == ["pending", "error"]
    assert "nobody allowed it" in trace.messages[-2]["content"]


def test_a_policy_decides_without_asking():
    policy = Policy(allow=["wipe"], deny=["add"])
    trace = run("Hi", TOOLS, Watched([("wipe", {}), ("add", {"a": 1})], "Done."), policy=policy)
    assert [step.error_code for step in trace.steps if step.kind == "result"] == [None, "permission_denied"]


@pytest.mark.parametrize("name", ["add", "wipe"])
def test_an_outcome_can_be_given_or_edited(name):
    model = Watched([(name, {"a": 1} if name == "add" else {})], "Done.")
    drive(walk("Hi", TOOLS, model, envelope="plain"), execute=Outcome("invented"))
    assert model.last[-1]["content"] == "invented"


def test_an_outcome_can_become_an_error():
    model = Watched(CALL, "Done.")
    drive(walk("Hi", TOOLS, model), execute=Outcome(error=Failure("io_error", "disk")))
    assert json.loads(model.last[-1]["content"])["error_type"] == "io_error"


def test_a_result_can_be_edited_and_keeps_its_pairing():
    model = Watched(CALL, "Done.")
    drive(walk("Hi", TOOLS, model), result=Result("edited", "another id"))
    assert model.last[-1] == {"role": "tool", "tool_call_id": "call_1", "content": "edited"}


def test_a_step_can_be_answered_with_a_step():
    model = Watched(CALL, "Done.")
    edit = lambda step: step._replace(record=replace(step.record, content="edited"))  # noqa: E731
    drive(walk("Hi", TOOLS, model), result=edit)
    assert model.last[-1]["content"] == "edited"


def test_an_edit_leaves_what_was_shown_before_as_it_was():
    steps = walk("Hi", TOOLS, Watched(CALL, "Done."), envelope="plain")
    seen = drive(steps, result=lambda step: replace(step.record, content="edited"))
    shown = next(step for step in seen if step.kind == "result")
    assert shown.messages[-1]["content"] == "3"


@pytest.mark.parametrize("kind", ["define", "request", "tool_call", "validate", "execute", "result"])
def test_a_wrong_answer_is_one_clear_error(kind):
    wrong = 5 if kind == "define" else Limits()
    with pytest.raises(InvalidInput, match="a step was answered with"):
        drive(walk("Hi", TOOLS, Watched(CALL, "Done.")), **{kind: wrong})
