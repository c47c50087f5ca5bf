"""Every fault happens, is marked where it happened, and meets the walk as the table says."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass

import openai
import pandas as pd
import pytest
from counting import ends
from server import Answer, chunk, serving, sse
from test_openai_model import model_at
from walks import CALL, add, check_paired

from zoolab import Context, Faulty, LocalModel, Replay, Scripted, ToolRegistry, plugins, run, tool, walk
from zoolab.errors import InvalidInput, ModelError, ZoolabError
from zoolab.fault import Fault
from zoolab.models.openai import OpenAIModel
from zoolab.records import Limits, Outcome, Reply, Request
from zoolab.runs import Trace
from zoolab.show.moment import moments_of
from zoolab.show.text import details
from zoolab_connect.faulty import FAULTS
from zoolab_connect.faulty.kinds import check_table, fault_named
from zoolab_connect.faulty.model import BROKEN
from zoolab_connect.nested import as_tool

ARGUMENTS = {"a": 2, "unit": "C", "hosts": ["db01"]}
LIMITS = Limits(retries=99)
#: Faults of whole replies.
WHOLE = {"empty_reply", "same_call", "many_calls", "call_in_text", "markup_in_text"}
#: These end a run with an error of the whole run; all others leave an answer.
ENDING = {"http_401", "http_429", "http_500", "timeout", "dropped_stream", "same_call", "empty_reply"}
QUICK = {"slow_seconds": 0.01, "hang_seconds": 5}


@dataclass
class Clinic(Context):
    """A context that equals another one, and so has no hash."""

    name: str


def measuring(step=1, **options):
    """A tool with every kind of argument, whose value is another one each time, unless `step` is 0."""
    counter = itertools.count(10, step)

    @tool(**options)
    def measure(a: int, unit: str, hosts: list[str]) -> dict[str, int]:
        """Measure."""
        return {"value": next(counter), "asked": len(unit) + len(hosts) + a}

    return measure


def twice():
    """Two calls, the same two again, and an answer."""
    calls = [("measure", ARGUMENTS), ("measure", {**ARGUMENTS, "a": 3})]
    return Scripted([calls, calls, "Done."])


def ended(prompt, tools, model, **options):
    """The trace of a run, however it ended."""
    try:
        return run(prompt, tools, model, **{"limits": LIMITS, **options})
    except ZoolabError as error:
        return error.trace


def marks(trace):
    """All faults of a trace, in order."""
    replies = {step.turn: step.reply for step in trace.steps if step.reply is not None}
    found = [fault for reply in replies.values() for fault in reply.faults]
    found += [step.record.fault for step in trace.steps if getattr(step.record, "fault", None)]
    return found + ([trace.fault] if trace.fault else [])


def hit(trace):
    """Where faults are, and which."""
    frame = trace.to_frame().dropna(subset="fault")
    slots = [None if slot is pd.NA else slot for slot in frame["slot"]]
    return list(zip(frame["turn"], frame["step"], slots, frame["fault"], strict=True))


def test_each_row_of_the_table_has_a_function_and_each_function_a_row():
    assert sorted(BROKEN) == sorted(FAULTS)


def test_a_row_without_a_function_is_refused_by_name():
    with pytest.raises(InvalidInput, match="has shouting_keys, and no function breaks it"):
        check_table([*FAULTS, "shouting_keys"], BROKEN)


@pytest.mark.parametrize("name", [*FAULTS, *plugins.FAULTS.entries()])
def test_a_fault_is_marked_in_its_step_and_leads_to_its_error(name, tmp_path, capsys):
    kind = fault_named(name)
    trace = ended("Measure.", [measuring(timeout=0.3)], Faulty(twice(), [name], **QUICK))
    assert {fault.name for fault in marks(trace)} == {name}
    frame = trace.to_frame()
    assert set(frame.loc[frame["fault"].notna(), "step"]) == {kind.stage}
    assert set(frame["fault"].dropna()) == {name}
    codes = {error.code for error in trace.errors}
    assert codes == ({kind.code} if kind.code else set())
    assert (trace.outcome == kind.code) is (name in ENDING)
    check_paired(trace.messages)
    assert Trace.load(trace.save(tmp_path / "trace.jsonl")) == trace
    shown = {line for at in moments_of(trace) for line in details(at) if "fault injected" in line}
    assert all(name in line for line in shown)
    assert shown or trace.fault
    assert f"fault injected: {name}" in trace.to_html()
    assert ("a tool that prints" in capsys.readouterr().out) is (name == "prints")


def test_a_live_file_has_the_mark_of_the_error_that_ended_the_run(tmp_path):
    model = Faulty(Scripted(["Hello"]), ["http_500"])
    with pytest.raises(ModelError) as raised:
        run("Hi", [], model, trace=Trace(tmp_path / "live.jsonl"))
    assert raised.value.fault.name == "http_500"
    assert Trace.load(tmp_path / "live.jsonl").fault == raised.value.fault


def test_the_table_covers_every_pitfall_that_a_model_or_a_tool_can_cause():
    assert {kind.pitfall for kind in FAULTS.values()} >= {1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 18}
    assert all(name == kind.name and kind.does for name, kind in FAULTS.items())


def test_a_walk_without_a_chance_for_a_fault_has_no_mark():
    @tool
    def now() -> str:
        """The time."""
        return "noon"

    model = Faulty(Scripted([[("now", {})], "Noon."]), ["truncated_arguments", "wrong_type", "duplicate_id"])
    assert marks(run("Time?", [now], model)) == []
    assert marks(run("Hi", [], Faulty(Scripted(["Hello"]), ["trailing_comma", "same_call", "hang"]))) == []
    assert run("Hi", [], Scripted(["Hello"])).to_frame()["fault"].isna().all()


def test_the_column_does_not_come_from_what_somebody_says_of_the_run():
    trace = Trace.record(walk("Hi", [], Scripted(["Hello"])), meta={"fault": "slow"})
    assert trace.to_frame()["fault"].isna().all()


@pytest.mark.parametrize("faults", [["no_such_fault"], "no_such_fault", {"slow": 1, "no_such_fault": 0.5}])
def test_an_unknown_fault_is_refused_and_the_known_ones_are_named(faults):
    with pytest.raises(InvalidInput, match=r'no fault is named "no_such_fault".*trailing_comma.*hang'):
        Faulty(Scripted([]), faults)


@pytest.mark.parametrize(
    ("faults", "options"),
    [
        ({"slow": 2}, {}),
        ({"slow": "often"}, {}),
        (["slow"], {"times": 0}),
        ([], {"hang_seconds": float("inf")}),
        ([], {"slow_seconds": -1}),
    ],
)
def test_a_rate_or_a_number_that_is_none_is_refused(faults, options):
    with pytest.raises(InvalidInput, match="expected a number"):
        Faulty(Scripted([]), faults, **options)


MANY = dict.fromkeys([name for name, kind in FAULTS.items() if kind.stage in ("tool_call", "execute")], 0.2)
MANY = {name: rate for name, rate in MANY.items() if name != "hang" and name not in WHOLE}


def long_walk():
    calls = [[("measure", {**ARGUMENTS, "a": 4 * turn + slot}) for slot in range(4)] for turn in range(4)]
    return Scripted([*calls, "Done."])


def marks_of_a_long_walk(seed, **options):
    return marks(ended("Measure.", [measuring(0)], Faulty(long_walk(), MANY, seed, **QUICK), **options))


def test_the_same_seed_breaks_the_same_things_and_another_seed_others():
    first = marks_of_a_long_walk(1)
    assert len(first) > 4
    assert marks_of_a_long_walk(1) == first == marks_of_a_long_walk(1, parallel=False)
    assert len({tuple(map(str, marks_of_a_long_walk(seed))) for seed in range(6)}) == 6


def test_walks_of_the_same_model_do_not_disturb_each_other():
    model = Faulty(Scripted(lambda request: next(scripts[request.messages[0]["content"]])), MANY, 1, **QUICK)
    scripts = {}

    def script(turns):
        replies = [[("measure", {**ARGUMENTS, "a": turn})] for turn in range(3)]
        return iter([*replies, "Done."][:turns])

    def steps(prompt):
        scripts[prompt] = script(4)
        return walk(prompt, [measuring()], model, limits=LIMITS)

    def faults(walked):
        return [str(m) for s in walked for m in (s.reply.faults if s.reply else ())]

    alone = {prompt: faults(steps(prompt)) for prompt in "abcd"}
    assert any(alone.values())
    together = {prompt: [] for prompt in alone}
    for row in itertools.zip_longest(*(steps(prompt) for prompt in alone)):
        for prompt, step in zip(alone, row, strict=True):
            together[prompt] += [step] if step else []
    assert {prompt: faults(walked) for prompt, walked in together.items()} == alone


def test_a_conversation_that_is_taken_up_again_has_the_faults_that_it_would_have_had():
    faults = dict.fromkeys(["trailing_comma", "wrong_type", "unknown_tool"], 0.5)
    whole = ended("Measure.", [measuring()], Faulty(long_walk(), faults, 3))
    until = next(step for step in whole.steps if step.kind == "request" and step.turn == 3)
    replies = iter(long_walk()._replies)
    rest = Scripted(list(replies)[2:])
    again = ended(None, [measuring()], Faulty(rest, faults, 3), messages=until.messages, first_turn=3)
    expected = [mark for mark in hit(whole) if mark[0] >= 3]
    assert expected
    assert hit(again) == expected


def test_a_fork_does_not_break_what_is_broken_already():
    trace = run("1 + 2?", [add], Faulty(Scripted([CALL, "Three.", CALL, "3."]), ["wrong_result"]))
    again = trace.fork(0)
    assert [m.after for m in marks(trace)] == [m.after for m in marks(again)] == ["4"]


@pytest.mark.parametrize("name", ["trailing_comma", "unknown_tool", "missing_argument", "null_arguments"])
def test_with_times_the_first_attempts_are_broken_and_the_next_is_not(name):
    model = Scripted([CALL_OF_MEASURE] * 3 + ["Done."])
    trace = ended("Measure.", [measuring()], Faulty(model, [name], times=2))
    assert [fault.name for fault in marks(trace)] == [name] * 2
    assert (trace.answer, [error.code for error in trace.errors]) == ("Done.", [FAULTS[name].code] * 2)


CALL_OF_MEASURE = [("measure", ARGUMENTS)]


def test_times_begins_anew_with_each_question_and_counts_a_tool_by_its_call():
    model = Faulty(Scripted([CALL, CALL, "3.", CALL, "3."]), ["single_quoted", "system_exit"], times=1)
    first = ended("1 + 2?", [add], model)
    assert hit(first) == [(1, "tool_call", 0, "single_quoted"), (2, "execute", 0, "system_exit")]
    second = ended("Again?", [add], model, messages=first.messages)
    assert [fault.name for fault in marks(second)] == ["single_quoted"]


def test_a_tool_that_hangs_is_given_up_with_its_mark_and_let_go_at_the_end():
    with ends(), Faulty(Scripted([CALL, "Done."]), ["hang"], hang_seconds=3_600) as model:
        trace = ended("1 + 2?", [add], model, limits=Limits(seconds=0.2))
    outcome = next(step.record for step in trace.steps if step.kind == "execute")
    assert (outcome.error.code, outcome.still_running, outcome.fault.name) == ("timeout", True, "hang")
    assert run("1 + 2?", [add], Faulty(Scripted([CALL, "Done."]), ["hang"], hang_seconds=0.01)).errors
    model = Faulty(Scripted([CALL, "Done."]), ["hang"], hang_seconds=3_600)
    model.close()
    with ends():
        assert run("1 + 2?", [add], model).errors[0].code == "timeout"


@pytest.mark.parametrize("name", [name for name, kind in FAULTS.items() if kind.stage == "execute"])
def test_an_async_tool_has_the_same_faults(name):
    values = itertools.count(1)

    @tool(timeout=0.3)
    async def wait(hosts: list[str]) -> int:
        """Wait."""
        await asyncio.sleep(0)
        return next(values) + len(hosts)

    calls = [("wait", {"hosts": ["db01"]})]
    model = Scripted([calls, calls, "Done."])
    trace = ended("Wait.", [wait], Faulty(model, [name], **QUICK))
    assert {fault.name for fault in marks(trace)} == {name}
    assert {error.code for error in trace.errors} == ({FAULTS[name].code} - {None})


def test_a_tool_that_changes_its_arguments_changes_no_record():
    trace = ended("Measure.", [measuring()], Faulty(twice(), ["changed_arguments"]))
    verdicts = [step.record for step in trace.steps if step.kind == "validate"]
    assert [verdict.arguments["hosts"] for verdict in verdicts] == [["db01"]] * 4
    assert [str(mark) for mark in marks(trace)] == ["changed_arguments in arguments of measure"] * 4


def test_a_stale_result_is_the_one_before_and_a_first_call_has_none():
    trace = ended("Measure.", [measuring()], Faulty(twice(), ["stale_result"]), parallel=False)
    values = [step.record.value["value"] for step in trace.steps if step.kind == "execute"]
    assert values == [10, 11, 10, 11]
    assert len(marks(trace)) == 2


def test_the_trace_of_a_sub_agent_is_kept_beside_the_fault():
    oracle = as_tool("oracle", "Knows.", [], Scripted(["42"]))
    model = Scripted([[("oracle", {"task": "The answer?"})], "42."])
    trace = run("?", [oracle], Faulty(model, ["wrong_result"]))
    outcome = next(step.record for step in trace.steps if step.kind == "execute")
    assert (outcome.value, outcome.fault.before, len(outcome.trace)) == ("not 42", "42", 3)


def test_a_tool_may_be_denied_while_a_faulty_walk_goes_on():
    registry = ToolRegistry([add])
    steps = walk("1 + 2?", registry, Faulty(Scripted([CALL, "No."]), ["slow"], **QUICK))
    next(steps)
    registry.deny("add")
    assert "permission_denied" in [step.error_code for step in steps]
    assert registry["add"] is add


def test_a_context_of_ones_own_need_not_be_hashable():
    @tool
    def who(context: Clinic, a: int) -> str:
        """Who?"""
        return context.name * a

    model = Scripted([[("who", {"a": 1})], "Ada."])
    trace = run("Who?", [who], Faulty(model, ["wrong_result"]), context=Clinic("Ada"))
    assert [(mark.before, mark.after) for mark in marks(trace)] == [("Ada", '"not Ada"')]


def test_an_error_of_the_tool_itself_is_no_fault_and_keeps_its_cause():
    @tool
    def broken(a: int) -> int:
        """Fail."""
        raise ValueError(a) from OSError("why")

    model = Scripted([[("broken", {"a": 1})], "Done."] * 2)
    trace = run("?", [broken], Faulty(model, ["wrong_result", "stale_result"]))
    assert (marks(trace), trace.errors[0].code) == ([], "execution_failed")
    slow = run("?", [broken], Faulty(model, ["slow"], **QUICK))
    assert [mark.name for mark in marks(slow)] == ["slow"]
    assert slow.errors[0].message == trace.errors[0].message == "ValueError: 1"


def test_an_error_of_the_model_itself_is_no_fault():
    with pytest.raises(ModelError, match="the script has no reply to request") as raised:
        run("Hi", [], Faulty(Scripted([]), ["dropped_stream"]))
    assert raised.value.trace.fault is None


def test_faults_may_be_laid_over_faults():
    inner = Faulty(Scripted([CALL, "Done."]), ["missing_id"])
    trace = run("1 + 2?", [add], Faulty(inner, {"trailing_comma": 1}))
    assert hit(trace) == [(1, "tool_call", 0, "missing_id, trailing_comma")]


def test_a_reply_that_is_broken_already_is_left_alone():
    odd = Reply({"role": "assistant", "content": None, "tool_calls": ["?"]})
    assert Faulty(Scripted(lambda _request: odd), ["trailing_comma"])(Request([])) is odd


@pytest.mark.parametrize("name", ["http_401", "http_429", "http_500", "dropped_stream"])
def test_an_error_of_the_endpoint_reads_as_that_of_a_real_one(name):
    dropped = name == "dropped_stream"
    begun = sse([chunk({"content": "Hel"})], done=False)
    real = Answer(begun, drop=True) if dropped else Answer({"error": {"message": "no"}}, int(name[-3:]))
    with serving(real) as server:
        inner = model_at(server.url, stream=dropped)
        with pytest.raises(ModelError) as expected:
            inner(Request([{"role": "user", "content": "Hi"}]))
        scripted = Scripted(["Hello"])
        scripted.client = inner.client
        with pytest.raises(ModelError) as raised:
            run("Hi", [], Faulty(scripted, [name]))
    assert raised.value.advice == expected.value.advice
    assert raised.value.what.partition(": ")[0] == expected.value.what.partition(": ")[0]


def test_a_timeout_reads_as_that_of_a_real_client_and_waits_for_nothing():
    with serving(Answer("late", delay=0.5)) as server:
        inner = OpenAIModel(
            "test", client=openai.OpenAI(base_url=server.url, api_key="none", max_retries=0, timeout=0.1)
        )
        with pytest.raises(ModelError) as expected:
            inner(Request([{"role": "user", "content": "Hi"}]))
        scripted = Scripted(["Hello"])
        scripted.client = inner.client
        with pytest.raises(ModelError) as raised:
            run("Hi", [], Faulty(scripted, ["timeout"]))
    assert (raised.value.what, raised.value.advice) == (expected.value.what, expected.value.advice)
    assert "did not answer in time" in raised.value.what
    assert scripted(Request([])).message["content"] == "Hello"  # it was not asked


def test_a_key_that_the_endpoint_repeats_is_not_repeated():
    with pytest.raises(ModelError, match="check the API key") as raised:
        run("Hi", [], Faulty(Scripted(["Hello"]), ["http_401"]))
    assert "example0000" not in str(raised.value)


def test_a_poisoned_description_reaches_the_model_and_is_marked_once():
    sent = []

    def script(request):
        sent.append(request.tools[0]["function"]["description"])
        return CALL if len(sent) == 1 else "Done."

    trace = run("1 + 2?", [add], Faulty(Scripted(script), ["poisoned_description"]))
    assert all("tell nobody" in description for description in sent)
    assert hit(trace) == [(0, "define", None, "poisoned_description")]
    assert "tell nobody" not in add.description


@pytest.mark.parametrize(("name", "happens"), [("trailing_comma", False), ("wrong_result", True)])
def test_calls_in_text_are_left_alone_and_their_tools_are_not(name, happens):
    class InText(Scripted):
        calls = "text"

    model = InText(['Sure. {"name": "add", "arguments": {"a": 1, "b": 2}}', "3."])
    trace = ended("1 + 2?", [add], Faulty(model, [name]))
    assert ([fault.name for fault in marks(trace)], trace.errors) == ([name] * happens, [])


def test_what_a_faulty_model_says_is_never_passed_off_as_recorded(tmp_path):
    model = Faulty(LocalModel(), ["empty_reply"])
    assert (model.model, model.made, model.calls) == ("needle+smollm2", "authored", "native")
    assert model.settings["seed"] == 42
    real = Scripted(["Hello"])
    real.made = "recorded"
    replay = Replay(tmp_path / "faulty.jsonl", live=Faulty(real, ["markup_in_text"]))
    assert replay.recording.header.made == "authored"
    assert "injected faults" in replay.recording.header.who
    assert "<script>" in run("Hi", [], replay).answer


def test_a_mark_is_escaped_wherever_it_is_shown():
    name = "<b>add</b>\x1b[2J"
    trace = ended("?", [add], Faulty(Scripted([[(name, {"a": 1})], "Done."]), ["constant_id"]))
    assert any("<b>" in fault.where for fault in marks(trace))
    assert "<b>" not in trace.to_html()


def test_an_outcome_that_is_answered_by_hand_keeps_its_mark_in_the_original():
    steps = walk("1 + 2?", [add], Faulty(Scripted([CALL, "Done."]), ["wrong_result"]))
    trace = Trace()
    following = trace.follow(steps)
    answer = None
    while True:
        try:
            step = following.send(answer)
        except StopIteration:
            break
        answer = Outcome(3) if step.kind == "execute" else None
    assert hit(trace) == []
    assert next(iter(trace.originals.values())).fault == Fault(
        "wrong_result", "result of add", "3", "4", step="execute"
    )


def test_the_model_of_an_endpoint_may_be_wrapped_without_asking_it():
    assert isinstance(Faulty(model_at("http://127.0.0.1:9/v1"), []).inner, OpenAIModel)
