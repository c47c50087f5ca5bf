"""Traces as cases of an experiment, and as tests that play the tape."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from shell import Shell

from zoolab import Decision, Limits, Scripted, Trace, run, tool
from zoolab.errors import InvalidInput, LoopError
from zoolab.toolbox.starter import add
from zoolab.tools import ToolRegistry
from zoolab_study import experiment, same_walk
from zoolab_study.cases import UNSAID
from zoolab_study.config import read_config
from zoolab_study.taped import case_of, row_of

SUM = ("add", {"a": 42, "b": 58})
KEY = "sk-proj-" + "Zq81TestTestTestTest9xW"


def a_sum(**options):
    """A run of two calls, of which the first is wrong."""
    script = [[("add", {"a": "x"}), SUM], [("add", {"a": 1, "b": 2})], "It is 100."]
    return run("What is 42 + 58?", [add], Scripted(script), **options)


class Bank:
    """A tool that counts what it pays."""

    def __init__(self):
        self.paid = []

        @tool(risk="high")
        def pay(euros: int) -> str:
            """Pay."""
            self.paid.append(euros)
            return f"paid {euros}"

        self.pay = pay
        model = Scripted([[("pay", {"euros": 5})], "Done."])
        self.trace = run("Pay 5.", [pay], model, ask=lambda _: Decision("once"))
        self.paid.clear()


def test_a_trace_is_a_case():
    trace = a_sum(system="Be brief.")
    case = trace.to_case()
    assert (case.id, case.prompt, case.system, case.messages) == (
        trace.run_id,
        "What is 42 + 58?",
        "Be brief.",
        (),
    )
    assert case.expected_calls == [
        {"name": "add", "arguments": {"a": 42, "b": 58}},
        {"name": "add", "arguments": {"a": 1, "b": 2}},
    ]
    assert (case.expected_tool, case.expected_answer, case.tools.names()) == ("add", UNSAID, ["add"])
    answered = trace.to_case(expect="answer")
    assert (answered.expected_calls, answered.expected_answer) == (UNSAID, "It is 100.")
    assert trace.to_case(expect="tool").expected_tool == "add"
    assert trace.to_case(expect=None).expected_tool is UNSAID
    assert trace.to_case(expect={"expected_answer": 100}).expected_answer == 100


def test_from_a_step_on_the_conversation_is_given():
    trace = a_sum()
    second = trace.turns[1]
    case = trace.to_case(second.seq + 1)
    assert (case.prompt, list(case.messages)) == (None, second.request.messages)
    assert case.expected_calls == [{"name": "add", "arguments": {"a": 1, "b": 2}}]
    assert case.data["step"] == second.seq + 1
    last = trace.to_case(-1)
    assert (last.expected_calls, last.expected_tool) == ([], None)


def test_an_experiment_takes_the_cases():
    trace, right = a_sum(), Scripted([[SUM], [("add", {"a": 1, "b": 2})], "It is 100."])
    models = {"right": right, "lazy": Scripted(["It is 100."])}
    done = experiment([trace.to_case()], None, models, progress=False)
    assert done.summary.set_index("model")["success"].to_dict() == {"right": True, "lazy": False}


def test_a_question_after_a_conversation_keeps_it():
    before = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    trace = run("And now?", [], Scripted(["Bye."]), messages=before)
    case = trace.to_case()
    assert (case.prompt, list(case.messages), case.expected_calls) == ("And now?", before, [])
    parts = run(
        None, [], Scripted(["Hi"]), messages=[{"role": "user", "content": [{"type": "text", "text": "A"}]}]
    )
    assert parts.to_case().prompt is None
    with pytest.raises(InvalidInput, match="a question"):
        row_of(parts.to_case())


@pytest.mark.parametrize(
    ("step", "expect", "message"),
    [
        (0, "calls", "step 0 comes before the first request"),
        (None, "call", 'expect is "call"; expected calls, tool, answer'),
        (None, {"expected": 1}, 'expect has "expected"'),
        (None, 7, "expect is 7"),
    ],
)
def test_what_is_no_case_is_refused(step, expect, message):
    with pytest.raises(InvalidInput, match=message):
        a_sum().to_case(step, expect=expect)


def test_what_a_broken_run_did_is_not_expected():
    with pytest.raises(LoopError) as caught:
        a_sum(limits=Limits(turns=1))
    broken = caught.value.trace
    with pytest.raises(InvalidInput, match='the run ended with "loop_limit"'):
        broken.to_case()
    assert broken.to_case(expect={"expected_tool": "add"}).expected_tool == "add"
    with pytest.raises(InvalidInput, match="the trace has no request"):
        case_of(Trace())


def test_the_same_walk_is_played_and_pays_nothing(tmp_path):
    bank = Bank()
    path = bank.trace.save(tmp_path / "t.jsonl")
    for again in (
        same_walk(bank.trace),
        same_walk(path),
        same_walk(str(path), tools=[bank.pay]),
        same_walk(bank.trace, tools=[bank.pay], model=Scripted([[("pay", {"euros": 5})], "Done."])),
    ):
        assert again.messages == bank.trace.messages
    assert bank.paid == []


def test_another_way_fails_and_says_why():
    bank = Bank()
    changed = replace(bank.pay, description="Pay at once.")
    with pytest.raises(AssertionError, match=r"step 0 .* the definition of a tool is another one") as caught:
        same_walk(bank.trace, tools=[changed])
    assert "Pay at once." in str(caught.value)
    with pytest.raises(AssertionError, match="replied otherwise to an equal request"):
        same_walk(bank.trace, model=Scripted([[("pay", {"euros": 6})], "Done."]))
    with pytest.raises(InvalidInput, match="the options envelope need a model"):
        same_walk(bank.trace, envelope="plain")
    assert bank.paid == []


@pytest.fixture
def traces(tmp_path):
    """A folder with two traces, one that broke off, and a file that is no trace."""
    folder = tmp_path / "traces"
    folder.mkdir()
    a_sum(system=f"My key is {KEY}.").save(folder / "sum.jsonl")
    Bank().trace.save(folder / "paid.jsonl")
    with pytest.raises(LoopError) as caught:
        a_sum(limits=Limits(turns=1))
    caught.value.trace.save(folder / "broken.jsonl")
    (folder / "other.jsonl").write_text("{}\n")
    return folder


def test_the_command_makes_cases(traces, tmp_path, capsys):
    zoo = Shell(capsys)
    made = tmp_path / "cases.jsonl"
    ran = zoo("cases", traces, "-o", made)
    assert (ran.code, ran.out) == (1, f"{made}: 2 of 4 traces\n")
    assert [line.split(" ")[1] for line in ran.err.splitlines()] == ["broken.jsonl", "other.jsonl"]
    paid, summed = map(json.loads, made.read_text().splitlines())
    assert (paid["id"], paid["trace"], paid["offered"]) == ("paid", "paid.jsonl", ["pay"])
    assert (summed["tools"], summed["expected_tool"]) == (["starter.add"], "add")
    assert KEY not in made.read_text()
    (traces / "paid.jsonl").unlink()
    made.write_text(zoo("cases", traces, "--expect", "answer").out)
    (tmp_path / "e.toml").write_text(
        'cases = "cases.jsonl"\n[models.m]\nkind = "scripted"\nreplies = ["It is 100."]\n'
    )
    _, arguments = read_config(tmp_path / "e.toml")
    assert experiment(**arguments, progress=False).summary["success"].tolist() == [True]


def test_the_command_writes_tests_that_run(traces, tmp_path, capsys):
    (traces / "other.jsonl").unlink()
    written = tmp_path / "test_walks.py"
    ran = Shell(capsys)("cases", traces, "--tests", written)
    assert (ran.code, ran.out) == (0, f"{written}\n")
    (tmp_path / "none.ini").touch()
    command = [sys.executable, "-m", "pytest", "-q", "-c", "none.ini", "--rootdir", ".", written.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "3 passed" in done.stdout, done.stdout + done.stderr


def test_a_folder_without_traces_is_refused(tmp_path, capsys):
    ran = Shell(capsys)("cases", tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "has no traces" in ran.err


def test_unknown_tools_are_named_and_known_ones_too():
    bank = Bank()
    both = replace(bank.trace.to_case(), tools=ToolRegistry([add, bank.pay]))
    assert row_of(both)["offered"] == ["add", "pay"]
    assert "tools" not in row_of(both)
