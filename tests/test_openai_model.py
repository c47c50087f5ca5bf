"""An endpoint is asked through the real client, on loopback: what is sent, what is kept, what is told."""

from __future__ import annotations

import json
import traceback
from contextlib import suppress
from typing import Any

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from pydantic import TypeAdapter, ValidationError
from server import Answer, call, calling, chunk, completion, refused_url, serving, sse

from zoolab import Scripted, run, walk
from zoolab.errors import ModelError
from zoolab.models.openai import OpenAIModel, make_client
from zoolab.records import Limits, Reply, Request
from zoolab.runs import Trace
from zoolab.toolbox.starter import starter_tools

KEY = "sk-proj-Zq81TestTestTestTest9xW"
HELLO = Request([{"role": "user", "content": "Hello"}])
TOOLS = starter_tools("add", "get_weather")
PARAMS = {False: CompletionCreateParamsNonStreaming, True: CompletionCreateParamsStreaming}


def model_at(url: str, stream: bool = False, key: str = KEY, **settings: Any) -> OpenAIModel:
    client = openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=120)
    return OpenAIModel("test", client=client, stream=stream, **settings)


def in_pieces(message: dict[str, Any], finish: str) -> str:
    """A message as api.openai.com streams it: a head for each call, then its arguments."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
    deltas += [{"content": letter} for letter in message["content"] or ""]
    for index, each in enumerate(message.get("tool_calls") or ()):
        function = each["function"]
        deltas.append({"tool_calls": [{**each, "index": index, "function": {**function, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": c}}]} for c in function["arguments"]
        ]
    usage = {**chunk({}), "choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3}}
    return sse([*map(chunk, deltas), chunk({}, finish), usage])


def answers(stream: bool, *messages: dict[str, Any] | str) -> list[Any]:
    bodies = [completion(message) for message in messages]
    if not stream:
        return bodies
    choices = [body["choices"][0] for body in bodies]
    return [in_pieces(choice["message"], choice["finish_reason"]) for choice in choices]


def check_against_the_client(body: dict[str, Any], stream: bool) -> None:
    """The authority on what may be sent is openai's own package. Its iterables are validated lazily."""
    TypeAdapter(PARAMS[stream]).validate_python(body)
    assert body.keys() <= PARAMS[stream].__annotations__.keys() | _inherited_names(PARAMS[stream])
    for message in body["messages"]:
        TypeAdapter(ChatCompletionMessageParam).validate_python(message)
        for each in message.get("tool_calls", ()):
            assert set(each) == {"id", "type", "function"}
    for tool in body.get("tools", ()):
        TypeAdapter(ChatCompletionToolUnionParam).validate_python(tool)


def _inherited_names(kind: Any) -> set[str]:
    return set(kind.__required_keys__ | kind.__optional_keys__)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("tools", "choice"),
    [
        (TOOLS, "auto"),
        (TOOLS, "required"),
        (TOOLS, "none"),
        (TOOLS, "get_weather"),
        ([], "auto"),
        ([], "none"),
    ],
)
def test_every_request_of_a_walk_is_one_that_the_client_would_send(
    stream: bool, choice: str, tools: Any
) -> None:
    asks = calling(call("add", '{"a": 42, "b": 58}', "c1"), call("get_weather", "{broken", "c1"))
    again = {**calling(call("unknown", '{"x": 1}', "")), "content": "Let me see."}
    settings = {"seed": 7, "max_completion_tokens": 100, "parallel_tool_calls": True}
    with serving(*answers(stream, asks, again, "100")) as server:
        model = model_at(server.url, stream, **(settings if len(tools) else {}))
        options = {"system": "Be brief.", "tool_choice": choice, "limits": Limits(retries=9)}
        trace = Trace.record(walk("What is 42 + 58?", tools, model, **options))
    assert (trace.answer, len(server.asked)) == ("100", 3)
    for body in server.bodies:
        check_against_the_client(body, stream)
        assert body.get("stream", False) is stream
        assert ("tools" in body, "tool_choice" in body) == (len(tools) > 0,) * 2
    assert [body["temperature"] for body in server.bodies] == [0, 0, 0]
    if len(tools):
        named = {"type": "function", "function": {"name": choice}}
        assert server.bodies[0]["tool_choice"] == (named if choice == "get_weather" else choice)
        assert server.bodies[1]["tool_choice"] == ("none" if choice == "none" else "auto")
        assert server.bodies[2]["seed"] == 7


def test_the_check_against_the_client_can_fail() -> None:
    wrong = {"model": "m", "messages": [{"role": "tool", "content": "3"}]}
    with pytest.raises(ValidationError):
        check_against_the_client(wrong, stream=False)


@pytest.mark.parametrize("stream", [False, True])
def test_each_call_is_answered_under_its_own_id_in_the_next_request(stream: bool) -> None:
    asks = calling(call("add", '{"a":1,"b":2}', "same"), call("add", '{"a":3,"b":4}', "same"))
    with serving(*answers(stream, asks, "3 and 7")) as server:
        trace = Trace.record(walk("Add.", TOOLS, model_at(server.url, stream)))
    _user, assistant, *results = server.bodies[1]["messages"]
    asked = [each["id"] for each in assistant["tool_calls"]]
    assert asked == [each["tool_call_id"] for each in results]
    assert len(set(asked)) == 2
    assert [json.loads(each["content"])["data"] for each in results] == [3, 7]
    assert trace.answer == "3 and 7"


@pytest.mark.parametrize("stream", [False, True])
def test_what_the_endpoint_says_of_its_reply_is_kept(stream: bool) -> None:
    with serving(*answers(stream, "Hi")) as server:
        reply = model_at(server.url, stream)(HELLO)
    assert (reply.text, reply.finish_reason, reply.model) == ("Hi", "stop", "test-2026")
    assert reply.usage is not None
    assert (reply.usage["prompt_tokens"], reply.usage["completion_tokens"]) == (12, 3)
    assert [piece["content"] for piece in reply.pieces if piece.get("content")] == list(
        "Hi" if stream else ""
    )
    assert server.asked[0].path == "/v1/chat/completions"
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_plain_reply_is_kept_as_it_came() -> None:
    message = {**calling(call("add", "{}")), "refusal": None, "annotations": [], "reasoning_content": "Hm"}
    body = completion(message, system_fingerprint=None, x_own={"timing": [1, 2.5]})
    with serving(body) as server:
        reply = model_at(server.url)(HELLO)
    assert (reply.raw, reply.message) == (body, message)


@pytest.mark.parametrize("stream", [False, True])
def test_content_null_stays_null_and_goes_back_so(stream: bool) -> None:
    with serving(*answers(stream, calling(call("add", '{"a":1,"b":1}')), "2")) as server:
        Trace.record(walk("1 + 1?", TOOLS, model_at(server.url, stream)))
    assert server.bodies[1]["messages"][1]["content"] is None


def test_arguments_that_came_as_an_object_are_read(recwarn: pytest.WarningsRecorder) -> None:
    body = completion(calling({"function": {"name": "add", "arguments": {"a": 1, "b": 2}}}))
    with serving(body, completion("3")) as server:
        trace = Trace.record(walk("1 + 2?", TOOLS, model_at(server.url)))
    assert trace.tool_calls[0].arguments == '{"a":1,"b":2}'
    check_against_the_client(server.bodies[1], stream=False)
    assert not list(recwarn)


def test_the_model_is_a_model_like_any_other() -> None:
    with serving(completion("100")) as server:
        replies = [model_at(server.url)(HELLO), Scripted(["100"])(HELLO)]
    assert {type(reply) for reply in replies} == {Reply}
    assert {reply.text for reply in replies} == {"100"}


def test_an_endpoint_without_finish_reasons_is_understood() -> None:
    with serving(
        sse([chunk({"content": "100"}), chunk({"content": ""}, usage={"total_tokens": 3})])
    ) as server:
        reply = model_at(server.url, stream=True)(HELLO)
    assert (reply.text, reply.finish_reason) == ("100", None)


def test_what_came_of_a_stream_without_an_end_is_kept() -> None:
    deltas = [{"content": "4"}, {"tool_calls": [{"id": "a", "function": {"name": "add", "arguments": "{"}}]}]
    with serving(sse(map(chunk, deltas), done=False)) as server:
        reply = model_at(server.url, stream=True)(HELLO)
    assert (reply.text, reply.finish_reason) == ("4", "incomplete")
    assert reply.message["tool_calls"][0]["function"]["arguments"] == "{"


def test_a_stream_that_says_that_it_is_done_is_complete() -> None:
    with serving(sse([chunk({"content": "10"}), chunk({"content": "0"})])) as server:
        reply = model_at(server.url, stream=True)(HELLO)
    assert (reply.text, reply.finish_reason, reply.usage) == ("100", None, None)


EVENTS = st.sampled_from(
    [
        *(f"data: {json.dumps(chunk(delta))}" for delta in ({"content": "4"}, {"tool_calls": [{}]}, {})),
        "data: {not json", "data: [1]", "data: null", "data:", "data: {}", 'data: {"choices": 5}', ": hm",
        "event: ping", 'data: {"error": {"message": "no"}}', "data: [DONE]", "data: " + "[" * 5_000,
        "retry: x", "id: \0",
    ]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=6))
def test_whatever_a_stream_says_is_a_reply_or_one_line(events: list[str]) -> None:
    text = "".join(f"{event}\n\n" for event in events)
    with serving(Answer(text)) as server, suppress(ModelError):
        assert isinstance(model_at(server.url, stream=True)(HELLO), Reply)


def status(code: int, said: str = "no") -> Answer:
    return Answer({"error": {"message": said, "type": "x", "code": None}}, code)


HTML = "<html>\n<head><title>502</title></head>\n<body>Bad gateway</body></html>"
JSON = "application/json"
FAILURES: dict[str, tuple[Answer, str]] = {
    "wrong key": (
        status(401, f"Incorrect API key provided: {KEY}. Find yours."),
        "401: .*check the API",
    ),
    "key in detail": (Answer({"detail": f"bad {KEY}"}, 401), "answered 401"),
    "forbidden": (status(403), "answered 403: no; this key may not use that model"),
    "no model": (status(404, "The model `x`\ndoes not exist"), "answered 404: The model .*ends in /v1"),
    "bad request": (status(400, "tools[0].function is missing"), "answered 400: tools.0.*missing"),
    "too many": (status(429), "answered 429: no; too many requests"),
    "server error": (status(500, f"trace: {KEY}"), "answered 500: trace"),
    "html error": (Answer(HTML, 502, "text/html"), "answered 502: an HTML page"),
    "bare error": (Answer("oops", 500, "text/plain"), "answered 500: .*oops"),
    "endless error": (status(500, "é" * 50_000), "answered 500: é"),
    "hostile error": (status(500, "a\x1b[2J\u2028b\x9b"), "answered 500: a"),
    "html": (Answer(HTML, 200, "text/html"), "not JSON; .*/v1"),
    "garbage": (Answer("{not json", 200, JSON), "not JSON"),
    "deep garbage": (Answer("[" * 100_000, 200, JSON), "not JSON"),
    "nothing": (Answer("", 200, JSON), "not JSON"),
    "a list": (Answer([1], 200), r"answered \[1\]; expected a chat completion"),
    "null": (Answer("null", 200, JSON), "answered null; expected a chat completion"),
    "error in 200": (Answer({"error": f"no such model {KEY}"}), 'answered {"error":"no such model'),
    "no choices": (Answer(completion("x", choices=[])), "expected a chat completion with a message"),
    "choices null": (Answer(completion("x", choices=None)), "expected a chat completion"),
    "choice is text": (Answer(completion("x", choices=["a"])), "expected a chat completion"),
    "no message": (Answer(completion("x", choices=[{"index": 0}])), "expected a chat completion"),
    "message is text": (Answer(completion("x", choices=[{"message": "Hi"}])), "expected a chat completion"),
    "wrong role": (Answer(completion({"role": "user", "content": "Hi"})), "expected an assistant message"),
    "calls are text": (Answer(completion({"tool_calls": "add(1, 2)"})), "tool_calls is .*expected a list"),
    "call is text": (Answer(completion({"tool_calls": ["add"]})), "a tool call is .add.*expected an object"),
    "dropped": (Answer(completion("x"), drop=True), "cannot reach|broke off its answer"),
    "slow": (Answer(completion("x"), delay=30), "did not answer in time; try again"),
}
STREAM_FAILURES: dict[str, tuple[Answer, str]] = {
    **{name: FAILURES[name] for name in ("wrong key", "no model", "html error", "endless error", "slow")},
    "error event": (
        Answer(sse([chunk({"content": "Hi"}), {"error": {"message": f"over\nloaded {KEY}"}}])),
        "ended with an error: over loaded",
    ),
    "error as text": (Answer(sse([{"error": "overloaded"}])), "ended with an error"),
    "ends early": (
        Answer(sse([chunk({"role": "assistant", "content": ""})], done=False)),
        "ended before the reply was complete",
    ),
    "empty": (Answer(""), "ended before a reply began"),
    "only usage": (Answer(sse([{**chunk({}), "choices": []}])), "ended before a reply began"),
    "html": (Answer(HTML, 200, "text/html"), "ended before a reply began"),
    "plain error": (Answer({"error": {"message": "no\nmodel"}}), "ended with an error: no model"),
    "garbage": (Answer("data: {not json\n\n"), "event 1 of the stream is not a JSON object: .*not json"),
    "garbage in the middle": (
        Answer(sse([chunk({"content": "4"})], done=False) + "data: {not json\n\n" + sse([chunk({})])),
        "event 2 of the stream is not a JSON object: .*not json",
    ),
    "not objects": (Answer('data: [1]\n\ndata: "x"\n\n'), "event 1 of the stream is not a JSON object"),
    "dropped": (Answer(sse([chunk({"content": "4"})], done=False), drop=True), "cannot reach|broke off"),
    "stalls": (
        Answer(sse([chunk({"content": "4"})], done=False), drop=True, hang=30),
        "did not answer in time",
    ),
}


def test_an_endpoint_that_does_not_stream_answers_with_the_whole_reply() -> None:
    heard: list[Any] = []
    with serving(Answer(completion("Hello."))) as server:
        client = openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0)
        trace = run("Hi", [], OpenAIModel("m", client=client, stream=True), on_delta=heard.append)
    assert (trace.outcome, trace.answer) == ("answer", "Hello.")
    assert [each["content"] for each in heard] == ["Hello."]


@pytest.mark.parametrize(
    "sign", [": ping", "data:", "data: ", "data: : keepalive", "event: keepalive\ndata:"]
)
def test_signs_of_life_in_a_stream_are_passed_over(sign: str) -> None:
    first, *others = sse([chunk({"content": "Hel"}), chunk({"content": "lo."}, "stop")]).split("\n\n")
    stream = "\n\n".join([sign, f"id: 1\n{first}", sign, *others])
    with serving(Answer(stream)) as server:
        client = openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0)
        trace = run("Hi", [], OpenAIModel("m", client=client, stream=True))
    assert (trace.outcome, trace.answer) == ("answer", "Hello.")


def test_an_error_that_only_looks_like_a_page_is_shown() -> None:
    said = "<400> Range of temperature should be [0.0, 2.0)"
    with serving(Answer({"error": {"message": said}}, 400)) as server:
        client = openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0)
        with pytest.raises(ModelError, match="<400> Range of temperature"):
            run("Hi", [], OpenAIModel("m", client=client))


CASES = [(False, name) for name in FAILURES] + [(True, name) for name in STREAM_FAILURES]


@pytest.mark.parametrize(("stream", "name"), CASES)
def test_every_failure_is_one_clear_line_without_the_key(stream: bool, name: str) -> None:
    answer, expected = (STREAM_FAILURES if stream else FAILURES)[name]
    trace = Trace()
    with serving(answer) as server:
        client = openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0, timeout=0.3)
        with pytest.raises(ModelError, match=expected) as caught:
            Trace.record(walk("Hi", TOOLS, OpenAIModel("m", client=client, stream=stream)), into=trace)
    shown = "".join(traceback.format_exception(caught.value))
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 600
    assert str(caught.value).isprintable()
    assert KEY not in shown + repr(caught.value) + str(trace.errors)
    assert trace.errors[-1].code == "model_error"
    assert len(server.asked) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("before", ["", "x" * 345], ids=["whole", "at the cut"])
def test_a_key_of_any_form_is_taken_out(stream: bool, before: str) -> None:
    key = "my very own key"
    answer = status(401, f"{before}wrong key {key!r}")
    with serving(answer) as server, pytest.raises(ModelError) as caught:
        model_at(server.url, stream, key)(HELLO)
    assert "my very" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("stream", [False, True])
def test_nobody_listens(stream: bool) -> None:
    url = refused_url()
    with pytest.raises(ModelError, match=f"cannot reach {url}.*; check the address"):
        model_at(url, stream)(HELLO)


def test_a_password_in_the_address_is_not_told() -> None:
    with pytest.raises(ModelError) as caught:
        model_at(refused_url().replace("//", "//ada:lovelace@"))(HELLO)
    assert "lovelace" not in str(caught.value)


def test_text_that_cannot_be_sent_is_told() -> None:
    request = Request([{"role": "user", "content": "\ud800"}])
    with pytest.raises(ModelError, match="cannot be sent as UTF-8"):
        model_at(refused_url())(request)


def test_the_client_waits_and_tries_again_as_it_always_does() -> None:
    again = Answer({"error": {"message": "slow down"}}, 429, headers={"retry-after-ms": "1"})
    with serving(again, again, completion("Hi")) as server:
        client = openai.OpenAI(base_url=server.url, api_key=KEY)
        assert OpenAIModel("m", client=client)(HELLO).text == "Hi"
    assert len(server.asked) == 3


def test_the_environment_names_endpoint_key_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(completion("Hi")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
        monkeypatch.setenv("ZOOLAB_MODEL", "named-there")
        assert OpenAIModel()(HELLO).text == "Hi"
    assert server.bodies[0]["model"] == "named-there"
    assert server.asked[0].headers["authorization"] == "Bearer from-the-environment"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ZOOLAB_MODEL", raising=False)
    with pytest.raises(ModelError, match="no model is named; give model=, or set ZOOLAB_MODEL"):
        OpenAIModel()
    with pytest.raises(ModelError, match="no API key; set OPENAI_API_KEY") as caught:
        OpenAIModel("m")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("url", "key", "told"),
    [
        ("http://[::1", KEY, "not a URL"),
        ("http://localhost", f"{KEY}\n", "the API key contains a character"),
        ("http://localhost", "schlüssel-geheim", "the API key contains a character"),
    ],
)
def test_an_address_or_key_that_no_request_could_carry(url: str, key: str, told: str) -> None:
    with pytest.raises(ModelError, match=told) as caught:
        make_client(url, key)
    assert key.strip() not in "".join(traceback.format_exception(caught.value))
