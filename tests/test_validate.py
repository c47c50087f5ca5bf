"""Step 4: what may run, and what is wrong with the rest; a repair is judged like any other text."""

import json
import pickle
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator

from zoolab.errors import ERROR_CODES, CallError, InvalidInput, Problem, ZoolabError
from zoolab.loop import walk
from zoolab.models.scripted import Scripted
from zoolab.records import Limits, Repair, ToolCall, Verdict
from zoolab.runs import Trace, run
from zoolab.steps.define import tool
from zoolab.steps.validate import check_arguments, check_call, check_with_repair, refuse_unfinished
from zoolab.tools import Tool, ToolRegistry


def explode(value: int) -> int:
    raise RuntimeError(f"boom {value}")


@dataclass
class Percent:
    value: int

    def __post_init__(self):
        if self.value > 100:
            raise ValueError("more than 100")


@tool
def add(a: int, b: int = 1) -> int:
    """Add two integers."""
    return a + b


@tool
def plan(day: date, share: Percent) -> str:
    """Plan a day."""
    return f"{day} {share}"


@tool
def bomb(a: Annotated[int, AfterValidator(explode)]) -> int:
    """Have a validator with a bug."""
    return a


TOOLS = ToolRegistry([add, plan, bomb])


def judged(name, arguments, **options):
    """The verdict on one call."""
    return check_call(ToolCall(1, 0, "call_1", name, arguments), TOOLS, **options)


def repaired(arguments, propose, name="add"):
    """The verdict on one call with a repairer that does what `propose` does."""

    class Repairer:
        def propose(self, raw, schema=None):
            return propose(raw, schema)

    return check_with_repair(ToolCall(1, 0, "call_1", name, arguments), TOOLS, Repairer())


@pytest.mark.parametrize(
    ("name", "arguments", "deny", "code"),
    [
        ("nobody", "{", ("nobody",), "unknown_tool"),
        ("", "", (), "unknown_tool"),
        ("ADD", '{"a": 1}', (), "unknown_tool"),
        ("add", "{", ("add",), "permission_denied"),
        ("add", '{"a": 1}', ("add",), "permission_denied"),
        ("add", '{"a": ', (), "invalid_json"),
        ("add", '{"a": 1, "a": "x"}', (), "invalid_json"),
        ("add", '{"a": "x"}', (), "invalid_arguments"),
        ("add", '{"a": 1}', ("plan",), None),
    ],
)
def test_a_call_is_known_then_allowed_then_json_then_as_the_schema_says(name, arguments, deny, code):
    verdict = judged(name, arguments, deny=deny)
    assert verdict.error_code == code
    assert verdict.ok is (code is None)
    assert (verdict.arguments is None) is (code is not None)
    assert code is None or ERROR_CODES[code].returned


def test_an_unknown_tool_is_told_which_there_are():
    assert judged("nobody", "{}").problems == (
        Problem("unknown_tool", "", "one of add, plan, bomb", '"nobody"'),
    )


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "{}", " {} "])
def test_blank_arguments_are_an_empty_object(blank):
    now = Tool("now", "The time.", {"type": "object"})
    assert check_arguments(blank, now) == Verdict(True, {})


@pytest.mark.parametrize(
    "raw",
    [
        "null",
        "[]",
        '"{}"',
        '"{\\"a\\": 1}"',
        "5",
        "true",
        '[{"a": 1}]',
        "{",
        "}",
        "{}{}",
        "{} x",
        "{'a': 1}",
        "\0",
    ],
)
def test_what_is_not_one_object_never_becomes_an_empty_one(raw):
    anything = Tool("anything", "Take anything.", {"type": "object"})
    verdict = check_arguments(raw, anything)
    assert (verdict.ok, verdict.arguments, verdict.error_code) == (False, None, "invalid_json")


def test_all_problems_come_at_once():
    found = {(p.pointer, p.expected, p.received) for p in judged("add", '{"b": "x", "c": 1}').problems}
    assert found == {("/a", "integer", "nothing"), ("/b", "integer", '"x"'), ("/c", "only a, b", "1")}


def test_the_problems_can_be_raised():
    with pytest.raises(CallError, match="/a: expected integer, received nothing"):
        judged("add", "{}").raise_for_problems()
    judged("add", '{"a": 1}').raise_for_problems()


def test_what_only_binding_can_know_is_a_problem_too():
    verdict = judged("plan", '{"day": "2026-02-30", "share": {"value": 101}}')
    assert verdict.error_code == "invalid_arguments"
    assert [problem.pointer for problem in verdict.problems] == ["/day", "/share"]
    assert "more than 100" in verdict.problems[1].message


def test_arguments_that_bind_are_kept_as_json():
    verdict = judged("plan", '{"day": "2026-02-28", "share": {"value": 100}}')
    assert verdict.arguments == {"day": "2026-02-28", "share": {"value": 100}}


def test_a_validator_with_a_bug_is_a_problem_of_the_call():
    (problem,) = judged("bomb", '{"a": 1}').problems
    assert problem.code == "invalid_arguments"
    assert "RuntimeError: boom" in problem.received


def test_a_repair_is_validated_again_and_its_difference_is_kept():
    raw = '{"a": 1'
    verdict = repaired(raw, lambda raw, _: raw + "}")
    assert (verdict.ok, verdict.arguments) == (True, {"a": 1})
    assert verdict.repair.accepted
    assert (verdict.repair.raw, verdict.repair.proposed) == (raw, raw + "}")
    assert [p.code for p in verdict.repair.problems] == ["invalid_json"]
    assert verdict.repair.remaining == ()


@pytest.mark.parametrize("arguments", ["{", '{"a": "1"}'])
def test_a_repair_is_shown_the_raw_text_and_the_schema(arguments):
    seen = []
    repaired(arguments, lambda *given: seen.append(given))
    assert seen == [(arguments, {**add.parameters, "title": "add"})]


@pytest.mark.parametrize(
    ("proposed", "remaining"),
    [
        ('{"a": "1"}', "invalid_arguments"),
        ('{"a": 1, "a": 2}', "invalid_json"),
        ("[]", "invalid_json"),
        ("{}", "invalid_arguments"),
        ("null", "invalid_json"),
    ],
)
def test_a_repair_that_fails_leaves_the_call_as_it_was(proposed, remaining):
    verdict = repaired('{"a": ', lambda *_: proposed)
    assert (verdict.ok, verdict.arguments, verdict.error_code) == (False, None, "invalid_json")
    assert not verdict.repair.accepted
    assert [problem.code for problem in verdict.repair.remaining] == [remaining]


@pytest.mark.parametrize("proposed", [None, "", "  "])
def test_no_proposal_leaves_the_call_as_it_was(proposed):
    verdict = repaired("{", lambda *_: proposed)
    assert not verdict.ok
    assert verdict.repair == Repair("{", proposed, False, verdict.problems)


@pytest.mark.parametrize("junk", [5, {"a": 1}, b'{"a": 1}', ["{}"]])
def test_a_proposal_that_is_no_text_is_refused(junk):
    verdict = repaired("{", lambda *_: junk)
    assert not verdict.ok
    assert (verdict.repair.proposed, verdict.repair.accepted) == (None, False)
    assert verdict.repair.remaining[0].received == f"a {type(junk).__name__}"


def test_a_repairer_that_raises_is_a_refused_repair():
    verdict = repaired("{", lambda *_: 1 / 0)
    assert not verdict.ok
    assert "ZeroDivisionError" in verdict.repair.remaining[0].received


@pytest.mark.parametrize("arguments", ["", "{}", '{"a": 1', '{"a": 1}'])
def test_the_last_call_of_a_reply_that_is_not_whole_never_runs(arguments):
    shortfall = "the reply was cut off before its end (length)"
    before = judged("add", arguments)
    verdict = refuse_unfinished(before, shortfall)
    assert not verdict.ok
    assert (verdict.arguments, verdict.repair) == (None, None)
    assert verdict.problems[:-1] == before.problems
    assert verdict.problems[-1].received == shortfall


@pytest.mark.parametrize(("name", "arguments"), [("add", '{"a": 1}'), ("nobody", "{")])
def test_what_is_well_or_unknown_is_not_repaired(name, arguments):
    assert repaired(arguments, lambda *_: '{"a": 2}', name=name).repair is None


def test_a_repair_never_gives_permission():
    class Repairer:
        def propose(self, _raw, _schema=None):
            return '{"a": 1}'

    call = ToolCall(1, 0, "call_1", "add", "{")
    verdict = check_with_repair(call, TOOLS, Repairer(), deny=("add",))
    assert (verdict.error_code, verdict.repair) == ("permission_denied", None)


class Closer:
    """Closes a brace that is missing."""

    def propose(self, raw, _schema=None):
        return raw + "}"


@pytest.mark.parametrize(("finish", "ran"), [("tool_calls", True), ("length", False)])
def test_a_walk_repairs_unless_the_reply_was_cut(finish, ran):
    calls = Scripted([[("add", '{"a": 1')], "Done."])

    def model(request):
        reply = calls(request)
        return type(reply)(reply.message, finish if reply.message.get("tool_calls") else "stop")

    steps = list(walk("Hi", [add], model, repair=Closer(), envelope="plain"))
    (result,) = [step for step in steps if step.kind == "result"]
    assert (result.record.content == "2") is ran
    sent = steps[-1].messages[1]["tool_calls"][0]["function"]["arguments"]
    assert sent == ('{"a": 1}' if ran else '{"a": 1'), "what goes back is what ran"


def test_a_walk_survives_a_repairer_that_raises():
    class Broken:
        def propose(self, _raw, _schema=None):
            raise RuntimeError("no")

    model = Scripted([[("add", "{")], "Done."])
    steps = list(walk("Hi", [add], model, repair=Broken(), limits=Limits(retries=1)))
    assert steps[-1].record.text == "Done."


fragments = st.sampled_from(
    [
        '{"a":',
        '{"a": 1',
        '"day":',
        '{"value":',
        "}",
        "1",
        '"2026-01-01"',
        ",",
        "null",
        "1.0",
        "true",
        "[",
        "]",
    ]
)


@given(st.text() | st.lists(fragments, max_size=12).map("".join), st.sampled_from(list(TOOLS)))
@settings(max_examples=300)
def test_any_text_is_judged(raw, judge):
    try:
        verdict = check_arguments(raw, judge)
    except ZoolabError:
        pytest.fail("a verdict says what is wrong; it does not raise")
    assert verdict.ok is (not verdict.problems) is (verdict.arguments is not None)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"name": "add", "arguments": "{}"}, "is not a ToolCall; expected a ToolCall; read_calls"),
        (ToolCall(1, 0, "call_1", "add", {"a": 1}), "the arguments of a call are a dict; expected the text"),
    ],
)
def test_what_is_no_call_is_said_in_one_line(call, said):
    with pytest.raises(InvalidInput) as caught:
        check_call(call, ToolRegistry())
    assert said in str(caught.value)


def counting_tool(ran: list, mutate: bool = False):
    """A tool whose pydantic validator notes each time that it runs."""
    checked: list[int] = []

    def note(value: int) -> int:
        checked.append(value)
        return value + 1

    def pay(amount: Annotated[int, AfterValidator(note)], parts: list[int]) -> int:
        """Pay."""
        ran.append((amount, list(parts)))
        if mutate:
            parts.append(99)
        return amount

    return tool(pay), checked


PAY = [("pay", {"amount": 1, "parts": [1, 2]})]


def test_a_validator_runs_once_for_each_call():
    ran: list = []
    pay, checked = counting_tool(ran)
    assert run("Pay.", [pay], Scripted([PAY, PAY * 2, "Done."])).answer == "Done."
    assert (len(checked), len(ran)) == (3, 3)


def test_arguments_that_an_answer_edits_are_bound_again():
    ran: list = []
    pay, checked = counting_tool(ran)
    steps = walk("Pay.", [pay], Scripted([PAY, "Done."]))
    for step in steps:
        if step.kind == "validate":
            steps.answer(replace(step.record, arguments={"amount": 5, "parts": []}))
    assert (checked, ran) == ([1, 5], [(6, [])])


def test_each_run_has_arguments_of_its_own_in_forks_too():
    ran: list = []
    pay, _ = counting_tool(ran, mutate=True)
    trace = run("Pay.", [pay], Scripted([PAY, "Done."]))
    seq = next(seq for seq, step in enumerate(trace.steps) if step.kind == "validate")
    verdict = trace.steps[seq].record
    assert trace.fork(seq, verdict, model=Scripted(["Done."])).answer == "Done."
    again = Scripted([PAY * 2, "Done."])  # the tape holds one such call
    assert trace.fork(seq - 2, model=again).answer == "Done."
    assert ran == [(2, [1, 2])] * 2
    assert verdict.arguments == {"amount": 1, "parts": [1, 2]}


def test_what_is_bound_is_neither_compared_nor_saved_nor_pickled(tmp_path):
    pay, _ = counting_tool([])
    call = ToolCall(1, 0, "c", "pay", json.dumps(PAY[0][1]))
    first, second = (check_call(call, ToolRegistry([pay])) for _ in range(2))
    assert first == second
    assert "bound" not in repr(first)
    assert pickle.loads(pickle.dumps(first)) == first
    trace = run("Pay.", [pay], Scripted([PAY, "Done."]))
    path = trace.save(tmp_path / "trace.jsonl")
    assert '"bound"' not in path.read_text()
    assert Trace.load(path) == trace
