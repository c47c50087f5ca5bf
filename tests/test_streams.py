"""A stream is the whole reply, cut into pieces: whatever its fields, put together it is equal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server import chunk

from zoolab.apis import APIS
from zoolab.apis.chat import chunks_of
from zoolab.apis.events import DONE
from zoolab.apis.merging import comes_whole, merge
from zoolab.messages import calls_of, text_of
from zoolab.records import Message, Reply
from zoolab_connect.apis.streams import events_in

Body = dict[str, Any]
CHAT = APIS["openai"]

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
OBJECTS = st.dictionaries(TEXTS, st.integers() | TEXTS | st.none() | st.booleans(), max_size=3)
#: Fields whose text grows, and those whose text comes whole.
GROWING = st.sampled_from(["reasoning_content", "reasoning", "refusal", "thinking", "anything"])
WHOLE = st.sampled_from(["provider_id", "thought_signature", "media_type"])


def _values(draw: st.DrawFn) -> Any:
    """The value of a field that nobody knows: an object with texts and numbers, or a list with places."""
    if draw(st.booleans()):
        keys = st.dictionaries(GROWING | WHOLE, TEXTS, min_size=1, max_size=2)
        return {**draw(keys), "count": draw(st.integers(0, 9))}
    texts = draw(st.lists(TEXTS, min_size=1, max_size=2))
    return [{"index": n, "type": "reasoning.text", "text": text} for n, text in enumerate(texts)]


@st.composite
def whole_messages(draw: st.DrawFn) -> Message:
    """An assistant message with text or parts, further fields, and calls with further fields."""
    message: Message = {"role": "assistant", "content": draw(st.none() | TEXTS)}
    if draw(st.booleans()):
        said = [{"type": "text", "text": draw(TEXTS)}]
        thought = [{"type": "thinking", "thinking": [{"type": "text", "text": draw(TEXTS)}]}]
        image = [{"type": "image_url", "image_url": {"detail": draw(TEXTS)}}]
        message["content"] = [*thought, *said, *draw(st.sampled_from([[], image, [*image, *said]]))]
    message |= draw(st.dictionaries(GROWING | WHOLE, TEXTS, max_size=2))
    for name in draw(st.sets(st.sampled_from(["audio", "reasoning_details", "extra_content"]))):
        message[name] = _values(draw)
    written = draw(st.lists(st.tuples(st.sampled_from(["add", "add", "get_weather"]), OBJECTS), max_size=3))
    calls = []
    for number, (name, given_) in enumerate(written):
        function: Body = {"name": name, "arguments": json.dumps(given_)}
        call: Body = {"id": f"call_{number}", "type": "function", "function": function}
        for field in draw(st.sets(st.sampled_from(["provider_specific_fields", "extra_content", "thought"]))):
            call[field] = _values(draw)
        if draw(st.booleans()):
            function["thought_signature"] = draw(TEXTS)
        calls.append(call)
    return {**message, **({"tool_calls": calls} if calls else {})}


def cut_text(draw: st.DrawFn, text: str) -> list[str]:
    """A text in one to three pieces, none of them empty."""
    ends = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=2))})
    return [text[a:b] for a, b in pairwise(ends)]


def cut_value(draw: st.DrawFn, key: str, value: Any) -> list[Any]:
    """A value in pieces: text anywhere, objects field by field, lists part by part."""
    if isinstance(value, str):
        return [value] if comes_whole(key) else cut_text(draw, value)
    if isinstance(value, dict):
        inner = [{name: piece} for name, each in value.items() for piece in cut_value(draw, name, each)]
        return inner if draw(st.booleans()) else [value]
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        if not draw(st.booleans()):
            return [value]
        return [[piece] for item in value for piece in cut_part(draw, item)]
    return [value]


def cut_part(draw: st.DrawFn, part: Body) -> list[Body]:
    """A part of a list in pieces, each of which says which it is."""
    own = {key: part[key] for key in ("index", "type") if key in part}
    (field, value), *others = [(key, each) for key, each in part.items() if key not in own]
    pieces = cut_value(draw, field, value) if field in ("text", "thinking") else [value]
    made = [{**own, field: piece} for piece in pieces]
    return [*made[:-1], {**made[-1], **dict(others)}]


def cut_call(draw: st.DrawFn, place: int, call: Body, style: Body) -> Iterator[Body]:
    """The deltas of a call, in a style that was seen somewhere."""
    function = call["function"]
    arguments = cut_text(draw, function["arguments"])
    own = {"id": call["id"]} if style["id"] else {}
    where = {} if style["index"] is None else {"index": place if style["index"] == "own" else 0}
    further = {key: each for key, each in function.items() if key not in ("name", "arguments")}
    named = {"name": function["name"], **further}
    if style["name"] == "late":
        yield {**where, **own, "type": "function", "function": {"arguments": arguments[0]}}
        arguments[0] = ""
    yield {**where, **own, "type": "function", "function": {**named, "arguments": arguments[0]}}
    for piece in arguments[1:]:
        again = {"name": function["name"]} if style["name"] == "each" else {}
        repeated = own if style["id"] == "each" else {}
        yield {**where, **repeated, "function": {**again, "arguments": piece}}
    for key in call.keys() - {"id", "type", "function"}:
        yield from ({**where, **own, key: piece} for piece in cut_value(draw, key, call[key]))


#: Where the index, the id and the name of a call stand.
STYLES = [
    dict(zip(("index", "id", "name"), style, strict=True))
    for style in product(("own", "zero", None), ("first", "each"), ("first", "each", "late"))
]


def stream(draw: st.DrawFn, message: Message, style: Body) -> list[Body]:
    """The chunks of a message: its fields in order, then its calls."""
    deltas: list[Body] = [{"role": "assistant", "content": None, "refusal": None}]
    for key in message.keys() - {"role", "tool_calls"}:
        if message[key] is not None:
            deltas += ({key: piece} for piece in cut_value(draw, key, message[key]))
    for place, call in enumerate(message.get("tool_calls", ())):
        deltas += ({"tool_calls": [delta]} for delta in cut_call(draw, place, call, style))
    return [*map(chunk, deltas), chunk({}, "tool_calls" if "tool_calls" in message else "stop")]


@pytest.mark.parametrize("style", STYLES, ids=lambda style: "-".join(map(str, style.values())))
@given(data=st.data(), message=whole_messages())
@settings(max_examples=25)
def test_a_reply_of_chat_completions_comes_back_equal(
    style: Body, data: st.DataObject, message: Message
) -> None:
    reply = CHAT.streamed(stream(data.draw, message, style))
    assert reply.message == message
    assert reply.raw is not None
    assert reply.raw["choices"][0]["message"] == message


@given(whole_messages(), st.integers(1, 9))
def test_our_own_chunks_lose_nothing(message: Message, piece: int) -> None:
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    assert CHAT.streamed(chunks_of(whole, piece)).message == message


@st.composite
def plain_messages(draw: st.DrawFn) -> Message:
    """A message that every API can say."""
    written = draw(st.lists(st.tuples(st.sampled_from(["add", "get_weather"]), OBJECTS), max_size=3))
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given_)}}
        for n, (name, given_) in enumerate(written)
    ]
    return {"role": "assistant", "content": draw(TEXTS), **({"tool_calls": calls} if calls else {})}


def read(message: Message) -> Any:
    """What a message says, with its arguments as objects."""
    calls = [(call.name, call.id, json.loads(call.arguments)) for call in calls_of(message)]
    others = {key: each for key, each in message.items() if key not in ("content", "tool_calls")}
    return text_of(message), calls, others


@pytest.mark.parametrize("name", APIS)
@given(
    message=plain_messages(),
    end=st.sampled_from([None, "length", "content_filter"]),
    size=st.integers(1, 99),
)
@settings(max_examples=60)
def test_a_reply_of_each_api_comes_back_equal(
    name: str, message: Message, end: str | None, size: int
) -> None:
    api = APIS[name]
    whole = api.response(Reply(message, end, {"prompt_tokens": 9, "completion_tokens": 3}), "m", "7")
    content = b"".join(api.stream_bytes(api.events(whole)))
    pieces = (content[start : start + size] for start in range(0, len(content), size))
    streamed, plain = api.streamed(events_in(pieces)), api.reply(whole)
    assert read(streamed.message) == read(plain.message)
    assert (streamed.finish_reason, streamed.usage, streamed.model) == (
        plain.finish_reason,
        plain.usage,
        plain.model,
    )


# What the reports show


def put_together(*deltas: Body) -> Message:
    return CHAT.streamed([*map(chunk, deltas), DONE]).message


def calls(*parts: Body) -> list[tuple[str, str]]:
    found = calls_of(put_together(*({"tool_calls": [part]} for part in parts)))
    return [(call.name, call.arguments) for call in found]


def part(name: str | None = None, arguments: str | None = None, **more: Any) -> Body:
    said = {"name": name, "arguments": arguments}
    return {**more, "function": {key: value for key, value in said.items() if value is not None}}


CALL = {"id": "a", "type": "function", "function": {"name": "now", "arguments": '{"city":"Oslo"}'}}
OSLO, ROME = '{"city":"Oslo"}', '{"city":"Rome"}'


def test_a_name_may_come_after_the_first_arguments() -> None:
    assert calls(part(None, '{"city":', index=0, id="a"), part("now", '"Oslo"}', index=0)) == [("now", OSLO)]
    assert calls(part(None, '{"city":'), part("now", '"Oslo"}')) == [("now", OSLO)]


@pytest.mark.parametrize("where", [{}, {"index": 0}, {"index": None}])
def test_two_whole_calls_of_one_tool_are_two(where: Body) -> None:
    assert calls(part("now", OSLO, **where), part("now", ROME, **where)) == [("now", OSLO), ("now", ROME)]


def test_two_calls_of_one_tool_are_two_if_their_arguments_come_later() -> None:
    parts = [part("now", "", index=0), part(None, OSLO, index=0)]
    assert calls(*parts, *parts) == [("now", OSLO), ("now", OSLO)]


def test_a_name_after_one_that_came_again_is_its_own() -> None:
    parts = part("now", "{}", index=0), part("now", "", index=0), part("ping", "{}", index=0)
    assert calls(*parts) == [("now", "{}"), ("ping", "{}")]


def test_a_name_that_comes_again_is_the_same() -> None:
    parts = part("now", '{"a"', index=0), part("now", ": {}", index=0), part("now", "}", index=0)
    assert calls(*parts, part("now", "", index=0)) == [("now", '{"a": {}}')]


def test_a_call_that_comes_once_more_at_the_end_is_one() -> None:
    parts = part("now", '{"city":', index=0, id="a"), part(None, '"Oslo"}', index=0)
    assert calls(*parts, part("now", OSLO, index=0, id="a")) == [("now", OSLO)]


def test_an_index_may_be_text() -> None:
    heads = [part("now", "", index=str(n), id=f"c{n}") for n in range(2)]
    tails = [part(None, text, index=str(n)) for n, text in enumerate((OSLO, ROME))]
    assert calls(*heads, *tails) == [("now", OSLO), ("now", ROME)]


def test_arguments_at_an_index_of_their_own_belong_to_the_call_before() -> None:
    begun = part("now", "", index=0, id="a")
    assert calls(begun, part(None, '{"city":', index=1, id=None), part(None, '"Oslo"}', index=1)) == [
        ("now", OSLO)
    ]
    other = part("now", ROME, index=1, id="b")
    assert calls(begun, part(None, OSLO, index=0), other) == [("now", OSLO), ("now", ROME)]


def test_arguments_in_one_event_are_in_the_order_of_their_calls() -> None:
    named: list[Body] = [part("now", "", id=id) for id in "ab"]
    more: list[Body] = [part(None, text[:5]) for text in (OSLO, ROME)]
    rest: list[Body] = [part(None, text[5:]) for text in (OSLO, ROME)]
    message = put_together({"tool_calls": named}, {"tool_calls": more}, {"tool_calls": rest})
    assert [call.arguments for call in calls_of(message)] == [OSLO, ROME]


def test_one_call_may_come_without_a_list() -> None:
    message = put_together({"tool_calls": {"index": 0, **CALL}})
    assert [call.arguments for call in calls_of(message)] == [OSLO]


def test_what_an_endpoint_says_of_a_choice_that_failed_is_a_note() -> None:
    failure = {"code": 502, "message": "Provider disconnected"}
    for error, shown in ((failure, '"Provider disconnected"'), ("gone", '"gone"'), ({"code": 5}, "5")):
        choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error", "error": error}
        told = CHAT.streamed([chunk({"content": "It"}), {"choices": [choice]}, DONE]).notes
        assert shown in told[1]


def test_a_whole_message_may_answer_a_request_for_a_stream() -> None:
    message = {"role": "assistant", "content": "Hi", "tool_calls": [CALL]}
    chunks = [{"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}]
    assert CHAT.streamed(chunks).message == message
    repeated = [chunk({"content": "Hi"}), {"choices": [{"index": 0, "message": message}]}, DONE]
    assert CHAT.streamed(repeated).message == {"role": "assistant", "content": "Hi"}


def test_blocks_and_items_without_a_place_are_not_lost() -> None:
    begun = [{"type": "text", "text": ""}, {"type": "tool_use", "id": "a", "name": "now", "input": {}}]
    deltas = [{"type": "text_delta", "text": "Hi"}, {"type": "input_json_delta", "partial_json": OSLO}]
    events: list[Body] = []
    for block, delta in zip(begun, deltas, strict=True):
        events.append({"type": "content_block_start", "content_block": block})
        events.append({"type": "content_block_delta", "delta": delta})
    events.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})
    message = APIS["anthropic"].streamed(events).message
    assert (message["content"], calls_of(message)) == ("Hi", [("now", "a", OSLO)])
    items = [{"type": "function_call", "id": f"fc_{n}", "call_id": f"c{n}", "name": "now"} for n in range(2)]
    done = [
        {"type": "response.output_item.done", "item": {**item, "arguments": text}}
        for item, text in zip(items, (OSLO, ROME), strict=True)
    ]
    message = APIS["responses"].streamed([*done, {"type": "response.completed", "response": {}}]).message
    assert [call.arguments for call in calls_of(message)] == [OSLO, ROME]


def test_parts_and_text_are_one_content() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    message = put_together(
        {"content": [thought]}, {"content": [{"type": "text", "text": "It is "}]}, {"content": "sunny."}
    )
    assert message["content"] == [thought, {"type": "text", "text": "It is sunny."}]
    assert text_of(message) == "It is sunny."
    message = put_together({"content": "It is "}, {"content": [{"type": "text", "text": "sunny."}]})
    assert message["content"] == [{"type": "text", "text": "It is sunny."}]


def test_items_with_one_index_and_another_type_are_two() -> None:
    text = {"type": "reasoning.text", "text": "Hm", "index": 0}
    sealed = {"type": "reasoning.encrypted", "data": "AAA", "index": 0}
    message = put_together({"reasoning_details": [text]}, {"reasoning_details": [sealed]})
    assert message["reasoning_details"] == [text, sealed]


def test_sound_is_put_together() -> None:
    message = put_together(
        {"audio": {"id": "a1", "transcript": "Hel", "data": "QQ"}},
        {"audio": {"transcript": "lo", "data": "=="}},
    )
    assert message["audio"] == {"id": "a1", "transcript": "Hello", "data": "QQ=="}


def test_two_pictures_are_two() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    assert put_together({"content": [picture]}, {"content": [picture]})["content"] == [picture, picture]


def test_a_call_in_a_further_choice_leaves_a_note() -> None:
    asks = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    says = {"role": "assistant", "content": "Let me look."}
    choices = [{"index": n, "message": message} for n, message in enumerate([says, asks])]
    (note,) = CHAT.reply({"choices": choices}).notes
    assert note == "choice 2 of the response holds a call too; only the first choice is read"
    streamed = [
        {"choices": [{"index": n, "delta": each}]} for n, each in enumerate([says, {"tool_calls": [CALL]}])
    ]
    assert CHAT.streamed([*streamed, DONE]).notes == (note,)
    assert CHAT.streamed([*streamed, DONE]).text == "Let me look."
    contents = [{"parts": [{"text": "Hm"}]}, {"parts": [{"functionCall": {"name": "now"}}]}]
    answer = {"candidates": [{"content": content, "finishReason": "STOP"} for content in contents]}
    assert APIS["gemini"].reply(answer).notes == (note,)
    assert APIS["gemini"].streamed([answer]).notes == (note,)


def test_a_further_choice_without_a_call_leaves_no_note() -> None:
    says = {"role": "assistant", "content": "Hi"}
    assert CHAT.reply({"choices": [{"message": says}, {"message": says}, None]}).notes == ()


@pytest.mark.parametrize("written", ['{"a": 1.0, "b": 1e2}', '{"a": 1,', "{'a': 1}", '{"_raw": "x"}'])
def test_streamed_messages_of_anthropic_keep_the_arguments_as_the_model_wrote_them(written: str) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "add", "input": {}}
    events: list[Body] = [
        {"type": "message_start", "message": {"role": "assistant", "content": [], "model": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": each},
            }
            for each in ("", written[:5], written[5:])
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    reply = APIS["anthropic"].streamed(events)
    assert [call.arguments for call in calls_of(reply.message)] == [written]
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize("given", [{"city": "Oslo"}, OSLO])
@pytest.mark.parametrize("deltas", [[], [OSLO], ["", OSLO]])
def test_a_call_of_anthropic_may_come_at_once_or_twice(given: Any, deltas: list[str]) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "now", "input": given}
    events: list[Body] = [{"type": "content_block_start", "index": 0, "content_block": block}]
    for each in deltas:
        delta = {"type": "input_json_delta", "partial_json": each}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    events += [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    reply = APIS["anthropic"].streamed(events)
    assert [json.loads(call.arguments) for call in calls_of(reply.message)] == [{"city": "Oslo"}]
    told = [part["function"]["arguments"] for piece in reply.pieces for part in piece["tool_calls"]]
    assert json.loads("".join(told)) == {"city": "Oslo"}


def of_response(*events: Body, output: Any = ()) -> Reply:
    last = {"type": "response.completed", "response": {"status": "completed", "output": list(output)}}
    return APIS["responses"].streamed([*events, last])


@pytest.mark.parametrize("came", ["", '{"city":', OSLO])
@pytest.mark.parametrize("kind", ["response.function_call_arguments.done", "response.output_item.done"])
def test_arguments_of_responses_may_come_at_their_end(came: str, kind: str) -> None:
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "now", "arguments": ""}
    place = {"output_index": 0, "item_id": "i"}
    reply = of_response(
        {"type": "response.output_item.added", **place, "item": item},
        {"type": "response.function_call_arguments.delta", **place, "delta": came},
        {"type": kind, **place, "arguments": OSLO, "item": {**item, "arguments": OSLO}}
        if kind.endswith("item.done")
        else {"type": kind, **place, "arguments": OSLO},
    )
    assert [call.arguments for call in calls_of(reply.message)] == [OSLO]
    told = [part["function"]["arguments"] for piece in reply.pieces for part in piece["tool_calls"]]
    assert "".join(told) == OSLO


def test_texts_of_responses_need_no_part_and_no_item_that_begins() -> None:
    words = [
        {"type": "response.output_text.delta", "output_index": 0, "content_index": n + 5, "delta": delta}
        for n, delta in enumerate(["It is ", "sunny."])
    ]
    item = {"type": "message", "role": "assistant", "content": []}
    begun = {"type": "response.output_item.added", "output_index": 0, "item": item}
    done = {
        "type": "response.output_text.done",
        "output_index": 0,
        "content_index": 5,
        "text": "It is sunny.",
    }
    for events in ([begun, *words], words, [*words, done], [done]):
        assert of_response(*events).text == "It is sunny."


def test_a_call_of_responses_that_is_incomplete_makes_its_reply_so() -> None:
    item = {"type": "function_call", "call_id": "c", "name": "now", "arguments": "", "status": "incomplete"}
    assert of_response(output=[item]).end == "cut"
    assert of_response(output=[{**item, "status": "completed"}]).end == "calls"


def test_a_call_of_gemini_may_come_in_pieces() -> None:
    pieces: list[Body] = [
        {"name": "now", "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Os"}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.city", "stringValue": "lo"}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.days", "numberValue": 2}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.at[0]['hour']", "numberValue": 9}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.at[1]", "nullValue": None}], "willContinue": True},
        {
            "partialArgs": [
                {"jsonPath": "$.sure", "boolValue": True},
                {"jsonPath": "$.city.x", "numberValue": 1},
            ]
        },
    ]
    events = [
        {"candidates": [{"content": {"parts": [{"functionCall": each}]}}]} for each in [*pieces, *pieces]
    ]
    reply = APIS["gemini"].streamed([*events, {"candidates": [{"finishReason": "STOP"}]}])
    arguments = {"city": "Oslo", "days": 2, "at": [{"hour": 9}, None], "sure": True}
    assert [(call.name, json.loads(call.arguments)) for call in calls_of(reply.message)] == [
        ("now", arguments)
    ] * 2
    assert len(reply.pieces) == 2


def test_citations_of_anthropic_are_kept() -> None:
    cited = {"type": "char_location", "cited_text": "sunny", "document_index": 0}
    delta = {"type": "citations_delta", "citation": cited}
    events: list[Body] = [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": "It is sunny."},
        },
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ]
    raw = APIS["anthropic"].streamed(events).raw
    assert raw is not None
    assert raw["content"][0]["citations"] == [cited, cited]


def test_a_blocked_prompt_of_gemini_is_a_reply_without_content() -> None:
    for answer in (
        {"promptFeedback": {"blockReason": "OTHER"}},
        {"candidates": [{"finishReason": "SAFETY"}]},
    ):
        for reply in (APIS["gemini"].reply(answer), APIS["gemini"].streamed([answer])):
            assert reply.message == {"role": "assistant", "content": None}
            assert reply.finish_reason == "content_filter"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(GROWING | WHOLE | st.just("index"), inner),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(GROWING | WHOLE, JSON, max_size=3), max_size=4))
def test_whatever_comes_is_merged_and_never_changed(pieces: list[Body]) -> None:
    before, whole = json.dumps(pieces), dict[str, Any]()
    for piece in pieces:
        merge(whole, piece)
    json.dumps(whole)
    assert json.dumps(pieces) == before
    assert whole.keys() == {key for piece in pieces for key, value in piece.items() if value is not None}
