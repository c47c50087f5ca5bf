"""The table of repairs: its damage is what it says, and it judges right from wrong."""

from __future__ import annotations

import json
from collections import Counter

from tools.repair.asking import answers, asked
from tools.repair.damage import KINDS, LOST, OTHERS, Damaged, recorded, seeded
from tools.repair.table import careless, counted, outcome, repairers
from zoolab.repair import LLMRepair
from zoolab.schema.checker import SchemaChecker

ROWS = list(seeded())


def test_each_row_is_damaged_and_what_is_meant_meets_its_schema():
    assert Counter(row.kind for row in ROWS) == dict.fromkeys(KINDS, OTHERS) | {"lost mark": LOST}
    assert len(KINDS) == 24
    assert len({row.id for row in ROWS}) == len(ROWS)
    assert len(list(recorded())) == 88
    for row in ROWS[::8]:
        assert not SchemaChecker(row.schema).problems(row.meant)
        assert outcome(row, json.dumps(row.meant)) == "right"
        assert outcome(row, None) == outcome(row, "[]") == outcome(row, '{"new": 1}') == "refused"
        assert outcome(row, json.dumps(careless(row))) != "right"


def test_a_right_object_with_another_value_is_wrong():
    row = Damaged("1", "lost mark", '{"n": 7', {"n": 7}, {"properties": {"n": {"type": "integer"}}})
    assert [outcome(row, text) for text in ('{"n": 7}', '{"n": 8}', '{"n": "7"}')] == [
        "right",
        "wrong",
        "refused",
    ]
    assert careless(row) == {"n": 71}
    assert row.meant == {"n": 7}


def test_what_was_measured_holds_on_a_part_of_the_rows():
    """Strict is never wrong; with `words` the rules mend most, and a perfect model nearly all."""
    few = [row for row in ROWS if row.kind == "lost mark"][::15]
    by = repairers()
    rules, perfect = counted(few, by["rules"], "words"), counted(few, by["perfect"], "words")
    assert rules["right"] >= 32
    assert perfect["right"] >= 36
    assert rules["wrong"] == perfect["wrong"] == counted(few, by["careless"], "words")["wrong"] == 0
    for row in ROWS[LOST::8]:
        assert outcome(row, by["rules"](row, "strict")) != "wrong"


def test_the_recorded_model_was_asked_what_it_would_be_asked_today():
    model = answers()
    assert model.recording.header.model == "qwen"
    for row in asked():
        assert model(LLMRepair(model).request(row.raw, row.schema)).message["role"] == "assistant"
