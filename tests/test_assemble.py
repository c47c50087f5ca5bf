"""A streamed reply is the plain one in pieces: put together, it must be the same message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server import call, calling, chunk, completion

from zoolab.apis import APIS
from zoolab.apis.chat import chunks_of
from zoolab.models.assembly import assemble

TEXTS = st.text(max_size=12)
NAMES = st.sampled_from(["add", "get_weather", "addadd", "ping"])
Delta = dict[str, Any]


@st.composite
def messages(draw: st.DrawFn, fewest_calls: int = 0) -> dict[str, Any]:
    """An assistant message with text, calls, or both; ids as an endpoint gives them."""
    pairs = draw(st.lists(st.tuples(NAMES, TEXTS), min_size=fewest_calls, max_size=4))
    content = draw(st.none() | TEXTS)
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if pairs:
        message["tool_calls"] = [call(name, text, f"call_{i}") for i, (name, text) in enumerate(pairs)]
    return message


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """The text in pieces; some are empty."""
    ends = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


def parts_of(draw: st.DrawFn, index: int, whole: Delta, ids: str, names: str) -> list[Delta]:
    """The deltas of one call. `ids` and `names`: in the `first` delta or in `each`; no id is `none`."""
    function = whole["function"]
    first: Delta = {"index": index, "type": "function", "id": whole["id"]}
    first["function"] = {"name": function["name"], "arguments": draw(st.sampled_from(["", None]))}
    pieces = draw(cut(function["arguments"]))
    if draw(st.booleans()):
        first["function"]["arguments"] = pieces.pop(0)
    rest: list[Delta] = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
    for part in rest:
        part |= {"id": whole["id"]} if ids == "each" else {}
        part["function"] |= {"name": function["name"]} if names == "each" else {}
    return [first, *rest]


def in_turn(draw: st.DrawFn, calls: list[list[Delta]], interleaved: bool) -> list[Delta]:
    """The deltas of all calls in one row; a call never overtakes one before it at its beginning."""
    row: list[Delta] = []
    open_calls = [list(parts) for parts in calls]
    started = 0
    while any(open_calls):
        choices = [i for i, parts in enumerate(open_calls) if parts and i <= started]
        chosen = draw(st.sampled_from(choices)) if interleaved else choices[0]
        row.append(open_calls[chosen].pop(0))
        started = max(started, chosen + 1)
    return row


def says_whose(part: Delta) -> bool:
    return "id" in part or "name" in part["function"] or part.get("index") is not None


def grouped(draw: st.DrawFn, row: list[Delta]) -> list[Delta]:
    """Several deltas of calls may come in one chunk; of those that do not say whose they are, only one."""
    chunks: list[list[Delta]] = []
    for part in row:
        if chunks and draw(st.booleans()) and (says_whose(part) or says_whose(chunks[-1][-1])):
            chunks[-1].append(part)
        else:
            chunks.append([part])
    return [{"tool_calls": parts} for parts in chunks]


def stream_of(draw: st.DrawFn, message: dict[str, Any], row: list[Delta]) -> list[Delta]:
    content = message["content"]
    deltas: list[Delta] = [{"role": "assistant", "content": None if content is None else ""}]
    deltas += [{"content": piece} for piece in draw(cut(content or ""))] if content is not None else []
    finish = "tool_calls" if row else "stop"
    empty = {**chunk({}), "choices": []}
    usage = {**empty, "usage": {"prompt_tokens": 12, "completion_tokens": 3}}
    chunks = [chunk(delta) for delta in [*deltas, *grouped(draw, row)]]
    return [empty, *chunks, chunk({}, finish), usage]


def check(message: dict[str, Any], stream: list[Delta]) -> None:
    assembled, plain = assemble(stream), APIS["openai"].reply(completion(message))
    assert assembled.message == plain.message
    assert (assembled.finish_reason, assembled.model) == (plain.finish_reason, plain.model)
    assert assembled.usage == {"prompt_tokens": 12, "completion_tokens": 3}


@given(
    st.data(),
    messages(),
    st.sampled_from(["first", "each"]),
    st.sampled_from(["first", "each"]),
    st.booleans(),
)
def test_with_an_index_calls_may_be_interleaved(
    data: st.DataObject, message: dict[str, Any], ids: str, names: str, interleaved: bool
) -> None:
    calls = message.get("tool_calls", [])
    row = in_turn(
        data.draw, [parts_of(data.draw, i, each, ids, names) for i, each in enumerate(calls)], interleaved
    )
    check(message, stream_of(data.draw, message, row))


@given(st.data(), messages(fewest_calls=1), st.sampled_from(["first", "each"]))
def test_without_an_index_ids_in_each_delta_say_whose_it_is(
    data: st.DataObject, message: dict[str, Any], names: str
) -> None:
    calls = enumerate(message["tool_calls"])
    row = in_turn(data.draw, [parts_of(data.draw, i, each, "each", names) for i, each in calls], True)
    for part in row:
        del part["index"]
    check(message, stream_of(data.draw, message, row))


@given(st.data(), messages(fewest_calls=1), st.sampled_from([{}, {"index": None}, {"index": 0}]))
def test_without_an_index_calls_that_follow_each_other_are_told_apart_by_their_first_delta(
    data: st.DataObject, message: dict[str, Any], index: Delta
) -> None:
    calls = enumerate(message["tool_calls"])
    row = in_turn(data.draw, [parts_of(data.draw, i, each, "first", "first") for i, each in calls], False)
    for part in row:
        del part["index"]
        part |= index
    check(message, stream_of(data.draw, message, row))


@given(st.data(), messages(fewest_calls=1))
def test_without_index_and_id_a_name_begins_a_call(data: st.DataObject, message: dict[str, Any]) -> None:
    calls = enumerate(message["tool_calls"])
    row = in_turn(data.draw, [parts_of(data.draw, i, each, "first", "first") for i, each in calls], False)
    for part in row:
        del part["index"]
        part.pop("id", None)
    for each in message["tool_calls"]:
        each["id"] = None
    check(message, stream_of(data.draw, message, row))


@given(messages(), st.integers(1, 9))
def test_our_own_chunks_of_a_recorded_reply(message: dict[str, Any], piece: int) -> None:
    body = completion({**message, "refusal": "no" if not message.get("tool_calls") else None})
    reply = assemble(json.loads(json.dumps(list(chunks_of(body, piece)))))
    kept = {
        key: value for key, value in APIS["openai"].reply(body).message.items() if key != "refusal" or value
    }
    assert reply.message == kept
    assert (reply.usage, reply.model) == (body["usage"], body["model"])


ONE = calling(call("add", '{"a": 1}', "x"), call("add", '{"a": 2}', "y"))


def head(name: str, arguments: Any = "", **more: Any) -> Delta:
    return {**more, "function": {"name": name, "arguments": arguments}}


def tail(arguments: Any, **more: Any) -> Delta:
    return {**more, "function": {"arguments": arguments}}


A, B = {"index": 0}, {"index": 1}
X, Y = {"id": "x"}, {"id": "y"}
SEEN: dict[str, list[list[Delta]]] = {
    "whole calls in one chunk": [[head("add", '{"a": 1}', **A, **X), head("add", '{"a": 2}', **B, **Y)]],
    "all calls have index 0": [[head("add", '{"a": 1}', **A, **X)], [head("add", '{"a": 2}', **A, **Y)]],
    "index 0 for all, interleaved by id": [
        [head("add", **A, **X), head("add", **A, **Y)],
        [tail('{"a": ', **A, **X), tail('{"a": ', **A, **Y)],
        [tail("1}", **A, **X), tail("2}", **A, **Y)],
    ],
    "a new id in each delta": [
        [head("add", **A, **X)],
        [tail('{"a": 1}', **A, id="other")],
        [head("add", **B, **Y)],
        [tail('{"a": 2}', **B, id="another")],
    ],
    "the id comes late": [
        [head("add", **A)],
        [tail('{"a": 1}', **A, **X)],
        [head("add", '{"a": 2}', **B), tail("", **B, **Y)],
    ],
    "an index far off": [[head("add", '{"a": 1}', index=3, **X)], [head("add", '{"a": 2}', index=9, **Y)]],
    "no function in a delta": [
        [head("add", '{"a": 1}', **A, **X), {**A, "function": None}, {**A}],
        [head("add", '{"a": 2}', **B, **Y)],
    ],
    "empty names and ids afterwards": [
        [head("add", **A, **X), head("", '{"a": 1}', **A, id="")],
        [head("add", **B, **Y), head("", '{"a": 2}', **B, id="")],
    ],
}


@pytest.mark.parametrize("parts", SEEN.values(), ids=SEEN)
def test_streams_that_were_seen_elsewhere(parts: list[list[Delta]]) -> None:
    reply = assemble(chunk({"tool_calls": each}) for each in parts)
    assert reply.message == ONE


def assembled(*parts: Delta) -> list[tuple[str, str]]:
    calls = assemble(chunk({"tool_calls": [part]}) for part in parts).message["tool_calls"]
    return [(each["function"]["name"], each["function"]["arguments"]) for each in calls]


@pytest.mark.parametrize("who", [A, X, {**A, **X}], ids=["index", "id", "both"])
def test_another_name_after_arguments_begins_another_call(who: Delta) -> None:
    parts = head("add", "{", **who), tail("}", **who), head("ping", "[", **who), tail("]", **who)
    assert assembled(*parts) == [("add", "{}"), ("ping", "[]")]


@pytest.mark.parametrize("who", [A, X, {**A, **X}], ids=["index", "id", "both"])
def test_a_name_in_pieces_is_one_name(who: Delta) -> None:
    assert assembled(head("get_", None, **who), head("weather", "{}", **who)) == [("get_weather", "{}")]


def test_a_new_id_begins_a_call_whose_name_comes_later() -> None:
    assert assembled(head("add", "{}", **X), tail("", **Y), head("ping", "[]", **Y)) == [
        ("add", "{}"),
        ("ping", "[]"),
    ]


def test_one_id_for_all_calls_does_not_join_them() -> None:
    parts = [head("add", '{"a": 1}', **A, **X), head("add", '{"a": 2}', **B, **X)]
    calls = assemble([chunk({"tool_calls": parts})]).message["tool_calls"]
    assert [each["function"]["arguments"] for each in calls] == ['{"a": 1}', '{"a": 2}']


def test_arguments_as_an_object_are_not_lost() -> None:
    calls = assemble([chunk({"tool_calls": [head("add", {"a": 1}, **A, **X)]})]).message["tool_calls"]
    assert calls[0]["function"]["arguments"] == '{"a":1}'


def test_only_the_first_of_several_choices_is_the_reply() -> None:
    other = {"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}
    first = chunk({"content": "4"}), chunk({"content": "2"}, "stop")
    reply = assemble([first[0], {**chunk({}), "choices": [other]}, first[1], {"choices": [other]}])
    assert (reply.text, reply.finish_reason) == ("42", "stop")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "refusal"])
def test_other_texts_are_kept(key: str) -> None:
    reply = assemble([chunk({key: "be"}), chunk({key: "cause", "content": "4"})])
    assert reply.message == {"role": "assistant", "content": "4", key: "because"}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "tool_calls", "function", "name", "arguments", "index", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JUNK, max_size=3), JUNK)
def test_junk_breaks_nothing(deltas: list[Any], usage: Any) -> None:
    stream = [chunk({"tool_calls": [delta, {"function": delta}]}, usage=usage) for delta in deltas]
    reply = assemble([*stream, *deltas, chunk({"content": "4"})])
    assert reply.message["role"] == "assistant"
    json.dumps(reply.message)
