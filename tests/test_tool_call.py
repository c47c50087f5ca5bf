"""Step 3: calls are read as the model wrote them, whatever shape they came in."""

import json

import pytest
from counting import ends, lines_of
from hypothesis import given, settings
from hypothesis import strategies as st

from zoolab.errors import ModelError, ZoolabError
from zoolab.jsontext import MAX_CHARS
from zoolab.records import ToolCall
from zoolab.steps.tool_call import CallIds, message_with_calls, read_calls

MISSING = object()


def native(arguments="{}", *, name="add", id="call_1"):
    """One entry of `tool_calls`; whatever is MISSING is left out."""
    function = {"name": name, "arguments": arguments}
    call = {"id": id, "type": "function", "function": {k: v for k, v in function.items() if v is not MISSING}}
    return {k: v for k, v in call.items() if v is not MISSING}


def said(*calls, content=None):
    """An assistant message with these calls."""
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def one(text):
    """The call in a text, which must be one."""
    (call,) = read_calls(text)
    assert call.origin == "text"
    return call.name, call.arguments


@pytest.mark.parametrize(
    ("arguments", "raw"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('{ "a":1 ,}', '{ "a":1 ,}'),
        ({"a": 1}, '{"a":1}'),
        ({}, "{}"),
        (None, ""),
        (MISSING, ""),
        ("", ""),
        (" \n", " \n"),
        ('"{\\"a\\": 1}"', '"{\\"a\\": 1}"'),
        ([1, 2], "[1,2]"),
        (5, "5"),
        (True, "true"),
        ("\ud800", "\ud800"),
    ],
)
def test_arguments_of_any_shape_are_kept_as_raw_text(arguments, raw):
    (call,) = read_calls(said(native(arguments)))
    assert call.arguments == raw
    assert call.origin == "native"


def test_a_call_keeps_what_the_model_said():
    message = said(native('{"a":1}'), native("{}", name="sub", id="x"))
    assert read_calls(message, turn=3) == [
        ToolCall(3, 0, "call_1", "add", '{"a":1}'),
        ToolCall(3, 1, "x", "sub", "{}"),
    ]


@pytest.mark.parametrize("wanted", [MISSING, None, "", 7, ["x"]])
def test_a_missing_id_is_made_and_the_absence_is_kept(wanted):
    (call,) = read_calls(said(native(id=wanted)))
    assert (call.id, call.original_id) == ("call00001", "")


def test_one_id_for_all_calls_becomes_one_each():
    calls = read_calls(said(*[native(id="same")] * 4))
    assert [call.id for call in calls] == ["same", "call00001", "call00002", "call00003"]
    assert [call.original_id for call in calls] == [None, "same", "same", "same"]


def test_an_id_that_was_used_in_an_earlier_turn_is_taken():
    ids = CallIds([{"role": "user", "content": "Hi"}, said(native(id="a"), native(id="call00001"))])
    calls = read_calls(said(native(id="a"), native(id=MISSING)), ids=ids)
    assert [call.id for call in calls] == ["call00002", "call00003"]


def test_a_made_id_is_not_one_that_comes_later_in_the_conversation():
    ids = CallIds([])
    first = read_calls(said(native(id=MISSING), native(id="call00001")), ids=ids)
    assert [call.id for call in first] == ["call00001", "call00002"]


def test_slots_follow_the_reply_and_not_the_ids():
    calls = read_calls(said(*[native(id=f"call_{n}") for n in (10, 2, 1)]))
    assert [(call.slot, call.id) for call in calls] == [(0, "call_10"), (1, "call_2"), (2, "call_1")]


def test_type_and_index_may_be_missing_or_odd():
    call = {"function": {"name": "add", "arguments": "{}"}}
    assert len(read_calls(said(call, {**call, "type": None, "index": "x"}))) == 2


@pytest.mark.parametrize("name", [MISSING, None, 5, "", ["add"]])
def test_a_name_that_is_none_is_left_to_validation(name):
    assert read_calls(said(native(name=name)))[0].name == ""


@pytest.mark.parametrize("calls", ["add", {"a": 1}, 5, [None], ["add"], [{}], [{"function": None}], [[]]])
def test_calls_that_are_no_calls_are_a_model_error(calls):
    with pytest.raises(ModelError):
        read_calls({"role": "assistant", "content": None, "tool_calls": calls})


@pytest.mark.parametrize("calls", [None, []])
def test_no_calls_are_no_calls(calls):
    assert read_calls({"role": "assistant", "content": "Hi", "tool_calls": calls}) == []
    assert read_calls({"role": "assistant", "content": '{"name": "add", "arguments": {}}'}) == []


def test_text_is_read_only_where_it_is_asked_for_and_calls_are_missing():
    text = '{"name": "add", "arguments": {}}'
    message = {"role": "assistant", "content": text}
    assert [call.origin for call in read_calls(message, text=True)] == ["text"]
    assert [call.origin for call in read_calls(said(native(), content=text), text=True)] == ["native"]
    parts = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    assert [call.name for call in read_calls(parts, text=True)] == ["add"]
    assert read_calls(parts) == []


CALL = '{"name": "add", "arguments": {"a": 1, "b": "}{"}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"Sure! I'll call {CALL} now.",
        f"```json\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"[{CALL}]",
        f'{{"tool_calls": [{CALL}]}}',
        f'{{"thought": "{{", "call": {CALL}}}',
        f"set {{x}} and {{ then {CALL}",
        f'{CALL} and {{"name": "sub", "arguments": {{}}}}',
        f'{{"name": "nobody"}} {CALL}',
        f'{{"name": 5, "arguments": {{}}}} {CALL}',
        f'{{"name": "x", "arguments": }} {CALL}',
        '{"id": "x", "arguments": {"a": 1, "b": "}{"}, "name": "add"}',
    ],
)
def test_the_first_call_in_a_text_is_found_with_its_arguments_as_written(text):
    assert one(text) == ("add", '{"a": 1, "b": "}{"}')


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"name": "add", "arguments": "{\\"a\\": 1}"}', '{"a": 1}'),
        ('{"name": "add", "arguments": {"a": 1, "a": 2}}', '{"a": 1, "a": 2}'),
        ('{"name": "add", "arguments": {"a": 1.50}}', '{"a": 1.50}'),
        ('{"name": "add", "arguments": {"a": NaN}}', '{"a": NaN}'),
        ('{"name": "add", "arguments": [1,  2]}', "[1,  2]"),
        ('{"name": "add", "arguments": null}', "null"),
        ('{"name": "add", "arguments": {"a": 1,}}', '{"a": 1,}'),
        ('{"name": "add", "arguments": {"a": \'x\'}}', "{\"a\": 'x'}"),
        ('```{"name": "add", "arguments": {a: 1}}```', "{a: 1}"),
        ('<tool_call>{"name": "add", "arguments": {"a": </tool_call>', '{"a":'),
        ('{"name": "add", "arguments": {"cmd": "rm -rf /tmp/x', '{"cmd": "rm -rf /tmp/x'),
    ],
)
def test_arguments_in_text_stay_raw_even_when_broken(text, arguments):
    assert one(text) == ("add", arguments)


@pytest.mark.parametrize(
    "text",
    ["", "Hello", "{}", '{"name": "add"}', '{"arguments": {}}', '"name": "add", "arguments": {}', "{" * 50],
)
def test_a_text_without_a_call_has_none(text):
    assert read_calls(text) == []


@pytest.mark.parametrize("length", [4_000, 4_090, 4_096, 70_000, 200_000])
@pytest.mark.parametrize("piece", ['"%s"', '[["%s"]]', '"%s\\n"'])
def test_a_long_call_in_a_text_is_found_whole(length, piece):
    arguments = '{"text": ' + piece % ("x" * length) + ', "n": [1, 2]}'
    call = f'{{"thought": "{{", "name": "add", "arguments": {arguments}}}'
    assert one(f"Well. {call} So.") == ("add", arguments)


def test_the_id_in_a_text_is_kept():
    assert read_calls('{"id": "x", "name": "add", "arguments": {}}')[0].id == "x"


@pytest.mark.parametrize(
    "text",
    [
        "{" * MAX_CHARS,
        '{"a":' * (MAX_CHARS // 5),
        '{"name":' * (MAX_CHARS // 8),
        '{"name": "a", "arguments":' * (MAX_CHARS // 27),
        '{"name": "a", "arguments": {' * (MAX_CHARS // 29),
        '{"a":[' * (MAX_CHARS // 6),
        '{"' + "\\" * MAX_CHARS,
        '{"a": "' + "{" * MAX_CHARS,
        '{"x":1} ' * (MAX_CHARS // 8),
        "{ " + " " * MAX_CHARS,
        '{"' * (MAX_CHARS // 2),
        '{"a"' * (MAX_CHARS // 4),
        '{"":x' * (MAX_CHARS // 5),
        '{"a": ' + "1" * MAX_CHARS,
        "{" + '"a":1,' * (MAX_CHARS // 6),
        '{"name"' + " " * MAX_CHARS,
    ],
    ids=lambda text: text[:30],
)
def test_hostile_text_takes_work_that_grows_with_its_length_alone(text):
    with ends():
        assert lines_of(lambda: read_calls(text)) < 1_000 + 10 * len(text)


def test_a_message_that_can_be_sent_goes_on_untouched():
    message = said(native())
    assert message_with_calls(message, read_calls(message)) is message


def test_a_mended_message_pairs_with_its_calls_and_keeps_its_other_fields():
    message = {"reasoning": "hm", **said(native(id="a"), native({"x": 1}, id="a")), "content": "Let me see."}
    calls = read_calls(message)
    mended = message_with_calls(message, calls)
    assert [call["id"] for call in mended["tool_calls"]] == [call.id for call in calls] == ["a", "call00001"]
    assert mended["tool_calls"][1]["function"]["arguments"] == '{"x":1}'
    assert (mended["reasoning"], mended["content"]) == ("hm", "Let me see.")
    assert message["tool_calls"][1]["id"] == "a"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "function", "name", "arguments", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
pieces = st.sampled_from(
    [
        '{"name": "f"',
        ', "arguments": ',
        "{",
        "}",
        '"',
        ":",
        ",",
        "\\",
        "[",
        "]",
        "```",
        "</",
        "1",
        " ",
        "\ud800",
    ]
)


@given(st.lists(pieces, max_size=20).map("".join) | st.text())
@settings(max_examples=300)
def test_any_text_is_read(text):
    for call in read_calls(text):
        assert call.arguments in text or json.dumps(call.arguments)


@given(
    st.dictionaries(st.sampled_from(["role", "content"]), json_values)
    | st.fixed_dictionaries({"role": st.just("assistant"), "tool_calls": json_values, "content": json_values})
    | st.fixed_dictionaries(
        {
            "tool_calls": st.lists(
                st.fixed_dictionaries({"id": json_values, "function": json_values}), max_size=4
            )
        }
    ),
    st.booleans(),
)
@settings(max_examples=300)
def test_any_message_is_read_or_refused_as_a_model_error(message, text):
    try:
        calls = read_calls(message, text=text)
    except ZoolabError:
        return
    assert len({call.id for call in calls}) == len(calls)
    assert [call.slot for call in calls] == list(range(len(calls)))
    wire = message_with_calls(message, calls)
    assert read_calls(wire) == [ToolCall(c.turn, c.slot, c.id, c.name, c.arguments) for c in calls]


def test_what_else_came_with_a_call_goes_back_with_it():
    extra = {"google": {"thought_signature": "c2ln"}}
    function = {"name": "add", "arguments": "{}"}
    came = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"function": function, "extra_content": extra}],
    }
    sent = message_with_calls(came, read_calls(came))["tool_calls"][0]
    assert sent == {"id": "call00001", "type": "function", "function": function, "extra_content": extra}
