"""Scorers: what they say of runs, known and made up, and what they refuse."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab import Limits, Scripted, Tool, Trace, run, tool
from zoolab.errors import InvalidInput, ZoolabError
from zoolab.repair import RuleRepair
from zoolab_study.cases import Case, Run
from zoolab_study.expected import ANY_CALL, are_expected, expected_calls, is_accepted
from zoolab_study.scorers import SCORERS, says, score_answer, score_arguments, score_selection


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@tool
def weather(city: str, unit: str = "C") -> str:
    """The weather in a city."""
    return f"21 {unit} in {city}"


def done(case, *replies, **options):
    """A run of the case whose model says this."""
    trace = Trace()
    try:
        run(case.prompt, case.tools, Scripted(replies), trace=trace, **options)
    except ZoolabError:
        assert trace.error
    return Run(case, trace)


def score(case, *replies, **options):
    """All scores of such a run."""
    found = {}
    for scorer in SCORERS.values():
        found |= scorer(done(case, *replies, **options))
    return found


SUM = Case("sum", "42 + 58?", [add, weather], "add", [("add", {"a": 42, "b": 58})], 100)
TALK = Case("talk", "Hello!", [add], None, [])
CALL = [("add", {"a": 42, "b": 58})]


def test_a_run_that_does_all_right_has_all_scores():
    found = score(SUM, CALL, "It is 100.")
    assert found["success"] is found["selection"] is found["arguments"] is found["answer"] is True
    assert (found["errors"], found["recovered"], found["silently_wrong"]) == (0, None, False)
    assert (found["turns"], found["calls"]) == (2, 1)


def test_where_no_tool_is_needed_no_call_is_right_and_any_call_is_needless():
    assert score(TALK, "Hello!")["selection"] is score(TALK, "Hello!")["arguments"] is True
    found = score(TALK, CALL, "Hello!")
    assert (found["selection"], found["needless_call"], found["missed_call"]) == (False, True, False)
    assert found["arguments"] is found["success"] is False


def test_a_call_that_was_needed_is_missed_or_of_the_wrong_tool():
    missed, wrong = score(SUM, "100"), score(SUM, [("weather", {"city": "Bonn"})], "21")
    assert (missed["selection"], missed["missed_call"], missed["wrong_tool"]) == (False, True, False)
    assert (wrong["selection"], wrong["missed_call"], wrong["wrong_tool"]) == (False, False, True)
    assert missed["success"] is True  # it got there by another way


def test_a_run_that_recovers_is_told_from_one_that_does_not():
    broken = [("add", {"a": "42", "b": 58})]
    recovered, failed = score(SUM, broken, CALL, "It is 100."), score(SUM, broken, "It is 99.")
    assert (recovered["errors"], recovered["recovered"]) == (1, True)
    assert recovered["arguments"] is True
    assert (failed["errors"], failed["recovered"], failed["silently_wrong"]) == (1, False, False)


def test_wrong_without_any_error_is_silently_wrong():
    found = score(SUM, [("add", {"a": 42, "b": 57})], "It is 99.")
    assert (found["silently_wrong"], found["success"], found["errors"]) == (True, False, 0)


def test_a_run_that_was_ended_by_a_limit_is_no_success_and_not_silent():
    found = score(SUM, CALL, CALL, limits=Limits(turns=1))
    assert (found["success"], found["silently_wrong"]) == (False, False)
    assert found["arguments"] is True


def test_what_a_case_does_not_say_has_no_score():
    found = score(Case("a", "Hi", [add]), CALL, "100")
    silent = ("success", "selection", "arguments", "answer", "recovered", "silently_wrong")
    assert {found[name] for name in silent} == {None}


def test_a_trace_without_a_single_step_can_be_scored():
    for case in (SUM, TALK, Case("a", "Hi")):
        for scorer in SCORERS.values():
            json.dumps(scorer(Run(case, Trace())))


def test_scores_survive_saving_and_loading(tmp_path):
    once = done(SUM, [("add", {"a": "42", "b": 58})], CALL, "100")
    again = Run(SUM, Trace.load(once.trace.save(tmp_path / "trace.jsonl")))
    for scorer in SCORERS.values():
        assert scorer(again) == scorer(once)


def test_repaired_arguments_count():
    assert score(SUM, [("add", '{"a": 42, "b": 58,}')], "100", repair=RuleRepair())["arguments"] is True


def test_any_call_will_do_where_the_case_says_so():
    case = Case("a", "Do something.", [add], expected_calls=ANY_CALL)
    assert score_arguments(done(case, CALL, "100"))["arguments"] is True
    assert score_arguments(done(case, "No."))["arguments"] is False


def test_calls_of_one_reply_may_come_in_any_order_and_cover_each_other():
    case = Case(
        "a", "?", [add], expected_calls=[{"add": {"a": [1, 2], "b": [0]}}, {"add": {"a": [1], "b": [0]}}]
    )
    one, two = ("add", {"a": 1, "b": 0}), ("add", {"a": 2, "b": 0})
    for calls in ([one, two], [two, one], [one, one]):
        assert score_arguments(done(case, calls, "x"))["arguments"] is True
    assert score_arguments(done(case, [two, two], "x"))["arguments"] is False


def test_a_tool_that_a_variant_took_away_is_no_right_call():
    assert not are_expected([("add", {"a": 1})], [("add", {"a": [1]})], {})


OBJECTS = {"type": "array", "items": {"type": "object"}}


@pytest.mark.parametrize(
    ("value", "accepted", "schema", "right"),
    [
        ("New York, NY", ["new york ny"], {"type": "string"}, True),
        ("it's", ['it"s'], {"type": "string"}, True),
        ("New York!", ["New York"], {"type": "string"}, False),
        ("", ["a", ""], {"type": "string"}, True),
        (5, [5.0], {"type": "number"}, True),
        (5, [5], {"type": "float"}, True),
        (5.0, [5], {"type": "integer"}, False),
        (True, [1], {"type": "integer"}, False),
        (1, [True], {"type": "boolean"}, False),
        ("5", [5], {"type": "integer"}, False),
        ("user_id", ["user_id"], {"type": "integer"}, True),
        ("User_id", ["user_id"], {"type": "integer"}, False),
        (None, [None, 5], {"type": "integer"}, True),
        (["A", "b"], [["a", "B"]], {"type": "array", "items": {"type": "string"}}, True),
        (["b", "a"], [["a", "b"]], {"type": "array", "items": {"type": "string"}}, False),
        ([1.0], [[1]], {"type": "array", "items": {"type": "integer"}}, False),
        ([], ["", [1]], {"type": "array", "items": {"type": "integer"}}, True),
        ({"x": "A"}, [{"x": ["a", "b"], "y": [1, ""]}], {"type": "object"}, True),
        ({"x": "a", "z": 1}, [{"x": ["a"]}], {"type": "object"}, False),
        ({}, [{"x": ["a"]}], {"type": "dict"}, False),
        (
            [{"x": 1}, {"x": 2}],
            [[{"x": [1]}, {"x": [2]}]],
            OBJECTS,
            True,
        ),
        (
            [{"x": 2}, {"x": 1}],
            [[{"x": [1]}, {"x": [2]}]],
            OBJECTS,
            False,
        ),
        ([{"x": 1}], [[{"x": [1]}]], {}, True),
        ([1.5, 2], [[1.5, 2]], {"type": "array", "items": {"type": "number"}}, True),
        ([None, "A"], [[None, "a"]], {"type": "array"}, True),
        ([1], [[1]], True, True),
        (5.0, [5], {"anyOf": [{"type": "number"}, {"type": "null"}]}, True),
        (5.0, [5], {"type": ["integer", "null"]}, False),
        (None, [None], {"type": ["string", "null"]}, True),
        (10**400, [5.0], {"type": "number"}, False),
        (5, [], {"type": "integer"}, False),
    ],
)
def test_values_are_accepted_by_the_rules_of_the_leaderboard(value, accepted, schema, right):
    assert is_accepted(value, accepted, schema) is right


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1, max_size=4), JSON, max_size=3), JSON)
def test_any_value_can_be_judged_and_is_right_where_it_is_the_one_expected(arguments, other):
    wanted = expected_calls([("f", arguments)])
    schemas = {"f": {"properties": {name: {} for name in arguments}}}
    assert "" in arguments.values() or are_expected([("f", arguments)], wanted, schemas)
    assert are_expected([("f", dict.fromkeys(arguments, other))], wanted, schemas) in (True, False)


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        ("It is 100.", 100, True),
        ("It is 1,000.50 EUR", 1000.5, True),
        ("1, 2, 3", 2, True),
        ("It is 1000", 100, False),
        ("minus: \u22125 °C", -5, True),
        ("v1.5.2", 5, False),
        ("1e3", 1000, True),
        ("PARIS, of  course", "paris, of course", True),
        ("Parisian", "Paris", False),
        ("", "", True),
        ("no", ["yes", "no"], True),
        ("(a+)+", "(a+)+", True),
        ("x" * 200_000 + " 7", 7, False),
        ("9" * 100_000, 9, False),
    ],
)
def test_an_answer_is_looked_for_as_words_and_numbers(text, expected, found):
    assert says(text, expected) is found


@pytest.mark.parametrize("wrong", [True, None, {"a": 1}, b"x", [None]])
def test_an_answer_that_cannot_be_looked_for_is_refused(wrong):
    with pytest.raises(InvalidInput, match="expected_answer"):
        score_answer(done(Case("a", "Hi", expected_answer=wrong), "Hello"))


@pytest.mark.parametrize(
    "wrong", ["add", {"add": {}}, 5, [5], [("add",)], [("add", "x")], [{"a": 1, "b": 2}]]
)
def test_expected_calls_that_cannot_be_read_are_refused(wrong):
    with pytest.raises(InvalidInput, match=r"expected.calls?"):
        expected_calls(wrong)


def test_the_three_forms_of_expected_calls_mean_the_same():
    forms = [("f", {"x": 1}), {"name": "f", "arguments": {"x": 1}}, {"f": {"x": [1]}}]
    assert expected_calls(forms) == [("f", {"x": [1]})] * 3


def test_a_tool_with_dots_in_its_name_is_known_by_the_name_that_was_sent():
    sent = Tool("math_add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}}, lambda a: a)
    case = Case("a", "?", [sent], "math.add", [("math.add", {"a": 1})])
    calls = done(case, [("math_add", {"a": 1})], "1")
    assert score_selection(calls)["selection"] is score_arguments(calls)["arguments"] is True
