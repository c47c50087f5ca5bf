"""Replies as responses and as streams of three APIs: what is put together again is the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from provider_bodies import PROVIDERS
from pydantic import TypeAdapter

from zoolab.apis import APIS
from zoolab.apis.events import DONE
from zoolab.models.assembly import assemble
from zoolab.records import Message, Reply
from zoolab.tokens import Tokens
from zoolab_connect.apis.streams import events_in

Body = dict[str, Any]
NAMES = ["openai", "responses", "anthropic"]
OTHERS = ["responses", "anthropic"]

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
#: What models write for arguments: an object, something broken, nothing.
ARGUMENTS = st.one_of(
    st.dictionaries(TEXTS, st.integers() | TEXTS | st.none(), max_size=3).map(json.dumps),
    st.sampled_from(["", "{}", " ", "{'a': 1}", '{"a": 1,}', "[1]", '{"_raw": "x"}', '{"a": 1, "a": 2}']),
)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """An assistant message with a text, or calls, or both."""
    written = draw(st.lists(st.tuples(st.sampled_from(["add", "now"]), ARGUMENTS), max_size=3))
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(written)
    ]
    content = draw(TEXTS.filter(bool) | st.none())
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


REPLIES = st.builds(
    Reply,
    messages(),
    st.sampled_from([None, "length", "content_filter"]),
    st.sampled_from([None, {"prompt_tokens": 9, "completion_tokens": 3}]),
)
REPLY = Reply(
    {
        "role": "assistant",
        "content": "Let me see: é 東京.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
        ],
    },
    "tool_calls",
    {"prompt_tokens": 90, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": 30}},
)


def response(api: str, reply: Reply = REPLY) -> Body:
    return APIS[api].response(reply, "some-model", "7", 1_790_000_000)


def received(api: str, body: Body, size: int = 7) -> list[Body]:
    """The events of a response after a way through a wire that cuts their bytes anywhere."""
    content = b"".join(APIS[api].stream_bytes(APIS[api].events(body)))
    return list(events_in(content[start : start + size] for start in range(0, len(content), size)))


@pytest.mark.parametrize("api", OTHERS)
@given(reply=REPLIES, size=st.integers(1, 99))
@settings(max_examples=60)
def test_a_stream_makes_the_whole_response_again(api: str, reply: Reply, size: int) -> None:
    whole = response(api, reply)
    told: list[Message] = []
    assert APIS[api].assemble(received(api, whole, size), told.append) == whole
    said = "".join(delta.get("content") or "" for delta in told)
    assert said == (reply.message["content"] or "")


@given(reply=REPLIES)
@settings(max_examples=60)
def test_a_stream_of_chat_makes_the_message_again(reply: Reply) -> None:
    made = assemble(received("openai", response("openai", reply)))
    assert made.message == reply.message
    assert made.finish_reason == (
        reply.finish_reason or ("tool_calls" if "tool_calls" in reply.message else "stop")
    )
    counted = Tokens.of(made.usage)
    assert counted == Tokens.of(reply.usage) if reply.usage else counted.known == 0


@pytest.mark.parametrize("api", NAMES)
@given(reply=REPLIES)
@settings(max_examples=40)
def test_a_response_says_the_message_and_the_tokens(api: str, reply: Reply) -> None:
    body = response(api, reply)
    assert APIS[api].from_response(body) == APIS[api].normalise_reply(reply.message)[0]
    assert Tokens.of(body.get("usage")).known == (12 if reply.usage else None if api == "responses" else 0)


@pytest.mark.parametrize("api", OTHERS)
def test_answers_of_the_api_itself_are_streamed_whole(api: str) -> None:
    """With reasoning or thinking, which goes back to the API as it came."""
    for whole in PROVIDERS[api].whole:
        assert APIS[api].assemble(received(api, whole), lambda _: None) == whole


def test_a_response_that_an_endpoint_wrote_oddly_still_streams() -> None:
    odd = {
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}]},
            {"type": "message", "role": "assistant", "content": None},
            {"type": "function_call", "call_id": "c1", "name": "now", "arguments": None},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        ]
    }
    whole = APIS["responses"].assemble(received("responses", odd), lambda _: None)
    assert whole["output"] == odd["output"]
    blocks = [{"type": "text", "text": None}, {"type": "server_tool_use", "input": {"query": "x"}}]
    whole = APIS["anthropic"].assemble(received("anthropic", {"content": blocks}), lambda _: None)
    assert whole["content"] == blocks


ENDS = [
    ("openai", "length", ("length",)),
    ("responses", "length", ("incomplete", "max_output_tokens")),
    ("anthropic", "length", ("max_tokens",)),
    ("openai", None, ("tool_calls",)),
    ("responses", "tool_calls", ("completed",)),
    ("anthropic", "tool_calls", ("tool_use",)),
    ("anthropic", "content_filter", ("refusal",)),
]


@pytest.mark.parametrize(("api", "finish", "said"), ENDS)
def test_why_a_reply_ended_is_said_in_the_words_of_the_api(api: str, finish: str, said: tuple[str]) -> None:
    body = response(api, Reply(REPLY.message, finish))
    if api == "openai":
        assert (body["choices"][0]["finish_reason"],) == said
    elif api == "anthropic":
        assert (body["stop_reason"],) == said
    else:
        details = body["incomplete_details"]
        assert (body["status"], *([details["reason"]] if details else [])) == said
        assert received(api, body)[-1]["type"] == f"response.{said[0]}"


def test_tokens_are_counted_in_the_words_of_the_api() -> None:
    assert response("openai")["usage"]["prompt_tokens_details"] == {"cached_tokens": 30}
    assert response("openai")["usage"]["total_tokens"] == 98
    assert response("responses")["usage"]["input_tokens_details"]["cached_tokens"] == 30
    usage = response("anthropic")["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"]) == (60, 30, 8)


@given(st.integers(0, 99), st.integers(0, 99) | st.none())
def test_no_number_of_tokens_is_below_zero(asked: int, cached: int | None) -> None:
    usage = {"prompt_tokens": asked, "prompt_tokens_details": {"cached_tokens": cached}}
    sent = response("anthropic", Reply(REPLY.message, "tool_calls", usage))["usage"]
    assert sent["input_tokens"] + sent["cache_read_input_tokens"] == asked
    assert min(sent.values()) >= 0
    assert sent["cache_read_input_tokens"] == min(cached or 0, asked)


def test_ids_are_those_of_the_response() -> None:
    assert [response(api)["id"] for api in NAMES] == ["chatcmpl-7", "resp_7", "msg_7"]
    assert [item["id"] for item in response("responses")["output"]] == ["msg_7_1", "fc_7_2"]
    added = [event for event in received("responses", response("responses")) if "item_id" in event]
    assert {event["item_id"] for event in added} == {"msg_7_1", "fc_7_2"}


def test_broken_arguments_stream_as_the_model_wrote_them() -> None:
    broken = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1,}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [broken]}
    deltas = [
        event.get("delta", {}) for event in received("anthropic", response("anthropic", Reply(message)))
    ]
    assert "".join(delta.get("partial_json", "") for delta in deltas) == '{"a": 1,}'


# As the official clients know them


@given(reply=REPLIES)
@settings(max_examples=20)
def test_openai_knows_each_chunk(reply: Reply) -> None:
    ChatCompletion.model_validate(response("openai", Reply(reply.message)), strict=True)
    *chunks, end = received("openai", response("openai", reply))
    assert end is DONE
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk, strict=True)


@given(reply=REPLIES)
@settings(max_examples=20)
def test_openai_knows_each_event_of_responses(reply: Reply) -> None:
    Response.model_validate(response("responses", reply), strict=True)
    known: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    for event in received("responses", response("responses", reply)):
        assert known.validate_python(event, strict=True).type == event["type"]


@given(reply=REPLIES)
@settings(max_examples=20)
def test_anthropic_knows_each_event(reply: Reply) -> None:
    types = pytest.importorskip("anthropic").types
    types.Message.model_validate(response("anthropic", reply), strict=True)
    known: TypeAdapter[Any] = TypeAdapter(types.RawMessageStreamEvent)
    for event in received("anthropic", response("anthropic", reply)):
        assert known.validate_python(event, strict=True).type == event["type"]
