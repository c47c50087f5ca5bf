"""Experiments: what is run, what is kept of it, and what can be said of it."""

import json
import random
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from counting import lines_of
from hypothesis import given, settings
from hypothesis import strategies as st
from walks import TOOLS, add

from zoolab import Limits, Outcome, Scripted, Trace, run, tool
from zoolab.errors import InvalidInput, InvalidTrace, ModelError, ZoolabError
from zoolab.records import Reply, Request, Verdict
from zoolab.trace.frame import COLUMNS
from zoolab_connect.faulty import FAULTS
from zoolab_study import UNSAID, Case, Experiment, Setup, experiment
from zoolab_study.cases import cases_in
from zoolab_study.comparison import compare_runs
from zoolab_study.design import check_described, variants_in
from zoolab_study.journal import run_line, summary_of, trace_of
from zoolab_study.results import frame_of_many

CASES = [Case(f"sum-{n}", f"What is {n} + 1?", TOOLS, "add", expected_answer=str(n + 1)) for n in range(4)]


def adder(case):
    """Adds with the tool, and repeats what it said."""
    number = int(case.id.partition("-")[2])
    return Scripted([[("add", {"a": number, "b": 1})], lambda request: request.messages[-1]["content"]])


def luck(seed):
    """Answers from its seed alone."""
    return Scripted([str(random.Random(seed).random())])


def quiet(*args, **options):
    return experiment(*args, progress=False, **options)


def test_every_case_variant_model_and_repeat_is_a_run():
    done = quiet(CASES, {"plain": {}, "mute": {"deny": ["add"]}}, {"m": adder, "n": adder}, repeats=3)
    assert len(done) == len(done.traces) == len(done.summary) == 4 * 2 * 2 * 3
    places = done.summary[["case_id", "variant", "model", "repeat"]].apply(tuple, axis=1)
    assert places.is_unique
    assert done.summary["run_id"].is_unique
    assert done.summary["seed"].is_unique
    by_variant = done.summary.groupby("variant")["success"].mean()
    assert by_variant.to_dict() == {"plain": 1.0, "mute": 0.0}


def test_the_frame_has_the_columns_of_a_trace_one_row_a_step():
    done = quiet(CASES[:2], {"plain": {}}, {"m": adder})
    assert list(done.frame.columns) == COLUMNS
    assert len(done.frame) == sum(map(len, done.traces))
    assert done.frame["expected_tool"].tolist() == ["add"] * len(done.frame)
    alone = pd.concat([trace.to_frame() for trace in done.traces], ignore_index=True)
    pd.testing.assert_frame_equal(done.frame, alone, check_dtype=False)


class Shuffled(Executor):
    """Does what it is given in another order, once there are some."""

    _max_workers = 8

    def __init__(self, seed):
        self.waiting, self.random, self.lock = [], random.Random(seed), threading.Lock()

    def submit(self, function, /, *args, **_options):
        future = Future()
        with self.lock:
            self.waiting.append((future, function, args))
        threading.Timer(0.002, self.some).start()
        return future

    def some(self):
        with self.lock:
            self.random.shuffle(self.waiting)
            future, function, args = self.waiting.pop()
        future.set_result(function(*args))


def told(done):
    """What may not depend on when and where runs were done."""
    return done.summary.drop(columns=["duration_ms", "seconds"], errors="ignore").to_dict("records")


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_execution_changes_nothing(seed):
    plain = quiet(CASES, {"a": {}, "b": {"system": "Think."}}, {"luck": luck}, repeats=2)
    mixed = quiet(
        CASES, {"a": {}, "b": {"system": "Think."}}, {"luck": luck}, repeats=2, executor=Shuffled(seed)
    )
    assert told(mixed) == told(plain)


def test_another_seed_is_another_experiment():
    answers = [set(quiet(CASES, None, {"luck": luck}, seed=seed).summary["said"]) for seed in (1, 2)]
    assert answers[0].isdisjoint(answers[1])


def test_a_run_that_goes_wrong_stops_no_other():
    def rude(_request):
        raise ZeroDivisionError("as rude as can be")

    def leaving(_request):
        raise SystemExit(3)

    def broken(_setup):
        raise KeyError("no such thing")

    done = quiet(CASES[:1], {"plain": {}, "broken": broken}, {"rude": rude, "leaving": leaving, "m": adder})
    ends = done.summary.set_index(["variant", "model"])
    assert ends["outcome"].to_dict() == {
        ("plain", "rude"): "model_error",
        ("plain", "leaving"): "failed",
        ("plain", "m"): "answer",
        ("broken", "rude"): "failed",
        ("broken", "leaving"): "failed",
        ("broken", "m"): "failed",
    }
    assert ends.loc[("plain", "rude"), "error"].startswith(
        "the model raised ZeroDivisionError: as rude as can be"
    )
    assert [len(trace) for trace in done.traces][3:] == [0, 0, 0]


def test_a_scorer_that_fails_says_so():
    def odd(_run):
        return {"odd": 1 / 0}

    def short(run):
        return {"short": len(run.trace.answer) < 5}

    row = quiet(CASES[:1], None, {"m": lambda: Scripted(["Hi"])}, scorers=[odd, short]).summary.iloc[0]
    assert row["short"]
    assert row["scorer_error"] == "odd: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("change", "see"),
    [
        ({"system": "Think."}, lambda trace: trace.messages[0]["content"] == "Think."),
        ({"limits": {"turns": 1}}, lambda trace: trace.outcome == "loop_limit"),
        ({"limits": Limits(turns=1)}, lambda trace: trace.outcome == "loop_limit"),
        ({"tools": []}, lambda trace: "unknown_tool" in codes_of(trace)),
        ({"descriptions": {"add": "Plus."}}, lambda trace: described(trace) == "Plus."),
        ({"faults": ["trailing_comma"]}, lambda trace: "invalid_json" in codes_of(trace)),
        ({"context": pd.DataFrame({"a": [1]}), "system": "Think."}, lambda trace: len(trace.messages) == 5),
        ({"envelope": "plain"}, lambda trace: trace.messages[2]["content"] == "1"),
        ({"model": Scripted(["No."])}, lambda trace: trace.answer == "No."),
    ],
)
def test_a_variant_changes(change, see):
    traces = quiet(CASES[:1], {"plain": {}, "changed": change}, {"m": adder}).traces
    assert not see(traces[0])
    assert see(traces[1])


def codes_of(trace):
    return [error.code for error in trace.errors]


def described(trace):
    return trace.steps[0].record["add"].description


def test_a_variant_describes_those_tools_that_a_case_has():
    cases = [Case("a", "What is 1 + 1?", [TOOLS["add"]]), Case("b", "Wipe it.", [TOOLS["wipe"]])]
    variants = {"better": {"descriptions": {"add": "Plus.", "wipe": "Erase."}}}
    traces = quiet(cases, variants, {"m": lambda: Scripted(["No."])}).traces
    assert [tool.description for trace in traces for tool in trace.steps[0].record] == ["Plus.", "Erase."]


@pytest.mark.parametrize("changes", [{}, {"tools": [add]}])
def test_a_variant_that_describes_what_no_case_has_is_said(changes):
    variants = variants_in({"better": {**changes, "descriptions": {"dad": "Plus."}}})
    with pytest.raises(InvalidInput, match=r'the variant "better" describes "dad"; expected one of .*add'):
        check_described(variants, [TOOLS])


def test_a_variant_may_be_a_function_that_changes_its_setup_in_place():
    def louder(setup: Setup):
        setup.system = f"Shout at {setup.case.id}."
        return setup

    assert (
        quiet(CASES[:1], {"louder": louder}, {"m": adder}).traces[0].messages[0]["content"]
        == "Shout at sum-0."
    )


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"cases": []}, "there are no cases"),
        ({"cases": ["a", {"id": "1", "prompt": "b"}]}, "two cases have the id"),
        ({"cases": [3]}, "case 1 is 3"),
        ({"cases": [{"id": "x"}]}, "has no question"),
        ({"models": {}}, "there are no models"),
        ({"models": {"m": 3}}, '"m" cannot be called'),
        ({"repeats": 0}, "repeats is 0"),
        ({"variants": {"v": {"sytem": ""}}}, 'changes "sytem"'),
        ({"variants": {"v": 1}}, "is 1"),
        (
            {"variants": {"v": {"limits": {"turn": 1}}}},
            'the variant "v": limits contain the unknown name "turn"',
        ),
        ({"variants": {"v": {"limits": {"turns": 0}}}}, 'the variant "v": Limits'),
        ({"variants": {"v": {"faults": ["gremlins"]}}}, 'the variant "v": no fault is named "gremlins"'),
        ({"variants": {"v": {"descriptions": {"add": {"text": "x"}}}}}, 'the description of "add"'),
        ({"variants": {"v": {"descriptions": ["add"]}}}, "descriptions are"),
        ({"scorers": ["no-such"]}, "a scorer is"),
        ({"executor": 7}, "the executor is 7"),
    ],
)
def test_what_cannot_be_meant_is_said_before_anything_runs(wrong, what):
    with pytest.raises(InvalidInput, match=what):
        quiet(**{"cases": CASES, "models": {"m": adder}, **wrong})


def test_a_data_frame_is_a_list_of_cases():
    rows = pd.DataFrame(
        {"case_id": [7, 8], "question": ["Hi", "Ho"], "expected_answer": [np.nan, "Ho"], "level": [1, 2]}
    )
    done = quiet(rows, None, {"echo": lambda _request: Reply({"role": "assistant", "content": "Ho"})})
    assert done.summary["case_id"].tolist() == ["7", "8"]
    assert done.summary["success"].tolist() == [None, True]


def test_a_cell_without_a_tool_is_not_taken_for_one_that_says_nothing():
    told = (["add", None], ["add", np.nan], pd.array(["add", pd.NA], dtype="string"))
    for column in (*told, pd.Series(["add", None], dtype=object)):
        rows = pd.DataFrame({"id": ["a", "b"], "prompt": ["Hi", "Ho"], "expected_tool": column})
        with pytest.raises(InvalidInput, match=r'the case "b" has an empty expected_tool; expected .*""'):
            cases_in(rows)
    rows["expected_tool"] = rows["expected_tool"].fillna("")
    assert cases_in(rows)[1].expected_tool is None


def test_a_cell_without_an_answer_says_nothing_whatever_stands_for_nothing():
    for column in ([1, np.nan], pd.array([1, pd.NA], dtype="Int64"), pd.Series(["one", None], dtype=object)):
        rows = pd.DataFrame({"prompt": ["Hi", "Ho"], "expected_answer": column})
        assert cases_in(rows)[1].expected_answer is UNSAID


@pytest.mark.parametrize("key", ["expectd_tool", "expected", "expected_call"])
def test_what_looks_like_an_expectation_and_is_none_is_said(key):
    with pytest.raises(InvalidInput, match=f'the case "a" has "{key}"; expected .*expected_calls'):
        cases_in([{"id": "a", "prompt": "Hi", key: "add"}])


def test_a_journal_repeats_nothing_and_does_what_is_missing(tmp_path):
    asked = []

    def model(request):
        asked.append(request.messages[-1]["content"])
        return Reply({"role": "assistant", "content": "Hi"})

    path = tmp_path / "runs.jsonl"
    first = quiet(CASES[:2], None, {"m": model}, journal=path)
    again = quiet(CASES[:2], None, {"m": model}, journal=path)
    more = quiet(CASES[:3], None, {"m": model}, repeats=2, journal=path)
    assert (len(first), len(again), len(more)) == (2, 2, 6)
    assert told(first) == told(again)
    assert sorted(asked) == sorted([case.prompt for case in CASES[:3]] * 2)


def test_a_case_that_was_changed_is_run_again(tmp_path):
    path, model = tmp_path / "runs.jsonl", lambda _request: Reply({"role": "assistant", "content": "Hi"})
    quiet([Case("a", "Hi")], None, {"m": model}, journal=path)
    done = quiet([Case("a", "Hello")], None, {"m": model}, journal=path)
    assert len(done) == 1
    assert done.traces[0].messages[0]["content"] == "Hello"


@pytest.mark.parametrize("cut", [1, 20, 500, 1200])
def test_a_torn_last_line_is_healed(tmp_path, cut):
    path = tmp_path / "runs.jsonl"
    whole = quiet(CASES, None, {"luck": luck}, journal=path)
    expected = told(whole)
    path.write_bytes(path.read_bytes()[:-cut])
    assert told(quiet(CASES, None, {"luck": luck}, journal=path)) == expected
    assert all(json.loads(line) for line in path.read_text().splitlines())
    assert len(Experiment.load(path)) == 4


@pytest.mark.parametrize("content", ["dear diary\n", "dear diary, ", '{"event":"trace"}\n{"'])
def test_a_file_that_is_no_journal_is_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    for use in (lambda: quiet(CASES, None, {"m": adder}, journal=path), lambda: Experiment.load(path)):
        with pytest.raises(InvalidInput, match="is not the journal"):
            use()
    with pytest.raises(InvalidInput, match="is a file of another kind"):
        quiet(CASES, None, {"m": adder}, cache=path)
    assert path.read_text() == content


def test_traces_are_read_from_the_journal_when_they_are_asked_for(tmp_path):
    done = quiet(CASES, {"plain": {}}, {"m": adder}, journal=tmp_path / "runs.jsonl")
    assert [trace.answer for trace in done.traces] == done.summary["said"].tolist()
    assert done.traces[-1].run_id == done.summary["run_id"].iloc[-1]
    assert [trace.run_id for trace in done.traces] == done.summary["run_id"].tolist()


#: Faults that need no client, and no patience.
QUICK = sorted(name for name, kind in FAULTS.items() if kind.stage not in ("request", "execute"))
calls = st.sampled_from(["add", "fail", "wipe", "fly"])
arguments = st.one_of(
    st.dictionaries(st.sampled_from(["a", "b", "disk"]), st.one_of(st.integers(), st.text(), st.none())),
    st.text(max_size=20),
)
replies = st.lists(
    st.one_of(st.text(max_size=30), st.lists(st.tuples(calls, arguments), min_size=1, max_size=3)), max_size=4
)


def summary_by_hand(trace):
    """What the records themselves say."""
    records = [step.record for step in trace.steps]
    said = records[-1].text if records and isinstance(records[-1], Reply) else None
    return {
        "outcome": trace.outcome,
        "error": trace.error,
        "said": said,
        "turns": sum(isinstance(record, Request) for record in records),
        "steps": len(records),
        "calls": sum(isinstance(record, Verdict) for record in records),
        "errors": sum(isinstance(record, Verdict | Outcome) and not record.ok for record in records),
        "duration_ms": round(trace.ended * 1e3, 3),
        "tokens_in": None,
        "tokens_out": None,
    }


def verdicts_of(trace):
    return [
        (step.record.ok, step.record.arguments, step.attempt)
        for step in trace.steps
        if step.kind == "validate"
    ]


@settings(deadline=None, max_examples=60)
@given(replies, st.lists(st.sampled_from(QUICK), max_size=2), st.sampled_from(["json", "plain"]))
def test_a_trace_comes_back_from_the_journal_as_it_was(script, faults, envelope):
    from zoolab import Faulty

    trace = Trace(meta={"case_id": "a"})
    model = Faulty(Scripted(script), faults)
    with suppress(ZoolabError):
        run("Hi", TOOLS, model, trace=trace, envelope=envelope)
    line = json.loads(run_line(trace))
    again = trace_of(line)
    assert again == trace
    assert summary_of(line) == {"run_id": trace.run_id, "case_id": "a", **summary_by_hand(trace)}
    assert again.messages == trace.messages
    assert (again.outcome, again.error, again.answer) == (trace.outcome, trace.error, trace.answer)
    assert [error.message for error in again.errors] == [error.message for error in trace.errors]
    assert again.tool_calls == trace.tool_calls
    assert verdicts_of(again) == verdicts_of(trace)
    ours, theirs = again.to_frame(), trace.to_frame()
    times = ["t_start", "duration_ms"]
    assert np.allclose(ours[times].astype(float), theirs[times].astype(float), atol=0.002, equal_nan=True)
    pd.testing.assert_frame_equal(ours.drop(columns=times), theirs.drop(columns=times))


def test_tokens_are_counted_once_a_reply_however_the_line_is_written():
    call = {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    asks = {"role": "assistant", "content": None, "tool_calls": [{"id": "x", **call}, {"id": "y", **call}]}
    used = {"prompt_tokens": 7, "completion_tokens": 2}
    replies = iter([Reply(asks, usage=used), Reply({"role": "assistant", "content": "4"}, usage=used)])
    trace = run("Hi", TOOLS, lambda _request: next(replies))
    for each in (trace, trace_of(json.loads(run_line(trace)))):
        summary = summary_of(json.loads(run_line(each)))
        assert (summary["tokens_in"], summary["tokens_out"], summary["calls"]) == (14, 4, 2)


def test_an_edited_trace_comes_back_too():
    trace = run("Hi", [add], Scripted([[("add", {"a": 1})], "1", "7"]))
    fork = trace.fork(4, Outcome(7))
    assert trace_of(json.loads(run_line(fork))) == fork


def test_a_journal_of_an_earlier_version_is_refused_with_its_version(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"event":"experiment","format":"zoolab-experiment","version":3}\n')
    for use in (lambda: Experiment.load(path), lambda: quiet(["Hi"], None, {"m": adder}, journal=path)):
        with pytest.raises(InvalidInput, match="is a journal of version 3; expected version 5; run the"):
            use()


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_a_line_by_a_stranger_is_a_trace_or_an_error(data):
    trace = run("Hi", TOOLS, Scripted([[("add", {"a": 1}), ("fail", {})], [("fly", {})], "7"]))
    line = json.loads(run_line(trace, {"success": True}))
    told = data.draw(st.sampled_from([line, *line["events"]]))
    where = data.draw(st.sampled_from(sorted(told)))
    if isinstance(told[where], list) and told[where] and data.draw(st.booleans()):
        told[where][data.draw(st.integers(0, len(told[where]) - 1))] = data.draw(json_values)
    elif data.draw(st.booleans()):
        told[where] = data.draw(json_values)
    else:
        del told[where]
    with suppress(InvalidTrace):
        assert isinstance(trace_of(line), Trace)
    with suppress(InvalidTrace):
        assert summary_of(line)["steps"] >= 0


def test_a_line_with_lone_surrogates_is_a_line_of_utf8(tmp_path):
    done = quiet(["\ud800"], None, {"m": lambda: Scripted(["\udfff"])}, journal=tmp_path / "runs.jsonl")
    assert done.traces[0].answer == "\udfff"
    (tmp_path / "runs.jsonl").read_text(encoding="utf-8")


def runs_of(rates, cases=30, model="m"):
    rows = [
        {"case_id": case, "variant": name, "model": model, "success": case < rate * cases}
        for name, rate in rates.items()
        for case in range(cases)
    ]
    return pd.DataFrame(rows)


def test_a_comparison_is_decisive_where_cases_are_many_and_alike():
    found = compare_runs(runs_of({"a": 0.3, "b": 0.8}), "a", "b")[0]
    assert found.decisive
    assert found.difference.estimate == pytest.approx(0.5)
    assert (found.more_a, found.more_b) == (0, 15)
    assert found.p == pytest.approx(2 * 0.5**15)
    assert "b is better than a" in str(found)


def test_of_many_comparisons_one_that_is_decisive_by_luck_is_not():
    rates = {"a": 0.3, **{f"v{n}": 0.5 for n in range(10)}}
    alone = compare_runs(runs_of(rates), "a", "v0")[0]
    among = compare_runs(runs_of(rates), "a", None)
    assert alone.decisive
    assert not any(found.decisive for found in among)
    assert among[0].p_adjusted == pytest.approx(10 * among[0].p)
    assert "not decisive" in among[0].verdict
    assert len(among) == 10


def test_comparisons_are_made_within_each_model():
    both = pd.concat([runs_of({"a": 0.3, "b": 0.8}), runs_of({"a": 0.3, "b": 0.8}, model="n")])
    assert [found.within for found in compare_runs(both, "a", "b")] == ["m", "n"]
    assert [found.b for found in compare_runs(both, "m", "n", by="model")] == ["n", "n"]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"a": "c"}, 'no "c"'),
        ({"a": "a", "b": "a"}, "nothing to compare"),
        ({"metric": "beauty"}, 'no "beauty"'),
        ({"by": "mood"}, 'the argument by= is "mood"'),
    ],
)
def test_a_comparison_that_cannot_be_meant_is_said(given, what):
    with pytest.raises(InvalidInput, match=what):
        compare_runs(runs_of({"a": 0.3, "b": 0.8}), **{"a": None, "b": None, **given})


def spent(metric, *, cases=20, more=50):
    runs = pd.DataFrame({"case_id": [*range(cases)] * 2, "model": "tiny"})
    runs["variant"] = ["short"] * cases + ["long"] * cases
    runs[metric] = [100 + case for case in range(cases)] + [100 + more + 2 * case for case in range(cases)]
    return runs


def test_what_is_counted_can_be_compared_and_is_not_called_better():
    found = compare_runs(spent("tokens_in"), "short", "long", "tokens_in")[0]
    assert found.verdict == "long against short: long has more tokens_in than short"
    assert (found.more_a, found.more_b, found.p) == (0, 20, pytest.approx(2 / 2**20))
    assert found.difference.estimate == pytest.approx(59.5)
    assert "points" not in str(found)
    assert (
        "not decisive" in compare_runs(spent("tokens_in", cases=4), "short", "long", "tokens_in")[0].verdict
    )


def test_more_that_is_silently_wrong_is_not_called_better():
    runs = spent("silently_wrong")
    runs["silently_wrong"] = runs["variant"] == "long"
    found = compare_runs(runs, "short", "long", "silently_wrong")[0]
    assert found.verdict == "long against short: long has more silently_wrong than short"


def scored_runs(scores, metric="success", outcome="answer"):
    """A row a run: for each variant the scores of the runs of each case."""
    return pd.DataFrame(
        [
            {"case_id": case, "variant": name, "model": "m", metric: score, "outcome": outcome}
            for name, cases in scores.items()
            for case, runs in enumerate(cases)
            for score in runs
        ]
    )


def test_a_gain_in_every_case_is_decisive_though_no_case_is_right_in_most_of_its_runs():
    rng = random.Random(4)
    seldom, oftener = ([[rng.random() < share for _ in range(10)] for _ in range(40)] for share in (0.1, 0.4))
    found = compare_runs(scored_runs({"a": seldom, "b": oftener}), "a", "b")[0]
    assert found.decisive
    assert found.p < 1e-3
    assert found.more_b > 30


def test_the_p_value_of_several_runs_a_case_is_that_of_the_cases_with_more():
    scores = {"a": [[0, 0], [0, 1], [0, 0], [1, 1], [0, 0]], "b": [[1, 1], [1, 1], [0, 1], [0, 1], [1, 1]]}
    found = compare_runs(scored_runs(scores), "a", "b")[0]
    assert (found.more_a, found.more_b, found.p) == (1, 4, pytest.approx(2 * (1 + 5) / 2**5))


def test_a_mean_that_a_few_cases_make_is_not_decisive_against_the_many():
    scores = {"a": [[10.0]] * 40, "b": [[9.99]] * 30 + [[20.0 + n] for n in range(10)]}
    found = compare_runs(scored_runs(scores, "turns"), "a", "b", "turns")[0]
    assert found.difference.decisive
    assert found.p < 0.01
    assert (found.more_a, found.more_b) == (30, 10)
    assert "not decisive" in found.verdict


def test_a_comparison_tells_of_runs_that_broke_off_and_of_cases_without_a_score():
    def broken(setup):
        raise InvalidInput(f"no {setup.prompt}")

    cases = [*CASES, Case("chat", "Hello!", TOOLS), Case("talk", "Hi!", TOOLS)]
    done = quiet(cases, {"plain": {}, "odd": broken}, {"m": lambda: Scripted(["5"])}, scorers=["success"])
    found = done.compare("plain", "odd")[0]
    assert "decides nothing: 6 of 6 pairs fell out" in found.verdict
    assert str(found).endswith("6 of 6 runs of odd broke off (invalid_input)")
    assert not found.decisive
    fine = quiet(CASES, {"plain": {}, "polite": {}}, {"m": adder}).compare()
    assert "broke off" not in str(fine)


def outage(runs, broken):
    """Two variants of which b is better, with so many runs of b that broke off."""
    scores = {"a": [[0]] * runs, "b": [[1]] * (runs - broken) + [[None]] * broken}
    summary = scored_runs(scores)
    ends = ["model_error" if lost else "answer" for lost in summary["success"].isna()]
    return summary.assign(repeat=0, outcome=ends)


@pytest.mark.parametrize(("broken", "decisive"), [(0, True), (4, True), (5, False), (19, False), (20, False)])
def test_a_comparison_decides_nothing_if_too_many_pairs_fell_out(broken, decisive):
    found = compare_runs(outage(20, broken), "a", "b")[0]
    assert (found.pairs, found.fell_out, found.decisive) == (20, broken, decisive)
    assert ("decides nothing" in str(found)) is not decisive
    assert (f"{broken} of 20 runs of b broke off (model_error)" in str(found)) is (broken > 0)


def test_the_scores_of_a_run_that_broke_off_are_missing_and_not_wrong():
    def lost(_request):
        raise ModelError("HTTP 503")

    done = quiet(CASES, {"plain": {}}, {"lost": lost, "m": adder})
    success = done.summary.set_index("model")["success"]
    assert success["lost"].isna().all()
    assert success["m"].notna().all()
    with pytest.raises(InvalidInput, match=r"decides nothing: all \d+ runs broke off \(model_error\)"):
        quiet(CASES, {"plain": {}, "polite": {}}, {"lost": lost}).compare()


@pytest.mark.parametrize("look", [Experiment.compare, Experiment.plot])
def test_without_anything_that_is_right_an_experiment_says_what_cases_need(look):
    done = quiet(["Hi", "Ho"], {"plain": {}, "polite": {}}, {"m": lambda: Scripted(["Hello"])})
    with pytest.raises(InvalidInput, match="expected_tool, expected_calls or expected_answer"):
        look(done)


def test_where_no_run_came_to_an_answer_a_comparison_of_success_says_so():
    one = {"limits": {"turns": 1}}
    done = quiet(CASES, {"plain": one, "polite": {**one, "system": "Please."}}, {"m": adder})
    assert "no run came to an answer (loop_limit)" in str(done.compare())
    assert "no run came" not in str(done.compare(metric="selection"))


@pytest.mark.parametrize("look", [Experiment.compare, Experiment.plot])
def test_where_the_scorer_failed_a_comparison_says_why(look):
    cases = [{"prompt": "Hi", "expected_calls": "add"}]
    both = {"plain": {}, "polite": {}}
    done = quiet(cases, both, {"m": lambda: Scripted(["Hello"])}, scorers=["arguments"])
    with pytest.raises(InvalidInput, match=r'no "arguments"; .*expected a list of calls'):
        look(done, metric="arguments")
    assert "expected a list of calls" in done.to_html()


def test_what_is_no_number_cannot_be_compared():
    runs = spent("tokens_in").assign(said="forty-two")
    with pytest.raises(InvalidInput, match="said is"):
        compare_runs(runs, "short", "long", "said")


def test_an_experiment_compares_and_plots():
    done = quiet(CASES, {"plain": {}, "mute": {"deny": ["add"]}}, {"m": adder}, repeats=2)
    assert done.compare("plain", "mute")[0].difference.estimate == -1
    assert done.plot().rates_["rate"].to_dict() == {"plain": 1.0, "mute": 0.0}


def test_frame_of_many_traces_is_what_their_frames_are():
    traces = [run("Hi", TOOLS, Scripted([[("add", {"a": n}), ("fly", {})], "1"])) for n in range(3)]
    together = frame_of_many(iter(traces))
    pd.testing.assert_frame_equal(together, pd.concat([t.to_frame() for t in traces], ignore_index=True))


@pytest.mark.slow
def test_a_frame_of_a_hundred_thousand_steps_takes_work_that_grows_with_them_alone():
    @tool
    def poll(n: int) -> int:
        """Poll."""
        return n

    asked = [[("poll", {"n": n})] for n in range(20_000)]
    script = Scripted([*asked, "done"])
    trace = run("Go", [poll], script, limits=Limits(turns=30_000))
    assert len(trace.steps) > 100_000
    assert lines_of(trace.to_frame) < 500 * len(trace.steps)


SIZES = """
import resource, sys
from zoolab import Scripted
from zoolab_study import experiment
cases = [f"Say {n}." for n in range(100)]
models = {"m": Scripted(["Well."])}
done = experiment(cases, None, models, int(sys.argv[1]) // 100, progress=False, scorers=())
assert len(done) == int(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.slow
def test_many_runs_take_no_more_memory_than_few():
    pytest.importorskip("resource")
    few, many = (
        float(subprocess.check_output([sys.executable, "-c", SIZES, str(runs)])) for runs in (300, 6_000)
    )
    assert many - few < 8


def test_a_scorer_may_give_one_score_which_has_its_name():
    def polite(run):
        return "please" in (run.trace.answer or "")

    done = quiet(["Hi"], None, {"m": lambda: Scripted(["please wait"])}, scorers=[polite])
    assert done.summary["polite"].tolist() == [True]


def test_a_variant_may_change_its_setup_and_return_nothing():
    def brief(setup):
        setup.system = "Be brief."

    done = quiet(["Hi"], {"brief": brief}, {"m": lambda: Scripted(["Hello"])})
    assert done.traces[0].messages[0] == {"role": "system", "content": "Be brief."}


def test_a_variant_that_returns_something_else_is_named():
    done = quiet(["Hi"], {"odd": lambda setup: setup.prompt}, {"m": lambda: Scripted(["Hello"])})
    assert "the variant odd returned str" in done.traces[0].error


def test_a_model_by_name_is_no_model_and_the_message_names_it():
    with pytest.raises(InvalidInput, match='the model "needle" cannot be called'):
        quiet(["Hi"], None, "needle")


def test_a_cache_in_a_new_folder_is_kept_there(tmp_path):
    class Real:
        made, model = "recorded", "real"

        def __init__(self):
            self.asked = 0

        def __call__(self, _request):
            self.asked += 1
            return Reply({"role": "assistant", "content": "Hello"})

    real, cache = Real(), tmp_path / "new" / "replies.jsonl"
    for _ in range(2):
        quiet(["Hi"], None, {"m": real}, cache=cache)
    assert real.asked == 1
    assert cache.stat().st_size
