"""Repairs: broken writing is mended, and what was meant is never changed."""

import json
import re

import pytest
from counting import ends, lines_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools.repair.damage import marks
from zoolab.errors import InvalidInput, ModelError
from zoolab.loop import walk
from zoolab.models.scripted import Scripted
from zoolab.records import Reply
from zoolab.repair import MAX_CHARS, LLMRepair, RuleRepair, keeps_intent
from zoolab.runs import Trace, run
from zoolab.steps.define import tool

TABLE = [
    # Written badly, and complete.
    ("{'city': 'Oslo'}", {"city": "Oslo"}),
    ("{'a': True, 'b': False, 'c': None}", {"a": True, "b": False, "c": None}),
    ('{"a": 1,}', {"a": 1}),
    ('{"a": [1, 2,],}', {"a": [1, 2]}),
    ('{"a": 1 "b": 2}', {"a": 1, "b": 2}),
    ('{"a": 1,,"b":2}', {"a": 1, "b": 2}),
    ('{"a": [1] , , "b": {"c": 2,,},,}', {"a": [1], "b": {"c": 2}}),
    ('{"a": [1 2 3]}', {"a": [1, 2, 3]}),
    ('{"a": ["1" 2 3 "4"]}', {"a": ["1", 2, 3, "4"]}),
    ('{"a": [0.5 12 3456,], "b": [true False null]}', {"a": [0.5, 12, 3456], "b": [True, False, None]}),
    ('{"a": "x"\n"b": "y"}', {"a": "x", "b": "y"}),
    ("{a: 1, b_c: 2}", {"a": 1, "b_c": 2}),
    ("{city: Oslo}", {"city": "Oslo"}),
    ('{"a": {"b": 1, "b": 1}, "a": {"b": 1}}', {"a": {"b": 1}}),
    ('{"a": [{"b": 1}], "a": [{"b": 1, "b": 1}]}', {"a": [{"b": 1}]}),
    ('{"a": {"b": 1, "c": 2, "b": 1}, "a": {"b": 1, "c": 2, "c": 2}}', {"a": {"b": 1, "c": 2}}),
    ('{"a": 1 // one\n}', {"a": 1}),
    ('{"a": 1, /* {two} */ "b": 2}', {"a": 1, "b": 2}),
    ('{"a": 1, # one\n "b": 2}', {"a": 1, "b": 2}),
    ('```json\n{"a": 1}\n```', {"a": 1}),
    ('```\n{"a": "```x```"}\n```', {"a": "```x```"}),
    ("```json\n{'a': 1,}\n```", {"a": 1}),
    ("“city”: 1", None),
    ("{“city”: “Oslo”}", {"city": "Oslo"}),
    ('{"a": "line 1\nline 2\ttab"}', {"a": "line 1\nline 2\ttab"}),
    ('{"a": "say "hi" to me"}', {"a": 'say "hi" to me'}),
    ("{'a': 'it's'}", None),
    (r"{'a': 'it\'s'}", {"a": "it's"}),
    (r'{"a": "\u00e9\ud83d\ude00",}', {"a": "é😀"}),
    ('{"a": {"b": [1, {"c": "d"}', {"a": {"b": [1, {"c": "d"}]}}),
    ('{"a": "x"', {"a": "x"}),
    ('{"a": true', {"a": True}),
    ('{"a": [1, 2}', {"a": [1, 2]}),
    ('{"a": [[]', {"a": [[]]}),
    ('{"a": 1}}', {"a": 1}),
    # One mark of another language, or in a place where it says nothing.
    ('{,"a": 1}', {"a": 1}),
    ("{,}", None),
    ('{"a": [,1]}', None),
    ('{"a": 1; "b": [2; 3];}', {"a": 1, "b": [2, 3]}),
    ('{"a": [1,5; 2,5]}', None),
    ('{"a": TRUE, "b": [FALSE, NULL]}', {"a": True, "b": [False, None]}),
    ('{"a": 1 b: "x" c_d: [true] e: 2}', {"a": 1, "b": "x", "c_d": [True], "e": 2}),
    ("{&quot;a&quot;: &quot;x &lt; y &amp;quot; &#x27;&quot;}", {"a": "x < y &quot; '"}),
    ("{&quot;a&quot;: &quot;?b=1&c=2&quot;}", None),
    (
        '{"a": "see <a href="x.html" id="b">this</a>, or <br class="c"/> no", "b": 1}',
        {
            "a": 'see <a href="x.html" id="b">this</a>, or <br class="c"/> no',
            "b": 1,
        },
    ),
    ('{"a": "b="c" d"}', None),
    # A bracket could stand in two places.
    ('{"contact": {"name": "Bob", "email": "b@x.org", "hours": 2.5}', None),
    ('{"a": [[1, 2]}', None),
    ('{"a": [[1], 2}', {"a": [[1], 2]}),
    ('{"a": {"b": 1, "c": 2, "d": 3}', None),
    ('{"a": {"b": 1}, "c": {"d": 2}', {"a": {"b": 1}, "c": {"d": 2}}),
    ('{"a": 1, "b": 2]}', None),
    ('{"a": [truetrue, false]}', None),
    ('{"a": 1};', {"a": 1}),
    ('{{"a": 1}}', {"a": 1}),
    ("{$: 1, _: 2}", {"$": 1, "_": 2}),
    ("{null: 1}", {"null": 1}),
    ("{a = 1, 'b' => [2]}", {"a": 1, "b": [2]}),
    ('{"a" 1, "b" [2]}', {"a": 1, "b": [2]}),
    ('{"a": "x" + "y" + \'z\'}', {"a": "xyz"}),
    ('{"a": "x"+"y"}', {"a": "xy"}),
    ('{"a": +5, "b": .5, "c": 5., "d": 1_000, "e": 0x1F}', {"a": 5, "b": 0.5, "c": 5, "d": 1000, "e": 31}),
    (r"{'a': '\x41'}", {"a": "A"}),
    ('{"a": "x\\\ny"}', {"a": "xy"}),
    ('{"a": 1, <!-- one --> "b": 2}', {"a": 1, "b": 2}),
    ('// {one}\n{"a": 1}', {"a": 1}),
    ('{"a": 1} # one', {"a": 1}),
    (r"{\"a\": \"say \\\"hi\\\"\"}", {"a": 'say "hi"'}),
    ('{"a": -1.5e3,}', {"a": -1500.0}),
    (r'"{\"a\": 1}"', {"a": 1}),
    (r'"{\"a\": 1,}"', {"a": 1}),
    ("'{\"a\": 1}'", {"a": 1}),
    ('\ufeff {"a": 1}', {"a": 1}),
    # Talk and fences around one object.
    ('Delete it: {"a": 1}', {"a": 1}),
    ('{"a": 1} is what I would send.', {"a": 1}),
    ('I call it with {"a": 1} now.', {"a": 1}),
    ('Answer: {"a": 1}', {"a": 1}),
    ('<tool_call>{"a": 1}</tool_call>', {"a": 1}),
    ('Here: {"a": 1}', {"a": 1}),
    ('Here: {"a": "x"', {"a": "x"}),
    ('Sure: {"a": 1} ok?', {"a": 1}),
    ('Output: `{"a": 1}`', {"a": 1}),
    ('**Answer:** `{"a": 1}`.', {"a": 1}),
    ('The arguments are {"a": 1}.', {"a": 1}),
    ('Result = {"a":1}', {"a": 1}),
    ('const args = {"a": 1};', {"a": 1}),
    ('I use the "add" tool with {"a": 1} now', {"a": 1}),
    ('I use the "add" tool with {"a": 1} as "b" asks', None),
    ('In the "city": {"a": 1}', None),
    ('x = {"a": 1}', None),
    ('Name: Ada, Address: {"a": 1}', None),
    ('Here: {"a": 1} {"b": 2}', None),
    ('Here: {"a": 1} Result:', None),
    ('{"a": 1}...', None),
    ('{"a": 1}?.', None),
    ('{"a": 1} "b" and c', None),
    ('Here {is}:\n```json\n{"a": 1}\n```', None),
    ('Here it is:\n```json\n{"a": 1,\n```\nI hope that helps.', {"a": 1}),
    ('Here it is:\n```\n{"a": "```x```"}', {"a": "```x```"}),
    ('{"a": 1\n```', {"a": 1}),
    ('```\n{"a": 1}\n```\nor\n```\n{"a": 2}\n```', None),
    ("Use the {name: value} form", None),
    ('filter: {"a": 1}', None),
    ('"b": 2, {"a": 1}', None),
    ('{"a": 1} b: 2', None),
    ('{"a": 1}, b: two words', None),
    ('See [1]: {"a": 1}', None),
    ('{"a": {"b": 1}} and c is 2}', None),
    # What follows an object and may be a part of it is not dropped.
    ('{}#": null}', None),
    ('{"a": 1} // "b": 2', None),
    ('{"a": 1} // b: 2', None),
    ('{"a": 1} /* , "b": 2} */', None),
    ('{"a": 1} <!-- {"b": 2} -->', None),
    ('{"a": 1} and b: two words', None),
    ("{\"a\": 1} or 'b' then", None),
    ('```\n{"a": 1}\n```\nb: two words', None),
    ('```\n{"a": 1}\n```\n12', None),
    ('{"a": {}#": null}\n}', None),
    ('{"a": {} // "b": null}\n}', None),
    ('[1] # "b"', None),
    ("{'a': 1} I hope it's right.", {"a": 1}),
    ('{"a": 1}} // done', {"a": 1}),
    ("I do not know.", None),
    # Brackets may be missing at the end, and no more than brackets.
    ('{"a": 1,', {"a": 1}),
    ('{"a": [', {"a": []}),
    ('{"amount": 12', {"amount": 12}),
    ('{"force": tru', {"force": True}),
    # Cut off: what is missing is what was meant.
    ('{"cmd":"rm -rf /tmp/x', None),
    ("{'cmd': 'rm -rf /tmp/x", None),
    ('{"cmd": rm -rf /tmp/x', None),
    ('{"a": 1, "b": "', None),
    ('{"a": 1, "b": ', None),
    ('{"a": 1, "b"', None),
    ('{"amount": 12.', None),
    ('{"a": 1, b', None),
    ('{"a": Os', None),
    ('{"force": t', None),
    ("{", None),
    ("{]", None),
    ('{"a": "x\\', None),
    ('{"a": "\\u12', None),
    ('{"a": 1 // , "b": 2}', None),
    # Two things could be meant, or nothing that is one object.
    ('{"a":1}{"a":2}', None),
    ('{"a": 1}\n{"b": 2}', None),
    ('{"a": "x"}{"a": "x"}', {"a": "x"}),
    ('{"a": {"b": 1}}\n{"a": {"b": 1}} {"a": {"b": 1}}', {"a": {"b": 1}}),
    ("{'a': 1,}{\"a\": 1} is what I mean", {"a": 1}),
    ('{"a": "x"}{"a": "x"', None),
    ('{"a": 1}{"a": 1.0}', None),
    ('{"a": 1, "b": 2}{"b": 2, "a": 1}', None),
    ('{"a": 1}, {"a": 1}', None),
    ('{"a": 1} # "b"\n{"a": 1}', None),
    ('{"a": 1}{"a": 1}{"a": 2}', None),
    ("[1][1]", None),
    ("{a: 1, a: 2}", None),
    ('{"a": 1, "a": 2}', None),
    ('{"a": 1, "a": 1, "a": 2}', None),
    ('{"a": 1, "a": 1.0}', None),
    ('{"a": 1.0, "a": 1}', None),
    ('{"a": 1, "a": true}', None),
    ('{"a": "1", "a": 1}', None),
    ('{"a": 1, "a": "1"}', None),
    ('{"a": "true", "a": true}', None),
    ('{"a": "a", "a": "A"}', None),
    ('{"a": "x", "a": "x "}', None),
    ('{"a": [1], "a": 1}', None),
    ('{"a": {"b": "1"}, "a": {"b": 1}}', None),
    ('{"a": {"b": 1, "b": 2}}', None),
    ('{"a": 12, "a": 1', None),
    ('{"a": "x", "a": ', None),
    ('{"a": "x", "a": "x', None),
    # The same thing is said twice.
    ('{"a": 1, "a": 1}', {"a": 1}),
    ('{"a": 1, "b": 2, "a": 1, "b": 2, "a": 1}', {"a": 1, "b": 2}),
    ("{'a': 'x', \"a\": \"x\",}", {"a": "x"}),
    ("{a: x, a: x}", {"a": "x"}),
    ('{"a": {"b": null, "b": null}}', {"a": {"b": None}}),
    ('{"a": [{"b": "x", "b": "x"}, {"b": "y"}]}', {"a": [{"b": "x"}, {"b": "y"}]}),
    ('{"a": {"b": [1, "x"]}, "a": {"b": [1,"x"]}}', {"a": {"b": [1, "x"]}}),
    ('{"a": 1, "A": 1,}', {"a": 1, "A": 1}),
    ('{"a": NaN}', None),
    ('{"a": Infinity}', None),
    ('{"a": undefined}', None),
    ('{"a": 1,000}', None),
    ('{"a": 007}', None),
    ('{"a": 1 + 1}', None),
    ('{"a": [10 -2]}', None),
    ('{"a": "x" "y"}', None),
    ('{"a" "b"}', None),
    ('{"a": """x "y" z"""}', None),
    ('{"a": "x" + y}', None),
    ("{sure: no}", None),
    ("{force: fals}", None),
    ('{"a": [1, 2, ...]}', None),
    ('{"a": [1,, 2]}', None),
    ('{"a": 1,, 2}', None),
    ('{,, "a": 1}', None),
    ('{"a": [1 000 000]}', None),
    ('{"a": [10 200.5]}', None),
    ('{"a": [1,5 2,5]}', None),
    ('{"a": [1 2, 3]}', None),
    ('{"a": [1 2/3]}', None),
    ('{"a": [1 2 x]}', None),
    ('{"a": [2024 01 02]}', None),
    ('{"a": 5%}', None),
    ('{"a": , "b": 2}', None),
    (r"{'a': 'C:\vm'}", None),
    ("{«a»: 1}", None),
    ('{"a": f(x)}', None),
    ('{"a": "one "two three"}', None),
    (r'{"a": "C:\temp\dir"}', None),
    (r'{"a": "\d+ \"x\""}', {"a": '\\d+ "x"'}),
    ('{"a": 1} and then {"a": 2}', None),
    ('{"a": {"b": 1}}, "c": 2}', None),
    ('"a": 1}', None),
    ("", None),
    (" \n", None),
    ('{"a": "\ud800",}', None),
    ("{'a': " * 70 + "1" + "}" * 70, None),
    ("{'a': " + "1" * 500 + "}", None),
]


@pytest.mark.parametrize(("raw", "meant"), TABLE)
def test_what_is_meant_comes_out_or_nothing(raw, meant):
    repair = RuleRepair()
    proposed = repair.propose(raw)
    assert (proposed and json.loads(proposed)) == meant
    assert [(r.raw, r.proposed) for r in repair.report] == [(raw, proposed)]
    assert repair.report[0].outcome == ("refused" if meant is None else "changed")
    assert repair.report[0].reason


@pytest.mark.parametrize(
    ("raw", "meant"),
    [
        ("'text'", "text"),
        ('"line 1\nline 2"', "line 1\nline 2"),
        ("\u2028 1.", 1),
        ("[a, 'b',", ["a", "b"]),
        ("```\n[{'n': 1}, {'n': 2}]\n```", [{"n": 1}, {"n": 2}]),
        ("[", []),
        ("text", None),
        ('"text', None),
        ("2.5e", None),
        ("[1] 2", None),
        ("[1] is what I mean", None),
    ],
)
def test_any_value_is_mended_but_arguments_are_one_object(raw, meant):
    proposed = RuleRepair().propose(raw)
    assert (proposed and json.loads(proposed)) == meant
    assert RuleRepair().propose(raw, {"type": "object"}) is None
    assert RuleRepair().propose(raw, {"properties": {}}) is None


def test_arguments_encoded_twice_are_taken_out_and_other_strings_stay():
    once = '{"a": {"b": "x"}}'
    twice, thrice = json.dumps(once), json.dumps(json.dumps(once))
    assert [RuleRepair().propose(raw) for raw in (twice, thrice)] == ['{"a":{"b":"x"}}'] * 2
    for text in ('{"a": "rm -rf /tmp/x', "{name}", "[1]", "say ```{}```"):
        assert json.loads(RuleRepair().propose(json.dumps(text))) == text
        assert RuleRepair().propose(json.dumps(text), {"type": "object"}) is None


NUMBERS = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "on": {"type": "boolean"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["string", "integer"]},
        "text": {"type": "string"},
        "many": {"type": "array", "items": {"type": "integer"}},
        "any": {},
    },
}


@pytest.mark.parametrize(
    ("raw", "meant"),
    [
        ('{"n": "58"}', {"n": 58}),
        ("{'n': '58',}", {"n": 58}),
        ('{"x": "1.5", "on": "true"}', {"x": 1.5, "on": True}),
        ('{"maybe": "3", "many": ["1", "2"]}', {"maybe": 3, "many": [1, 2]}),
        ('{"either": "58", "text": "58", "any": "58", "new": "58"}', None),
        ('{"n": "058"}', None),
        ('{"n": "5.0"}', None),
        ('{"n": "+5"}', None),
        ('{"n": "five"}', None),
        ('{"n": "NaN"}', None),
        ('{"x": "1e999"}', None),
        ('{"x": "0.10"}', None),
        ('{"on": "True"}', None),
        ('{"on": "1"}', None),
        ('{"on": 1, "text": 58}', None),
        ('{"many": "1"}', None),
        ('{"many": 1}', None),
    ],
)
def test_a_type_slip_is_mended_only_where_nothing_else_can_be_meant(raw, meant):
    repair = RuleRepair()
    proposed = repair.propose(raw, NUMBERS)
    assert json.loads(proposed) == (json.loads(raw) if meant is None else meant)
    assert repair.report[0].outcome == ("kept" if meant is None else "changed")


ISSUE = {
    "type": "object",
    "$defs": {
        "names": {"type": "array", "items": {"type": "string"}},
        "box": {"anyOf": [{"$ref": "#/$defs/size"}, {"type": "null"}]},
        "size": {"type": "object", "properties": {"w": {"type": "integer"}, "in": {"$ref": "#/$defs/box"}}},
        "loop": {"$ref": "#/$defs/loop"},
    },
    "properties": {
        "labels": {"$ref": "#/$defs/names"},
        "more": {"$ref": "#/properties/labels"},
        "maybe": {"anyOf": [{"$ref": "#/$defs/names"}, {"type": "null"}]},
        "either": {"anyOf": [{"$ref": "#/$defs/names"}, {"type": "string"}]},
        "box": {"$ref": "#/$defs/box"},
        "boxes": {"type": "array", "items": {"$ref": "#/$defs/size"}},
        "count": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]},
        "text": {"type": "string"},
        "strange": {"$ref": "#/$defs/loop"},
        "nowhere": {"$ref": "#/$defs/none"},
        "any": {},
    },
    "additionalProperties": {"type": "array"},
}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"labels": '["bug"]', "more": ' ["a", "b"] '}, {"labels": ["bug"], "more": ["a", "b"]}),
        ({"maybe": "[]", "new": "[1]"}, {"maybe": [], "new": [1]}),
        ({"labels": "['bug', \"it\",]"}, {"labels": ["bug", "it"]}),
        ({"box": '{"w": 5.0, "in": "{\\"w\\": \\"7\\"}"}'}, {"box": {"w": 5, "in": {"w": 7}}}),
        ({"box": {"in": {"in": '{"w": 1}'}}}, {"box": {"in": {"in": {"w": 1}}}}),
        ({"boxes": ['{"w": 1}', {"w": "2"}]}, {"boxes": [{"w": 1}, {"w": 2}]}),
        ({"boxes": '[{"w": 1}, "{\\"w\\": 2}"]'}, {"boxes": [{"w": 1}, {"w": 2}]}),
        ({"count": 5.0}, {"count": 5}),
        ({"count": "true"}, {"count": True}),
        ({"either": '["a"]', "text": "[1]", "any": "[1]"}, None),
        ({"labels": "[1]", "box": '{"w": "x"}', "boxes": "{}"}, None),
        ({"labels": '["bug"', "more": 'see ["a"]', "maybe": "bug"}, None),
        ({"labels": '["a"] and ["b"]', "box": '{"w": 1} {"w": 2}'}, None),
        ({"strange": "[1]", "nowhere": "[1]"}, None),
        ({"count": 5.5, "any": 5.0, "text": 5.0}, None),
    ],
)
def test_a_value_is_read_again_if_its_schema_does_not_take_the_text(written, meant):
    repair = RuleRepair()
    proposed = repair.propose(json.dumps(written), ISSUE)
    assert proposed == json.dumps(meant or written, separators=(",", ":"))
    assert repair.report[0].outcome == ("changed" if meant else "kept")
    assert keeps_intent(json.dumps(written), proposed)


@pytest.mark.parametrize("schema", [None, {}, {"properties": 1}, {"properties": {"n": 7}}, {"type": 3}])
def test_a_strange_schema_changes_nothing(schema):
    assert RuleRepair().propose('{"n": "1"}', schema) == '{"n":"1"}'


@pytest.mark.parametrize(
    ("raw", "proposed", "kept"),
    [
        ("{'a': '58'}", '{"a": 58}', True),
        ("{'a': 'true'}", '{"a": true}', True),
        ("{'a': 1, 'b': 2}", '{"a": 1}', False),
        ("{'a': 1}", '{"a": 1, "b": 2}', False),
        ("{'a': 1, 'b': 2}", '{"a": 2, "b": 1}', False),
        ("{'a': 1, 'b': 2}", '{"b": 2, "a": 1}', False),
        ('{"a": "58 /* or 59 */"}', '{"a": 58}', False),
        ("{'a': 'null'}", '{"a": null}', False),
        ("{'a': 1}", '{"a": [1]}', False),
        ("{'a': 1}", '{"b": 1}', False),
        ("{'a': 1.50}", '{"a": 1.5}', True),
        ("{'a': 1.0}", '{"a": 1}', True),
        ("{'a': 1}", '{"a": 1.0}', False),
        ("{'a': 1.5}", '{"a": 1}', False),
        ("{'a': 9007199254740993.0}", '{"a": 9007199254740992}', False),
        ("{'a': '[1]'}", '{"a": [1]}', True),
        ("{'a': '[1'}", '{"a": [1]}', False),
        ("{'a': 'see [1]'}", '{"a": [1]}', False),
        ("{'a': 1}{'a': 1}", '{"a": 1}', True),
        ("{'a': 1}", '{"a": true}', False),
        ('{"a": "x", "b": "y"}', r'{"a": "x\", \"b\": \"y"}', False),
        ('{"a": "1", "a": "1"}', '{"a": 1}', True),
        ('{"a": "1", "a": 1}', '{"a": 1}', False),
        ('{"a": 1, "a": 1}', '{"a": 1, "a": 1}', False),
        ('{"a": {"b": "1", "b": "1"}, "a": {"b": "1"}}', '{"a": {"b": 1}}', True),
        ('{"a": {"b": "1", "b": "1"}, "a": {"b": 1}}', '{"a": {"b": 1}}', False),
        ("{'a': 1}", "[1]", False),
        ("{'a': 1}", "{'a': 1}", False),
        ("", "{}", False),
    ],
)
def test_intent_is_kept_word_for_word(raw, proposed, kept):
    assert keeps_intent(raw, proposed) is kept


@given(st.text() | st.text(alphabet="{}[]\"'“”:,/*#\\`ab1.-+= \n\ttrueNonux<>"))
def test_nothing_raises_and_the_guard_has_seen_what_is_proposed(text):
    repair = RuleRepair()
    proposed = repair.propose(text, NUMBERS)
    assert keeps_intent(text, text) in (True, False)
    assert proposed is None or (isinstance(json.loads(proposed), dict) and keeps_intent(text, proposed))
    assert len(repair.report) == 1
    assert repair.report[0].reason


@pytest.mark.parametrize(("count", "reason"), [(20, "the model's words, checked"), (1_500, "too many ways")])
def test_a_guard_that_looks_for_the_nearest_does_bounded_work(count, reason):
    units = {"type": "array", "items": {"type": "string", "enum": ["celsius", "kelvin"]}}
    broken, meant = json.dumps({"units": ["Celsiu"] * count})[:-1], json.dumps({"units": ["celsius"] * count})
    repair = LLMRepair(Scripted([meant, meant]), guard="schema")
    schema = {"type": "object", "properties": {"units": units}}
    repair.propose(broken[:1], schema)  # what is imported at first is not counted
    assert lines_of(lambda: repair.propose(broken, schema)) < 6_000_000
    assert reason in repair.report[1].reason


@pytest.mark.parametrize(
    "mark", ["{", "[", '"', "'", "\\", "#", "/*", "`", "<!--", '{"', "['", '{"a":', "1", " \n", '",', '"+']
)
def test_a_long_text_of_one_mark_is_refused(mark):
    assert RuleRepair().propose(mark * (MAX_CHARS // len(mark)), {"type": "object"}) is None
    assert RuleRepair().propose('{"a": ' + mark * MAX_CHARS) is None


@pytest.mark.parametrize(
    ("start", "mark"),
    [('["', '//" + "'), ('{"a": [', '" a'), ("{a: ", "tr}0x "), ("[", "<!--,"), ("[", "/*,")],
)
def test_a_text_that_makes_readers_look_ahead_again_and_again_is_refused(start, mark):
    text = (start + mark * MAX_CHARS)[:MAX_CHARS]
    with ends():
        assert RuleRepair().propose(text) is None
        assert lines_of(lambda: RuleRepair().propose(text)) < 100 * MAX_CHARS


TEXT = st.text(alphabet="abé😀 '\",:{}[]/#\\\n-01") | st.text(alphabet="ab c") | st.text()
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=4)
BREAKAGES = {
    "as it is": json.dumps,
    "brace dropped": lambda value: json.dumps(value)[:-1],
    "python": repr,
    "python, brace dropped": lambda value: repr(value)[:-1],
    "trailing comma": lambda value: re.sub(r"([^{])}\Z", r"\1,}", json.dumps(value)),
    "fence": lambda value: f"```json\n{json.dumps(value, indent=1)}\n```",
    "fence, python": lambda value: f"```\n{value!r}\n```",
    "twice": lambda value: json.dumps(json.dumps(value)),
    "unquoted keys": lambda value: re.sub(r'\A{"([a-z]+)":', r"{\1:", json.dumps(value)),
    "comment": lambda value: "{ /* note */" + json.dumps(value)[1:],
}


@pytest.mark.parametrize("breakage", BREAKAGES)
@settings(max_examples=40)
@given(value=OBJECTS)
def test_a_broken_object_comes_back_as_itself_or_not_at_all(breakage, value):
    proposed = RuleRepair().propose(BREAKAGES[breakage](value))
    assert proposed is None or json.loads(proposed) == value


@given(VALUES)
def test_valid_json_is_never_another_value(value):
    proposed = RuleRepair().propose(json.dumps(value))
    assert proposed is not None
    assert json.loads(proposed) == value or (isinstance(value, str) and "{" in value)


QUOTING = st.lists(st.sampled_from(["say", '"hi"', "to", '"all of you"', "and,", "so:"])).map(" ".join)


@given(st.dictionaries(st.sampled_from("abc"), QUOTING))
def test_quotes_that_were_not_escaped_change_no_word(value):
    proposed = RuleRepair().propose(json.dumps(value).replace('\\"', '"'))
    assert proposed is None or json.loads(proposed) == value


class Sloppy:
    """Writes a value as badly as its slips say."""

    def __init__(self, slips, random):
        self.slips = slips
        self.random = random

    def write(self, value):
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, dict):
            return self.items("{", [self.pair(*item) for item in self.said_again([*value.items()])], "}")
        if isinstance(value, list):
            if "blanks" in self.slips and not any(isinstance(item, str | list | dict) for item in value):
                return f"[{' '.join(map(json.dumps, value))}]"
            return self.items("[", [self.write(item) for item in value], "]")
        return repr(value) if "python" in self.slips else json.dumps(value)

    def said_again(self, pairs):
        """The pairs, and some of them again, each after it was said."""
        for place in sorted(self.random.sample(range(len(pairs)), len(pairs) // 2), reverse=True):
            if "pair twice" in self.slips:
                pairs.insert(self.random.randint(place + 1, len(pairs)), pairs[place])
        return pairs

    def pair(self, key, value):
        return f"{self.key(key)}{self.gap()}{self.colon()}{self.write(value)}"

    def items(self, opening, items, closing):
        text = opening + self.gap()
        for number, item in enumerate(items, 1):
            left_out = "no comma" in self.slips and item[-1] in "\"'}]" and self.random.random() < 0.5
            last = number == len(items) and "comma at the end" not in self.slips
            text += item + self.gap() + ("" if last else "\n" if left_out else ",") + self.gap()
            if "comma twice" in self.slips and opening == "{" and text.rstrip().endswith(","):
                text += ","
        return text + closing

    def gap(self):
        return self.random.choice(
            [" ", "\n", "/* {note} */", "// note,\n", "# 'note\n"] if "comment" in self.slips else ["", " "]
        )

    def colon(self):
        return self.random.choice(["=", "=>"]) + " " if "equals" in self.slips else ":"

    def key(self, text):
        return text if "bare key" in self.slips and re.fullmatch("[a-z]+", text) else self.string(text)

    def string(self, text):
        if "bare value" in self.slips and re.fullmatch("[abc]+", text):
            return text
        if "python" in self.slips:
            return repr(text)
        quoted = json.dumps(text, ensure_ascii=self.random.random() < 0.5)
        if "single" in self.slips:
            return "'" + quoted[1:-1].replace("'", "\\'") + "'"
        if "joined" in self.slips and len(text) > 1:
            return json.dumps(text[:1]) + " + " + json.dumps(text[1:])
        return quoted.replace("\\n", "\n") if "line break" in self.slips and "\\\\" not in quoted else quoted

    def text(self, value):
        text = self.write(value)
        if "not closed" in self.slips:
            text = text.rstrip("}] ")
        if "fence" in self.slips:
            text = f"Here you are:\n```json\n{text}\n```\nI hope that helps."
        return self.random.choice(TALK).replace("OBJECT", text) if "talk" in self.slips else text


TALK = [
    "Here you are: OBJECT",
    "Here: OBJECT",
    "Sure: OBJECT ok?",
    "Output: `OBJECT`",
    "The arguments are OBJECT.",
    "Result = OBJECT",
    'I use "add" with OBJECT now.',
]
SLIPS = [
    "bare key",
    "bare value",
    "blanks",
    "comma at the end",
    "comma twice",
    "comment",
    "equals",
    "fence",
    "joined",
    "line break",
    "no comma",
    "not closed",
    "pair twice",
    "python",
    "single",
    "talk",
]


@given(value=OBJECTS, slips=st.sets(st.sampled_from(SLIPS)), random=st.randoms(use_true_random=False))
def test_what_is_badly_written_comes_back_as_itself_or_not_at_all(value, slips, random):
    proposed = RuleRepair().propose(Sloppy(slips, random).text(value))
    assert proposed is None or json.loads(proposed) == value


@pytest.mark.parametrize("slip", SLIPS)
@settings(max_examples=20)
@given(random=st.randoms(use_true_random=False))
def test_each_slip_alone_is_mended(slip, random):
    value = {"a": "b", "to": ["it's", "c\n", {"ab": "c"}], "n": {"x": [1, 2.5, None], "y": [-3, "d"]}}
    proposed = RuleRepair().propose(Sloppy({slip}, random).text(value))
    assert proposed is not None
    assert json.loads(proposed) == value


def begins(whole, part):
    """Whether a part is a whole of which the end may be missing; no string ever is."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return list(part) == list(whole)[: len(part)] and begins(list(whole.values()), list(part.values()))
    if isinstance(whole, list) and isinstance(part, list):
        same, last = whole[: len(part)][:-1] == part[:-1], len(part) - 1
        return not part or (same and len(part) <= len(whole) and begins(whole[last], part[last]))
    numbers = {type(whole), type(part)} <= {int, float}
    return numbers or (type(whole) is type(part) and whole == part)


@given(value=OBJECTS, data=st.data())
def test_a_text_that_was_cut_is_never_given_other_words(value, data):
    text = json.dumps(value)
    proposed = RuleRepair().propose(text[: data.draw(st.integers(0, len(text) - 1))])
    assert proposed is None or begins(value, json.loads(proposed))


@tool
def add(a: int, b: int = 1) -> int:
    """Add two integers."""
    return a + b


def verdict_of(raw, repair, finish_reason=None):
    """The verdict on one call of `add`, and the content of the tool message."""
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": raw}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    steps = list(walk("?", [add], Scripted([Reply(message, finish_reason), "Done."]), repair=repair))
    verdict = next(step.record for step in steps if step.kind == "validate")
    return verdict, next(step.record.content for step in steps if step.kind == "result")


def test_a_repaired_call_runs_and_the_verdict_shows_the_repair():
    verdict, content = verdict_of("{'a': 42, 'b': '58',}", RuleRepair())
    assert (verdict.ok, verdict.arguments) == (True, {"a": 42, "b": 58})
    assert (verdict.repair.accepted, verdict.repair.proposed) == (True, '{"a":42,"b":58}')
    assert json.loads(content)["data"] == 100


def test_what_was_cut_by_length_is_not_even_shown_to_the_repair():
    repair = RuleRepair()
    verdict, _ = verdict_of("{'a': 42,}", repair, "length")
    assert (verdict.ok, verdict.repair, repair.report) == (False, None, [])
    assert verdict.problems[-1].received == "the reply was cut off before its end (length)"


def test_a_refused_repair_does_not_run():
    verdict, content = verdict_of('{"a": 4, "b', RuleRepair())
    assert (verdict.ok, verdict.repair.accepted, verdict.repair.proposed) == (False, False, None)
    assert json.loads(content)["success"] is False


def test_a_model_repairs_and_is_asked_with_name_schema_and_raw_text():
    asked = []

    def answer(request):
        asked.append(request)
        return '```json\n{"a": 42, "b": 58}\n```'

    verdict, _ = verdict_of('{"a": "42", b: "58"', LLMRepair(Scripted([answer])))
    assert (verdict.ok, verdict.arguments) == (True, {"a": 42, "b": 58})
    text = asked[0].messages[-1]["content"]
    assert "Tool: add\n" in text
    assert '"integer"' in text
    assert text.endswith('{"a": "42", b: "58"')


def test_the_model_is_told_the_tool_by_the_title_of_the_schema():
    asked = []

    def answer(request):
        asked.append(request.messages[-1]["content"])
        return '{"a": 1}'

    schema = {"title": "add", "type": "object"}
    assert LLMRepair(Scripted([answer])).propose("{a: 1}", schema) == '{"a":1}'
    assert LLMRepair(Scripted([answer])).propose("{a: 1}", {"title": "sum"}) == '{"a":1}'
    assert LLMRepair(Scripted([answer])).propose("{a: 1}", {"title": 7}) == '{"a":1}'
    assert [text.partition("\n")[0] for text in asked[:2]] == ["Tool: add", "Tool: sum"]
    assert "Tool:" not in asked[2]


def failing(_request):
    raise ModelError("no network")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('{"a": 43}', "43 is not what stands"),
        ('{"a": 42, "b": 1}', "is not what stands"),
        ("{}", "is not what stands"),
        ("null", "not one object"),
        ("I cannot.", "valid JSON"),
        (Reply({"role": "assistant", "content": '{"a": 42}'}, "length"), "cut off before its end"),
        (failing, 'the model failed: "ModelError: no network'),
    ],
)
def test_a_model_that_changes_the_meaning_or_fails_is_refused(reply, reason):
    repair = LLMRepair(Scripted([reply]), guard="strict")
    assert repair.propose('{"a": "42"', {"type": "object"}) is None
    assert repair.report[0].outcome == "refused"
    assert reason in repair.report[0].reason


@pytest.mark.parametrize(
    ("raw", "answer", "lets_through"),
    [
        ("{'a': 'x', 'n': '5',}", '{"a": "x", "n": 5}', ["strict", "words", "schema", None]),
        ('{"a": "x y, "n": 5}', '{"a": "x y", "n": 5}', ["words", "schema", None]),
        ('{"a": True, "n": 5', '{"a": true, "n": 5}', [None]),
        ('{"a": True, "n": "5"', '{"a": true, "n": 5}', ["strict", "words", None]),
        ('{"a": "X", "n": 5.0}', '{"a": "x", "n": 5}', ["schema", None]),
        ('{"a": "x", "n": 5}', '{"b": "y"}', [None]),
    ],
)
def test_a_weaker_guard_lets_more_through(raw, answer, lets_through):
    schema = {"properties": {"a": {"enum": ["x", "x y"]}, "n": {"type": "integer"}}, "required": ["a"]}
    for guard in ("strict", "words", "schema", None):
        proposed = LLMRepair(Scripted([answer]), guard=guard).propose(raw, schema)
        assert (guard in lets_through) == (proposed is not None)
        assert proposed is None or json.loads(proposed) == json.loads(answer)


def test_rules_with_a_weaker_guard_put_in_one_mark():
    lost, moved = '{"service": "nginx}', '{"a": "x", y, "n": 5}'
    assert RuleRepair().propose(lost) is None
    assert RuleRepair(guard="words").propose(lost) == '{"service":"nginx"}'
    for guard in ("words", "schema", None):
        assert RuleRepair(guard=guard).propose(moved, NUMBERS) is None
        assert RuleRepair(guard=guard).propose("I do not know.", {"type": 3}) is None
        assert RuleRepair(guard=guard).propose('{"' * (MAX_CHARS // 2)) is None
    with pytest.raises(InvalidInput, match="no guard is named 'loose'"):
        RuleRepair(guard="loose")


def test_a_model_is_not_asked_about_nothing():
    assert LLMRepair(Scripted([])).propose(" ") is None


@pytest.mark.parametrize("raw", ['{"amount": 12', '{"a": 1,', '{"a": [', "{a: 1.5"])
def test_arguments_that_end_where_more_may_follow_are_refused_and_other_texts_are_not(raw):
    """12 may have been 120: to read it is one thing, to run it another."""
    repair = RuleRepair()
    assert repair.propose(raw, {"type": "object"}) is None
    assert repair.report[-1].reason == "the text ends where more may follow"
    assert repair.propose(raw) is not None


CONTACT = '{"contact": {"name": "Bob", "email": "b@x.org", "hours": 2.5}'


def schema_of(*inner, outer=("contact",)):
    contact = {"type": "object", "properties": {key: {} for key in inner}, "additionalProperties": False}
    properties = {key: {} for key in outer} | {"contact": contact}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def test_a_bracket_that_could_stand_in_two_places_stands_where_the_schema_has_room():
    within, around = (
        schema_of("name", "email", "hours"),
        schema_of("name", "email", outer=("contact", "hours")),
    )
    either = schema_of("name", "email", "hours", outer=("contact", "hours"))
    contact = {"name": "Bob", "email": "b@x.org"}
    repair = RuleRepair()
    assert json.loads(repair.propose(CONTACT, within)) == {"contact": {**contact, "hours": 2.5}}
    assert json.loads(repair.propose(CONTACT, around)) == {"contact": contact, "hours": 2.5}
    assert repair.propose(CONTACT, either) is repair.propose(CONTACT) is None
    assert "two places" in repair.report[-1].reason
    assert RuleRepair(guard="words").propose(CONTACT) is None
    assert json.loads(RuleRepair(guard=None).propose(CONTACT))["contact"]["name"] == "Bob"


def test_a_text_that_is_not_closed_is_whole_only_if_the_schema_has_nothing_more():
    assert RuleRepair().propose('{"contact": {"name": "Bob"', schema_of("name")) is not None
    for schema in (schema_of("name", "email"), schema_of("name", outer=("contact", "note"))):
        assert RuleRepair().propose('{"contact": {"name": "Bob"', schema) is None
    tags = {"type": "object", "properties": {"tags": {"type": "array"}}}
    assert RuleRepair().propose('{"tags": ["a"', tags) is None
    assert RuleRepair().propose('{"tags": ["a"]', tags) == '{"tags":["a"]}'


WANTED = {
    "type": "object",
    "properties": {
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "n": {"type": "integer", "minimum": 0, "maximum": 100},
        "to": {"type": "string"},
    },
}


@pytest.mark.parametrize(
    ("raw", "answer", "accepts"),
    [
        ('{"to": "nginx}', {"to": "nginx"}, {"words", "schema"}),
        ('"to": "nginx"}', {"to": "nginx"}, {"words", "schema"}),
        ('{"n": 7.0}', {"n": 7}, {"strict", "words", "schema"}),
        ('{"unit": "Celsius"}', {"unit": "celsius"}, {"schema"}),
        ('{"unit": "Celsius"}', {"unit": "fahrenheit"}, set()),
        ('{"unit": "kelvin"}', {"unit": "celsius"}, set()),
        ('{"n": 120}', {"n": 100}, {"schema"}),
        ('{"n": 120}', {"n": 0}, set()),
        ('{"n": 120}', {"n": 12}, set()),
        ('{"n": 7.2}', {"n": 7}, {"schema"}),
        ('{"n": -5', {"n": 5}, set()),
        ('{"to": "a\nb}', {"to": "a\nb"}, {"words", "schema"}),
        ('{"to": "a\\nb}', {"to": "a\nb"}, {"words", "schema"}),
        ('{"to": "v1.10}', {"to": "v1.1"}, set()),
        ('{"to": "rm -rf /tmp}', {"to": "rm -rf / tmp"}, set()),
    ],
)
def test_a_guard_accepts_what_it_promises_and_no_more(raw, answer, accepts):
    for guard in ("strict", "words", "schema"):
        proposed = LLMRepair(Scripted([json.dumps(answer)]), guard=guard).propose(raw, WANTED)
        assert (guard in accepts) == (proposed is not None), guard


WORDS = st.sampled_from(["Ada", "7", "7.5", "-7", "true", "null", "x-1", "Oslo", "it's", "a=b", "é\n2"])
SAID = st.recursive(
    WORDS | st.sampled_from([7, 7.5, -7, True, None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=4,
)


def spoken(value):
    """All words and numbers of a value, keys included, in order."""
    if isinstance(value, dict):
        return [word for pair in value.items() for item in pair for word in spoken(item)]
    if isinstance(value, list):
        return [word for item in value for word in spoken(item)]
    return re.findall(r"[\w.-]+", value if isinstance(value, str) else json.dumps(value))


@given(
    meant=st.dictionaries(WORDS, SAID, max_size=3),
    answer=st.dictionaries(WORDS, SAID, max_size=3),
    data=st.data(),
)
def test_no_model_brings_a_word_in_or_takes_one_away(meant, answer, data):
    raw = json.dumps(meant, ensure_ascii=False)
    place = data.draw(st.integers(0, len(raw) - 1))
    raw = raw[:place] + raw[place + 1 :] if raw[place] in '{}[]":,' else raw
    for said in (meant, answer):
        for guard in ("strict", "words"):
            proposed = LLMRepair(Scripted([json.dumps(said)]), guard=guard).propose(raw)
            assert proposed is None or spoken(json.loads(proposed)) == spoken(meant)


@given(value=OBJECTS, data=st.data())
def test_an_object_that_lost_one_mark_comes_back_as_itself_or_not_at_all(value, data):
    text = json.dumps(value)
    place = data.draw(st.sampled_from(marks(text, '{}[]":,')))
    known = {"type": "object", "properties": {key: {} for key in value}, "additionalProperties": False}
    proposed = RuleRepair().propose(text[:place] + text[place + 1 :], known)
    assert proposed is None or json.loads(proposed) == value


#: What JSON and the words of a text are made of; without the brackets that may close an object once more.
AFTER = st.text(alphabet=" \n#/*<>!-`;ab1:,{[]\"'“’=.?")


@given(value=OBJECTS, after=AFTER)
@example(value={}, after='#": null}')
@example(value={"a": {}}, after='// "b": null')
@example(value={"a": 1}, after=" and b: two words")
def test_no_member_quote_or_mark_after_an_object_vanishes(value, after):
    proposed = RuleRepair().propose(json.dumps(value) + after)
    if set(after) & set('{}[]:,"“='):
        assert proposed is None
    assert proposed is None or json.loads(proposed) == value


MARKED = st.text(alphabet=" \n#/*ab1:,{}[]\"'")


@given(before=MARKED, after=MARKED)
@example(before="}#", after=": null}")
@example(before='"a": {}#', after=": null\n}}")
def test_a_quoted_member_never_vanishes(before, after):
    """Whatever stands around it, the words of a string are in the proposal, or in a closed comment."""
    proposed = RuleRepair().propose("{" + before + '"member"' + after)
    commented = re.search(r'/\*((?!\*/).)*"member"', before + '"member"', re.DOTALL)
    assert proposed is None or "member" in proposed or commented


def test_an_object_said_twice_is_one_and_two_objects_are_none():
    once = {"city": "Oslo", "days": {"n": [1, 2]}}
    text = json.dumps(once)
    schema = {"type": "object"}
    for raw in (
        text + text,
        f"{text}\n{text}",
        text * 3,
        json.dumps(text + text),
        f"```json\n{text}{text}\n```",
    ):
        assert json.loads(RuleRepair().propose(raw, schema)) == once
    for raw in (text + text[:-1], text + text[:9], text + "{}", "{}" + text, f"{text}, {text}"):
        assert RuleRepair().propose(raw, schema) is None


#: The kinds of the chapter on repair: broken writing and a right answer of a model.
CHAPTER = [
    ('{"service": "nginx"', {"service": "nginx"}),
    ('"service": "nginx"}', {"service": "nginx"}),
    ('{"service": "nginx}', {"service": "nginx"}),
    ('{"service: "nginx"}', {"service": "nginx"}),
    ('{"service": "say "hi", Bob"}', {"service": 'say "hi", Bob'}),
    ('{"service" "nginx" "n": 5}', {"service": "nginx", "n": 5}),
    ('{"service": ["nginx"}}', {"service": "nginx"}),
]


@pytest.mark.parametrize(("raw", "answer"), CHAPTER)
def test_a_model_with_the_default_guard_mends_marks(raw, answer):
    schema = {"type": "object", "properties": {"service": {}, "n": {}, "more": {}}}
    repair = LLMRepair(Scripted([json.dumps(answer)]))
    assert repair.guard == "words"
    assert json.loads(repair.propose(raw, schema)) == answer
    assert RuleRepair().guard == "strict"


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        ('{"path": "/home/ada/c', {"path": "/home/ada/c"}),
        ('{"path": "/home', {"path": "/home"}),
        ('{"path": "/home ', {"path": "/home"}),
        ("{'path': 'say \\\"hi\\\"", {"path": 'say "hi"'}),
        ('{"path": "a{2}', {"path": "a{2}"}),
        ('{"path": "x", "to": "', {"path": "x", "to": ""}),
        ('{"n": 12', {"n": 12}),
        ('{"n": 1.', {"n": 1}),
        ('{"many": [1, 2', {"many": [1, 2]}),
        ('{"many": [', {"many": []}),
        ('{"n": 1,', {"n": 1}),
        ("{", {}),
        ('```json\n{"path": "/home', {"path": "/home"}),
    ],
)
def test_a_value_that_ends_where_the_text_was_cut_is_refused(raw, answer):
    for guard in ("strict", "words", "schema"):
        for schema in (None, {"type": "object", "properties": {"path": {}, "to": {}, "n": {}, "many": {}}}):
            repair = LLMRepair(Scripted([json.dumps(answer)]), guard=guard)
            assert repair.propose(raw, schema) is None
    assert LLMRepair(Scripted([json.dumps(answer)]), guard=None).propose(raw) is not None


@given(value=OBJECTS, data=st.data())
def test_no_model_ends_a_text_that_was_cut_in_a_value(value, data):
    """The model says exactly what is left of the text: a string or a number that was cut is refused."""
    value = {**value, "last": data.draw(st.text("ab {}:,é", min_size=2) | st.integers(10, 10**9))}
    text = json.dumps(value, ensure_ascii=False)
    kept = text[: data.draw(st.integers(len(text) - len(str(value["last"])), len(text) - 2))].rstrip('"')
    left = str(value["last"])[: len(kept) - len(text)] if isinstance(value["last"], int) else None
    said = {**value, "last": int(left) if left else kept.rpartition('"last": "')[2]}
    assert LLMRepair(Scripted([json.dumps(said)])).propose(kept) is None


def test_an_escaped_quote_within_quotes_stays_as_it_is():
    assert RuleRepair().propose("{'&quot;': None}") == '{"&quot;":null}'
    assert RuleRepair().propose("{&quot;a&quot;: 1}") == '{"a":1}'


def test_what_was_repaired_goes_back_as_it_ran_and_the_raw_text_stays_in_the_trace(tmp_path):
    script = Scripted([[("add", "{'a': 42, 'b': 58,}"), ("add", '{"a": 1')], "100."])
    trace = run("42 + 58?", [add], script, repair=RuleRepair())
    repaired, broken = (call["function"]["arguments"] for call in trace.messages[1]["tool_calls"])
    assert json.loads(repaired) == {"a": 42, "b": 58}
    assert broken == '{"a": 1'
    assert [call.arguments for call in trace.tool_calls] == ["{'a': 42, 'b': 58,}", '{"a": 1']
    before = next(step for step in trace.steps if step.kind == "validate")
    assert trace.messages_at(before)[1]["tool_calls"][0]["function"]["arguments"] == "{'a': 42, 'b': 58,}"
    assert Trace.load(trace.save(tmp_path / "t.jsonl")) == trace
    at = next(seq for seq, step in enumerate(trace.steps) if step.kind == "result")
    assert trace.fork(at, model=Scripted(["100."])).messages[:3] == trace.messages[:3]
