"""Driving a walk by hand, editing its records, forking its trace, comparing two."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from counting import ends, lines_of
from hypothesis import given
from hypothesis import strategies as st
from inspected import TRACES, gone
from walks import CALL, TOOLS, Watched, add, check_paired

from zoolab import (
    Decision,
    Outcome,
    Permissions,
    Policy,
    Replay,
    Request,
    Scripted,
    Tool,
    ToolCall,
    Trace,
    Verdict,
    run,
    tool,
    walk,
)
from zoolab.errors import InvalidInput, InvalidSchema, ReplayMiss
from zoolab.records import Failure, Limits, Result
from zoolab.show.inspector.driver import Driver
from zoolab.show.inspector.edits import edited, fields_of
from zoolab.show.inspector.inspector import Inspector, View
from zoolab_study.branching import verbs as forks
from zoolab_study.branching.compare import align, compare


def driven(*replies: Any, tools: Any = TOOLS, **options: Any) -> Driver:
    return Driver(walk("Hi", tools, Scripted(replies), envelope="plain", **options), Trace())


def kinds(trace: Trace) -> str:
    return " ".join(step.kind for step in trace.steps)


def last(driver: Driver) -> Any:
    return driver.trace.steps[-1]


def test_a_walk_is_driven_step_by_step_to_its_end() -> None:
    driver = driven(CALL, "Done.")
    seen = ["define"]
    while driver.state == "paused":
        coming = driver.coming
        driver.step()
        if driver.state == "paused":
            assert last(driver).kind == coming
            seen.append(coming)
    assert " ".join(seen) == kinds(driver.trace) == kinds(run("Hi", TOOLS, Scripted([CALL, "Done."])))
    assert (driver.trace.error, driver.trace.outcome, driver.coming) == (None, "answer", None)
    with pytest.raises(InvalidInput, match="the walk is over"):
        driver.step()


def test_what_comes_next_is_what_comes() -> None:
    driver = driven(
        [("add", {"a": 1}), ("add", {"a": "x"}), ("wipe", {}), ("fly", {})], [("fly", {})], "Done."
    )
    while driver.state == "paused":
        coming, before = driver.coming, len(driver.trace)
        if driver.waits:
            driver.decide("once")
        else:
            driver.step()
        if len(driver.trace) > before:
            assert last(driver).kind == coming


@pytest.mark.parametrize(
    ("breakpoint", "kind"),
    [({"kind": "execute"}, "execute"), ({"tool": "fail"}, "tool_call"), ({"error": True}, "execute")],
)
def test_it_runs_to_a_breakpoint(breakpoint: dict[str, Any], kind: str) -> None:
    driver = driven(CALL, [("fail", {})], "Done.")
    driver.until(**breakpoint)
    assert (last(driver).kind, driver.state) == (kind, "paused")
    driver.run()
    assert driver.trace.answer == "Done."


@pytest.mark.parametrize("breakpoint", [{}, {"kind": "lunch"}])
def test_a_breakpoint_that_is_none_is_refused(breakpoint: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="cannot run to"):
        driven("Done.").until(**breakpoint)


@pytest.mark.parametrize(("choice", "said"), [("once", "wiped x"), ("session", "wiped x"), ("deny", "ERROR")])
def test_a_permission_is_waited_for(choice: str, said: str) -> None:
    driver = driven([("wipe", {})], [("wipe", {})], "Done.")
    driver.run()
    assert (driver.waits, last(driver).status) == (True, "pending")
    with pytest.raises(InvalidInput, match="is waiting for permission"):
        driver.run()
    driver.decide(choice)
    driver.run()
    assert driver.waits == (choice != "session")
    assert driver.trace.messages_at(len(driver.trace) - 1)[2]["content"].startswith(said)


def test_always_is_offered_where_something_keeps_it(tmp_path: Path) -> None:
    kept = Permissions(path=tmp_path / "policies.json")
    offered = []
    for policy in (None, kept):
        driver = driven([("wipe", {})], "Done.", policy=policy)
        assert driver.choices == []
        driver.run()
        offered.append(driver.choices)
        assert Inspector(View(driver.trace, driver)).live["choices"] == driver.choices
    assert offered == [["once", "session", "deny"], ["once", "session", "always", "deny"]]


def test_no_other_word_allows() -> None:
    driver = driven([("wipe", {})], "Done.")
    with pytest.raises(InvalidInput, match="no step is waiting for permission"):
        driver.decide("once")
    driver.run()
    for junk in ("yes", None, 1, ["once"], "pending"):
        with pytest.raises(InvalidInput, match="a decision is"):
            driver.decide(junk)
    assert driver.waits


def test_an_answer_goes_on_in_the_place_of_the_record() -> None:
    driver = driven(CALL, "Done.")
    driver.until(kind="tool_call")
    driver.answer(2, edited(last(driver).record, [{"field": "arguments", "text": '{"a": 40, "b": 2}'}]))
    assert driver.holds
    driver.run()
    assert driver.trace.messages[2]["content"] == "42"
    assert driver.trace.originals[2] == driver.trace.steps[2].record.__class__(
        1, 0, "call_1", "add", '{"a":1,"b":2}'
    )
    check_paired(driver.trace.messages)


def test_only_the_step_that_waits_can_be_answered() -> None:
    driver = driven(CALL, "Done.")
    driver.until(kind="validate")
    with pytest.raises(InvalidInput, match="step 3 has already been continued"):
        driver.answer(2, driver.trace.steps[2].record)
    driver.run()
    with pytest.raises(InvalidInput, match="the walk is over"):
        driver.answer(len(driver.trace) - 1, last(driver).record)


def test_a_value_may_be_given_in_the_place_of_a_permission() -> None:
    driver = driven([("wipe", {})], "Done.")
    driver.run()
    driver.answer(4, edited(last(driver).record, [{"field": "value", "text": '"pretended"'}]))
    driver.run()
    assert driver.trace.messages[2]["content"] == "pretended"


@pytest.mark.parametrize(
    ("replies", "error"),
    [
        ([CALL] * 9, "no answer after 5 turns"),
        ([CALL], "the script has no reply to request"),
        ([lambda _request: 1 / 0], "Zero"),
    ],
)
def test_what_ends_the_walk_is_shown(replies: list[Any], error: str) -> None:
    driver = driven(*replies)
    driver.run()
    assert driver.state == "done"
    assert error in str(driver.trace.error)


def test_a_walk_that_cannot_begin_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="no_such_tool"):
        driven("Hi", tool_choice="no_such_tool")


def test_ctrl_c_ends_the_walk_with_every_call_answered() -> None:
    @tool
    def stuck() -> str:
        """Interrupt whoever waits."""
        signal.raise_signal(signal.SIGINT)
        return "done"

    driver = driven([("stuck", {})], "Done.", tools=[stuck])
    driver.run()
    assert (driver.state, driver.trace.outcome) == ("done", "interrupted")
    check_paired(driver.trace.messages)


def test_a_walk_may_be_driven_from_another_thread() -> None:
    driver = driven(CALL, "Done.")
    thread = threading.Thread(target=driver.run)
    thread.start()
    thread.join(10)
    assert driver.trace.answer == "Done."


RECORDS: list[Any] = [
    ToolCall(1, 0, "c", "add", '{"a": 1'),
    TOOLS,
    Request(
        [{"role": "user", "content": "Hi"}, {"role": "user", "content": [{"type": "text", "text": "x"}]}]
    ),
    Verdict(True, {"a": 1}),
    Decision("pending"),
    Outcome({1, 2}),
    Outcome(error=Failure("timeout", "gave up")),
    Result("text", "c"),
    TRACES["answer"].steps[-1].record,
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_texts_that_did_not_change_leave_the_record_as_it_is(record: Any) -> None:
    assert edited(record, fields_of(record)) is record
    assert edited(record, []) is record


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_each_field_takes_another_text(record: Any) -> None:
    for field in fields_of(record):
        text = '{"type": "object"}' if field["form"] == "json" else "other"
        text = "deny" if field["field"] == "choice" else text
        changed = edited(record, [{"field": field["field"], "text": text}])
        assert changed != record
        again = {f["field"]: f["text"] for f in fields_of(changed)}
        if field["form"] == "text":
            assert again[field["field"]] == text
        others = [f for f in fields_of(record) if f["field"] != field["field"] and f["field"] in again]
        if not isinstance(record, Outcome):
            assert all(again[f["field"]] == f["text"] for f in others)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
@pytest.mark.parametrize("text", ["{", "{'a': 1}", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 99_999])
def test_bad_json_is_one_clear_line(record: Any, text: str) -> None:
    before = repr(record)
    for field in fields_of(record):
        if field["form"] == "json":
            with pytest.raises(InvalidInput, match="is not JSON") as caught:
                edited(record, [{"field": field["field"], "text": text}])
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 500
    assert repr(record) == before


LEAVES = st.none() | st.integers(0, 2) | st.sampled_from(["field", "text", "name", "x"])
JUNK = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(LEAVES, inner, max_size=2),
    max_leaves=5,
)


@given(JUNK.filter(lambda junk: junk not in ([], {})))
def test_junk_is_refused(junk: Any) -> None:
    with pytest.raises(InvalidInput, match=r"an edit is|cannot be edited here"):
        edited(RECORDS[1], junk)


def test_an_edit_of_another_form_is_told_the_fields() -> None:
    with pytest.raises(InvalidInput, match="field one of name, arguments"):
        edited(RECORDS[0], [{"name": "add"}])


def test_a_field_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidInput, match='"turn" cannot be edited here; expected name, arguments'):
        edited(RECORDS[0], [{"field": "turn", "text": "9"}])


def test_an_edited_tool_keeps_its_function_and_what_is_forbidden() -> None:
    tools = type(TOOLS)(list(TOOLS))
    tools.deny("fail")
    made: Any = edited(tools, [{"field": "tools/add/description", "text": "Sum."}])
    assert (made["add"].description, made["add"](1, 2), made.denies("fail")) == ("Sum.", 3, True)
    with pytest.raises(InvalidSchema):
        edited(tools, [{"field": "tools/add/parameters", "text": '{"type": "lunch"}'}])


def test_broken_arguments_are_allowed_in_a_call() -> None:
    made: Any = edited(RECORDS[0], [{"field": "arguments", "text": "{a: "}])
    assert made.arguments == "{a: "


def remembering() -> tuple[Watched, Trace]:
    model = Watched([("add", {"a": 1, "b": 2})], "It is 3.")
    return model, run("1 + 2?", TOOLS, model, envelope="plain")


def test_look_runs_nothing_and_shows_what_would_be() -> None:
    ran: list[int] = []

    @tool
    def note(n: int) -> str:
        """Note it."""
        ran.append(n)
        return f"noted {n}"

    trace = run("Hi", [note], Scripted([[("note", {"n": 1})], "Done."]), envelope="plain")
    saved = repr(trace.steps), trace.messages
    for seq, edit, said in [
        (2, {"field": "arguments", "text": '{"n": 2}'}, '{"n": 2}'),
        (5, {"field": "content", "text": "other"}, "other"),
        (7, {"field": "content", "text": "Adieu."}, "Adieu."),
        (1, {"field": "messages/0/content", "text": "Ho"}, "Ho"),
    ]:
        child = forks.look(trace, seq, edited(trace.steps[seq].record, [edit]))
        assert (len(child), child.meta["parent"], child.meta["forked_at"]) == (seq + 1, trace.run_id, seq)
        message = child.messages[-1]
        assert said in (message.get("content") or message["tool_calls"][0]["function"]["arguments"])
        assert child.originals[seq] == trace.steps[seq].record
    assert ran == [1]
    assert (repr(trace.steps), trace.messages) == saved


def test_an_edited_result_answers_the_call_that_it_answered() -> None:
    _, trace = remembering()
    call = trace.turns[0].calls[0].call
    edit: Any = replace(trace.steps[5].record, content="99", tool_call_id="of another call")
    looked = forks.look(trace, 5, edit).messages[-1]
    assert looked == {"role": "tool", "tool_call_id": call.id, "content": "99"}
    assert forks.live(trace, 5, edit, Scripted(["Done."])).messages[2] == looked


def test_replay_answers_from_the_trace_itself() -> None:
    model, trace = remembering()
    child = forks.replay_edited(trace, 2, None)
    assert (child.answer, len(model.requests)) == ("It is 3.", 2)
    assert child.options["model"] is model


@pytest.mark.parametrize("denied", [True, False])
def test_a_replay_tells_the_model_the_same_reason(denied: bool) -> None:
    reason = "the job did not run: wait for it"
    options: dict[str, Any] = {"ask": lambda _: Decision("deny", reason)}
    if denied:
        options = {"policy": Policy(deny=["wipe(**)"])}
    trace = run("Go.", TOOLS, Scripted([[("wipe", {})], "Done."]), **options)
    outcome = trace.turns[0].calls[0].outcome
    assert outcome is not None
    assert outcome.error is not None
    failure = outcome.error
    assert failure.message == f"wipe did not run: {'the policy denies it' if denied else reason}"
    assert failure.reason == ("the policy denies wipe: wipe(**)" if denied else reason)
    for seq in range(1, len(trace.steps)):
        again = forks.replay_edited(trace, seq, None)
        assert [error.message for error in again.errors] == [failure.in_full]


def test_a_replay_that_misses_shows_the_nearest_difference() -> None:
    model, trace = remembering()
    with pytest.raises(ReplayMiss) as caught:
        forks.replay_edited(trace, 4, Outcome(99))
    assert '-   "content": "3"' in caught.value.difference
    assert '+   "content": "99"' in caught.value.difference
    assert len(model.requests) == 2
    assert trace.answer == "It is 3."


def test_a_replay_runs_no_tool_that_has_run() -> None:
    ran: list[int] = []

    @tool
    def ticket(kind: str = "x") -> int:
        """Take the next ticket."""
        ran.append(len(kind))
        return len(ran)

    calls = [("ticket", {}), ("ticket", {"kind": "y"})]
    trace = run("Hi", [ticket], Scripted([calls, [("ticket", {})], "Done."]), envelope="plain")
    for seq in (1, 2, 4, 6, 9):
        child = forks.replay_edited(trace, seq, None)
        assert (child.answer, child.messages, len(ran)) == ("Done.", trace.messages, 3)
    with pytest.raises(ReplayMiss, match="ticket was not called with") as caught:
        forks.replay_edited(
            trace, 2, edited(trace.steps[2].record, [{"field": "arguments", "text": '{"kind": "z"}'}])
        )
    assert '-  "kind": "y"' in caught.value.difference
    assert '+  "kind": "z"' in caught.value.difference
    assert len(ran) == 3
    child: Any = caught.value.trace
    assert child.outcome == "replay_miss"
    ended = "validate validate result result"  # the calls of a walk that breaks off are answered
    assert kinds(child) == f"define request tool_call tool_call {ended}"
    assert child.steps[2].record.arguments == '{"kind": "z"}'


def test_a_replay_with_edited_tools_runs_none_of_them_either() -> None:
    ran: list[int] = []

    @tool
    def note(n: int) -> str:
        """Note it."""
        ran.append(n)
        return f"noted {n}"

    trace = run("Hi", [note], Scripted([[("note", {"n": 1})], "Done."]), envelope="plain")
    described = edited(trace.steps[0].record, [{"field": "tools/note/description", "text": "Write it down."}])
    with pytest.raises(ReplayMiss) as caught:
        forks.replay_edited(trace, 0, described)
    own = Scripted([[("note", {"n": 1})], "Done."])
    assert forks.replay_edited(trace, 0, described, own).answer == "Done."
    assert ran == [1]
    child: Any = caught.value.trace
    assert child.steps[0].record["note"].description == "Write it down."
    assert forks.live(child, 0, None, Scripted([[("note", {"n": 2})], "Done."])).answer == "Done."
    assert ran == [1, 2]


PERMITTED: list[Any] = [
    Decision("once", "go on"),
    Decision("session"),
    Decision("deny", "not this one"),
    Outcome("pretended"),
    None,
]


@pytest.mark.parametrize("said", PERMITTED, ids=repr)
@pytest.mark.parametrize("loaded", [False, True])
def test_an_unedited_replay_decides_as_it_was_decided(said: Any, loaded: bool, tmp_path: Any) -> None:
    asked: list[Any] = []

    def ask(step: Any) -> Any:
        asked.append(step)
        return said

    calls = [("wipe", {"disk": "a"}), ("wipe", {"disk": "b"})]
    trace = run("Hi", TOOLS, Scripted([calls, calls, "Done."]), envelope="plain", ask=ask)
    times = len(asked)
    if loaded:
        trace = Trace.load(trace.save(tmp_path / "t.jsonl"))
        trace.options = {"envelope": "plain"}
    for seq in range(len(trace)):
        child = forks.replay_edited(trace, seq, None)
        assert (child.messages, child.outcome) == (trace.messages, "answer")
        assert compare(trace, child).diverges is None
        assert set(child.originals) == set(trace.originals)
    assert len(asked) == times


@pytest.mark.parametrize("name", [name for name in TRACES if name != "empty"])
def test_an_unedited_replay_reproduces_the_run(name: str) -> None:
    trace = TRACES[name]
    for seq in range(len(trace)):
        child = forks.replay_edited(trace, seq, None)
        assert (compare(trace, child).diverges, child.outcome) == (None, trace.outcome)


def test_a_tool_is_allowed_in_a_replay_only_as_it_was() -> None:
    trace = TRACES["allowed"]
    edit = edited(trace.steps[2].record, [{"field": "arguments", "text": '{"disk": "other"}'}])
    with pytest.raises(ReplayMiss, match="there is no result to replay"):
        forks.replay_edited(trace, 2, edit)
    child = forks.replay_edited(trace, 1, None)
    assert child.options == trace.options
    with pytest.raises(ReplayMiss):
        forks.replay_edited(child, 2, edit)


def test_a_replay_asks_the_recording_that_is_given(tmp_path: Any) -> None:
    _, trace = remembering()
    recording = tmp_path / "r.jsonl"
    other = Replay(recording, live=Scripted(lambda request: f"Said {request.messages[-1]['content']}."))
    assert forks.replay_edited(trace, 4, Outcome(99), other).answer == "Said 99."
    assert forks.replay_edited(trace, 4, Outcome(99), Replay(recording)).answer == "Said 99."


def test_a_loaded_trace_replays_without_its_functions(tmp_path: Any) -> None:
    trace = gone("Go.", [add, TOOLS["fail"]], [[("add", {"a": 1}), ("fail", {})], "Done."], envelope="plain")
    loaded = Trace.load(trace.save(tmp_path / "t.jsonl"))
    loaded.options = {"envelope": "plain"}
    child = forks.replay_edited(loaded, 1, None)
    assert child.answer == "Done."
    assert [m.get("content") for m in child.messages] == [m.get("content") for m in trace.messages]


def test_live_asks_the_model_again_and_says_what_it_costs() -> None:
    answer = lambda request: f"Answer {len(model.requests)}: {request.messages[-1]['content']}"  # noqa: E731
    model = Watched([("add", {"a": 1})], answer, answer)
    trace = run("1?", TOOLS, lambda request: model(request), envelope="plain")
    child = forks.live(trace, 4, Outcome(7))
    assert (child.answer, trace.answer) == ("Answer 3: 7", "Answer 2: 1")
    assert forks.Verbs().of(trace)["live_costs"] == "Asks function again. May cost money."
    assert forks.Verbs().of(TRACES["empty"]) == {
        "look": True,
        "replay": False,
        "live": False,
        "live_costs": "There is no model to ask.",
    }
    with pytest.raises(InvalidInput, match="no model to continue"):
        forks.live(TRACES["empty"], 0, None)


def test_a_fork_that_a_limit_ends_is_there_to_be_seen() -> None:
    trace = gone("Go.", TOOLS, lambda request: Scripted([CALL])(request), limits=Limits(turns=3))
    child = forks.live(trace, 1, None)
    assert (child.outcome, child.meta["parent"]) == ("loop_limit", trace.run_id)


def test_equal_runs_do_not_diverge() -> None:
    for trace in TRACES.values():
        comparison = compare(trace, trace)
        assert comparison.diverges is None
        assert ", as long, " in comparison.words
        assert comparison.pairs == [(i, i) for i in range(len(trace))]


def test_a_retry_is_alone_and_what_follows_is_paired() -> None:
    once = gone("Hi", TOOLS, [CALL, "Done."])
    twice = gone("Hi", TOOLS, [[("add", {"a": "x"})], CALL, "Done."])
    comparison = compare(once, twice)
    assert comparison.diverges == (2, 2)
    assert comparison.pairs[-1] == (len(once) - 1, len(twice) - 1)
    alone = [b for a, b in comparison.pairs if a == -1]
    assert len(alone) == len(twice) - len(once)
    assert comparison.words.startswith("4 fewer steps, ")
    assert comparison.words.endswith("1 fewer error")


@given(st.lists(st.integers(0, 11), max_size=30), st.lists(st.integers(0, 11), max_size=30))
def test_an_alignment_has_every_step_once_in_order(one: list[int], other: list[int]) -> None:
    steps = TRACES["errors"].steps
    pairs = list(align([steps[i] for i in one], [steps[i] for i in other]))
    assert [a for a, _ in pairs if a >= 0] == list(range(len(one)))
    assert [b for _, b in pairs if b >= 0] == list(range(len(other)))
    assert (-1, -1) not in pairs


def test_long_traces_are_aligned_in_work_that_grows_with_their_length_alone() -> None:
    steps = TRACES["errors"].steps * 300
    pairs = list(align(steps, steps[5:-5]))
    assert len(pairs) >= len(steps)
    with ends():
        assert lines_of(lambda: list(align(steps, steps[5:-5]))) < 50 * len(steps)


def test_a_tool_without_a_function_takes_its_value_by_hand() -> None:
    driver = driven([("add", {"a": 1})], "Done.", tools=[Tool("add", "Add.", add.parameters)])
    driver.run()
    assert driver.waits
    driver.answer(len(driver.trace) - 1, Outcome(41))
    driver.run()
    assert driver.trace.messages[2]["content"] == "41"
