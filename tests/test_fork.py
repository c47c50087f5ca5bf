"""A fork shares its parent's beginning, runs nothing of it again, and goes on from the edit."""

from dataclasses import replace

import pytest
from walks import TOOLS, Watched, check_paired, drive

from zoolab.errors import InvalidInput, ToolLoopLimitReached
from zoolab.loop import walk
from zoolab.models.scripted import Scripted
from zoolab.policy import Permissions
from zoolab.records import Context, Decision, Limits, Outcome, Reply, ToolCall, Verdict
from zoolab.runs import Trace, run
from zoolab.steps.define import tool
from zoolab.trace.events import events_of


class Counted:
    """A parent run of two turns whose tools count their calls, and the model of its forks."""

    def __init__(self, **options):
        self.ran = []

        @tool
        def note(n: int, context: Context) -> str:
            """Take a note."""
            self.ran.append(n)
            return f"noted {n} for {context.data}"

        @tool(risk="high")
        def wipe() -> str:
            """Wipe."""
            self.ran.append("wipe")
            return "wiped"

        self.tools = [note, wipe]
        model = Scripted(
            [[("note", {"n": 1}), ("note", {"n": 2})], [("note", {"n": 3}), ("wipe", {})], "Done."]
        )
        options = {"envelope": "plain", "context": "ada", "system": "Be brief.", **options}
        self.parent = run("Hi", self.tools, model, **options)
        self.before = list(events_of(self.parent))
        self.ran.clear()

    def fork(self, seq, edit=None, replies=("Forked.",), **options):
        """A fork, checked for what holds of every fork."""
        self.model = Watched(*replies)
        child = self.parent.fork(seq, edit, model=self.model, **options)
        assert list(events_of(self.parent)) == self.before
        assert child.meta["parent"] == self.parent.run_id
        assert [message["role"] for message in child.messages].count("system") == 1
        check_paired(child.messages)
        for at, step in enumerate(child.steps):
            assert child.messages_at(at) == step.messages.tolist()
        return child

    def seq(self, kind, turn=1, slot=0):
        """The number of the first such step."""
        return next(
            i
            for i, step in enumerate(self.parent.steps)
            if (step.kind, step.turn) == (kind, turn) and step.slot in (slot, None)
        )


def results(trace):
    """The contents of the tool messages."""
    return [message["content"] for message in trace.messages if message["role"] == "tool"]


def test_at_define_the_whole_run_is_made_again_with_other_tools():
    run_ = Counted()
    child = run_.fork(0, run_.tools[:1], [[("note", {"n": 9})], "Forked."])
    assert [tool["function"]["name"] for tool in run_.model.requests[0].tools] == ["note"]
    assert (run_.ran, child.answer) == ([9], "Forked.")


@pytest.mark.parametrize("turn", [1, 2])
def test_at_a_request_the_model_is_asked_again_and_nothing_before_runs(turn):
    run_ = Counted()
    seq = run_.seq("request", turn)
    request = run_.parent.steps[seq].record
    more = replace(request, messages=[*request.messages, {"role": "user", "content": "Hurry."}])
    child = run_.fork(seq, more)
    assert run_.model.requests[0].messages[-1] == {"role": "user", "content": "Hurry."}
    assert (run_.ran, child.answer) == ([], "Forked.")
    assert [s.kind for s in child.steps[:seq]] == [s.kind for s in run_.parent.steps[:seq]]
    assert child.steps[seq].turn == turn


def test_at_a_call_the_reply_is_kept_and_the_edited_call_runs():
    run_ = Counted()
    seq = run_.seq("tool_call", slot=1)
    call = run_.parent.steps[seq].record
    child = run_.fork(seq, replace(call, arguments='{"n": 20}'))
    assert results(child) == ["noted 1 for ada", "noted 20 for ada"]
    assert run_.ran == [20]  # the other call is on the tape
    assert len(run_.model.requests) == 1


def test_at_the_final_reply_the_answer_changes():
    run_ = Counted()
    child = run_.fork(len(run_.parent) - 1, Reply({"role": "assistant", "content": "Other."}))
    assert (child.answer, run_.ran, run_.model.requests) == ("Other.", [], [])


def test_at_a_verdict_the_edit_decides():
    run_ = Counted()
    child = run_.fork(run_.seq("validate", slot=1), Verdict(True, {"n": 7}))
    assert results(child) == ["noted 1 for ada", "noted 7 for ada"]


@pytest.mark.parametrize("slot", [0, 1])
def test_at_an_outcome_nothing_runs_again(slot):
    run_ = Counted()
    child = run_.fork(run_.seq("execute", slot=slot), Outcome("edited"))
    expected = ["noted 1 for ada", "noted 2 for ada"]
    expected[slot] = "edited"
    assert (results(child), run_.ran) == (expected, [])
    assert run_.model.last[-2 + slot]["content"] == "edited"


@pytest.mark.parametrize("slot", [0, 1])
def test_at_a_result_nothing_runs_again(slot):
    run_ = Counted()
    seq = run_.seq("result", slot=slot)
    child = run_.fork(seq, replace(run_.parent.steps[seq].record, content="edited"))
    assert (results(child)[slot], run_.ran) == ("edited", [])
    assert run_.model.last[-2 + slot]["content"] == "edited"


def test_at_a_decision_the_tool_may_run():
    run_ = Counted()
    seq = run_.seq("execute", turn=2, slot=1)
    assert run_.parent.steps[seq].status == "pending"
    child = run_.fork(seq, Decision("once"))
    assert results(child)[-1] == "wiped"
    assert run_.ran == ["wipe"]


def test_at_a_result_after_a_denied_decision_the_denial_stands():
    run_ = Counted()
    child = run_.fork(run_.seq("result", turn=2), None)
    assert run_.ran == []
    assert results(child) == results(run_.parent)
    assert [s.kind for s in child.steps[:-1]] == [s.kind for s in run_.parent.steps[:-1]]


@pytest.mark.parametrize("kind", ["tool_call", "validate", "execute", "result"])
@pytest.mark.parametrize("turn", [1, 2])
@pytest.mark.parametrize("slot", [0, 1])
def test_without_an_edit_a_fork_repeats_its_parent(kind, turn, slot):
    run_ = Counted()
    seq = run_.seq(kind, turn, slot)
    child = run_.fork(seq, None)
    assert [s.kind for s in child.steps[: seq + 1]] == [s.kind for s in run_.parent.steps[: seq + 1]]
    assert child.messages_at(seq) == run_.parent.messages_at(seq)
    assert results(child) == results(run_.parent)[: 2 * turn]


def test_after_a_fork_tools_run_as_ever_with_their_context():
    run_ = Counted()
    script = [[("note", {"n": 1}), ("note", {"n": 5})], "Forked."]
    child = run_.fork(run_.seq("execute"), Outcome("edited"), script)
    assert sorted(run_.ran) == [1, 5]
    assert results(child)[-2:] == ["noted 1 for ada", "noted 5 for ada"]


def test_after_a_fork_arguments_are_still_bound_and_judged():
    run_ = Counted()
    script = [[("note", {"n": "x"})], "Forked."]
    child = run_.fork(run_.seq("result"), None, script)
    assert [error.code for error in child.errors] == ["invalid_arguments"]


def test_edits_of_the_parent_in_the_same_turn_stand():
    trace = Trace()
    steps = trace.follow(
        walk("Hi", TOOLS, Scripted([[("add", {"a": 1}), ("wipe", {})], "Done."]), envelope="plain")
    )
    edit = lambda step: replace(step.record, arguments='{"a": 30}')  # noqa: E731
    drive(steps, tool_call=edit, execute=Decision("once"))
    seq = next(i for i, s in enumerate(trace.steps) if s.kind == "result" and s.slot == 1)
    child = trace.fork(seq, None, model=Scripted(["Forked."]), tools=TOOLS, envelope="plain")
    assert results(child) == results(trace) == ["30", "wiped x"]
    calls = [s.record for s in child.steps if isinstance(s.record, ToolCall)]
    assert calls[0].arguments == '{"a": 30}'


def test_a_later_edit_of_the_parent_is_not_made_again_in_a_fork():
    run_ = Counted()
    edited = run_.fork(len(run_.parent) - 1, Reply({"role": "assistant", "content": "Edited."}))
    said = [run_.parent.steps[run_.seq("request", turn) + 1].reply for turn in (1, 2)]
    assert edited.fork(1, model=Scripted([*said, "Anew."])).answer == "Anew."
    assert edited.fork(run_.seq("request", 2), model=Scripted([said[1], "Anew."])).answer == "Anew."


def test_what_was_allowed_for_the_session_stays_allowed():
    trace = Trace()
    replies = [[("wipe", {})], [("wipe", {"disk": "y"})], "Done."]
    drive(trace.follow(walk("Hi", TOOLS, Scripted(replies), envelope="plain")), execute=Decision("session"))
    seq = next(i for i, s in enumerate(trace.steps) if s.kind == "validate" and s.turn == 2)
    child = trace.fork(seq, None, model=Scripted(["Forked."]), tools=TOOLS, envelope="plain")
    assert results(child) == ["wiped x", "wiped y"]


@pytest.mark.parametrize("choice", ["session", "always"])
def test_what_is_allowed_for_the_session_later_is_not_allowed_before_it(choice):
    ran = []

    @tool(risk="high")
    def erase(disk: str) -> str:
        """Erase a disk."""
        ran.append(disk)
        return f"erased {disk}"

    said = iter([Decision("once"), Decision("deny"), Decision(choice)])
    replies = [[("erase", {"disk": disk})] for disk in "abcd"]
    parent = run("Hi", [erase], Scripted([*replies, "Done."]), ask=lambda _: next(said))
    assert ran == ["a", "c", "d"]
    granted = parent.turns[2].calls[0].decided
    assert next(said, None) is None
    for seq in range(1, parent.turns[-1].seq + 1):
        ran.clear()
        model = Scripted([[("erase", {"disk": "new"})], "Done."])
        child = parent.fork(seq, model=model, tools="live")
        assert ("erased new" in results(child)[-1]) == (seq >= granted), seq
        assert set(ran) <= {"new"}, seq
    for edit in (Decision("deny"), Decision("once")):
        ran.clear()
        model = Scripted([[("erase", {"disk": "new"})], "Done."])
        child = parent.fork(granted, edit, model=model, tools="live")
        assert ("erased c" in results(child)[2]) == edit.allowed
        assert ran == []


def test_without_a_model_a_fork_asks_that_of_its_parent():
    model = Watched("First.", "Second.")
    parent = run("Hi", [], model)
    assert parent.fork(1).answer == "Second."
    assert len(model.requests) == 2
    # Steps that were walked by hand have no model.
    loose = Trace.record(walk("Hi", [], Scripted(["First."])))
    with pytest.raises(InvalidInput, match="no model to continue the fork; pass model="):
        loose.fork(1, tools=[])


def test_a_fork_can_be_forked():
    run_ = Counted()
    child = run_.fork(run_.seq("execute"), Outcome("edited"))
    again = child.fork(run_.seq("result", slot=1), None, model=Scripted(["Again."]))
    assert again.answer == "Again."
    assert again.meta["parent"] == child.run_id
    assert results(again)[0] == "edited"


def test_a_forced_choice_is_not_forced_again():
    run_ = Counted(tool_choice="required")
    run_.fork(run_.seq("request", turn=2))
    assert [request.tool_choice for request in run_.model.requests] == ["auto"]


def test_calls_in_text_are_forked_without_a_second_system_prompt():
    said = '{"name": "add", "arguments": {"a": 1}}'
    parent = run("Hi", TOOLS, Scripted([said, "Done."]), calls="text", system="Be brief.")
    model = Watched(said, "Forked.")
    child = parent.fork(1, None, model=model)
    assert child.answer == "Forked."
    assert [message["role"] for message in model.requests[0].messages] == ["system", "user"]


def test_a_loaded_trace_needs_its_tools_only_to_run_them(tmp_path):
    run_ = Counted()
    loaded = Trace.load(run_.parent.save(tmp_path / "t.jsonl"))
    with pytest.raises(InvalidInput, match="no Python functions"):
        loaded.fork(run_.seq("result"), None, model=Scripted(["Forked."]), tools="live")
    assert loaded.fork(run_.seq("result"), None, model=Scripted(["Forked."])).answer == "Forked."
    child = loaded.fork(run_.seq("result"), None, model=Scripted(["Forked."]), tools=run_.tools)
    assert (child.answer, run_.ran) == ("Forked.", [])


def test_a_loaded_trace_needs_a_model(tmp_path):
    loaded = Trace.load(run("Hi", [], Scripted(["Done."])).save(tmp_path / "t.jsonl"))
    with pytest.raises(InvalidInput, match="no model to continue"):
        loaded.fork(1, None, tools=[])


def test_a_loaded_trace_cannot_make_its_fork_write_a_file(tmp_path):
    target = tmp_path / "target.jsonl"
    trace = run("Hi", [], Scripted(["Done."]))
    trace.meta["path"] = str(target)
    trace.meta["run_id"] = "x"
    Trace.load(trace.save(tmp_path / "t.jsonl")).fork(1, None, model=Scripted(["Forked."]), tools=[])
    assert not target.exists()


def test_the_limits_hold_in_a_fork():
    run_ = Counted()
    with pytest.raises(ToolLoopLimitReached) as caught:
        run_.fork(1, None, [[("note", {"n": 1})]] * 9, limits=Limits(turns=2))
    check_paired(caught.value.trace.messages)


def test_a_system_prompt_that_was_edited_away_stays_away():
    trace = Trace()
    walked = walk("Hi", TOOLS, Scripted(["Done."]), system="Be brief.")
    drive(trace.follow(walked), request=lambda step: replace(step.record, messages=step.record.messages[1:]))
    trace.options = {"system": "Be brief."}
    model = Watched("Forked.")
    trace.fork(1, None, model=model)
    assert [message["role"] for message in model.requests[0].messages] == ["user"]


def test_a_result_that_is_not_run_again_keeps_its_mark_of_untrusted_data():
    @tool(untrusted="a page")
    def read(page: int) -> str:
        """Read a page."""
        return f"page {page}"

    model = Scripted([[("read", {"page": 1}), ("read", {"page": 2})], "Done."])
    parent = run("Hi", [read], model, envelope="plain")
    for seq in (6, 7, 8, 9):  # both outcomes, both results
        assert parent.fork(seq, model=Scripted(["Done."])).messages == parent.messages
    edited = parent.fork(7, Outcome("other"), model=Scripted(["Done."]))
    assert edited.messages[3]["content"] == parent.messages[3]["content"].replace("page 2", "other")
    given = run(
        "Hi",
        [replace(read, risk="high")],
        Scripted([[("read", {"page": 1})], "Done."]),
        envelope="plain",
        ask=lambda _step: Outcome("said by a person"),
    )
    assert given.messages[2]["content"] == "said by a person"


@tool(risk="high")
def pay(euros: int) -> str:
    """Pay."""
    PAID.append(euros)
    return "paid"


PAID: list[int] = []


def paying(*sums):
    return Scripted([*([("pay", {"euros": euros})] for euros in sums), "Done."])


@pytest.mark.parametrize("kind", ["session", "always"])
def test_a_fork_does_not_inherit_what_was_allowed_later(kind):
    """The run's own `Permissions` know of it; those that are given to the fork are used as they are."""
    permissions = Permissions()
    trace = run("Pay.", [pay], paying(1), policy=permissions, ask=lambda _: Decision(kind))
    PAID.clear()
    for step in (0, 1, 2, 3):
        forked = trace.fork(step, model=paying(7), tools="live")
        if step < 2:  # later, the call is that of the trace
            assert [error.code for error in forked.errors] == ["permission_denied"]
        assert PAID == []
    second = next(i for i, step in enumerate(trace.steps) if (step.kind, step.turn) == ("request", 2))
    after = trace.fork(second, model=paying(8), tools="live")
    assert (PAID, after.errors) == ([8], [])
    trace.fork(0, model=paying(9), tools="live", policy=permissions)
    assert PAID == [8, 9]


def test_a_fork_leaves_what_a_file_keeps_to_the_file(tmp_path):
    path = tmp_path / "policies.json"
    permissions = Permissions(path=path)
    trace = run("Pay.", [pay], paying(1), policy=permissions, ask=lambda _: Decision("always"))
    PAID.clear()
    assert not trace.fork(0, model=paying(7), tools="live").errors
    path.unlink()
    assert trace.fork(0, model=paying(8), tools="live").errors[0].code == "permission_denied"
    last = trace.fork(len(trace) - 2, model=paying(9), tools="live")
    assert last.errors[0].code == "permission_denied"
    assert (PAID, path.exists()) == ([7], False)


def test_whether_always_can_be_kept_is_said_at_a_call_that_is_not_on_the_tape(tmp_path):
    for policy, lasts in ((None, False), (Permissions(path=tmp_path / "policies.json"), True)):
        trace = run("Hi", [pay], Scripted(["Hello"]), policy=policy)
        for step in (0, 1):
            waiting = trace.fork(step, model=paying(7)).steps[-1].record
            assert (waiting.choice, waiting.lasts) == ("pending", lasts)


@pytest.mark.parametrize("step", ["x", None, 1.5, [1], 99])
def test_a_step_that_is_none_is_refused_clearly(step):
    trace = run("Hi", [], Scripted(["Hello"]))
    with pytest.raises(InvalidInput, match=r"there is no step .*expected a number below 3 or a step"):
        trace.fork(step)
    with pytest.raises(InvalidInput, match="there is no step"):
        trace.messages_at(step)


@pytest.mark.parametrize("name", ["system", "messages", "first_turn", "tape", "self"])
def test_an_option_of_the_start_is_refused_without_a_wrong_guess(name):
    trace = run("Hi", [], Scripted(["Hello"]))
    if name == "self":
        with pytest.raises(InvalidInput) as caught:
            trace.fork(0, tapes=1)
    else:
        with pytest.raises(InvalidInput) as caught:
            trace.fork(0, **{name: "x"})
        assert str(caught.value).startswith(f"fork() has no option '{name}'; there are answer_schema, ")
    assert "self" not in str(caught.value)
    with pytest.raises(InvalidInput, match="has no option 'limit'; did you mean 'limits'"):
        trace.fork(0, limit=1)
