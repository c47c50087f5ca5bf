"""Step 6: a value becomes the tool message, in one documented form, or as an error that names it."""

import datetime
import decimal
import enum
import json
import pathlib
import uuid
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from zoolab.errors import ERROR_CODES
from zoolab.jsontext import MAX_DEPTH, is_utf8, parse_json
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.limits import RESULT_BYTES
from zoolab.records import Failure, Outcome
from zoolab.steps.result import MAX_ERROR_CHARS, make_result


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Node:
    value: Any = 1
    next: Any = field(default=None)


class Place(BaseModel):
    city: str
    founded: datetime.date


class Text(str):
    __slots__ = ()


DAY = datetime.date(2026, 1, 2)
ID = uuid.UUID(int=1)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("é\n", "é\n"),
        (None, None),
        (True, True),
        (10**30, 10**30),
        (1.5, 1.5),
        ([1, [2]], [1, [2]]),
        ((1, "a"), [1, "a"]),
        ({"b": 1, "a": 2}, {"b": 1, "a": 2}),
        (DAY, "2026-01-02"),
        (datetime.time(12, 30), "12:30:00"),
        (datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC), "2026-01-02T03:00:00+00:00"),
        (decimal.Decimal("1.10"), "1.10"),
        (ID, str(ID)),
        (pathlib.PurePosixPath("/a/b"), "/a/b"),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({1, "a"}, ["a", 1]),
        (Color.RED, "red"),
        (Level.LOW, 1),
        (Text("x"), "x"),
        (Node(1, Node({DAY})), {"value": 1, "next": {"value": ["2026-01-02"], "next": None}}),
        (Place(city="Oslo", founded=DAY), {"city": "Oslo", "founded": "2026-01-02"}),
        (np.int64(3), 3),
        (np.float64(1.5), 1.5),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (pd.Series([1, 2], index=["a", "b"]), [1, 2]),
        (pd.DataFrame({"n": [1, 2], "s": ["a", "b"]}), [{"n": 1, "s": "a"}, {"n": 2, "s": "b"}]),
        (pd.Timestamp("2026-01-02"), "2026-01-02T00:00:00"),
        (pd.DataFrame(), []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_type_has_its_documented_form(value, form):
    plain = to_json_value(value)
    assert plain == form
    assert type(plain) is type(form)
    assert parse_json(make_result(Outcome(value), "c").content)["data"] == form


def cycle_of_lists():
    made: list[Any] = []
    made.append({"x": made})
    return made


def cycle_of_dataclasses():
    made = Node()
    made.next = Node(2, [made])
    return made


def nest(depth):
    made: Any = 1
    for _ in range(depth):
        made = [made]
    return made


class Hostile:
    def __getattr__(self, name):
        raise RuntimeError(name)

    def __repr__(self):
        raise RuntimeError("repr")


class Liar:
    def tolist(self):
        raise RuntimeError("no list")


class Endless:
    def tolist(self):
        return Endless()


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (b"x", "a bytes at /"),
        ({"a": [bytearray()]}, "a bytearray at /a/0"),
        (float("nan"), "nan at /"),
        ([1, {"x": float("-inf")}], "-inf at /1/x"),
        (np.float64("nan"), "nan at /"),
        (pd.DataFrame({"x": [1.0, None]}), "nan at /1/x"),
        ({(1, 2): 3}, "the key (1, 2) (a tuple, not text) at /"),
        ({"a": {1: 2}}, "the key 1 (a int, not text) at /a"),
        ({None: 2}, "the key None (a NoneType, not text) at /"),
        (object(), "a object at /"),
        ({"f": len}, "a builtin_function_or_method at /f"),
        (Node, "a type at /"),
        (1j, "a complex at /"),
        (cycle_of_lists(), "contains itself"),
        (cycle_of_dataclasses(), "contains itself"),
        (nest(MAX_DEPTH + 1), "too deep"),
        (nest(100_000), "too deep"),
        ("\ud800", "a lone surrogate"),
        ({"a\udc00": 1}, "a lone surrogate"),
        ({"x": {"\ud800"}}, "a lone surrogate"),
        (Hostile(), "a Hostile"),
        (Liar(), "a Liar"),
        (Endless(), "too deep"),
        (10**5000, "digits"),
        ([10**5000], "digits"),
        (pathlib.PurePosixPath("/\udc80"), "a lone surrogate"),
        (Text("\udc80"), "a lone surrogate"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("envelope", ["json", "plain"])
def test_what_is_not_json_is_an_error_that_names_it(value, named, envelope):
    result = make_result(Outcome(value), "c", envelope)
    assert result.error_code == "execution_failed"
    assert "not JSON" in result.content
    text = json.loads(result.content)["error_message"] if envelope == "json" else result.content
    assert named in text
    assert is_utf8(result.content)


def test_to_json_value_raises_what_make_result_tells():
    with pytest.raises(NotJSON, match="nan at /x/0"):
        to_json_value({"x": [float("nan")]})


def test_the_same_object_twice_is_no_cycle():
    shared = [1]
    assert to_json_value([shared, shared, {"a": shared}]) == [[1], [1], {"a": [1]}]


def test_the_value_itself_stays_as_it_is():
    value = {"items": [{2, 1}], "when": DAY}
    make_result(Outcome(value), "c")
    assert value == {"items": [{2, 1}], "when": DAY}


def test_the_json_envelope():
    result = make_result(Outcome("ONLINE", None, 12.4, 1700), "call_7")
    assert json.loads(result.content) == {
        "success": True,
        "data": "ONLINE",
        "error_message": None,
        "error_type": "none",
        "metadata": {"execution_time_ms": 12, "data_size_bytes": 6, "timestamp": 1700},
    }
    assert result.message == {"role": "tool", "tool_call_id": "call_7", "content": result.content}


@pytest.mark.parametrize("code", [row.code for row in ERROR_CODES.values() if row.returned] + ["loop_limit"])
def test_an_error_in_both_envelopes(code):
    outcome = Outcome(error=Failure(code, 'it "broke"'), duration_ms=3.0, started_ms=5)
    wrapped = make_result(outcome, "c")
    assert json.loads(wrapped.content) == {
        "success": False,
        "data": None,
        "error_message": 'it "broke"',
        "error_type": ERROR_CODES[code].error_type or "internal_error",
        "metadata": {"execution_time_ms": 3, "data_size_bytes": 0, "timestamp": 5},
    }
    plain = make_result(outcome, "c", "plain")
    assert plain.content == 'ERROR: it "broke"'
    assert wrapped.error_code == plain.error_code == code


@pytest.mark.parametrize(
    ("value", "content"),
    [("text", "text"), (42, "42"), (True, "true"), (None, "null"), ({"a": (1,)}, '{"a":[1]}'), ("", "")],
)
def test_the_plain_envelope_sends_the_value_alone(value, content):
    assert make_result(Outcome(value), "c", "plain").content == content


def test_fifty_megabytes_are_cut_with_a_notice():
    size = 50 * 1024 * 1024
    for envelope in ("json", "plain"):
        result = make_result(Outcome("x" * size), "c", envelope)
        assert (result.data_bytes, result.sent_bytes, result.truncated) == (size, RESULT_BYTES, True)
        assert f"[cut: the first {RESULT_BYTES:,} of {size:,} bytes]" in result.content
        assert len(result.content) < RESULT_BYTES + 500


@pytest.mark.parametrize("offset", range(4))
def test_a_cut_never_splits_a_character(offset):
    result = make_result(Outcome("x" * offset + "😀" * 10_000), "c", "plain")
    assert is_utf8(result.content)
    assert "�" not in result.content
    assert RESULT_BYTES - 4 < result.sent_bytes <= RESULT_BYTES
    assert result.data_bytes == offset + 40_000


def test_a_long_value_that_is_no_text_is_cut_as_text():
    rows = [{"n": n} for n in range(5_000)]
    envelope = json.loads(make_result(Outcome(rows), "c").content)
    assert envelope["data"].startswith('[{"n":0},{"n":1}')
    assert envelope["metadata"]["data_size_bytes"] > RESULT_BYTES


@pytest.mark.parametrize("extra", [0, 1])
def test_the_limit_itself_is_not_cut(extra):
    result = make_result(Outcome("x" * (RESULT_BYTES + extra)), "c", "plain")
    assert result.truncated is bool(extra)


def test_an_error_text_is_capped_and_clean():
    result = make_result(Outcome(error=Failure("execution_failed", "\ud800" + "x" * 100_000)), "c")
    message = json.loads(result.content)["error_message"]
    assert MAX_ERROR_CHARS <= len(message) < MAX_ERROR_CHARS + 50
    assert is_utf8(result.content)


surrogates = st.characters(categories=("Cs",))
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.text(surrogates, min_size=1, max_size=3)
    | st.binary(max_size=5)
    | st.dates()
    | st.times()
    | st.datetimes()
    | st.decimals().filter(lambda number: not number.is_snan())
    | st.uuids()
    | st.complex_numbers()
    | st.sampled_from([Color.RED, Level.LOW, pathlib.PurePosixPath("/a"), object(), np.int64(1), Node])
    | st.floats().map(np.float64)
)
keys = (
    st.text(max_size=3)
    | st.text(surrogates, max_size=2)
    | st.integers()
    | st.none()
    | st.tuples(st.integers())
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
        | st.tuples(inner, inner)
        | st.sets(scalars, max_size=3)
        | st.builds(Node, inner, inner)
        | st.lists(inner, max_size=3).map(pd.Series)
        | st.lists(st.integers() | st.floats(), max_size=3).map(np.array)
        | st.text(max_size=9).map(lambda text: text * 6_000)
    ),
    max_leaves=15,
)


@given(values, st.sampled_from(["json", "plain"]))
@settings(max_examples=300)
def test_any_value_becomes_a_message_that_can_be_sent(value, envelope):
    result = make_result(Outcome(value), "c", envelope)
    assert is_utf8(result.content)
    if envelope == "json":
        body = parse_json(result.content)
        assert body["success"] is (result.error_code is None)
    else:
        assert len(result.content.encode()) < RESULT_BYTES + 500
    if isinstance(value, str) and envelope == "json" and value.isprintable():
        assert len(result.content.encode()) < 2 * RESULT_BYTES + 500
