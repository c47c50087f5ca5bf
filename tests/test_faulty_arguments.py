"""Broken arguments are broken in the way that the name of the fault says, whatever the model wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from zoolab.jsontext import NotStrictJSON, parse_json
from zoolab.jsontext.values import to_json_value
from zoolab.repair import RuleRepair
from zoolab.schema.checker import SchemaChecker
from zoolab_connect.apis.messages import json_object
from zoolab_connect.faulty import FAULTS
from zoolab_connect.faulty.kinds import FaultPlan, draw
from zoolab_connect.faulty.replies import (
    ARGUMENTS,
    CALLS,
    MAX_KEPT,
    NULL,
    REPLIES,
    another,
    break_arguments,
    break_calls,
)
from zoolab_connect.faulty.tools import AFTER, BEFORE, HUGE, RESULTS

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
NUMBERS = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = TEXTS | NUMBERS | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)
KEYS = TEXTS | st.sampled_from(["a", "city", "max_count", "true", "null"])
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)
QUICKLY = settings(max_examples=15)
CHANCES = st.floats(0, 1, exclude_max=True)


@st.composite
def written(draw, objects=OBJECTS):
    """An object as a model may write it: spaced in any way, escaped or not."""
    value = draw(objects)
    style = draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]))
    indent = draw(st.sampled_from([None, 2]))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), separators=style, indent=indent)
    return draw(st.sampled_from(["", " "])) + text


SAME_VALUE = ["single_quoted", "unquoted_keys", "trailing_comma", "prose", "fenced", "doubly_encoded"]
OTHER_SYNTAX = ["truncated_arguments", "cut_by_length", "array_arguments", "two_objects", "duplicate_key"]
NOT_STRICT = ["nan", "infinite_number", "lone_surrogate", "deep_nesting", "too_many_digits"]


@pytest.mark.parametrize("name", SAME_VALUE + OTHER_SYNTAX + NOT_STRICT)
@QUICKLY
@given(raw=written(), chance=CHANCES)
def test_what_is_no_json_never_reads_as_one_object(name, raw, chance):
    made = break_arguments(name, raw, {}, chance)
    assume(made is not None)
    assert FAULTS[name].code == "invalid_json"
    assert json_object(made) is None


@pytest.mark.parametrize("name", SAME_VALUE)
@QUICKLY
@given(raw=written(), chance=CHANCES)
def test_a_repair_reads_the_same_or_refuses(name, raw, chance):
    made = break_arguments(name, raw, {}, chance)
    assume(made is not None)
    proposed = RuleRepair().propose(made)
    assert proposed is None or parse_json(proposed) == parse_json(raw)


@pytest.mark.parametrize("name", ["two_objects", "duplicate_key", *NOT_STRICT])
@QUICKLY
@given(raw=written(), chance=CHANCES)
def test_bait_is_not_repaired_into_something_else(name, raw, chance):
    made = break_arguments(name, raw, {}, chance)
    assume(made is not None)
    proposed = RuleRepair().propose(made)
    assert proposed is None or parse_json(proposed) == parse_json(raw)


@pytest.mark.parametrize("name", sorted({"trailing_comma", "prose", "truncated_arguments", "fenced"}))
@QUICKLY
@given(raw=written(), chance=CHANCES)
def test_what_applies_everywhere_applies_to_every_object(name, raw, chance):
    assert break_arguments(name, raw, {}, chance) is not None


KINDS = {
    "integer": st.integers(-(10**15), 10**15),
    "string": TEXTS,
    "boolean": st.booleans(),
    "null": st.none(),
}
SCHEMAS = st.dictionaries(KEYS, st.sampled_from([*KINDS]), min_size=1, max_size=4)


@st.composite
def called(draw):
    """A schema, and arguments that meet it."""
    kinds = draw(SCHEMAS)
    value = draw(st.fixed_dictionaries({key: KINDS[kind] for key, kind in kinds.items()}))
    properties = {key: {"type": kind} for key, kind in kinds.items()}
    schema = {"type": "object", "properties": properties, "required": [*kinds], "additionalProperties": False}
    return schema, draw(written(st.just(value)))


BY_SCHEMA = ["wrong_type", "missing_argument", "extra_argument", "float_for_integer", "boolean_for_integer"]


@pytest.mark.parametrize("name", BY_SCHEMA)
@QUICKLY
@given(call=called(), chance=CHANCES)
def test_what_does_not_meet_the_schema_parses_and_fails_it(name, call, chance):
    schema, raw = call
    made = break_arguments(name, raw, schema, chance)
    integers = any(kind == {"type": "integer"} for kind in schema["properties"].values())
    assert (made is not None) is (integers or "integer" not in name)
    if made is not None:
        assert SchemaChecker(schema).problems(parse_json(made))


@pytest.mark.parametrize("name", [*BY_SCHEMA, "null_arguments", "blank_arguments"])
def test_without_a_schema_that_forbids_it_there_is_nothing_to_break(name):
    assert break_arguments(name, '{"a": 1}', {}, 0.5) is None
    assert break_arguments(name, '{"a": 1}', {"type": "object"}, 0.5) is None


@pytest.mark.parametrize("name", [*ARGUMENTS])
@QUICKLY
@given(
    raw=st.sampled_from(["", " ", "{}", "[1]", "7", "null", '{"a": ', '{"a": NaN}', '"x"']), chance=CHANCES
)
def test_what_says_nothing_or_is_broken_already_is_left_alone(name, raw, chance):
    assert break_arguments(name, raw, {"type": "object", "required": ["a"]}, chance) is None
    assert break_arguments(name, None, {}, chance) is None
    assert break_arguments(name, {"a": 1}, {}, chance) is None


def test_arguments_take_every_form_on_the_wire():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    forms = {name: break_arguments(name, '{"a": 1}', schema, 0.5) for name in ARGUMENTS}
    assert forms["null_arguments"] is NULL
    assert forms["blank_arguments"].strip() == ""
    assert forms["object_arguments"] == {"a": 1}
    assert forms["array_arguments"] == '[{"a": 1}]'
    assert forms["number_arguments"] == 42
    assert json.loads(json.loads(forms["doubly_encoded"])) == {"a": 1}
    assert (forms["nan"], forms["infinite_number"]) == ('{"a": NaN}', '{"a": 1e999}')
    assert forms["unquoted_keys"] == "{a: 1}"
    assert forms["duplicate_key"] == '{"a": 1, "a": 2}'
    assert forms["two_objects"] == '{"a": 1} {"a": 2}'
    assert (forms["float_for_integer"], forms["boolean_for_integer"]) == ('{"a": 1.0}', '{"a": true}')
    assert forms["wrong_type"] == '{"a": "1"}'
    assert break_arguments("single_quoted", '{"a": "it\'s \\"so\\""}', {}, 0) == "{'a': 'it\\'s \"so\"'}"


def test_a_cut_may_be_anywhere():
    cuts = {break_arguments("truncated_arguments", '{"a": 1}', {}, n / 100) for n in range(100)}
    assert cuts == {'{"a": 1}'[:n] for n in range(1, 8)}


@QUICKLY
@given(value=VALUES)
def test_another_value_is_another_one_of_json(value):
    other = another(value)
    assert json.dumps(other) != json.dumps(value)
    json.dumps(other, allow_nan=False)


@pytest.mark.parametrize("name", [*RESULTS])
@QUICKLY
@given(value=VALUES)
def test_another_result_is_never_the_tools_own(name, value):
    before = json.dumps(value)
    made = RESULTS[name](value)
    assert repr(made) != repr(value)
    assert json.dumps(value) == before
    if FAULTS[name].code is None:
        assert to_json_value(made) is not None
    else:
        with pytest.raises(TypeError):
            to_json_value(made)


def test_a_huge_result_is_huge():
    assert HUGE < len(RESULTS["huge_result"]("x")) < 2 * HUGE


def test_every_fault_of_the_table_is_built_and_none_is_built_that_it_lacks():
    built = {
        "define": {"poisoned_description", "recursive_schema"},
        "request": {"http_401", "http_429", "http_500", "timeout", "dropped_stream"},
        "tool_call": {*CALLS, *REPLIES, "same_call"},
        "execute": {*BEFORE, *AFTER},
    }
    assert {(stage, name) for stage, names in built.items() for name in names} == {
        (kind.stage, name) for name, kind in FAULTS.items()
    }


def call_of(name, arguments='{"a": 1}', identity="call_1"):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_an_invented_tool_is_no_tool_and_another_one_each_time():
    schemas = {"add": {"type": "object"}}
    plan = FaultPlan({"unknown_tool": 1})
    names = {break_calls([call_of("add")], schemas, plan, str(n))[0][0]["function"]["name"] for n in range(9)}
    assert len(names) == 9
    assert "add" not in names
    assert all(len(name) <= 64 for name in names)


def test_ids_are_missing_doubled_or_always_the_same():
    calls = [call_of("add"), call_of("add", identity="call_2")]

    def ids(fault):
        return [call.get("id") for call in break_calls(calls, {}, FaultPlan({fault: 1}), "")[0]]

    assert (ids("missing_id"), ids("duplicate_id")) == ([None, None], ["call_1", "call_1"])
    assert ids("constant_id") == ["call_0", "call_0"]


def test_only_the_last_call_is_cut_by_length():
    calls, faults = break_calls([call_of("add")] * 2, {}, FaultPlan({"cut_by_length": 1}), "")
    assert [fault.slot for fault in faults] == [1]
    assert calls[0] == call_of("add")


def test_a_call_has_one_fault_and_its_mark_is_bounded():
    plan = FaultPlan(dict.fromkeys(ARGUMENTS, 1))
    for n in range(50):
        calls, faults = break_calls([call_of("add")] * 3, {}, plan, str(n))
        assert [fault.slot for fault in faults] == [0, 1, 2]
        assert all(call != call_of("add") for call in calls)
        assert all(len(fault.after) < MAX_KEPT + 40 for fault in faults)


@QUICKLY
@given(st.integers(), st.text(st.characters(codec="utf-8")))
def test_chance_is_even_and_the_same_each_time(seed, name):
    assert 0 <= draw(seed, name) == draw(seed, name) < 1


def test_a_fault_happens_as_often_as_its_rate_says():
    hits = sum(bool(FaultPlan({"nan": 0.3}).ranked(["nan"], n)) for n in range(2_000))
    assert 500 < hits < 700
    assert FaultPlan({"nan": 0}).ranked(["nan"], 1) == []


def test_the_arguments_that_fail_are_those_that_json_alone_would_take():
    assert json.loads(break_arguments("duplicate_key", '{"a": 1}', {}, 0)) == {"a": 2}
    assert json.loads(break_arguments("infinite_number", '{"a": 1}', {}, 0)) == {"a": float("inf")}
    with pytest.raises(NotStrictJSON):
        parse_json(break_arguments("lone_surrogate", '{"a": "x"}', {}, 0))
