"""`bisect`: the first step in which two traces differ, its cause, and what followed."""

import json
from dataclasses import replace

import pytest
from counting import lines_of
from hypothesis import given, settings
from hypothesis import strategies as st
from shell import Shell
from tills import LOOK, REPLIES, Till, looking, pay

from zoolab import Decision, Limits, Outcome, Policy, Scripted, Trace, bisect, run, tool
from zoolab.errors import InvalidInput, Problem, ZoolabError
from zoolab.records import Reply, Request, Result, ToolCall, Verdict
from zoolab.tools import ToolRegistry, ToolReturn
from zoolab_study.bisection import CAUSES, WORDS

EVIL = "<script>alert(1)</script>\x1b[2J\ud800"
KEY = "sk-proj-" + "Zq81TestTestTestTest9xW"


def ended(make):
    """A trace, also if an error ended it."""
    try:
        return make()
    except ZoolabError as error:
        return error.trace


FLY = ("fly", {})


@settings(max_examples=50)
@given(replies=REPLIES, data=st.data(), saved=st.booleans())
def test_a_trace_and_its_replay_never_differ(replies, data, saved, tmp_path_factory):
    trace = Till().run(*replies, "Done.")
    seq = data.draw(st.integers(0, len(trace) - 1))
    again = ended(lambda: trace.replay(seq))
    if saved:
        trace = Trace.load(trace.save(tmp_path_factory.mktemp("t") / "t.jsonl"))
    found = bisect(trace, again)
    assert (found.cause, found.differs, found.changes, found.followed) == (None, False, (), ())
    assert found.equal_steps == len(trace)


def edits_of(step, first):
    """Edits of a step's record, each with the cause that it is found by."""
    match step.record:
        case ToolRegistry() as tools:
            return [(tools.changed(lambda each: replace(each, description="Edited.")), "tool")]
        case Request() as request:
            more = {"role": "user", "content": "Edited."}
            changed = [{**request.messages[0], "content": "Edited."}, *request.messages[1:]]
            return [
                (replace(request, messages=[*request.messages, more]), "prompt"),
                (replace(request, messages=changed), "prompt" if first else "messages"),
                (replace(request, settings={"temperature": 0.5}), "setting"),
                (replace(request, tool_choice="none"), "setting"),
                (replace(request, tools=request.tools[1:]), "tool"),
            ]
        case ToolCall() as call:
            return [(replace(call, arguments='{"euros": 7}'), "call"), (replace(call, name="run"), "call")]
        case Reply() as reply:
            return [(replace(reply, message={"role": "assistant", "content": "Edited."}), "reply")]
        case Verdict():
            wrong = Problem("invalid_arguments", "/edited", "nothing", "something")
            return [(Verdict(False, None, (wrong,)), "call")]
        case Decision():
            return [(Decision("deny", "edited"), "decision"), (Outcome("edited"), "decision")]
        case Outcome():
            return [(Outcome("edited"), "result")]
        case Result() as result:
            return [(replace(result, content="edited"), "result")]


def test_an_edited_last_result_of_a_run_that_a_limit_ended_is_found():
    trace = Till().run(*[[("pay", {"euros": "x"})]] * 3)
    assert trace.outcome == "retries_exhausted"
    edit = replace(trace.steps[-1].record, content="edited")
    child = ended(lambda: trace.fork(len(trace) - 1, edit, model=Scripted([])))
    assert child.messages[-1]["content"] == "edited"
    found = bisect(trace, child)
    assert (found.a, found.cause) == (len(trace) - 1, "result")


@settings(max_examples=50)
@given(replies=REPLIES, data=st.data(), saved=st.booleans())
def test_an_edited_record_is_found_at_its_step(replies, data, saved, tmp_path_factory):
    trace = Till().run(*replies, "Done.")
    if saved:
        trace = Trace.load(trace.save(tmp_path_factory.mktemp("t") / "t.jsonl"))
    seq = data.draw(st.integers(0, len(trace) - 1))
    edit, cause = data.draw(st.sampled_from(edits_of(trace.steps[seq], trace.steps[seq].turn == 1)))
    child = ended(lambda: trace.fork(seq, edit, model=Scripted(lambda _request: "Forked.")))
    found = bisect(trace, child)
    assert (found.a, found.b, found.cause, found.equal_steps) == (seq, seq, cause, seq)
    assert found.changes
    assert found.edited == (False, not isinstance(trace.steps[seq].record, Decision))
    back = bisect(child, trace)
    assert (back.a, back.cause, len(back.changes)) == (seq, cause, len(found.changes))


def test_a_difference_at_the_end_costs_less_than_reading_both(tmp_path):
    """Each request was named as a whole: it cost ten times as much, and more in longer traces."""
    a, b = looking(40), looking(40)
    last = b.turns[-2].calls[0].ran
    bad = b.fork(last, Outcome(-1), model=Scripted(["Done."]))
    paths = [trace.save(tmp_path / f"{at}.jsonl") for at, trace in enumerate((a, bad))]
    read = lines_of(lambda: [*map(Trace.load, paths)])
    traces = [*map(Trace.load, paths)]
    assert (bisect(*traces).a, bisect(*traces).cause) == (last, "result")
    assert lines_of(lambda: bisect(*traces)) < 1.5 * read


def test_chance_is_another_reply_to_an_equal_request():
    till = Till()
    found = bisect(till.run([pay(5)], "Done."), till.run([pay(50)], "Done."))
    assert (len(found._repr_html_()) > 0, till.paid) == (True, [5, 50])  # bisect pays nothing
    step = (found.cause, found.a, found.kind, found.tool, found.edited)
    assert step == ("reply", 2, "tool_call", "pay", (False, False))
    (change,) = found.changes
    assert change.pointer == "/message/tool_calls/0/arguments"
    assert "(chance)" in found.headline
    row = found.followed[0]
    assert (row.same, row.told_a, row.told_b) == (False, 'calls pay {"euros":5}', 'calls pay {"euros":50}')
    assert [end.answer for end in found.ends] == ["Done.", "Done."]


def test_ids_times_and_secrets_are_no_difference():
    def made(id):
        call = {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        return Till().run({"content": None, "tool_calls": [call]}, "Done.")

    assert not bisect(made("a"), made("b")).differs
    told = [run(f"My key is {KEY}{n}", [], Scripted(["Hi"])) for n in range(2)]
    assert not bisect(*told).differs


def test_the_opening_has_all_its_causes():
    till = Till()
    found = bisect(till.run("Done."), run("Go now.", till.tools[:1], Scripted(["Done."])))
    assert (found.cause, found.a, found.also) == ("tool", 0, ("prompt",))
    assert bisect(till.run("Done."), till.run("Done.", system="Be brief.")).cause == "prompt"


def test_another_model_is_a_setting_and_not_chance():
    made = [Reply({"role": "assistant", "content": text}, "stop", model=text) for text in ("one", "other")]
    found = bisect(*(run("Hi", [], Scripted([reply])) for reply in made))
    assert (found.cause, found.a, found.changes[0].pointer) == ("setting", 1, "/settings/model")
    sent = [replace(made[0], sent={"model": "m", "seed": seed, "stream": bool(seed)}) for seed in range(2)]
    found = bisect(*(run("Hi", [], Scripted([reply])) for reply in sent))
    assert [change.pointer for change in found.changes] == ["/settings/seed"]


def test_a_run_that_ends_before_the_other():
    till = Till()
    cut = till.run([FLY], [FLY], "Done.", limits=Limits(turns=1))
    found = bisect(till.run([FLY], [FLY], "Done."), cut)
    assert (found.cause, found.a, found.b, found.ends[1].outcome) == ("end", len(cut), None, "loop_limit")
    failed = bisect(till.run("Done."), ended(lambda: run("Go.", till.tools, Scripted([]))))
    assert (failed.cause, failed.a, failed.b) == ("reply", 2, None)
    assert "/error" in [change.pointer for change in failed.changes]


@pytest.mark.parametrize("seq", [0, 1, -1])
def test_a_file_that_ends_at_a_limit_replays_to_that_limit(tmp_path, seq):
    cut = Till().run([LOOK], [LOOK], "Done.", limits=Limits(turns=2))
    loaded = Trace.load(cut.save(tmp_path / "t.jsonl"))
    again = ended(lambda: loaded.replay(seq))
    assert (again.outcome, bisect(loaded, again).differs) == ("loop_limit", False)


def test_a_rule_in_place_of_a_person_is_another_decision():
    till = Till()
    ruled = run("Go.", till.tools, Scripted([[pay(5)], "Done."]), policy=Policy(allow=["pay"]))
    assert bisect(till.run([pay(5)], "Done."), ruled).cause == "decision"


def test_a_sub_agent_is_bisected_too():
    def outer(total):
        @tool
        def count() -> int:
            """Count."""
            return total

        @tool
        def agent() -> object:
            """Ask a sub-agent."""
            trace = run("Count.", [count], Scripted([[("count", {})], f"It is {total}."]))
            return ToolReturn(trace.answer, trace)

        return run("Go.", [agent], Scripted([[("agent", {})], "Done."]))

    found = bisect(outer(1), outer(2))
    assert (found.cause, found.inner.cause, found.inner.tool) == ("result", "result", "count")
    assert "inside the sub-agent" in str(found)
    assert "Inside the sub-agent" in found._repr_html_()


def test_a_value_that_is_not_json_is_known_by_what_the_model_was_told():
    @tool
    def odd() -> object:
        """Return an object."""
        return object()

    made = [run("Go.", [odd], Scripted([[("odd", {})], "Done."])) for _ in range(2)]
    assert not bisect(*made).differs


def test_every_cause_has_its_words():
    assert set(WORDS) == {*CAUSES, "edited"}


def test_views_are_escaped_and_bounded():
    good = Till().run([LOOK], "Done.")
    long = {"text": "x" * 50_000 + EVIL + KEY, **dict.fromkeys(map(str, range(99)), EVIL)}
    bad = good.fork(good.turns[0].calls[0].ran, Outcome(long), model=Scripted([f"{EVIL} {KEY}"]))
    found = bisect(good, bad)
    shown, text = found._repr_html_(), str(found)
    assert type(shown) is str
    assert "<script" not in shown
    for view in (shown, text, json.dumps(found.to_json())):
        assert "\x1b" not in view
        assert KEY not in view
        assert len(view) < 40_000
    shown.encode()
    text.encode()
    assert len(found.changes) <= 8


def test_a_long_text_is_cut_around_the_difference():
    one, other = (run("x" * 5_000 + word + "y" * 5_000, [], Scripted(["Hi"])) for word in ("left", "right"))
    (change,) = bisect(one, other).changes
    assert "left" in change.a
    assert "right" in change.b
    assert len(change.a) < 300


@pytest.mark.parametrize("wrong", [None, "trace.jsonl", []])
def test_what_is_not_a_trace_is_refused(wrong):
    with pytest.raises(InvalidInput, match="expected a trace"):
        bisect(Till().run("Done."), wrong)


def test_the_command(tmp_path, capsys):
    zoo, till = Shell(capsys), Till()
    good = till.run([pay(5)], "Done.").save(tmp_path / "good.jsonl")
    bad = till.run([pay(50)], "Done.").save(tmp_path / "bad.jsonl")
    assert zoo("bisect", good, good).code == 0
    ran = zoo("bisect", good, bad)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("step 2 (tool_call, turn 1, pay) differs first: the model replied otherwise")
    told = json.loads(zoo("bisect", "--json", good, bad).out)
    assert (told["cause"], told["a"], told["followed"][0]["told_a"]) == ("reply", 2, 'calls pay {"euros":5}')
    missing = zoo("bisect", good, tmp_path / "no.jsonl")
    assert (missing.code, missing.out) == (2, "")
    (tmp_path / "bad.jsonl").write_text("{}\n")
    assert zoo("bisect", good, bad).code == 2
