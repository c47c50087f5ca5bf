"""Schemas: nothing is fetched, everything ends, and each problem says where, what was expected, what came."""

import random
import subprocess
import sys

import pytest
from counting import ends
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator, validators
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable

from zoolab.errors import InvalidSchema, Problem
from zoolab.running.interrupts import cpu_time
from zoolab.schema.checker import (
    MAX_PROBLEMS,
    MAX_SCHEMA_DEPTH,
    SchemaChecker,
    check_schema,
    check_schema_bounds,
    schema_words,
)
from zoolab.schema.drafts import compiled
from zoolab.schema.plain import plain_test
from zoolab.schema.work import MAX_SECONDS, bounded
from zoolab.tools import Tool
from zoolab_connect.imported import tools_offered


def problems(schema, value):
    """What a fresh checker finds."""
    checker = SchemaChecker(schema)
    checker.compile()
    with ends():
        return checker.problems(value)


def of(**properties):
    """An object schema with these properties."""
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize(
    "reference",
    [
        "http://example.com/schema.json",
        "https://json-schema.org/draft/2020-12/schema",
        "file:///etc/passwd",
        "other.json",
        "./other.json#/$defs/a",
        "../other.json",
        "/etc/passwd",
        "//example.com/x",
        "urn:example:other",
    ],
)
def test_a_reference_outside_is_refused_at_definition(keyword, reference):
    schema = of(a={"items": [{"anyOf": [{keyword: reference}]}]})
    with pytest.raises(InvalidSchema, match="refers to something outside itself"):
        Tool.from_schema("f", "F.", schema)
    with pytest.raises(InvalidSchema, match="refers to something outside itself"):
        Tool("f", "F.", schema)


def test_a_reference_that_is_only_data_is_no_reference():
    schema = of(a={"const": {"$ref": "http://example.com"}, "default": {"$ref": "http://example.com"}})
    assert problems(schema, {"a": {"$ref": "http://example.com"}}) == ()


def test_a_property_named_ref_that_is_a_schema_is_no_reference():
    assert problems(of(**{"$ref": {"type": "string"}}), {"$ref": "http://example.com"}) == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"n": {"type": "integer"}}, **of(a={"$ref": "#/$defs/n"})},
        {"$defs": {"n": {"$id": "n.json", "type": "integer"}}, **of(a={"$ref": "n.json"})},
        {"$defs": {"n": {"$id": "urn:n", "type": "integer"}}, **of(a={"$ref": "urn:n"})},
        {"$id": "http://me", "$defs": {"n": {"type": "integer"}}, **of(a={"$ref": "http://me#/$defs/n"})},
        {"$defs": {"n": {"$anchor": "n", "type": "integer"}}, **of(a={"$ref": "#n"})},
    ],
    ids=["defs", "id", "urn", "own id", "anchor"],
)
def test_a_reference_inside_is_followed(schema):
    assert problems(schema, {"a": 1}) == ()
    assert problems(schema, {"a": "x"}) == (Problem("invalid_arguments", "/a", "integer", '"x"'),)


def test_a_recursive_schema_checks_recursive_values():
    schema = {"$defs": {"n": of(next={"$ref": "#/$defs/n"}, v={"type": "integer"})}, "$ref": "#/$defs/n"}
    assert problems(schema, {"next": {"next": {"v": 1}}}) == ()
    assert [p.pointer for p in problems(schema, {"next": {"next": {"v": "x"}}})] == ["/next/next/v"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"not": {"$ref": "#"}},
        {"$dynamicAnchor": "x", "$dynamicRef": "#x"},
    ],
)
def test_a_schema_that_refers_to_itself_ends_with_a_problem(schema):
    assert [p.code for p in problems(schema, {})] == ["invalid_schema"]


NOWHERE = [
    of(a={"$ref": "#/$defs/none"}),
    of(a={"$dynamicRef": "#none"}),
    of(a={"$ref": "#none"}, b={"$anchor": "other"}),
    of(a={"$ref": "#/properties/b/type"}, b={"type": "string"}),
    of(a={"$ref": "#/prefixItems/2"}) | {"prefixItems": [{}, {}]},
    of(a={"$ref": "#/prefixItems/-1"}) | {"prefixItems": [{}, {}]},
    of(a={"$ref": "n.json#/$defs/m"}) | {"$defs": {"n": {"$id": "n.json"}, "m": {}}},
    of(a={"$ref": "#n"}) | {"$defs": {"m": {"$id": "m.json", "$anchor": "n"}}},
    of(default={"$ref": "#/$defs/none"}),
    of(properties={"enum": [1], "items": {"$ref": "#/$defs/none"}}),
    of(a={}) | {"$defs": {"unused": {"items": {"$ref": "#/$defs/none"}}}},
    of(a={"$ref": "#/$defs/n"}) | {"definitions": {"n": {}}},
    {"$ref": "#/$defs/none"},
    {"$schema": "http://json-schema.org/draft-07/schema#", **of(a={"$ref": "#n"}, n={"$anchor": "n"})},
]


@pytest.mark.parametrize("schema", NOWHERE)
def test_a_reference_to_nowhere_is_refused_at_definition(schema):
    for make in (Tool, Tool.from_schema):
        with pytest.raises(InvalidSchema, match=r"refers to .*, which it does not contain"):
            make("f", "F.", schema, lambda **given: given)


@pytest.mark.parametrize(
    "schema",
    [
        of(a={"$ref": "#"}),
        of(a={"$ref": "#/$defs/a~1b~0c%20d"}) | {"$defs": {"a/b~c d": {}}},
        of(a={"$ref": "#/prefixItems/1"}) | {"prefixItems": [{}, True]},
        of(a={"$dynamicRef": "#n"}) | {"$defs": {"n": {"$dynamicAnchor": "n"}}},
        of(a={"$ref": "n.json#/$defs/m"}) | {"$defs": {"n": {"$id": "n.json", "$defs": {"m": {}}}}},
        of(a={"$ref": "#/$defs/n"}) | {"$defs": {"n": {"$id": "n.json", "items": {"$ref": "#"}}}},
        of(a={"$ref": "#/components/schemas/n"}) | {"components": {"schemas": {"n": {}}}},
        of(**{"$ref": {"type": "string"}, "a": {"examples": [{"$ref": "#/$defs/none"}]}}),
        {"$schema": "http://json-schema.org/draft-07/schema#", **of(a={"$ref": "#n"}, n={"$id": "#n"})},
    ],
)
def test_a_reference_to_a_part_of_the_schema_is_accepted(schema):
    assert problems(schema, {"a": {}}) == ()
    assert Tool("f", "F.", schema).parameters == schema


def test_a_reference_to_nowhere_of_another_program_is_the_problem_of_its_calls():
    tools = tools_offered([{"type": "function", "function": {"name": "f", "parameters": NOWHERE[0]}}])
    assert [p.code for p in tools["f"].checker.problems({"a": 1})] == ["invalid_schema"]


FRAGMENTS = ["", "#", "#/", "#/$defs", "#/$defs/n", "#/$defs/m", "#/$defs/n/items", "#n", "#m", "#/allOf/0"]
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "$anchor": st.sampled_from("nm"),
        "$id": st.sampled_from(["n.json", "#n"]),
        "items": st.just({}),
    },
)


@given(
    draft=st.sampled_from(["draft-07", "2019-09", "2020-12"]),
    parts=st.dictionaries(st.sampled_from(["n", "m"]), PARTS, max_size=2),
    base=st.sampled_from(["", "", "n.json"]),
    fragment=st.sampled_from(FRAGMENTS),
)
def test_a_reference_leads_where_referencing_says(draft, parts, base, fragment):
    schema = {
        "$schema": URIS[draft],
        "$defs": parts,
        "definitions": parts,
        "allOf": [{"$ref": base + fragment}],
    }
    ids = [part.get("$id") for part in parts.values()]
    if len(ids) != len(set(ids)) or (draft != "draft-07" and "#n" in ids) or (base and base not in ids):
        return
    if draft == "draft-07":
        del schema["$defs"]
        schema["allOf"][0]["$ref"] = (base + fragment).replace("$defs", "definitions")
    else:
        del schema["definitions"]
    resolver = Registry().resolver_with_root(Resource.from_contents(schema))
    try:
        found = resolver.lookup(schema["allOf"][0]["$ref"]).contents
    except Unresolvable:
        found = None
    if isinstance(found, dict | bool):
        check_schema(schema)
    else:
        with pytest.raises(InvalidSchema):
            check_schema(schema)


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_an_exponential_chain_ends(keyword):
    links = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}
    schema = {"$defs": {**links, "d30": {"type": "string"}}, "$ref": "#/$defs/d0"}
    assert [p.code for p in problems(schema, {})] == ["invalid_schema"]


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf", "not", "if", "properties"])
@pytest.mark.parametrize("width", [2, 8])
def test_a_bomb_is_refused_in_half_a_second(keyword, width):
    def link(n):
        after = {"$ref": f"#/$defs/d{n + 1}"}
        return {
            "not": {"not": {"anyOf": [after] * width}},
            "if": {"if": after, "then": after, "else": after},
            "properties": {"properties": {"a": after}, "patternProperties": {"a": after, "a?": after}},
        }.get(keyword, {keyword: [after] * width})

    schema = {"$defs": {**{f"d{n}": link(n) for n in range(25)}, "d25": {"type": "string"}}}
    value = 1
    for _ in range(25 if keyword == "properties" else 0):
        value = {"a": value}
    assert [p.code for p in problems({**schema, "$ref": "#/$defs/d0"}, value)] == ["invalid_schema"]


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [True] * 12_000},
        {"allOf": [{}] * 20_000},
        {"allOf": [{"allOf": [{"allOf": [{}] * 20}] * 30}] * 30},
        {"anyOf": [{"not": {"not": {"not": {"not": {}}}}} for _ in range(1_300)]},
        {"properties": {f"p{n}": {} for n in range(5_000)}},
        {"dependentSchemas": {f"k{n}": {"anyOf": [{"type": "string"}] * 4} for n in range(700)}},
        {"patternProperties": {f"^(a{n % 7}+)+{n}$": {"type": "string"} for n in range(1_800)}},
        {"pattern": "(a|b)" * 10_000},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "anyOf": [{"type": "string"}] * 3_500},
    ],
    ids=lambda schema: next(iter(schema)),
)
def test_a_schema_that_takes_long_to_compile_is_refused(schema):
    checker = SchemaChecker(schema)
    with ends(), pytest.raises(InvalidSchema, match="takes too long to check"):
        checker.compile()


def test_what_else_the_process_does_is_not_counted():
    judge = compiled({"anyOf": [{"type": "integer"}]})
    with bounded():
        until = cpu_time() + 2 * MAX_SECONDS
        while cpu_time() < until:
            pass
        assert judge.is_valid(1)


def test_a_large_value_under_a_fair_schema_is_checked():
    rows = [{"name": f"n{n}", "size": n, "tags": ["a", "b"]} for n in range(2_000)]
    tags = {"items": {"type": "string"}}
    schema = {"items": of(name={"type": "string"}, size={"type": "integer"}, tags=tags)}
    assert problems(schema, rows) == ()
    assert [p.pointer for p in problems(schema, [*rows, {"size": "x"}])] == ["/2000/size"]
    parts = {"contains": {}, "unevaluatedItems": False}
    assert problems(parts, [0] * 3_000) == ()
    assert [p.code for p in problems(parts, [0] * 30_000)] == ["invalid_schema"]


@pytest.mark.parametrize("keyword", ["items", "contains", "additionalProperties", "unevaluatedItems"])
def test_a_chain_under_each_item_ends(keyword):
    links = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(12)}
    schema = {"$defs": {**links, "d12": {"type": "string"}}, keyword: {"$ref": "#/$defs/d0"}}
    value = [1] * 10_000 if keyword != "additionalProperties" else {str(n): 1 for n in range(10_000)}
    assert problems(schema, value)


def test_nested_items_with_all_of_end():
    schema = {"type": "integer"}
    for _ in range(4):
        schema = {"items": {"allOf": [schema] * 3}}
    value = 1
    for _ in range(4):
        value = [value] * 6
    assert [p.code for p in problems(schema, value)] == ["invalid_schema"]


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*a){25}b"])
@pytest.mark.parametrize("place", ["pattern", "patternProperties", "propertyNames"])
def test_a_pattern_that_backtracks_ends(pattern, place):
    hostile = "a" * 60 + "!"
    schema, value = {
        "pattern": ({"pattern": pattern}, hostile),
        "patternProperties": ({"patternProperties": {pattern: False}}, {hostile: 1}),
        "propertyNames": ({"propertyNames": {"pattern": pattern}}, {hostile: 1}),
    }[place]
    found = problems(schema, value)
    assert place == "patternProperties" or found


def test_many_slow_patterns_share_one_budget():
    schema = {"items": {"pattern": "^(a|a)*$"}}
    assert [p.code for p in problems(schema, ["a" * 60 + "!"] * 100)] == ["invalid_schema"]


def test_unique_items_is_fast_and_right_on_many_mixed_items():
    mixed = [n for k in range(4_000) for n in (k, f"{k}", [k], {"k": k}, k + 0.5)]
    random.Random(0).shuffle(mixed)
    assert len(mixed) == 20_000
    assert problems({"uniqueItems": True}, [*mixed, True, None, False]) == ()
    assert problems({"uniqueItems": True}, [*mixed, {"k": 3_999.0}]) != ()


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, 1.0], False),
        ([1, True], True),
        ([0, False], True),
        ([[1], [True]], True),
        ([{"a": 1}, {"a": 1.0}], False),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], False),
        (["1", 1], True),
        ([None, 0, ""], True),
        ([-0.0, 0], False),
        ([-0.0, 0.0], False),
        ([1e300, int(1e300)], False),
    ],
)
def test_unique_items_compares_as_json_schema_does(items, unique):
    assert (problems({"uniqueItems": True}, items) == ()) is unique


@pytest.mark.parametrize("value", [True, False, 1.0, -0.0, 1e3, "1", None])
@pytest.mark.parametrize("extra", [{}, {"minimum": -5}], ids=["plain", "compiled"])
def test_only_an_integer_is_an_integer(value, extra):
    assert [p.expected for p in problems(of(a={"type": "integer", **extra}), {"a": value})] == ["integer"]


@pytest.mark.parametrize("extra", [{}, {"minimum": -5}], ids=["plain", "compiled"])
def test_a_number_is_an_integer_or_not_and_never_a_boolean(extra):
    schema = of(a={"type": "number", **extra})
    assert problems(schema, {"a": 1}) == problems(schema, {"a": 1.5}) == ()
    assert problems(schema, {"a": True}) != ()


STRICT = {"additionalProperties": False, "required": ["a", "b"]}


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        (of(a={"type": "integer"}), {"a": "2"}, [("/a", "integer", '"2"')]),
        (of(a={"type": ["integer", "null"]}), {"a": "2"}, [("/a", "integer or null", '"2"')]),
        (of(a={"enum": ["C", "F"]}), {"a": "K"}, [("/a", 'one of "C", "F"', '"K"')]),
        (of(a={"const": 1}), {"a": 2}, [("/a", "const 1", "2")]),
        (
            {**of(a={"type": "string"}, b={}), **STRICT},
            {},
            [("/a", "string", "nothing"), ("/b", "a value", "nothing")],
        ),
        ({**of(a={}, b={}), **STRICT}, {"a": 1, "b": 2, "c": 3}, [("/c", "only a, b", "3")]),
        ({"type": "object", "additionalProperties": False}, {"c": 3}, [("/c", "only no arguments", "3")]),
        (of(a={"items": {"type": "integer"}}), {"a": [1, "x"]}, [("/a/1", "integer", '"x"')]),
        (of(**{"a/b": {"type": "integer"}}), {"a/b": "x"}, [("/a~1b", "integer", '"x"')]),
        (of(a={"minimum": 3}), {"a": 1}, [("/a", "minimum 3", "1")]),
        (of(a={"pattern": "^x"}), {"a": "y"}, [("/a", 'pattern "^x"', '"y"')]),
        (
            of(a={"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            {"a": "x"},
            [("/a", "integer or null", '"x"')],
        ),
        ({"type": "object"}, [], [("", "object", "[]")]),
    ],
)
def test_a_problem_says_where_what_was_expected_and_what_came(schema, value, found):
    assert [(p.pointer, p.expected, p.received) for p in problems(schema, value)] == found
    assert {p.code for p in problems(schema, value)} == {"invalid_arguments"}


def test_all_problems_come_at_once():
    schema = {**of(a={"type": "integer"}, b={"type": "string"}, c={"enum": [1]}), **STRICT}
    found = {p.pointer for p in problems(schema, {"a": "x", "c": 2, "d": 0})}
    assert found == {"/a", "/b", "/c", "/d"}


def test_problems_are_bounded_in_number_and_length():
    found = problems(of(a={"items": {"type": "integer"}}), {"a": ["x" * 10_000] * 500})
    assert len(found) == MAX_PROBLEMS
    assert all(len(problem.message) < 300 for problem in found)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        [],
        None,
        "object",
        {"type": "objekt"},
        {"type": 5},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": 5}},
        {"type": "object", "properties": {"a": {"type": 5}}},
        {"type": "object", "properties": {"a": {"type": []}}},
        {"type": "object", "properties": {"a": {"type": [["x"]]}}},
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"type": "object", "properties": {"a": {"type": ["string", "string"]}}},
        {"type": "object", "properties": {"a": {"type": "string", "description": 5}}},
        {"type": "object", "required": "a"},
        {"type": "object", "required": ["a", "a"]},
        {"type": "object", "required": [1]},
        {"type": "object", "additionalProperties": 5},
        {"type": "object", "additionalProperties": {"type": "text"}},
        {"type": "object", "title": []},
        {"type": "object", "properties": {"a": {"minimum": "1"}}},
        {"type": "object", "properties": {"a": {"enum": "a"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"$schema": "http://localhost/my-dialect", "type": "object"},
        {"default": {1, 2}},
        {"default": float("nan")},
        {"default": [1, {"a": float("inf")}]},
        {"description": "x" * 70_000},
    ],
    ids=lambda schema: repr(schema)[:60],
)
def test_what_is_no_schema_is_refused_when_the_tool_is_made(schema):
    with pytest.raises(InvalidSchema):
        Tool.from_schema("f", "F.", schema)


def test_a_schema_that_is_too_deep_or_contains_itself_is_refused():
    deep = {}
    for _ in range(MAX_SCHEMA_DEPTH + 1):
        deep = {"items": deep}
    cycle = {"type": "object"}
    cycle["properties"] = {"a": cycle}
    for schema in (deep, cycle):
        with pytest.raises(InvalidSchema, match="levels"):
            check_schema_bounds(schema)


URIS = {
    "draft-04": "http://json-schema.org/draft-04/schema#",
    "draft-06": "http://json-schema.org/draft-06/schema#",
    "draft-07": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
TUPLE = {"items": [{"type": "integer"}, {"type": "string"}], "additionalItems": False}


@pytest.mark.parametrize(
    ("draft", "schema", "good", "bad"),
    [
        ("draft-04", {"minimum": 3, "exclusiveMinimum": True}, 4, 3),
        (
            "draft-04",
            {"id": "http://me", "definitions": {"n": {"type": "null"}}, "$ref": "http://me"},
            1,
            None,
        ),
        ("draft-06", {"exclusiveMinimum": 3}, 4, 3),
        ("draft-06", {"const": 1}, 1, 2),
        ("draft-07", TUPLE, [1, "a"], [1, "a", 2]),
        ("draft-07", TUPLE, [1], ["a"]),
        ("draft-07", {"dependencies": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
        ("draft-07", {"dependencies": {"a": {"required": ["b"]}}}, {"b": 1}, {"a": 1}),
        ("draft-07", {"if": {"type": "integer"}, "then": {"minimum": 3}}, 3, 2),
        (
            "draft-07",
            {"definitions": {"n": {"type": "null"}}, "items": {"$ref": "#/definitions/n"}},
            [None],
            [1],
        ),
        ("2019-09", TUPLE, [1, "a"], [1, "a", 2]),
        ("2019-09", {"dependentRequired": {"a": ["b"]}}, {}, {"a": 1}),
        ("2020-12", {"prefixItems": [{"type": "integer"}], "items": False}, [1], [1, 2]),
    ],
)
def test_a_schema_is_judged_by_the_draft_that_it_names(draft, schema, good, bad):
    named = {"$schema": URIS[draft], **schema}
    if bad is not None:
        assert problems(named, good) == ()
        assert {p.code for p in problems(named, bad)} == {"invalid_arguments"}
    else:  # it refers to itself
        assert {p.code for p in problems(named, good)} == {"invalid_schema"}


def test_up_to_draft_7_what_stands_beside_a_reference_is_ignored():
    schema = {"definitions": {"n": {"type": "integer"}}, **of(a={"$ref": "#/definitions/n", "minimum": 3})}
    assert problems({"$schema": URIS["draft-07"], **schema}, {"a": 1}) == ()
    assert problems({"$schema": URIS["2019-09"], **schema}, {"a": 1}) != ()


def test_an_excluded_limit_of_draft_4_is_named_so():
    schema = {"$schema": URIS["draft-04"], "minimum": 3, "exclusiveMinimum": True}
    assert [p.message for p in problems(schema, 3)] == ["arguments: expected exclusiveMinimum 3, received 3"]


#: As zod-to-json-schema writes the tools of many MCP servers.
ZOD = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "pattern": r"^\p{L}[\p{L}\d/]*$"},
        "range": {"type": "array", "minItems": 2, "maxItems": 2, "items": [{"type": "integer"}] * 2},
        "head": {"type": "number", "exclusiveMinimum": 0},
    },
    "required": ["path"],
    "dependencies": {"range": ["path"]},
    "additionalProperties": False,
    "$schema": "http://json-schema.org/draft-07/schema#",
}


def test_a_tool_of_an_mcp_server_in_draft_7():
    read = Tool.from_schema("read_file", "Read.", ZOD)
    assert read.checker.problems({"path": "Größe/2", "range": [1, 2], "head": 3}) == ()
    pointers = [
        p.pointer for p in read.checker.problems({"path": "2", "range": [1, "x"], "head": 0, "no": 1})
    ]
    assert sorted(pointers) == ["/head", "/no", "/path", "/range/1"]


@pytest.mark.parametrize(
    "named", ["http://json-schema.org/draft-03/schema#", "https://json-schema.org/draft/next", "draft-07", 7]
)
def test_another_draft_is_refused_with_those_that_are_known(named):
    with pytest.raises(InvalidSchema, match="draft-04, draft-06, draft-07, 2019-09, 2020-12"):
        Tool.from_schema("f", "F.", {"$schema": named, "type": "object"})
    if isinstance(named, str):
        with pytest.raises(InvalidSchema, match="expected"):
            Tool("f", "F.", of(a={"$schema": named}))


def test_a_schema_within_of_another_draft_is_refused():
    with pytest.raises(InvalidSchema, match="a schema of 2020-12 contains a schema of draft-07"):
        Tool("f", "F.", of(a={"$schema": URIS["draft-07"], "type": "integer"}))


@pytest.mark.parametrize("draft", URIS)
def test_the_bounds_hold_in_every_draft_also_below_a_reference(draft):
    schema = {
        "$schema": URIS[draft],
        **of(next={"$ref": "#"}, n={"type": "integer"}, s={"pattern": "^(a+)+$"}),
    }
    assert [p.pointer for p in problems(schema, {"next": {"n": 1.0}})] == ["/next/n"]
    for place in ({"additionalProperties": False}, {}):
        hostile = {"$schema": URIS[draft], "patternProperties": {"^(a|a)*$": {}}, **place}
        assert {p.code for p in problems(hostile, {"a" * 60 + "!": 1})} == {"invalid_schema"}


def test_unevaluated_properties_beside_patterns_are_refused():
    schema = {"patternProperties": {"^a": {}}, "unevaluatedProperties": False}
    with pytest.raises(InvalidSchema, match="both"):
        Tool.from_schema("f", "F.", schema)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"^\p{L}+$", "Größe", "a1"),
        (r"^\p{Script=Greek}$", "α", "a"),
        (r"^\d+$", "12", "٣"),
        (r"^[\d-]+$", "1-2", "٣"),
        (r"^\w+$", "a_1", "é"),
        ("^a$", "a", "a\n"),
        ("^.$", "a", "\u2028"),
        (r"^\cA\u{1F600}\/$", "\x01😀/", "cA"),
        (r"\bé\b", "aéa", "é"),
        (r"^[[\]$.]$", "[", "a"),
        (r"^(?<year>\d{4})$", "2024", "24"),
        (r"^\$$", "$", ""),
        ("^(?!no)", "yes", "no"),
    ],
)
def test_patterns_are_those_of_javascript(pattern, good, bad):
    assert problems({"pattern": pattern}, good) == ()
    assert [p.code for p in problems({"pattern": pattern}, bad)] == ["invalid_arguments"]


def test_a_description_may_speak_of_nan():
    assert problems({"description": "Not NaN, not Infinity.", **of(a={"type": "integer"})}, {"a": 1}) == ()


def test_schema_words_never_fail_on_odd_schemas():
    for schema in (True, None, {"enum": []}, {"$ref": "#"}, {"type": ["a", "b"]}, {"anyOf": [True]}, {}):
        assert schema_words(schema)


TYPES = ["string", "integer", "number", "boolean", "null"]
names = st.sampled_from("abc")
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, 1.5])
    | st.sampled_from(["", "x", "y"])
    | st.lists(st.integers(0, 1), max_size=1)
)
plain_property = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, unique=True)},
    optional={
        "enum": st.lists(st.sampled_from(["x", "y"]), unique=True),
        "description": st.just("D."),
        "default": scalars,
    },
)
plain_schemas = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(names, plain_property, max_size=3),
        "required": st.lists(names, unique=True),
        "additionalProperties": st.booleans(),
        "title": st.just("T"),
    },
)
Authority = validators.extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int),
)


@given(plain_schemas, st.dictionaries(names, scalars, max_size=3) | scalars)
@settings(max_examples=400)
def test_the_plain_test_accepts_nothing_that_jsonschema_refuses(schema, value):
    meets = plain_test(schema)
    assert meets is not None
    allowed = Authority(schema).is_valid(value)
    assert allowed or not meets(value)
    assert (SchemaChecker(schema).problems(value) == ()) is allowed


DRAFT_7 = st.recursive(
    st.booleans()
    | st.fixed_dictionaries({}, optional={"type": st.sampled_from(TYPES), "minimum": st.just(1)}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "items": inner | st.lists(inner, min_size=1, max_size=2),
            "additionalItems": inner,
            "properties": st.dictionaries(names, inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, max_size=2),
            "additionalProperties": inner,
            "dependencies": st.dictionaries(names, inner | st.lists(names, unique=True), max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    ),
    max_leaves=6,
).filter(lambda schema: isinstance(schema, dict))


@pytest.mark.parametrize("original", [Draft7Validator, Draft201909Validator])
@given(DRAFT_7, st.dictionaries(names, scalars, max_size=3) | st.lists(scalars, max_size=3))
@settings(max_examples=60)
def test_an_older_draft_is_judged_as_jsonschema_judges_it(original, schema, value):
    authority = validators.extend(
        original,
        type_checker=original.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int),
    )
    named = {"$schema": original.META_SCHEMA["$schema"], **schema}
    accepted = SchemaChecker(named).problems(value) == ()
    try:
        expected = authority(schema).is_valid(value)
    except TypeError:  # its additionalItems fails beside "items": false
        reject()
    assert accepted is expected


@pytest.mark.parametrize(("value", "fits"), [([], True), ([1], False), ({}, True)])
def test_additional_items_mean_nothing_beside_a_boolean(value, fits):
    for draft in ("draft-06/schema#", "draft-07/schema#"):
        named = {"$schema": f"http://json-schema.org/{draft}", "items": False, "additionalItems": False}
        assert (SchemaChecker(named).problems(value) == ()) is fits


def test_the_grammar_of_the_iri_formats_is_built_when_one_is_checked():
    code = (
        "import sys; from zoolab.schema.drafts import compiled; compiled({'minItems': 1});"
        "loaded = lambda: [name for name in ('jsonschema', 'rfc3987_syntax', 'lark') if name in sys.modules];"
        "print(loaded()); import jsonschema; conforms = jsonschema.FormatChecker().conforms;"
        "print(conforms('https://ø.example/å', 'iri'), conforms('https://ø example', 'iri'),"
        "conforms('å#ø', 'iri-reference'), loaded())"
    )
    done = subprocess.run([sys.executable, "-X", "utf8", "-c", code], capture_output=True, check=True)
    first, second = done.stdout.decode().splitlines()
    assert first == "['jsonschema']"
    assert second == "True False True ['jsonschema', 'rfc3987_syntax', 'lark']"
