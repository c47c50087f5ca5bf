"""Further questions in a conversation: one trace whose turns go on counting; each is a place to fork from."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.test_tape import LOOK, Till, pay, untaped
from zoolab.errors import InvalidInput, LoopError, ReplayMiss
from zoolab.loop import walk
from zoolab.models.scripted import Scripted
from zoolab.records import Decision, Limits, Outcome, Reply
from zoolab.runs import Trace, read_conversation, run
from zoolab.steps.define import tool
from zoolab_connect.awaited import arun
from zoolab_connect.protocol import to_markdown
from zoolab_course.chat import cut


def allow(step):
    """A person who allows what costs less than 1,000."""
    return Decision("once" if step.record.arguments["euros"] < 1_000 else "deny")


def talk(till, *questions, **options):
    """A conversation; each question comes with the replies to it."""
    trace = None
    for said, replies in questions:
        model = Scripted(list(replies))
        trace = run(said, till.tools, model, ask=allow, go_on=trace, **options)
    return trace


def two(till, **options):
    first = "How much?", ([LOOK], "Look: 1.")
    return talk(till, first, ("Pay 5.", ([pay(5)], "Paid.")), **options)


def test_a_further_question_has_all_that_was_said_and_goes_on_counting():
    till = Till()
    first = run("How much?", till.tools, Scripted([[LOOK], "One."]), system="Be brief.")
    both = run("Pay 5.", till.tools, Scripted([[pay(5)], "Paid."]), ask=allow, go_on=first)
    assert both.steps[1 : len(first)] == first.steps[1:]
    assert list(both.started)[: len(first)] == list(first.started)
    assert both.began == first.began
    assert list(both.started) == sorted(both.started)
    assert (len(first.turns), first.answer) == (2, "One.")
    assert [turn.number for turn in both.turns] == [1, 2, 3, 4]
    assert [turn.asks for turn in both.turns] == [True, False, True, False]
    assert [step.kind for step in both.steps].count("define") == 1
    asked = both.steps[len(first)]
    assert (asked.kind, asked.appended) == ("request", 1)
    assert asked.new_messages == [{"role": "user", "content": "Pay 5."}]
    roles = ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant"]
    assert [message["role"] for message in both.messages] == roles
    assert (both.answer, both.outcome, both.run_id == first.run_id) == ("Paid.", "answer", False)


REPLIES = st.lists(
    st.lists(
        st.one_of(st.just(LOOK), st.sampled_from([1, 200, 5_000]).map(pay), st.just(("fly", {}))),
        min_size=1,
        max_size=2,
    ),
    max_size=2,
)


@given(questions=st.lists(REPLIES, min_size=2, max_size=3), data=st.data(), saved=st.booleans())
def test_a_conversation_replays_equal_at_any_step_and_runs_nothing(questions, data, saved, tmp_path_factory):
    till = Till()
    given_ = [(f"Question {number}", [*replies, "Done."]) for number, replies in enumerate(questions)]
    trace = talk(till, *given_, envelope="plain")
    paid, looked = list(till.paid), till.looked
    if saved:
        trace = Trace.load(trace.save(tmp_path_factory.mktemp("t") / "t.jsonl"))
    again = trace.replay(data.draw(st.integers(0, len(trace) - 1)))
    assert untaped(again) == untaped(trace)
    assert (till.paid, till.looked) == (paid, looked)


def test_a_conversation_is_saved_and_shown_as_any_trace(tmp_path):
    trace = two(Till())
    loaded = Trace.load(trace.save(tmp_path / "t.jsonl"))
    assert loaded == trace
    live = Trace(tmp_path / "live.jsonl")
    again = run("And?", Till().tools, Scripted(["No."]), go_on=trace, trace=live)
    assert Trace.load(tmp_path / "live.jsonl") == again == live
    table = trace.to_frame()
    assert list(table[table.step == "request"].turn) == [1, 2, 3, 4]
    for view in (trace.to_html(), trace.to_html(interactive=True), to_markdown(trace)):
        assert "How much?" in view
        assert "Pay 5." in view
    assert trace.inspect().overview


@pytest.mark.parametrize("saved", [False, True])
def test_a_fork_goes_on_from_any_question(saved, tmp_path):
    till = Till()
    trace = two(till)
    if saved:
        trace = Trace.load(trace.save(tmp_path / "t.jsonl"))
    first, second = (turn.seq for turn in trace.turns if turn.asks)
    early = trace.fork(first, model=Scripted([[LOOK], "Nothing."]))
    assert (early.answer, early.messages[0]["content"], len(early.turns)) == ("Nothing.", "How much?", 2)
    late = trace.fork(second, model=Scripted([[pay(5)], "Paid before."]))
    assert (late.answer, [turn.number for turn in late.turns]) == ("Paid before.", [1, 2, 3, 4])
    assert late.steps[second].new_messages == [{"role": "user", "content": "Pay 5."}]
    edited = trace.fork(trace.turns[2].calls[0].ran, Outcome("no money"), model=Scripted(["A pity."]))
    assert "no money" in edited.messages[-2]["content"]
    further = run("Pay 6.", till.tools, Scripted([[pay(6)], "Paid."]), ask=allow, go_on=early)
    assert (further.answer, till.paid, till.looked) == ("Paid.", [5, 6], 1)


def test_a_replay_with_an_edit_asks_the_later_questions_too():
    till = Till()
    trace = two(till)
    said = trace.turns[1].end - 1
    reply = Reply({"role": "assistant", "content": "Two."})
    with pytest.raises(ReplayMiss) as caught:
        trace.replay(said, reply)
    assert [message["content"] for message in caught.value.trace.messages[-2:]] == ["Two.", "Pay 5."]
    again = trace.replay(said, reply, otherwise=Scripted([[pay(5)], "Again."]))
    assert (again.answer, [turn.number for turn in again.turns], till.paid) == ("Again.", [1, 2, 3, 4], [5])


def test_each_question_has_its_own_budgets_and_choice():
    till = Till()
    unknown = [("fly", {})]
    questions = [(f"Question {number}", ([LOOK], unknown, "Done.")) for number in range(3)]
    limits = Limits(turns=3, retries=1, repeats=2)
    options = {"limits": limits, "tool_choice": "required", "envelope": "plain"}
    trace = talk(till, *questions, **options)
    choices = [turn.request.tool_choice for turn in trace.turns]
    assert choices == ["required", "auto", "auto"] * 3
    assert trace.replay().messages == trace.messages
    assert trace.replay(trace.turns[4].seq).messages == trace.messages
    forked = trace.fork(trace.turns[3].seq, model=Scripted(["No."]))
    assert (forked.steps[-2].record.tool_choice, forked.outcome) == ("required", "no_tool_call")
    after = run("Well?", till.tools, Scripted(["Yes."]), go_on=forked)
    assert after.outcome == "answer"


def test_what_was_described_in_the_system_prompt_is_not_described_again():
    till = Till()
    call = '{"name": "look", "arguments": {}}'
    first = run("How much?", till.tools, Scripted([call, "One."]), calls="text", system="Be brief.")
    given_ = {"calls": "text", "system": "Be brief.", "tool_choice": "required"}
    both = run("And now?", till.tools, Scripted([call, "Two."]), go_on=first, **given_)
    assert [message["role"] for message in both.messages].count("system") == 1
    assert both.messages[0] == first.messages[0]
    assert (both.answer, both.replay().messages) == ("Two.", both.messages)


def test_a_trace_from_a_file_gets_its_functions_back(tmp_path):
    till = Till()
    loaded = Trace.load(two(till).save(tmp_path / "t.jsonl"))
    both = run("Pay 7.", till.tools, Scripted([[pay(7)], "Paid."]), ask=allow, go_on=loaded)
    assert both.fork(-1, model=Scripted(["Done."]), tools="live").answer == "Paid."
    assert till.paid == [5, 7]


def test_a_conversation_of_another_program_goes_on():
    till = Till()
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    defined = run("Hi", till.tools, Scripted(["Hello"])).steps[0].record
    trace = run("Look.", till.tools, Scripted(["One."]), go_on=read_conversation(said, defined))
    assert [message["content"] for message in trace.messages] == ["Hi", "Hello", "Look.", "One."]
    with pytest.raises(InvalidInput, match="does not say which tools it had"):
        run("Look.", till.tools, Scripted(["One."]), go_on=read_conversation(said))


def test_only_an_answer_is_gone_on_from():
    till = Till()
    with pytest.raises(LoopError) as caught:
        run("Go.", till.tools, Scripted([[LOOK], [LOOK]]), limits=Limits(turns=1))
    for trace in (caught.value.trace, Trace()):
        with pytest.raises(InvalidInput, match=r"did not end with an answer, but with"):
            run("More.", till.tools, Scripted(["No."]), go_on=trace)
    waiting = till.run("Done.").fork(0, model=Scripted([[pay(5)], "Paid."]))
    with pytest.raises(InvalidInput, match='with "open"; calls without a result: "pay"'):
        run("More.", till.tools, Scripted(["No."]), go_on=waiting)
    half = Trace()
    for _, step in zip(range(2), walk("Hi", [], Scripted(["Hello"])), strict=False):
        half.add(step)
    with pytest.raises(InvalidInput, match='with "open"'):
        run("More.", [], Scripted(["No."]), go_on=half)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"messages": []}, "both messages= and go_on= are given"),
        ({"first_turn": 9}, "both first_turn= and go_on= are given"),
        ({"system": "Be long."}, "the conversation has no system prompt"),
        ({"go_on": "t.jsonl"}, 'go_on is "t.jsonl"'),
        ({"prompt": None}, "there is no further question"),
        ({"tools": []}, "the tools are .*; expected those of the conversation.*: one of pay, look"),
        ({"trace": two(Till())}, "trace= has steps already"),
    ],
)
def test_what_does_not_go_on_with_a_conversation_is_refused(changed, said):
    till = Till()
    trace = two(till)
    given_ = {"prompt": "Hi", "tools": till.tools, "model": Scripted(["Hello"]), "go_on": trace, **changed}
    with pytest.raises(InvalidInput, match=said):
        run(**given_)


def test_another_tool_of_the_same_name_is_refused():
    @tool
    def look(where: str) -> int:
        """Look somewhere."""
        return len(where)

    till = Till()
    with pytest.raises(InvalidInput, match="defined as they were"):
        run("Hi", [till.tools[0], look], Scripted(["No."]), go_on=two(till))


def test_a_conversation_until_one_of_its_questions():
    trace = two(Till())
    first = cut(trace, trace.turns[1].end)
    assert (first.answer, first.outcome, first.ended) == ("Look: 1.", "answer", first.started[-1])
    assert first.replay().messages == first.messages


def test_a_further_question_is_awaited():
    first = run("Hi", [], Scripted(["Hello"]))
    assert asyncio.run(arun("And?", [], Scripted(["No."]), go_on=first)).answer == "No."
