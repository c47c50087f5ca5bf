"""The models of four APIs, against servers on loopback: what is sent, what is read, what goes back."""

from __future__ import annotations

import json
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from provider_bodies import (
    CALLS,
    DONE,
    PROVIDERS,
    TEXT,
    Provider,
    anthropic,
    anthropic_stream,
    responses,
    sse,
)
from server import Answer, TestServer, serving
from shell import Shell
from test_floors import HEAVY, loaded_by
from test_sent import shown

from zoolab import Replay, Trace, run, tool
from zoolab.apis import APIS
from zoolab.errors import ModelError
from zoolab.models.assembly import assemble
from zoolab.models.transport import http_library
from zoolab.records import Message, Request
from zoolab.show.inspector.panel import panel_of
from zoolab.show.moment import Moment
from zoolab_connect import providers
from zoolab_connect.apis.streams import events_in
from zoolab_connect.providers import AnthropicModel, GeminiModel, OllamaModel, ResponsesModel
from zoolab_study.pacing import patience

KEY = "secret-Zq81TestTest"
HELLO = Request([{"role": "user", "content": "Hello"}])
NAMES = sorted(PROVIDERS)


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def model_at(name: str, server: TestServer, stream: bool = False, **more: Any) -> Any:
    url = server.url.removesuffix("/v1")
    return PROVIDERS[name].model("test-model", base_url=url, api_key=KEY, stream=stream, **more)


def answers(provider: Provider, stream: bool) -> list[Answer]:
    if not stream:
        return [Answer(body) for body in provider.whole]
    return [Answer(text, cuts=tuple(range(1, len(text.encode()), 7))) for text in provider.streams]


def walked(name: str, stream: bool, **more: Any) -> tuple[Trace, list[Any]]:
    """A walk of two turns, and the bodies that the server was asked."""
    with serving(*answers(PROVIDERS[name], stream)) as server:
        trace = run("Add.", [add], model_at(name, server, stream, **more), system="Be brief.")
    return trace, server.bodies


def holds(value: Any, wanted: Any) -> bool:
    """Whether a JSON value has all of another one in it; objects may have more fields."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(key in value and holds(value[key], inner) for key, inner in wanted.items())
    return bool(value == wanted)


def conversation(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages, blocks, items or parts of a body, one after the other."""
    turns = body.get("messages") or body.get("input") or body.get("contents")
    found: list[dict[str, Any]] = []
    for turn in turns or ():
        inner = turn.get("parts") or turn.get("tool_calls") or turn.get("content")
        found += [turn, *inner] if isinstance(inner, list) else [turn]
    return found


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_walk_of_two_turns(name: str, stream: bool) -> None:
    trace, bodies = walked(name, stream)
    assert trace.answer == DONE
    assert [(call.name, json.loads(call.arguments)) for call in trace.tool_calls] == CALLS
    assert [error.code for error in trace.errors] == ["invalid_arguments"]
    assert trace.turns[0].reply.text == TEXT
    assert [turn.reply.finish_reason for turn in trace.turns] == ["tool_calls", "stop"]
    said = conversation(bodies[1])
    places = [
        next(index for index, part in enumerate(said) if holds(part, wanted))
        for wanted in PROVIDERS[name].sent_back
    ]
    assert places == sorted(places)
    assert trace.turns[1].reply.sent == bodies[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_says_what_a_plain_answer_says(name: str) -> None:
    (plain, asked), (streamed, asked_so) = walked(name, False), walked(name, True)
    assert {**asked[0], "stream": None} == {**asked_so[0], "stream": None}
    for one, other in zip(plain.turns, streamed.turns, strict=True):
        replies = [(r.finish_reason, r.usage, r.model) for r in (one.reply, other.reply)]
        assert replies[0] == replies[1]
        messages = [_read(turn.reply.message) for turn in (one, other)]
        assert messages[0] == messages[1]


def _read(message: Message) -> Message:
    """A message with its arguments read, because only a stream tells how the model wrote them."""
    calls = message.get("tool_calls", ())
    read = [{**call, "function": _calls_in({"tool_calls": [call]})} for call in calls]
    return {**message, "tool_calls": read}


def _calls_in(message: Message) -> list[Any]:
    functions = [call["function"] for call in message.get("tool_calls", ())]
    return [(function["name"], json.loads(function["arguments"])) for function in functions]


@pytest.mark.parametrize("name", NAMES)
def test_the_deltas_make_the_message(name: str) -> None:
    trace, _ = walked(name, True)
    for turn in trace.turns:
        made = assemble({"choices": [{"delta": delta}]} for delta in turn.reply.pieces).message
        assert made["content"] == turn.reply.text
        assert _calls_in(made) == _calls_in(turn.reply.message)
        assert len(turn.reply.pieces) > 1


@pytest.mark.parametrize("name", NAMES)
def test_tokens_have_the_names_of_chat_completions(name: str) -> None:
    usage = walked(name, False)[0].turns[0].reply.usage
    counts = {"prompt_tokens": 15, "completion_tokens": 7, "total_tokens": 22}
    written = {"anthropic": {"cache_write_tokens": 1}, "responses": {"cache_write_tokens": 0}}.get(name, {})
    cached = {} if name == "ollama" else {"prompt_tokens_details": {"cached_tokens": 4, **written}}
    thought = (
        {"completion_tokens_details": {"reasoning_tokens": 2}} if name in ("responses", "gemini") else {}
    )
    assert usage == {**counts, **cached, **thought}


def test_results_of_one_turn_are_one_message_that_says_what_failed() -> None:
    _, bodies = walked("anthropic", True)
    results = bodies[1]["messages"][-1]
    assert results["role"] == "user"
    assert [block["type"] for block in results["content"]] == ["tool_result", "tool_result"]
    assert [block.get("is_error") for block in results["content"]] == [None, True]


@pytest.mark.parametrize(
    ("name", "path", "headers"),
    [
        ("responses", "/responses", {"authorization": f"Bearer {KEY}"}),
        ("anthropic", "/v1/messages", {"x-api-key": KEY, "anthropic-version": "2023-06-01"}),
        ("gemini", "/v1beta/models/test-model:generateContent", {"x-goog-api-key": KEY}),
        ("ollama", "/api/chat", {}),
    ],
)
def test_where_and_how_each_is_asked(name: str, path: str, headers: dict[str, str]) -> None:
    with serving(*answers(PROVIDERS[name], False)) as server:
        model_at(name, server)(HELLO)
    (asked,) = server.asked
    assert asked.path == path
    assert headers.items() <= asked.headers.items()
    with serving(*answers(PROVIDERS["gemini"], True)) as server:
        model_at("gemini", server, True)(HELLO)
    assert server.asked[0].path == "/v1beta/models/test-model:streamGenerateContent?alt=sse"


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_a_stream_may_be_cut_anywhere(name: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(PROVIDERS[name].streams)).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole: list[Message] = []
    cut: list[Message] = []
    assert APIS[name].assemble(events_in(parts), cut.append) == APIS[name].assemble(
        events_in([text]), whole.append
    )
    assert cut == whole


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_what_came_of_a_stream_that_ends_early_is_kept(name: str, data: st.DataObject) -> None:
    """It may end in the middle of a line."""
    stream = data.draw(st.sampled_from(PROVIDERS[name].streams)).encode()
    whole = APIS[name].streamed(events_in([stream]))
    came = stream[: data.draw(st.integers(0, len(stream)))]
    told: list[Message] = []
    APIS[name].assemble(events_in([came]), told.append)
    if not any(told):
        return
    cut = APIS[name].streamed(events_in([came]))
    assert cut.finish_reason in ("incomplete", whole.finish_reason)
    assert whole.text.startswith(cut.text)
    written = [call["function"]["arguments"] for call in cut.message.get("tool_calls", ())]
    wanted = [call["function"]["arguments"] for call in whole.message.get("tool_calls", ())]
    assert all(map(str.startswith, wanted, (text.removesuffix("{}") for text in written)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kept", [0, 60])
def test_a_stream_of_which_nothing_came_is_no_answer(name: str, kept: int) -> None:
    stream = PROVIDERS[name].streams[0].encode()[:kept]
    with pytest.raises(ModelError, match="ended before the reply was complete"):
        APIS[name].streamed(events_in([stream]))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "x", "tool_use", "STOP"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "index"]), inner),
    max_leaves=5,
)
FIELDS = [
    "type",
    "index",
    "delta",
    "content_block",
    "message",
    "item",
    "response",
    "candidates",
    "done",
    "error",
]
KINDS = ["message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"]
KINDS += ["response.output_item.added", "response.output_item.done", "response.completed"]


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=40)
@given(events=st.lists(st.dictionaries(st.sampled_from(FIELDS), JUNK | st.sampled_from(KINDS)), max_size=5))
def test_junk_in_a_stream_is_a_model_error_or_an_answer(name: str, events: list[Any]) -> None:
    try:
        APIS[name].assemble(events_in([sse(events).encode()]), list[Message]().append)
    except ModelError:
        return


@pytest.mark.parametrize("name", NAMES)
def test_deltas_are_told_while_they_arrive(name: str) -> None:
    came: list[Any] = []
    with serving(*answers(PROVIDERS[name], True)) as server:
        trace = run("Add.", [add], model_at(name, server, True), on_delta=came.append)
    assert came == [delta for turn in trace.turns for delta in turn.reply.pieces]


def test_only_calls_for_us_count_as_calls() -> None:
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "sums"}}
    call = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}
    late = {**call, "id": "toolu_2", "input": {}}
    text = anthropic_stream(anthropic([search, call, late], "tool_use"))
    with serving(Answer(text)) as server:
        reply = model_at("anthropic", server, True)(HELLO)
    calls = [part for delta in reply.pieces for part in delta["tool_calls"]]
    assert {call["index"] for call in calls} == {0, 1}
    assert [call["function"]["name"] for call in reply.message["tool_calls"]] == ["add", "add"]
    assert [call["id"] for call in reply.message["tool_calls"]] == ["toolu_1", "toolu_2"]


def test_arguments_that_were_cut_off_stay_as_the_model_wrote_them() -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"model": "m", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"a": '},
        },
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
        {"type": "message_stop"},
    ]
    with serving(sse(events)) as server:
        reply = model_at("anthropic", server, True)(HELLO)
    assert reply.finish_reason == "length"
    assert reply.message["tool_calls"][0]["function"]["arguments"] == '{"a": '


def failing(body: Any, status: int) -> Answer:
    return Answer(body if isinstance(body, str) else json.dumps(body), status, "application/json")


FAILURES = {
    "anthropic": ({"type": "error", "error": {"type": "overloaded_error", "message": "Over\nloaded"}}, 529),
    "responses": (
        {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}},
        401,
    ),
    "gemini": ({"error": {"code": 404, "message": "models/x is not found", "status": "NOT_FOUND"}}, 404),
    "ollama": ({"error": "model 'x' not found"}, 404),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_an_error_of_http_is_one_line_without_the_key(name: str, stream: bool) -> None:
    body, status = FAILURES[name]
    with serving(failing(body, status)) as server, pytest.raises(ModelError) as caught:
        model_at(name, server, stream)(HELLO)
    assert f"answered {status}: " in caught.value.what
    assert (patience(caught.value, 0, lambda _low, high: high) is not None) == (status == 529)
    assert "\n" not in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("name", "event"),
    [
        (
            "anthropic",
            {"type": "error", "error": {"type": "overloaded_error", "message": f"late {KEY}\nline"}},
        ),
        ("responses", {"type": "response.failed", "response": {"error": {"message": f"late {KEY}\nline"}}}),
        ("responses", {"type": "error", "message": f"late {KEY}\nline"}),
        ("gemini", {"error": {"code": 500, "message": f"late {KEY}\nline"}}),
        ("ollama", {"error": f"late {KEY}\nline"}),
    ],
)
def test_an_error_in_a_stream_is_one_line_without_the_key(name: str, event: dict[str, Any]) -> None:
    with serving(sse([event])) as server, pytest.raises(ModelError, match=r"late .* line") as caught:
        model_at(name, server, True)(HELLO)
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("content", ["", "<html>", "[1]", "{", "null", '{"output": 1}'])
@pytest.mark.parametrize("name", NAMES)
def test_junk_is_a_model_error(name: str, content: str, stream: bool) -> None:
    with serving(Answer(content, content_type="application/json")) as server, pytest.raises(ModelError):
        model_at(name, server, stream)(HELLO)


def test_a_connection_that_breaks_is_a_model_error() -> None:
    answer = Answer(PROVIDERS["anthropic"].streams[0][:300], drop=True)
    with serving(answer) as server, pytest.raises(ModelError, match="broke off its answer"):
        model_at("anthropic", server, True)(HELLO)


class Brief(AnthropicModel):
    max_bytes = 100


class Hasty(AnthropicModel):
    max_seconds = 0.05


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", [Brief, Hasty])
def test_an_answer_without_end_is_given_up(kind: type[AnthropicModel], stream: bool) -> None:
    """Each byte comes in time, and still the answer takes too long."""
    (answer, _) = answers(PROVIDERS["anthropic"], stream)
    answer.cuts, answer.pause = tuple(range(1, 200)), 0.002
    with serving(answer) as server:
        patient = http_library().Client(timeout=30)
        model = kind("m", base_url=server.url, api_key=KEY, client=patient, stream=stream)
        with pytest.raises(ModelError, match="does not end; expected at most"):
            model(HELLO)


@contextmanager
def environment(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Any:
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    yield


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        (ResponsesModel, "OPENAI_API_KEY"),
        (AnthropicModel, "ANTHROPIC_API_KEY"),
        (GeminiModel, "GOOGLE_API_KEY"),
    ],
)
def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, model: Any, variable: str) -> None:
    with environment(monkeypatch), pytest.raises(ModelError, match=r"no API key; set .*_API_KEY"):
        model("m")
    with (
        environment(monkeypatch, **{variable: "k\u00e9y"}),
        pytest.raises(ModelError, match=f"check .*{variable}"),
    ):
        model("m")
    with environment(monkeypatch, **{variable: KEY}):
        assert model("m").base_url.startswith("https://api.") or "googleapis" in model("m").base_url


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("nas.local", "http://nas.local:11434"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://nas.local/", "https://nas.local"),
    ],
)
def test_ollama_is_where_its_host_says(monkeypatch: pytest.MonkeyPatch, said: str, address: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", said)
    assert OllamaModel("m").base_url == address


def test_a_client_of_ones_own_is_used() -> None:
    http = providers.http_library()
    with (
        serving(*answers(PROVIDERS["ollama"], False)) as server,
        http.Client(headers={"x-mine": "1"}) as client,
    ):
        model_at("ollama", server, client=client)(HELLO)
    assert server.asked[0].headers["x-mine"] == "1"


def test_a_setting_that_is_rejected_by_name_is_left_out() -> None:
    refusal = {"type": "invalid_request_error", "message": "`temperature` is deprecated for this model."}
    good = answers(PROVIDERS["anthropic"], False)[1]
    with serving(failing({"type": "error", "error": refusal}, 400), good) as server:
        model = model_at("anthropic", server)
        replies = [model(HELLO), model(HELLO)]
    assert ["temperature" in body for body in server.bodies] == [True, False, False]
    assert [list(reply.left_out) for reply in replies] == [["temperature"]] * 2
    assert replies[0].sent == server.bodies[1]


def test_thinking_wants_no_temperature() -> None:
    said = "`temperature` may only be set to 1 when thinking is enabled."
    refusal = failing({"type": "error", "error": {"type": "invalid_request_error", "message": said}}, 400)
    with serving(refusal, answers(PROVIDERS["anthropic"], False)[1]) as server:
        reply = model_at("anthropic", server, thinking={"type": "enabled", "budget_tokens": 1024})(HELLO)
    assert reply.text == DONE
    assert server.bodies[1]["thinking"] == {"type": "enabled", "budget_tokens": 1024}


def test_a_model_without_reasoning_is_not_asked_for_it_twice() -> None:
    said = {
        "message": "Encrypted content is not supported with this model.",
        "param": "include",
        "code": None,
    }
    with serving(failing({"error": said}, 400), *answers(PROVIDERS["responses"], False)) as server:
        reply = model_at("responses", server)(HELLO)
    assert ["include" in body for body in server.bodies] == [True, False]
    assert list(reply.left_out) == ["include"]


def test_openai_stores_nothing_unless_told_to() -> None:
    _, bodies = walked("responses", False)
    assert [body["store"] for body in bodies] == [False, False]
    assert all(body["include"] == ["reasoning.encrypted_content"] for body in bodies)


@pytest.mark.parametrize("stream", [False, True])
def test_a_stored_conversation_is_continued_by_its_id(stream: bool) -> None:
    trace, bodies = walked("responses", stream, store=True)
    assert trace.answer == DONE
    assert "previous_response_id" not in bodies[0]
    assert bodies[1]["previous_response_id"] == "resp_1"
    assert [item["type"] for item in bodies[1]["input"]] == ["function_call_output"] * 2
    assert bodies[1]["instructions"] == "Be brief."
    assert trace.turns[1].reply.sent == bodies[1]


def test_a_stored_conversation_that_was_changed_is_sent_again() -> None:
    with serving(*answers(PROVIDERS["responses"], False)) as server:
        model = model_at("responses", server, store=True)
        first = model(HELLO).message
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": "3"} for call in first["tool_calls"]
        ]
        model(Request([{"role": "user", "content": "Another question"}, first, *results]))
        model(Request([*HELLO.messages, first, *results]))
    assert ["previous_response_id" in body for body in server.bodies] == [False, False, True]
    assert server.bodies[1]["input"][0]["content"] == "Another question"


@pytest.mark.parametrize("stream", [False, True])
def test_the_call_of_a_custom_tool_goes_back_as_it_came(stream: bool) -> None:
    item = {
        "type": "custom_tool_call",
        "id": "ct_1",
        "call_id": "call_1",
        "name": "shell",
        "input": 'ls\n"x"',
    }
    answer, end = responses([item]), PROVIDERS["responses"].whole[1]
    done = [{"type": "response.output_item.done", "output_index": 0, "item": item}]
    texts = [
        sse([*done, {"type": "response.completed", "response": answer}]),
        PROVIDERS["responses"].streams[1],
    ]

    @tool
    def shell(input: str) -> str:
        """Run a command."""
        return f"ran {input}"

    with serving(*(texts if stream else [answer, end])) as server:
        trace = run("List.", [shell], model_at("responses", server, stream))
    assert not trace.errors
    assert server.bodies[1]["input"][1:] == [
        {"type": "custom_tool_call", "call_id": "call_1", "name": "shell", "input": 'ls\n"x"'},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": trace.messages[-2]["content"]},
    ]
    assert "ran ls" in trace.messages[-2]["content"]


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_answers_as_the_model_did(name: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with serving(*answers(PROVIDERS[name], False)) as server:
        live = run("Add.", [add], Replay(path, live=model_at(name, server)))
    for stream in (False, True):
        again = run("Add.", [add], Replay(path, stream=stream))
        assert [m.get("extra_content") for m in again.messages] == [
            m.get("extra_content") for m in live.messages
        ]
        assert again.answer == DONE
        assert again.turns[1].reply.sent == server.bodies[1]
    assert KEY not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "word"), [("anthropic", "EqQBCg=="), ("gemini", "functionResponse")])
def test_what_is_shown_as_sent_is_what_was_sent(name: str, word: str) -> None:
    trace, bodies = walked(name, False)
    told = shown(trace, first=trace.turns[1].seq)
    assert word in json.dumps(bodies[1])
    for view, text in told.items():
        assert word in text, view
        assert "sent instead" in text, view


@pytest.mark.parametrize("name", NAMES)
def test_the_panel_of_a_request_holds_the_whole_body(name: str) -> None:
    trace, bodies = walked(name, False)
    panel = panel_of(Moment(trace, trace.turns[1].seq))
    (block,) = [found for found in blocks_in(panel) if found.get("label") == "what was sent instead"]
    assert json.loads(block["text"]) == bodies[1]


def blocks_in(value: Any) -> list[dict[str, Any]]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, dict) and "b" in value else []
    return own + [found for each in inner for found in blocks_in(each)]


def test_nothing_heavy_is_loaded_before_a_model_is_made() -> None:
    loaded = loaded_by(
        "from zoolab_connect.providers import AnthropicModel, GeminiModel, OllamaModel, ResponsesModel"
    )
    assert loaded.isdisjoint({*HEAVY, "httpx", "httpx2"})


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_ask_a_provider(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    zoo = Shell(capsys)
    monkeypatch.setenv("ZOOLAB_CONFIG", str(tmp_path))
    with serving(*answers(PROVIDERS[name], True)) as server:
        url = server.url.removesuffix("/v1")
        asked = ["--provider", name, "--model", "test-model", "--base-url", url]
        ran = zoo("walk", "Add.", *asked, "--tools", "add", "--stream")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0] == f"live: test-model at {url}"
    assert DONE in ran.out
    with serving(failing(*FAILURES[name])) as server:
        found = zoo("doctor", *asked[:4], "--base-url", server.url)
    assert found.code == 2
    assert f"answered {FAILURES[name][1]}: " in found.out
    assert "cannot be relied on" not in found.out


def test_a_provider_is_asked_for_a_model_by_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ZOOLAB_MODEL", raising=False)
    ran = Shell(capsys)("walk", "--provider", "ollama")
    assert ran.code == 2
    assert "no model is named" in ran.err


def test_counts_and_reasons_of_another_form_are_passed_over() -> None:
    odd = {"usage": [1], "incomplete_details": [1], "candidates": "none", "stop_reason": True}
    with serving({"content": [{"type": "text", "text": "Hi"}], **odd}) as server:
        reply = model_at("anthropic", server)(Request([{"role": "user", "content": "Hi"}]))
    assert (reply.text, reply.usage, reply.finish_reason) == ("Hi", None, None)
