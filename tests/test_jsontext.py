"""Strict JSON: what `json.loads` lets through is refused, within bounds of size, depth and time."""

import json
from contextlib import suppress

import pytest
from counting import ends, lines_of
from hypothesis import given, settings
from hypothesis import strategies as st

from zoolab.jsontext import (
    MAX_CHARS,
    MAX_DEPTH,
    MAX_DIGITS,
    NotStrictJSON,
    canonical,
    digest,
    encode,
    excerpt,
    nesting,
    parse_json,
    pointer_to,
)

SURROGATE = "\ud800"

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(10**390), 10**390)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5)
)
# Texts in which brackets, quotes and backslashes are letters.
odd_texts = st.text('"\\[]{}a', max_size=6)
odd_values = st.recursive(
    odd_texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=3)
)
# Texts that are nearly JSON find more than texts of any kind.
pieces = st.sampled_from(
    ["{", "}", "[", "]", '"', ":", ",", "\\", "\\u", "d800", "1e999", "NaN", "-", "0", "12", "true", " ", "a"]
)
almost_json = st.lists(pieces, max_size=30).map("".join)


@pytest.mark.parametrize(
    ("text", "received"),
    [
        ("NaN", "NaN"),
        ('{"a": NaN}', "NaN"),
        ("[Infinity]", "Infinity"),
        ("-Infinity", "-Infinity"),
        ("1e999", '"1e999"'),
        ('{"a": [-1e999]}', '"-1e999"'),
        ('{"a": 1, "a": 2}', 'the key "a" twice'),
        ('{"a": 1, "a": 1}', 'the key "a" twice'),
        ('{"o": [{"a": 1, "b": 0, "a": 2}]}', 'the key "a" twice'),
        ('{"a": 1, "\\u0061": 2}', 'the key "a" twice'),
        (f'"{SURROGATE}"', "a lone surrogate"),
        ('"\\ud800"', "a lone surrogate"),
        ('{"\\udc00": 1}', "a lone surrogate"),
        ('["\\udc00\\ud800"]', "a lone surrogate"),
        ("1" * (MAX_DIGITS + 1), "a longer one"),
        ("1" * 5000, "a longer one"),
        ("[0." + "3" * 5000 + "]", "a longer one"),
        ("1" * 5000 + "e-5000", "a longer one"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "more"),
        ("[" * 100_000 + "]" * 100_000, "more"),
        ("[" * 100_000, "more"),
        ('{"a":' * 100_000, "more"),
        ('"' + "x" * (MAX_CHARS - 1) + '"', f"{MAX_CHARS + 1:,}"),
        ("", "nothing"),
        (" \n\t ", "nothing"),
    ],
    ids=lambda text: text[:24].encode("unicode_escape").decode(),
)
def test_what_is_not_strict_is_refused_and_named(text, received):
    with pytest.raises(NotStrictJSON) as caught:
        parse_json(text)
    assert caught.value.received == received


@pytest.mark.parametrize(
    "text",
    [
        "{}{}",
        "{} x",
        "1 2",
        "[1,]",
        '{"a"}',
        "{a: 1}",
        "'a'",
        "01",
        "+1",
        "1.",
        ".5",
        '"\n"',
        "tru",
        "\ufeff{}",
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text):
    with pytest.raises(NotStrictJSON) as caught:
        parse_json(text)
    assert "line 1" in caught.value.received or "line 2" in caught.value.received


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '{"a": 1 ,\n }',
            'expecting property name enclosed in double quotes), received "}" at line 2 column 2',
        ),
        ('{"a": [1,], "b": 2}', r'expecting value), received "], \"b\": 2}" at line 1 column 10'),
    ],
)
def test_a_trailing_comma_reads_the_same_with_every_python(text, problem):
    with pytest.raises(NotStrictJSON) as caught:
        parse_json(text)
    assert str(caught.value) == f"expected valid JSON ({problem}"


def test_a_second_value_is_named_as_such():
    with pytest.raises(NotStrictJSON, match="one JSON value and nothing after it") as caught:
        parse_json('{"a": 1}{"a": 2}')
    assert "column 9" in caught.value.received


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\x0b", "\x0c", "\x1f"])
def test_only_the_four_blanks_of_json_are_blanks(space):
    with pytest.raises(NotStrictJSON):
        parse_json(space + "{}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" \r\n\t{} ", {}),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, None),
        ("1" * MAX_DIGITS, int("1" * MAX_DIGITS)),
        ('"' + "1" * 5000 + '"', "1" * 5000),
        ('"' + "[" * 5000 + '"', "[" * 5000),
        ('"' + '\\"[' * 100 + '"', '"[' * 100),
        ('"' + "x" * (MAX_CHARS - 2) + '"', "x" * (MAX_CHARS - 2)),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\u0000"', "\0"),
        ("-0.0", -0.0),
        ("1E-999", 0.0),
        ('{"": {"": null}}', {"": {"": None}}),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_what_is_strict_is_read(text, value):
    parsed = parse_json(text)
    assert value is None or parsed == value


@given(values)
@settings(max_examples=150)
def test_what_is_encoded_is_read_back(value):
    assert parse_json(encode(value)) == value
    assert parse_json(canonical(value)) == value


@given(st.text() | almost_json)
@settings(max_examples=400)
def test_any_text_is_read_as_json_reads_it_or_refused(text):
    try:
        value = parse_json(text)
    except NotStrictJSON:
        return
    assert value == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        '"\\' * (MAX_CHARS // 2),
        '"' + "\\" * (MAX_CHARS - 1),
        '"' * MAX_CHARS,
        '"a' * (MAX_CHARS // 2),
        "[" * MAX_CHARS,
        "{" * 70 + '"' + "x" * (MAX_CHARS - 100),
        "[" * 70 + '"\\' * (MAX_CHARS // 2 - 100),
        "[]" * (MAX_CHARS // 2),
        "[" + "1," * (MAX_CHARS // 2 - 1),
        "1" * MAX_CHARS,
        ("1" * 399 + " ") * (MAX_CHARS // 400),
        '{"a":1,' * (MAX_CHARS // 7),
        "[" + ",".join(['{"k":"v"}'] * 100_000) + "]",
        "{" + ",".join(f'"{n}":1' for n in range(90_000)) + ',"89999":2}',
        "\n" * (MAX_CHARS - 1) + "x",
        " " * MAX_CHARS,
    ],
    ids=lambda text: text[:12].encode("unicode_escape").decode(),
)
def test_hostile_text_takes_work_that_grows_with_its_length_alone(text):
    assert len(text) <= MAX_CHARS

    def parse():
        with suppress(NotStrictJSON):
            parse_json(text)

    with ends():
        assert lines_of(parse) < 1_000 + 10 * len(text)


@pytest.mark.parametrize("key", ["x" * 100_000, "\\u0061" * 10_000])
def test_a_problem_stays_short_however_long_its_key(key):
    with pytest.raises(NotStrictJSON) as caught:
        parse_json(f'{{"{key}": 1, "{key}": 2}}')
    assert len(str(caught.value)) < 300


def test_canonical_json_is_the_same_for_equal_values():
    assert canonical({"b": [1, {"d": 1, "c": 2}], "a": "é"}) == '{"a":"é","b":[1,{"c":2,"d":1}]}'
    assert digest(canonical({"a": 1, "b": 2})) == digest(canonical({"b": 2, "a": 1}))


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), SURROGATE, "x" * 500])
def test_an_excerpt_of_anything_is_short(value):
    assert 0 < len(excerpt(value)) <= 80


def test_an_excerpt_of_a_cycle_is_short():
    cycle: list = []
    cycle.append(cycle)
    assert excerpt(cycle) == "[[...]]"


def test_pointers_escape_what_rfc_6901_says():
    assert pointer_to(["a/b", "m~n", 0, ""]) == "/a~1b/m~0n/0/"


def depth_of(value: object) -> int:
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        return 1 + max(map(depth_of, inside), default=0)
    return 0


@given(odd_values)
def test_brackets_in_strings_are_not_nested(value):
    assert nesting(json.dumps(value)) == depth_of(value)
