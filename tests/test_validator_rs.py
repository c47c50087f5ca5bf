"""validator="rs": its verdicts are jsonschema's, or it refuses the schema."""

import math
import pickle
import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from zoolab import Scripted, Tool, ToolCall, ToolRegistry, check_call, run
from zoolab.errors import InvalidInput, InvalidSchema
from zoolab.schema.checker import SchemaChecker, rs_test
from zoolab.study import experiment

pytest.importorskip("jsonschema_rs")

NAMES = st.sampled_from(["a", "b", "ab", "x-1", "é", ""])
NUMBERS = (
    st.integers(-3, 3)
    | st.sampled_from([1.0, -0.0, 0.5, 2.5, 2**53, -(2**60), 10**30, 1e300, math.nan, math.inf, True])
    | st.floats(-4, 4)
)
TEXTS = st.sampled_from(["", "a", "ab", "abab", "a\n", "1", "٣", "é", "\ud800", "a-b", "😀", "null"])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
PATTERNS = st.sampled_from(
    ["a", "^a", "a$", "^[a-b]+$", r"^\d+$", r"^\w$", "^(a|ab)?$", "^.{1,2}$", "é", "(?=a)"]
)
COUNTS = st.integers(0, 3)
PLAIN = st.none() | st.booleans() | st.integers(-2, 2) | st.just(1.0) | TEXTS


def schemas(inner):
    """Schemas with up to four keywords, made of these."""
    named = st.dictionaries(NAMES, inner, max_size=2)
    some = st.lists(inner, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
            "enum": st.lists(PLAIN, min_size=1, max_size=2),
            "const": PLAIN | st.lists(PLAIN, max_size=1),
            "properties": named,
            "patternProperties": st.dictionaries(PATTERNS, inner, max_size=1),
            "additionalProperties": inner,
            "propertyNames": inner,
            "required": st.lists(NAMES, max_size=2, unique=True),
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=1), max_size=1),
            "dependentSchemas": named,
            "unevaluatedProperties": inner,
            "unevaluatedItems": inner,
            "prefixItems": some,
            "items": inner,
            "contains": inner,
            "minContains": COUNTS,
            "minItems": COUNTS,
            "maxProperties": COUNTS,
            "uniqueItems": st.booleans(),
            "minimum": st.integers(-2, 2) | st.sampled_from([0.0, 0.5]),
            "exclusiveMaximum": st.integers(-2, 2),
            "multipleOf": st.sampled_from([1, 2, 0.1]),
            "minLength": COUNTS,
            "pattern": PATTERNS,
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "$ref": st.just("#/$defs/a"),
        },
    )


SCHEMAS = st.recursive(st.booleans() | schemas(st.booleans()), schemas, max_leaves=4).filter(
    lambda schema: isinstance(schema, dict)
)


def verdicts(schema, value):
    """The verdict of each validator; None for one that refuses the schema."""
    checker = SchemaChecker(schema)
    try:
        quick = checker.problems(value, "rs")
    except InvalidSchema:
        return None
    return checker.problems(value), quick


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(SCHEMAS, schemas(st.booleans()), VALUES)
@example({"type": "integer"}, {}, 1.0)
@example({"not": {"type": "integer"}}, {}, 1.0)
@example({"type": "number"}, {}, math.nan)
@example({"not": {"pattern": "a$"}}, {}, "a\n")
@example({"not": {"pattern": r"^\d$"}}, {}, "٣")
@example({"prefixItems": [{"type": "string"}]}, {}, [1])
@example({"unevaluatedProperties": False, "properties": {"a": True}}, {}, {"a": 1, "b": 2})
@example({"dependentRequired": {"a": ["b"]}}, {}, {"a": 1})
@example({"$ref": "#/$defs/a", "minimum": 2}, {"type": "integer"}, 1)
@example({"enum": [[True]]}, {}, [1])
@example({"uniqueItems": True}, {}, [1, True, 1.0])
@example({"maximum": 3}, {}, 10**400)
def test_verdicts_are_those_of_jsonschema_or_the_schema_is_refused(schema, definition, value):
    found = verdicts({**schema, "$defs": {"a": definition}}, value)
    assert found is None or found[0] == found[1]


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"multipleOf": 0.1}, "multipleOf"),
        ({"const": 1.0}, "const"),
        ({"minimum": 2**53}, "minimum"),
        ({"pattern": "(?=a)"}, "pattern"),
        ({"pattern": "^(a+)+$"}, "pattern"),
        ({"pattern": "a++"}, "pattern"),
        ({"pattern": r"[a\S]"}, "pattern"),
        ({"pattern": "a" * 1_000}, "pattern"),
        ({"patternProperties": {"(?i)a": True}}, "pattern"),
        ({"contentMediaType": "application/json"}, "contentMediaType"),
        ({"$id": "https://example.invalid/a", "type": "object"}, "id"),
        ({"properties": {"a": {"$ref": "#"}}}, "ref"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, "ref"),
    ],
)
def test_what_may_be_judged_differently_is_refused_in_one_line(schema, named):
    with pytest.raises(
        InvalidSchema, match=rf'validator="rs" does not support .*{named}.*use validator="jsons'
    ) as error:
        SchemaChecker(schema).problems([1], "rs")
    assert "\n" not in str(error.value)
    SchemaChecker(schema).problems([1])  # the usual one does


def test_values_too_large_or_too_deep_or_no_json_are_left_to_jsonschema():
    accepts = rs_test({"anyOf": [{"type": "array"}, {"type": "object"}]})
    deep = []
    for _ in range(5_000):
        deep = [deep]
    for value in ([0] * 100_000, deep, {1: 2}, {"a": {2}}, (1,)):
        assert not accepts(value)
    assert accepts([0] * 100)
    assert not rs_test({"maxLength": 9})("\ud800")


TEXT = {"type": "string"}
NESTED = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["id"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["rows"],
}
ROWS = {"rows": [{"id": n, "tags": ["a", "b"]} for n in range(20)]}


def test_it_is_several_times_faster_than_jsonschema_where_it_says_yes():
    checker = SchemaChecker(NESTED)
    seconds = {"jsonschema": math.inf, "rs": math.inf}
    for _ in range(5):
        for validator in seconds:
            began = time.perf_counter()
            for _ in range(20):
                assert checker.problems(ROWS, validator) == ()
            seconds[validator] = min(seconds[validator], time.perf_counter() - began)
    assert seconds["rs"] * 3 < seconds["jsonschema"]


def test_a_walk_judges_with_it_and_says_the_same():
    tool = Tool.from_schema("save", "Save rows.", NESTED, lambda rows: len(rows))
    wrong = {"rows": [{"id": 1.0}]}

    def answers(validator):
        model = Scripted([[("save", wrong), ("save", ROWS)], "Done."])
        trace = run("Save.", [tool], model, validator=validator, envelope="plain")
        return [step.record.content for step in trace.steps if step.kind == "result"]

    assert answers("rs") == answers("jsonschema")
    assert answers("rs")[1] == "20"


def test_a_call_is_checked_with_it():
    tools = ToolRegistry([Tool.from_schema("f", "F.", {"type": "object", "minProperties": 1}, print)])
    for arguments, ok in (("{}", False), ('{"a": 1}', True)):
        call = ToolCall(1, 0, "call_1", "f", arguments)
        assert check_call(call, tools, validator="rs").ok is check_call(call, tools).ok is ok


def test_a_walk_whose_tool_is_refused_says_so_before_anything_is_asked():
    tool = Tool.from_schema("f", "F.", {"type": "object", "properties": {"a": {"multipleOf": 0.1}}}, print)
    asked = []
    model = Scripted([lambda request: asked.append(request) or [("f", {"a": 0.3})]])
    with pytest.raises(InvalidSchema, match="multipleOf"):
        run("Go.", [tool], model, validator="rs")
    assert asked == []


def test_another_validator_is_refused():
    with pytest.raises(InvalidInput, match="validator"):
        run("Go.", [], Scripted(["Hi"]), validator="fastest")


def test_a_checker_that_was_used_can_be_sent_to_another_process():
    checker = SchemaChecker(NESTED)
    checker.problems(ROWS, "rs")
    assert pickle.loads(pickle.dumps(checker)).problems({}) == checker.problems({})


def test_a_variant_of_an_experiment_reaches_it():
    tool = Tool.from_schema("save", "Save rows.", NESTED, lambda rows: len(rows))
    case = {"id": "save", "prompt": "Save.", "tools": [tool], "expected_calls": [("save", ROWS)]}
    models = {"script": Scripted([[("save", ROWS)], "Done."])}
    refused = {
        **case,
        "tools": [Tool.from_schema("save", "Save.", {"type": "object", "$anchor": "a"}, print)],
    }
    variants = {"plain": {}, "fast": {"validator": "rs"}}
    for asked, outcomes in ((case, ["answer", "answer"]), (refused, ["answer", "invalid_schema"])):
        done = experiment([asked], variants, models, progress=False, workers=1)
        assert done.summary["outcome"].tolist() == outcomes
