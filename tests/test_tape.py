"""A trace is a tape: forks and replays take from it what its calls gave, and pay nothing twice."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest
from counting import lines_of
from hypothesis import given
from hypothesis import strategies as st
from tills import LOOK, REPLIES, Till, looking, pay

from zoolab import bisect, walk
from zoolab.errors import InvalidInput, InvalidTrace, LoopError, ModelError, ReplayMiss, ToolRetriesExhausted
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.records import Decision, Limits, Outcome, Reply, Verdict
from zoolab.repair import LLMRepair, RuleRepair
from zoolab.retrieval import BM25
from zoolab.runs import Trace, read_conversation, run
from zoolab.steps.define import as_registry, tool
from zoolab.trace.codec import MAX_VALUE_CHARS
from zoolab.trace.events import as_read, events_of
from zoolab_connect.protocol import to_markdown
from zoolab_study.branching.trace_tape import said_in

KEY = "sk-proj-" + "Zq81TestTestTestTest9x"


def allow(_step):
    """Say yes."""
    return Decision("once")


def untaped(trace):
    """The events of a trace without what differs by design: its name, its times, the mark of the tape."""
    told = [as_read(event) for event in events_of(trace)]
    for event in told:
        record = event.get("record") or {}
        record.pop("origin", None)
        for name in ("run_id", "meta", "began", "ended", "seconds", "t", "at"):
            event.pop(name, None)
        event.pop("started", None)
    return told


@given(replies=REPLIES, data=st.data(), saved=st.booleans(), envelope=st.sampled_from(["json", "plain"]))
def test_a_tape_replays_equal_at_any_step_and_runs_nothing(replies, data, saved, envelope, tmp_path_factory):
    till = Till()
    trace = till.run(*replies, "Done.", envelope=envelope)
    paid, looked = list(till.paid), till.looked
    if saved:
        trace = Trace.load(trace.save(tmp_path_factory.mktemp("t") / "t.jsonl"))
    seq = data.draw(st.integers(0, len(trace) - 1))
    try:
        again = trace.replay(seq)
    except LoopError as error:
        again = error.trace
    assert untaped(again) == untaped(trace)
    assert (till.paid, till.looked) == (paid, looked)
    outcomes = [step.record for step in again.steps[seq:] if isinstance(step.record, Outcome)]
    ran = [each for each in outcomes if each.origin != "tape"]
    assert not ran or all(call.verdict is None for turn in again.turns for call in turn.calls.values())


@pytest.mark.parametrize(
    "calls", [[("pay", {"euros": "x"}), ("fly", {})], [("fly", {}), ("pay", {"euros": "x"})]]
)
def test_a_replay_ends_with_the_tool_that_failed_first(calls):
    trace = Till().run(*[calls] * 3, envelope="plain")
    assert trace.outcome == "retries_exhausted"
    for seq in range(len(trace)):
        with pytest.raises(ToolRetriesExhausted) as caught:
            trace.replay(seq)
        assert str(caught.value) == trace.error, f"from step {seq}"


@given(replies=REPLIES, data=st.data())
def test_a_fork_pays_nothing_twice(replies, data):
    till = Till()
    trace = till.run(*replies, "Done.", envelope="plain")
    paid, looked = list(till.paid), till.looked
    seq = data.draw(st.integers(0, len(trace) - 1))
    rest = trace.steps[seq].turn if trace.steps[seq].kind == "request" else trace.steps[seq].turn + 1
    try:
        child = trace.fork(seq, model=Scripted([*replies[max(rest, 1) - 1 :], "Done."]))
    except LoopError as error:
        child = error.trace
    assert (till.paid, till.looked) == (paid, looked)
    assert [message["content"] for message in child.messages] == [each["content"] for each in trace.messages]


@given(replies=REPLIES, data=st.data())
def test_calls_in_another_order_get_their_own_outcomes(replies, data):
    till = Till()
    trace = till.run(*replies, "Done.", envelope="plain")
    paid, looked = list(till.paid), till.looked
    shuffled = [data.draw(st.permutations(reply)) for reply in replies]
    try:
        child = trace.fork(0, model=Scripted([*shuffled, "Done."]))
    except LoopError as error:
        child = error.trace
    assert (till.paid, till.looked) == (paid, looked)
    assert results_by_call(child) == results_by_call(trace)


def results_by_call(trace):
    """For each turn, what was called and what came back, in order of the alphabet."""
    return [
        sorted((call.call.name, call.call.arguments, call.result.content) for call in turn.calls.values())
        for turn in trace.turns
    ]


ANSWER = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
FAILED = Reply({"role": "assistant", "content": ""}, "error")
#: Replies and options of runs in which more is counted, remembered or sent than tools and their results.
ODD_RUNS = {
    "a message that is not JSON": ([[LOOK], "Done."], {"messages": [{"role": "user", "at": {1, 2}}]}),
    "keys that are not text": ([[LOOK], "Done."], {"messages": [{"role": "user", "at": {1: 2, "a": 3}}]}),
    "an answer that was refused": ([[LOOK], '{"sum": "x"}', '{"sum": 1}'], {"answer_schema": ANSWER}),
    "a reply that failed": ([FAILED, [LOOK], "Done."], {}),
    "no turns left": ([[LOOK]] * 3, {"limits": Limits(turns=2)}),
    "no retries left": ([[pay("x")]] * 5, {"limits": Limits(retries=3)}),
    "condensed": ([[LOOK], [LOOK], "Done."], {"condense": lambda messages: messages[:1] + messages[-2:]}),
    "retrieved": ([[LOOK], "Done."], {"retrieve": BM25(k=1)}),
    "found": (
        [[("find_tools", {"query": "pay"})], [LOOK], "Done."],
        {"retrieve": BM25(k=1), "find_tools": True},
    ),
    "retrieved in the text": ([[LOOK], "Done."], {"retrieve": BM25(k=1), "calls": "text"}),
    "repaired": ([[("look", "{'a': 1,}")], [("look", "{")], "Done."], {"repair": RuleRepair()}),
    "a repaired answer": (['{"sum": 1,}', "Done."], {"repair": RuleRepair(), "answer_schema": ANSWER}),
    "denied": ([[LOOK, pay(5)], "Done."], {"deny": ["pay"]}),
    "calls left out": ([[LOOK, LOOK], "Done."], {"limits": Limits(calls_per_turn=1)}),
    "cut results": ([[pay(5)], "Done."], {"limits": Limits(result_bytes=3)}),
    "an answer in the text": (['{"sum": "x"}', '{"sum": 1}'], {"answer_schema": ANSWER, "calls": "text"}),
}


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize(("replies", "options"), ODD_RUNS.values(), ids=ODD_RUNS)
def test_an_odd_run_replays_equal_at_any_step(replies, options, saved, tmp_path):
    till = Till()
    trace = till.run(*replies, **options)
    looked = till.looked
    if saved:
        trace = Trace.load(trace.save(tmp_path / "t.jsonl"))
    for seq in range(len(trace)):
        try:
            again = trace.replay(seq)
        except LoopError as error:
            again = error.trace
        assert untaped(again) == untaped(trace), f"from step {seq}"
    assert till.looked == looked


@pytest.mark.parametrize("saved", [False, True])
def test_a_replay_asks_neither_condense_nor_retrieve_nor_repair(saved, tmp_path):
    asked = []

    class Last(BM25):
        def scores(self, query, texts):
            asked.append("retrieve")
            return super().scores(query, texts)

    def condense(messages):
        asked.append("condense")
        return messages[:1] + messages[-2:]

    def repaired(_):
        asked.append("repair")
        return "{}"

    options = {"condense": condense, "retrieve": Last(k=1), "repair": LLMRepair(Scripted(repaired))}
    trace = Till().run([("look", "{}}")], [LOOK], "Done.", **options)
    assert {*asked} == {"condense", "retrieve", "repair"}
    asked.clear()
    trace = Trace.load(trace.save(tmp_path / "t.jsonl")) if saved else trace
    assert untaped(trace.replay()) == untaped(trace)
    assert not asked
    if saved:
        later = trace.turns[1].seq
        for seq, replies in ((0, [[("look", "{}}")], [LOOK], "Done."]), (later, [[LOOK], "Done."])):
            child = trace.fork(seq, model=Scripted(replies))
            told = [[len(turn.request.messages), turn.request.withheld] for turn in child.turns]
            assert told == [[len(turn.request.messages), turn.request.withheld] for turn in trace.turns]


def interrupted(_):
    raise KeyboardInterrupt


def failed(_):
    raise ValueError("no model")


@tool
def stop() -> None:
    """Press Ctrl-C."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize(
    "replies", [[[LOOK], interrupted], [[LOOK, ("stop", {})], "Done."], [[LOOK], failed]]
)
def test_a_replay_ends_where_a_broken_run_ended(replies, saved, tmp_path):
    till, trace = Till(), Trace()
    with suppress(KeyboardInterrupt, ModelError):
        run("Go.", [*till.tools, stop], Scripted(replies), trace=trace)
    trace = Trace.load(trace.save(tmp_path / "t.jsonl")) if saved else trace
    assert trace.outcome in ("interrupted", "model_error")
    for seq in range(len(trace)):
        again = trace.replay(seq)
        assert untaped(again) == untaped(trace), f"from step {seq}"
    assert till.looked == 1


def test_a_replay_that_goes_another_way_than_a_broken_run_ends_in_its_own_way():
    trace = Trace()
    with suppress(ModelError):
        run("Go.", Till().tools, Scripted([[LOOK], failed]), trace=trace)
    other = replace(trace.steps[1].record, messages=[{"role": "user", "content": "Look."}])
    again = trace.replay(1, other, otherwise=Scripted(["Else."]))
    assert (again.answer, again.outcome, again.error) == ("Else.", "answer", None)


@st.composite
def _conversations(draw):
    """Messages in any order, as other programs send them: calls that zoolab would refuse have run there."""
    said = []
    for turn in range(draw(st.integers(1, 7))):
        role = draw(st.sampled_from(["user", "system", "answer", "silence", "calls"]))
        if role in ("user", "system"):
            said.append({"role": role, "content": draw(st.sampled_from(["a", "b"]))})
        elif role == "answer":
            said.append({"role": "assistant", "content": draw(st.sampled_from(["x", "y"]))})
        elif role == "silence":
            said.append({"role": "assistant", "content": "", "tool_calls": []})
        else:
            names = draw(st.lists(st.sampled_from(["look", "pay", "fly"]), min_size=1, max_size=3))
            written = st.sampled_from(["{}", '{"euros": 3}', '{"euros": "x"}', "{", "null"])
            functions = [{"name": name, "arguments": draw(written)} for name in names]
            calls = [
                {"id": f"{turn}.{slot}", "type": "function", "function": each}
                for slot, each in enumerate(functions)
            ]
            said.append({"role": "assistant", "content": None, "tool_calls": calls})
            said += [{"role": "tool", "tool_call_id": call["id"], "content": "1"} for call in calls]
    return said


@pytest.mark.parametrize("end", ["Done.", ""])
def test_a_conversation_may_have_failed_more_often_than_a_walk_may(end):
    asks = [{"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{}"}}]
    failed = [
        {"role": "assistant", "tool_calls": asks},
        {"role": "tool", "tool_call_id": "c", "content": "no"},
    ]
    said = [{"role": "user", "content": "Pay."}, *failed * 4, {"role": "assistant", "content": end}]
    trace = read_conversation(said, as_registry(Till().tools))
    for seq in range(len(trace)):
        again = trace.replay(seq)
        assert (again.outcome, again.error) == (trace.outcome, trace.error), f"from step {seq}"


@given(said=_conversations(), data=st.data(), known=st.booleans())
def test_a_conversation_of_another_program_replays_whatever_it_did(said, data, known):
    till = Till()
    trace = read_conversation(said, as_registry(till.tools) if known else None)
    again = trace.replay(data.draw(st.integers(0, len(trace) - 1)))
    assert said_in(again.messages) == said_in(trace.messages)
    assert (again.outcome, again.error) == (trace.outcome, trace.error)
    assert not bisect(trace, again).differs
    assert (till.paid, till.looked) == ([], 0)


@given(replies=REPLIES, data=st.data(), known=st.booleans())
def test_a_conversation_of_another_program_replays_and_forks(replies, data, known):
    till = Till()
    said = till.run(*replies, "Done.", envelope="plain").messages
    ends = [
        at for at in range(1, len(said) + 1) if [m["role"] for m in said[at - 1 : at + 1]] != ["tool"] * 2
    ]
    tools, cut = as_registry(till.tools), data.draw(st.sampled_from(ends))
    trace = read_conversation(said[:cut], tools if known else None)
    again = trace.replay(data.draw(st.integers(0, len(trace) - 1)))
    assert (again.messages, again.outcome, again.error) == (trace.messages, trace.outcome, trace.error)
    paid = list(till.paid)
    limits = Limits(retries=9, turns=9)
    read_conversation(said, tools).fork(0, model=Scripted([*replies, "Done."]), limits=limits)
    assert till.paid == paid


def test_a_program_that_made_many_calls_at_once_is_replayed():
    till = Till()
    said = till.run([LOOK] * 20, "Done.", limits=Limits(calls_per_turn=20), envelope="plain").messages
    trace = read_conversation(said, as_registry(till.tools))
    assert trace.replay().messages == trace.messages


@tool
def spend(euros: int) -> int:
    """Spend."""
    return euros


def test_a_fork_of_a_file_repairs_the_same_arguments_as_they_were_one_time_after_the_other(tmp_path):
    replies = [[("spend", "{'euros': 3}")], [("spend", "{'euros': 3}")], "Done."]
    repair = LLMRepair(Scripted(['{"euros": 3}', "no idea"]))
    trace = run("Go.", [spend], Scripted(replies), repair=repair, envelope="plain")
    assert [call.verdict.ok for turn in trace.turns for call in turn.calls.values()] == [True, False]
    read = Trace.load(trace.save(tmp_path / "t.jsonl"))
    assert read.fork(0, model=Scripted(replies)).messages == trace.messages


def test_what_came_before_the_step_of_a_fork_stays_as_it_was():
    till = Till()
    trace = till.run([LOOK], [LOOK], "Done.", envelope="plain")
    result = next(seq for seq, step in enumerate(trace.steps) if step.kind == "result")
    other = trace.fork(result, model=Scripted(["Done."]), tools=[spend])
    assert other.messages[2]["content"] == "1"
    offered = [[each["function"]["name"] for each in turn.request.tools] for turn in other.turns]
    assert offered == [["pay", "look", "agent"], ["spend"]]
    edited = trace.fork(result - 1, Outcome(99), model=Scripted(["Done."]), deny=["look"])
    assert edited.messages[2]["content"] == "99"
    denied = trace.fork(result - 1, model=Scripted([[LOOK], "Done."]), deny=["look"])
    assert [call.fate for turn in denied.turns for call in turn.calls.values()] == ["ran", "failed"]


def test_what_a_tape_allows_is_judged_again_before_it_runs(tmp_path):
    till = Till()
    waits = till.run("Done.").fork(1, model=Scripted([[pay(9)], "x"]))
    asked, model = len(waits) - 1, Scripted(["Done.", "Done."])
    denied = waits.fork(asked, Decision("once"), model=model, deny=["pay"])
    path = waits.save(tmp_path / "t.jsonl")
    path.write_text(path.read_text().replace('"euros":9', '"euros":"x"').replace('\\"euros\\": 9', ""))
    forged = Trace.load(path)
    assert forged.steps[3].record == Verdict(True, {"euros": "x"})
    refused = forged.fork(asked, Decision("once"), model=model, tools=till.tools)
    codes = [each.steps[asked + 1].record.error.code for each in (denied, refused)]
    assert (codes, till.paid) == (["permission_denied", "invalid_arguments"], [])


@pytest.mark.parametrize("at", [4, 5, 6])
def test_a_forced_choice_of_a_fork_holds_for_the_next_request(at):
    till = Till()
    trace = till.run([LOOK], "Done.")
    child = trace.fork(at, model=Scripted([[pay(3)], "Done."]), tool_choice="pay", ask=allow)
    assert [turn.request.tool_choice for turn in child.turns] == ["auto", "pay", "auto"]
    assert (child.answer, till.paid) == ("Done.", [3])


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("options", [{"deny": ["look"]}, {"tool_choice": "none"}, {"tools": [spend]}])
def test_a_replay_keeps_what_was_before_the_options_of_a_fork(options, saved, tmp_path):
    child = Till().run([LOOK], "Done.").fork(6, model=Scripted(["Else."]), **options)
    trace = Trace.load(child.save(tmp_path / "t.jsonl")) if saved else child
    for seq in range(len(trace)):
        assert untaped(trace.replay(seq)) == untaped(trace), f"from step {seq}"


def test_each_question_of_a_chat_has_limits_of_its_own_in_a_replay():
    till, limits = Till(), Limits(turns=2)
    first = till.run([LOOK], "One.", limits=limits)
    with pytest.raises(LoopError) as caught:
        run("And?", till.tools, Scripted([[LOOK]] * 2), limits=limits, go_on=first)
    stopped = caught.value.trace
    child = stopped.fork(len(stopped) - 1, model=Scripted(["Two."]))
    assert (child.replay().answer, untaped(child.replay())) == ("Two.", untaped(child))


def test_a_fork_of_a_file_gives_what_find_tools_found(tmp_path):
    till = Till()
    found = [("find_tools", {"query": "pay"})]
    trace = till.run(found, [pay(3)], "Done.", retrieve=BM25(k=1), find_tools=True, envelope="plain")
    read = Trace.load(trace.save(tmp_path / "t.jsonl"))
    child = read.fork(1, model=Scripted([found, [pay(3)], "Done."]), tools=till.tools)
    assert (child.messages, till.paid) == (trace.messages, [3])


def test_a_call_that_was_interrupted_while_it_waited_runs_when_it_is_allowed():
    def interrupt(_step):
        raise KeyboardInterrupt

    till, trace = Till(), Trace()
    with suppress(KeyboardInterrupt):
        run("Go.", till.tools, Scripted([[pay(3)]]), ask=interrupt, trace=trace)
    asked = next(seq for seq, step in enumerate(trace.steps) if step.status == "pending")
    assert untaped(trace.replay()) == untaped(trace)
    child = trace.fork(asked, Decision("once"), model=Scripted(["Done."]))
    assert (child.answer, till.paid) == ("Done.", [3])


def test_ids_that_come_twice_and_further_fields_stay_in_a_replay():
    """As in conversations of tau-bench: a call that is made twice has one id, and results have a name."""
    user, done = {"role": "user", "content": "Go."}, {"role": "assistant", "content": "Done."}
    function = {"name": "look", "arguments": "{}"}
    call = {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
    result = {"role": "tool", "tool_call_id": "call_1", "name": "look", "content": "1"}
    trace = read_conversation([user, call, result, call, {**result, "content": "2"}, done])
    assert trace.replay().messages == trace.messages


def test_a_call_that_never_began_runs_when_it_is_allowed():
    """An error in `ask` ended the run; that its calls were answered is no outcome."""
    till, trace = Till(), Trace()
    with pytest.raises(ValueError, match="no model"):
        run("Go.", till.tools, Scripted([[pay(3)], "Done."]), ask=failed, trace=trace)
    asked = next(seq for seq, step in enumerate(trace.steps) if step.status == "pending")
    child = trace.fork(asked, Decision("once"), model=Scripted(["Done."]))
    assert (child.answer, till.paid) == ("Done.", [3])


def test_a_fork_of_a_file_keeps_the_tools_that_it_got(tmp_path):
    till = Till()
    trace = Trace.load(till.run([LOOK], "Done.").save(tmp_path / "t.jsonl"))
    waits = trace.fork(trace.turns[1].seq, model=Scripted([[pay(7)], "x"]), tools=till.tools)
    assert waits.steps[-1].status == "pending"
    child = waits.fork(len(waits) - 1, Decision("once"), model=Scripted(["Paid."]))
    assert (child.answer, till.paid) == ("Paid.", [7])


@pytest.mark.parametrize("saved", [False, True])
def test_a_run_that_waits_replays_to_its_question(saved, tmp_path):
    waits = Till().run("Done.").fork(1, model=Scripted([[LOOK, pay(9)], "x"]))
    assert waits.steps[-1].status == "pending"
    trace = Trace.load(waits.save(tmp_path / "t.jsonl")) if saved else waits
    for seq in range(len(trace)):
        assert untaped(trace.replay(seq)) == untaped(trace), f"from step {seq}"


@pytest.mark.parametrize("saved", [False, True])
def test_a_replay_repeats_what_was_edited(saved, tmp_path):
    till = Till()
    trace = till.run([LOOK], "Done.", envelope="plain")
    call = next(step.record for step in trace.steps if step.kind == "tool_call")
    paying = replace(call, name="pay", arguments='{"euros": 3}')
    for child in (
        trace.fork(len(trace) - 1, Reply({"role": "assistant", "content": "Edited."})),
        trace.fork(trace.index(2), paying, model=Scripted(["Paid."]), ask=allow),
    ):
        read = Trace.load(child.save(tmp_path / "t.jsonl")) if saved else child
        for seq in range(len(read)):
            assert (read.replay(seq).messages, till.paid) == (child.messages, till.paid[:1])


def test_a_call_of_which_nobody_said_what_it_gave_is_told_as_such():
    said = [{"role": "user", "content": "Go."}, {"role": "user", "content": "Look again."}]
    called = Till().run([LOOK], "Done.").messages[1]
    trace = read_conversation([said[0], called, said[1], {"role": "assistant", "content": "Done."}])
    with pytest.raises(ReplayMiss, match="the trace does not say what look gave"):
        trace.replay()
    both = Till().run([LOOK, pay(3)], "Done.").messages[1:3]
    trace = read_conversation([said[0], *both, {"role": "assistant", "content": "Done."}])
    with pytest.raises(ReplayMiss, match="the trace does not say what pay gave"):
        trace.replay()


def test_a_fork_that_took_more_turns_than_its_parent_might_is_replayed():
    till = Till()
    trace = till.run([LOOK], [LOOK], [LOOK], limits=Limits(turns=2))
    assert trace.outcome == "loop_limit"
    child = trace.fork(len(trace) - 1, model=Scripted(["Done."]))
    assert (child.answer, len(child.turns)) == ("Done.", 3)
    assert untaped(child.replay()) == untaped(child)


def test_a_replay_that_asks_another_model_may_take_as_many_turns_as_the_run():
    trace = Till().run([LOOK], "Done.")
    other = replace(trace.steps[1].record, messages=[{"role": "user", "content": "Look."}])
    again = trace.replay(1, other, otherwise=Scripted([[LOOK], [("fly", {})], "Else."]))
    assert (again.answer, len(again.turns)) == ("Else.", len(trace.turns) + 1)


def test_a_trace_that_ended_before_its_first_request_has_nothing_to_replay():
    trace = Trace()
    steps = trace.follow(walk("Go.", Till().tools, Scripted(["Done."])))
    next(steps)
    steps.close()
    with pytest.raises(InvalidInput, match="there is nothing to send"):
        trace.replay()


def test_a_file_says_the_options_of_its_run(tmp_path):
    limits = Limits(turns=7, retries=0, result_bytes=99)
    options = {"limits": limits, "parallel": False, "deny": ["pay"], "tool_choice": "look"}
    trace = Till().run([LOOK], "Done.", **options, policy=Policy())
    assert Trace.load(trace.save(tmp_path / "t.jsonl")).options == options
    live = Trace(tmp_path / "live.jsonl")
    run("Hi", [], Scripted(["Hello"]), trace=live, limits=limits)
    assert Trace.load(tmp_path / "live.jsonl").options == {"limits": limits}


@pytest.mark.parametrize(
    "options",
    [{"limits": {"turns": 0}}, {"limits": {"x": 1}}, {"limits": 3}, {"deny": 3}, {"calls": "<b>"}, []],
)
def test_hostile_options_are_refused(tmp_path, options):
    path = Till().run("Done.", limits=Limits(turns=7)).save(tmp_path / "t.jsonl")
    *lines, end = path.read_text().splitlines()
    path.write_text("\n".join([*lines, json.dumps({**json.loads(end), "options": options})]) + "\n")
    with pytest.raises(InvalidTrace):
        Trace.load(path)


def test_a_conversation_that_says_no_tools_is_forked():
    told = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    assert read_conversation(told).fork(0, model=Scripted(["Good day"])).answer == "Good day"


def test_the_same_call_gets_the_next_outcome_until_they_are_used_up():
    till = Till()
    trace = till.run([LOOK], [LOOK], "Done.", envelope="plain")
    again = trace.fork(0, model=Scripted([[LOOK], [LOOK], [LOOK], "Done."]))
    assert [message["content"] for message in again.messages if message["role"] == "tool"] == ["1", "2", "3"]
    origins = [step.record.origin for step in again.steps if isinstance(step.record, Outcome)]
    assert (origins, till.looked) == (["tape", "tape", "ran"], 3)
    other = replace(trace.steps[1].record, messages=[{"role": "user", "content": "Look."}])
    with pytest.raises(ReplayMiss, match=r"look was not called so often with \{\} in this trace"):
        trace.replay(1, other, otherwise=Scripted([[LOOK]] * 3))
    assert till.looked == 3


def test_a_call_that_is_not_on_the_tape_waits():
    till = Till()
    trace = till.run([pay(5)], "Done.", envelope="plain", policy=Policy(allow=["pay"]))
    replies = [[pay(5), LOOK], [LOOK, pay(6)], [pay(5)], "Done."]
    child = trace.fork(0, model=Scripted(replies))
    waiting = child.steps[-1]
    assert (waiting.status, waiting.record.risk, dict(waiting.record.arguments)) == (
        "pending",
        "high",
        {"euros": 6},
    )
    assert (child.outcome, till.paid, till.looked) == ("open", [5], 1)
    denied = child.fork(-1, Decision("deny", "not again"), model=Scripted(["Done."]))
    assert (denied.answer, till.paid, till.looked) == ("Done.", [5], 2)
    paid = child.fork(-1, Decision("once"), model=Scripted(["Done."]))
    assert (paid.messages[-2]["content"], till.paid) == ("paid 6", [5, 6])
    given_ = child.fork(-1, Outcome("said by hand"), model=Scripted(["Done."]))
    assert (given_.messages[-2]["content"], till.paid) == ("said by hand", [5, 6])
    asked = trace.fork(0, model=Scripted(list(replies)), ask=lambda _: Decision("once"))
    assert (asked.answer, till.paid) == ("Done.", [5, 6, 6, 5])
    live = trace.fork(0, model=Scripted(list(replies)), tools="live")
    assert (live.answer, till.paid) == ("Done.", [5, 6, 6, 5, 6, 5])


def test_what_a_stopped_fork_left_on_the_tape_is_still_there():
    """The call before the one that waits was struck off, and its step never came."""
    till = Till()
    trace = till.run([pay(5)], [pay(7)], "Done.", envelope="plain", policy=Policy(allow=["pay"]))
    child = trace.fork(0, model=Scripted([[pay(5), pay(6)], [pay(7)], "Done."]))
    assert child.steps[-1].status == "pending"
    gone = child.fork(-1, Decision("deny"), model=Scripted([[pay(7)], "Done."]))
    assert (gone.answer, till.paid) == ("Done.", [5, 7])


def test_a_denied_call_stays_denied_and_can_be_allowed():
    till = Till()
    trace = till.run([pay(5_000)], "Done.", envelope="plain")
    assert till.paid == []
    again = trace.fork(1, model=Scripted([[pay(5_000)], "Done."]))
    assert (again.messages[2], till.paid) == (trace.messages[2], [])
    asked = trace.turns[0].calls[0].decided
    allowed = trace.fork(asked, Decision("once"), model=Scripted(["Done."]))
    assert (till.paid, "too much" in allowed.messages[2]["content"]) == ([5_000], True)
    again = allowed.fork(asked, Decision("once"), model=Scripted(["Done."]))
    assert (till.paid, again.messages) == ([5_000], allowed.messages)


def test_a_strangers_trace_replays_and_forks_without_functions(tmp_path):
    till = Till()
    trace = till.run([pay(5), LOOK], "Done.", envelope="plain")
    loaded = Trace.load(trace.save(tmp_path / "t.jsonl"))
    assert loaded.replay().messages == trace.messages
    child = loaded.fork(1, model=Scripted([[LOOK], [LOOK], "Done."]))
    assert (child.steps[-1].status, child.turns[0].calls[0].outcome.origin) == ("pending", "tape")
    assert child.fork(-1, Outcome(9), model=Scripted(["Done."])).messages[-2]["content"] == "9"
    with pytest.raises(InvalidInput, match=r'tools is "alive"; expected .* or "live"'):
        loaded.fork(1, model=Scripted(["Done."]), tools="alive")


def test_a_long_value_is_played_whole_from_its_message(tmp_path):
    long = "x" * (MAX_VALUE_CHARS + 1_000)

    @tool
    def read() -> str:
        """Read."""
        return long

    trace = run("Hi", [read], Scripted([[("read", {})], "Done."]))
    loaded = Trace.load(trace.save(tmp_path / "t.jsonl"))
    assert loaded.replay().messages == trace.messages
    bare = loaded.fork(1, model=Scripted([[("read", {})], "Done."]), envelope="plain")
    assert bare.steps[-1].status == "pending"  # a part of the value is not the value


def test_a_replayed_round_costs_about_what_the_round_did():
    """Each request was built and named as a whole, secrets looked for: it cost 20 to 50 times as much."""
    played = {}
    for rounds in (10, 20, 40):
        trace = looking(rounds)
        trace.replay()
        played[rounds] = lines_of(trace.replay)
        assert played[rounds] < 4 * lines_of(lambda rounds=rounds: looking(rounds))
    assert played[40] - played[20] < 2.1 * (played[20] - played[10])


def test_a_request_that_differs_in_times_and_secrets_gets_its_reply():
    till = Till()
    trace = till.run([LOOK], [LOOK], "Done.", system=f"The key is {KEY}1")
    first = trace.steps[1].record
    system = {"role": "system", "content": f"The key is {KEY}2"}
    again = trace.replay(1, replace(first, messages=[system, *first.messages[1:]]))
    assert (again.answer, again.messages[0], till.looked) == ("Done.", system, 2)
    ran = trace.turns[0].calls[0].ran
    edited = trace.replay(ran, Outcome(1, duration_ms=9_999))
    assert (edited.answer, till.looked) == ("Done.", 2)
    assert '"execution_time_ms":9999' in edited.messages[3]["content"]


def test_the_same_request_gets_the_next_reply_also_if_a_secret_differs():
    replies = [[LOOK], [("fly", {})], "Done."]
    condense = lambda messages: messages[:2]  # noqa: E731
    till = Till()
    trace = till.run(*replies, system=f"The key is {KEY}1", condense=condense)
    first = trace.steps[1].record
    system = {"role": "system", "content": f"The key is {KEY}2"}
    again = trace.replay(1, replace(first, messages=[system, *first.messages[1:]]))
    assert [call.name for call in again.tool_calls] == ["look", "fly"]


def test_an_edited_outcome_is_what_the_tape_says():
    till = Till()
    trace = till.run([LOOK], "Done.", envelope="plain")
    edited = trace.fork(trace.turns[0].calls[0].ran, Outcome(41), model=Scripted(["Done."]))
    assert edited.fork(1, model=Scripted([[LOOK], "Done."])).messages[2]["content"] == "41"


def test_a_verdict_that_is_edited_makes_another_call():
    till = Till()
    trace = till.run([pay(5)], "Done.", envelope="plain")
    verdict = trace.turns[0].calls[0].validated
    child = trace.fork(verdict, Verdict(True, {"euros": 6}), model=Scripted(["Done."]))
    assert (child.steps[-1].status, till.paid) == ("pending", [5])
    with pytest.raises(ReplayMiss) as caught:
        trace.replay(verdict, Verdict(True, {"euros": 6}))
    assert '+  "euros": 6' in caught.value.difference
    assert (caught.value.trace.outcome, till.paid) == ("replay_miss", [5])


def test_sub_agents_are_played_whole():
    till = Till()

    @tool
    def agent(task: str) -> object:
        """Ask a sub-agent."""
        assert task == "pay"
        return till.run([pay(3)], "Paid.")

    trace = run("Go.", [agent], Scripted([[("agent", {"task": "pay"})], "Done."]))
    again = trace.replay()
    assert (till.paid, again.messages) == ([3], trace.messages)
    assert again.turns[0].calls[0].outcome.trace == trace.turns[0].calls[0].outcome.trace


def test_every_view_says_what_the_tape_gave():
    till = Till()
    again = till.run([LOOK], "Done.").fork(1, model=Scripted([[LOOK], [LOOK], "Done."]))
    table = again.to_frame()
    assert list(table.loc[table.step == "execute", "origin"]) == ["tape", "ran"]
    for view in (again.to_html(), again.to_html(interactive=True), to_markdown(again)):
        assert "from the tape" in view
        assert "not on the tape" in view


@pytest.mark.parametrize("seq", [3, 4, 5])
def test_a_cut_or_hostile_tape_is_refused(tmp_path, seq):
    path = Till().run([LOOK], "Done.").save(tmp_path / "t.jsonl")
    events = [json.loads(line) for line in path.read_text().splitlines()]
    steps = [event for event in events if event["event"] == "step"]
    steps[seq]["record"] = {**steps[seq]["record"], "origin": "<b>", "ok": 3, "tool_call_id": 7}
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    with pytest.raises(InvalidTrace):
        Trace.load(path)
