"""The local models: error paths with a stand-in engine, and the real models if their weights are here."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import openai
import pytest
from counting import ends

from zoolab import Replay, run
from zoolab.errors import InvalidInput, ModelError
from zoolab.records import Reply, Request
from zoolab.toolbox.starter import starter_tools
from zoolab_course import local, needle, weights
from zoolab_course.local import Engine, LocalModel, words_request

ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two integers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}


class Canned:
    """An engine that says what it is told to, and keeps what it was asked."""

    def __init__(self, tool_call: str | None, text: str = "written", **more: Any) -> None:
        self.reply = {
            "text": text,
            "tool_call": tool_call,
            "token_ids": [1, 2],
            "positions": 12,
            "stop_reason": "ImEnd",
            **more,
        }
        self.asked: list[dict[str, Any]] = []

    def generate(self, query: str, tools_json: str, /, **settings: Any) -> dict[str, Any]:
        self.asked.append({"query": query, "tools": tools_json, **settings})
        return self.reply


class Broken:
    def generate(self, query: str, tools_json: str, /, **settings: Any) -> dict[str, Any]:
        raise RuntimeError(f"{query} {tools_json} {settings}")


Load = Callable[[Any], Engine]


@pytest.fixture
def load() -> Load:
    return lambda engine: Engine("needle3", partial(needle.complete, engine=engine))


def post(engine: Engine, body: object) -> Any:
    return engine.client().post("/chat/completions", cast_to=object, body=body)


def user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


BROKEN_CALLS = (
    '[{"name":"ping","arguments":{"host":"8.8.8.8","count":8.8.8}},{"name":"add","arguments":{"a":1'
)


def test_broken_arguments_arrive_as_they_were_written(load: Load) -> None:
    client = load(Canned(BROKEN_CALLS)).client()
    reply = client.chat.completions.create(model="needle3", messages=user("x"), tools=[ADD])
    calls = reply.choices[0].message.tool_calls or []
    written = [(call.id, call.function.name, call.function.arguments) for call in calls]
    assert written == [
        ("call_1", "ping", '{"host":"8.8.8.8","count":8.8.8}'),
        ("call_2", "add", '{"a":1'),
    ]
    assert reply.choices[0].finish_reason == "tool_calls"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (10, 2)


def test_a_streamed_reply_says_the_same_in_pieces(load: Load) -> None:
    client = load(Canned(BROKEN_CALLS)).client()
    stream = client.chat.completions.create(
        model="needle3", messages=user("x"), stream=True, stream_options={"include_usage": True}
    )
    arguments, finish, usage = ["", ""], None, None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            for part in choice.delta.tool_calls or []:
                assert part.function is not None
                arguments[part.index] += part.function.arguments or ""
    assert arguments == ['{"host":"8.8.8.8","count":8.8.8}', '{"a":1']
    assert finish == "tool_calls"
    assert usage is not None
    assert usage.total_tokens == 12


def test_needle_sees_the_system_message_the_last_question_and_the_tools(load: Load) -> None:
    engine = Canned("[]", reasoning="No tool fits.")
    messages = [{"role": "system", "content": "Be brief."}, *user("first"), *user("last")]
    reply = load(engine).client().chat.completions.create(model="needle3", messages=messages, tools=[ADD])
    assert reply.choices[0].message.content == "No tool fits."
    asked = engine.asked[0]
    assert (asked["query"], asked["system"], asked["constrain"]) == ("last", "Be brief.", True)
    assert json.loads(asked["tools"]) == [ADD["function"]]


def test_a_developer_message_is_a_system_message(load: Load) -> None:
    engine = Canned("[]")
    messages: list[Any] = [{"role": "system", "content": "Be brief."}]
    messages += [{"role": "developer", "content": "Answer in French."}, *user("x")]
    load(engine).client().chat.completions.create(model="needle3", messages=messages)
    assert engine.asked[0]["system"] == "Be brief.\nAnswer in French."


def test_a_named_tool_is_the_only_one_that_may_be_called(load: Load) -> None:
    engine = Canned("[]")
    tools: list[Any] = starter_tools("ping", "add").schemas()
    choice: Any = {"type": "function", "function": {"name": "ping"}}
    load(engine).client().chat.completions.create(
        model="needle3", messages=user("x"), tools=tools, tool_choice=choice
    )
    assert [tool["name"] for tool in json.loads(engine.asked[0]["tools"])] == ["ping"]


def test_the_client_of_an_engine_knows_its_model_and_no_other(load: Load) -> None:
    client = load(Canned("[]")).client()
    assert client.models.retrieve("needle3").id == "needle3"
    assert [model.id for model in client.models.list()] == ["needle3"]
    with pytest.raises(openai.NotFoundError, match="there is no /models/gpt here"):
        client.models.retrieve("gpt")
    with pytest.raises(openai.NotFoundError, match="there is no /embeddings here"):
        client.embeddings.create(model="needle3", input="x")


def test_settings_reach_the_engine_and_raw_is_unconstrained(load: Load) -> None:
    engine = Canned(None, stop_reason="MaxTokens")
    client = load(engine).client()
    reply = client.chat.completions.create(
        model="needle3-raw", messages=user("x"), temperature=0.5, seed=7, max_tokens=3, tool_choice="none"
    )
    assert reply.choices[0].finish_reason == "length"
    asked = engine.asked[0]
    assert (asked["temperature"], asked["seed"], asked["max_new_tokens"]) == (0.5, 7, 3)
    assert asked["constrain"] is False


@pytest.mark.parametrize("stop_reason", ["MaxTokens", "MaxSeqLen"])
@pytest.mark.parametrize(("closing", "end"), [("</tool_call>", "tool_calls"), ("", "length")])
def test_a_call_that_ends_with_the_limit_is_whole_if_it_is_closed(
    load: Load, stop_reason: str, closing: str, end: str
) -> None:
    call = '[{"name":"add","arguments":{"a":1,"b":2}}]'
    engine = Canned(call, f"<tool_call>{call}{closing}", stop_reason=stop_reason)
    reply = load(engine).client().chat.completions.create(model="needle3", messages=user("x"), tools=[ADD])
    assert reply.choices[0].finish_reason == end


def test_the_same_request_gives_the_same_reply(load: Load) -> None:
    engine = load(Canned("[]"))
    assert post(engine, {"messages": user("x")}) == post(engine, {"messages": user("x")})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"messages": None}, "messages"),
        ({"messages": [1]}, "messages"),
        ({"messages": []}, "no question"),
        ({"messages": [{"role": "user", "content": None}]}, "content that is text"),
        ({"tools": [{}]}, "a tool is"),
        ({"tools": 1}, "tools"),
        ({"max_tokens": "9"}, "max_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"seed": True}, "seed"),
        ({"n": 2}, "n is 2; expected 1"),
        ({"tools": [ADD], "tool_choice": "required"}, "cannot be made to call a tool"),
        ({"tools": [ADD], "tool_choice": {"type": "function", "function": {"name": "rm"}}}, "tool_choice"),
    ],
)
def test_a_malformed_request_is_a_400_that_says_why(load: Load, more: dict[str, Any], said: str) -> None:
    with pytest.raises(openai.BadRequestError, match=said) as refused:
        post(load(Canned("[]")), {"messages": user("x"), **more})
    assert refused.value.type == "invalid_request_error"


def test_a_request_that_is_too_long_is_a_400(load: Load) -> None:
    engine = Canned(None, token_ids=[], stop_reason="MaxSeqLen", positions=8192)
    with pytest.raises(openai.BadRequestError, match="too long; expected fewer than 8192 tokens"):
        load(engine).client().chat.completions.create(model="needle3", messages=user("x"))


def test_a_failing_engine_is_a_500_and_the_next_request_is_asked(load: Load) -> None:
    engine = load(Broken())
    for _ in range(2):
        with pytest.raises(openai.InternalServerError, match="the engine failed: RuntimeError"):
            post(engine, {"messages": user("x")})


def test_requests_of_several_threads_are_asked_one_at_a_time(load: Load) -> None:
    class Slow(Canned):
        busy = False

        def generate(self, query: str, tools_json: str, /, **settings: Any) -> dict[str, Any]:
            assert not self.busy
            self.busy = True
            time.sleep(0.02)
            self.busy = False
            return super().generate(query, tools_json, **settings)

    engine = load(Slow("[]"))
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: post(engine, {"messages": user("x")}), range(8)))
    assert all(reply == replies[0] for reply in replies)


def test_whoever_waits_for_an_engine_hears_ctrl_c() -> None:
    done = threading.Event()
    engine = Engine("slow", lambda _body: {"waited": done.wait()})
    me = threading.get_ident()
    threading.Timer(0.3, signal.pthread_kill, [me, signal.SIGINT]).start()
    with ends(), pytest.raises(KeyboardInterrupt):
        post(engine, {})
    done.set()


@pytest.mark.parametrize(
    "hostile", ['[{"name":"' * 20_000, '{"name":"f","arguments":' + "[" * 50_000, '"' * 9999]
)
def test_cutting_calls_is_linear_on_hostile_text(hostile: str) -> None:
    assert len(needle.cut_calls(hostile)) <= 1


def test_an_unknown_model_is_one_clear_line() -> None:
    with pytest.raises(InvalidInput, match="no local model is named 'gpt'; expected needle or smollm2"):
        LocalModel("gpt")


def test_missing_weights_are_said_at_the_first_request(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("needle_rs")
    monkeypatch.setenv("ZOOLAB_CACHE", str(tmp_path))
    with pytest.raises(InvalidInput, match="run: zoolab local fetch needle"):
        LocalModel("needle", engines=local.load_engine.__wrapped__)(Request(user("x"), (ADD,)))


def test_importing_costs_no_runtime() -> None:
    code = "import sys, zoolab_course.local; print({'openai', 'needle_rs', 'xllamacpp'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


def history(*results: str) -> list[dict[str, Any]]:
    ids = [f"c{slot}" for slot in range(len(results))]
    calls = [{"id": id, "type": "function", "function": {"name": "add", "arguments": "{}"}} for id in ids]
    answers = [
        {"role": "tool", "tool_call_id": id, "content": text} for id, text in zip(ids, results, strict=True)
    ]
    return [*user("Add 42 and 58."), {"role": "assistant", "content": None, "tool_calls": calls}, *answers]


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("100", "100"),
        ("ERROR: no", "ERROR: no"),
        ('{"success":true,"data":100,"error_message":null}', "100"),
        ('{"success":false,"data":null,"error_message":"no"}', "ERROR: no"),
        ('{"city":"Oslo","cold":true}', "city Oslo, cold true"),
        ('"é"', "é"),
        ("[1,2]", "[1, 2]"),
    ],
)
def test_a_result_is_shown_plainly_to_the_model_of_words(result: str, shown: str) -> None:
    sent = words_request(Request(history(result), (ADD,)))
    assert sent.messages[-1]["content"] == f"Add 42 and 58.\nResult of add: {shown}"
    assert {message["role"] for message in sent.messages} == {"system", "user", "assistant"}
    assert sent.tools == ()


def test_who_answers_what() -> None:
    both = LocalModel()
    assert both.answers(Request(user("x"), (ADD,))) == "needle"
    assert both.answers(Request(user("x"), (ADD,), "none")) == "smollm2"
    assert both.answers(Request(history("1"), (ADD,))) == "smollm2"
    assert LocalModel("needle").answers(Request(history("1"), (ADD,))) == "needle"


@pytest.fixture
def need(download: Callable[..., Any]) -> Callable[[str], None]:
    """The weights of a model, or no test."""

    def need(name: str) -> None:
        pytest.importorskip(weights.weights_of(name).runtime)
        download(partial(weights.find, name), partial(weights.fetch, name))

    return need


def ask(model: LocalModel, *requests: Request) -> list[Reply]:
    return [model(request) for request in requests]


@pytest.mark.local
@pytest.mark.parametrize("stream", [False, True])
def test_needle_chooses_a_call(stream: bool, need: Callable[[str], None]) -> None:
    need("needle")
    request = Request(user("Add 42 and 58."), (ADD,))
    first, again = ask(LocalModel("needle", stream=stream), request, request)
    function = first.message["tool_calls"][0]["function"]
    assert (function["name"], function["arguments"]) == ("add", '{"a":42,"b":58}')
    assert first.message == again.message
    assert bool(first.pieces) == stream


@pytest.mark.local
def test_needle_declines_in_words(need: Callable[[str], None]) -> None:
    need("needle")
    (reply,) = ask(LocalModel("needle"), Request(user("Who wrote Hamlet?"), (ADD,)))
    assert "tool_calls" not in reply.message
    assert reply.text.startswith("No tool")


@pytest.mark.local
@pytest.mark.parametrize("stream", [False, True])
def test_smollm2_writes_the_same_whatever_was_asked_before(stream: bool, need: Callable[[str], None]) -> None:
    need("smollm2")
    request, other = Request(user("Say hello.")), Request(user("Say goodbye."))
    first, _, again = ask(LocalModel("smollm2", stream=stream), request, other, request)
    assert first.text
    assert first.text == again.text
    assert bool(first.pieces) == stream


@pytest.mark.local
def test_both_together_call_and_then_answer(need: Callable[[str], None]) -> None:
    need("needle")
    need("smollm2")
    model = LocalModel()
    called = model(Request(user("Add 42 and 58."), (ADD,)))
    assert called.message["tool_calls"][0]["function"]["name"] == "add"
    answered = model(Request(history("100"), (ADD,)))
    assert "100" in answered.text
    assert answered.sent_instead is not None
    assert answered.sent_instead["messages"][-1]["content"].endswith("Result of add: 100")
    assert (answered.sent_instead["seed"], called.sent_instead) == (42, None)


@pytest.mark.local
def test_the_weights_of_a_model_are_loaded_once(need: Callable[[str], None]) -> None:
    need("needle")
    with ThreadPoolExecutor(4) as pool:
        engines = list(pool.map(local.engine_of, ["needle"] * 8))
    assert len(set(map(id, engines))) == 1
    assert LocalModel("needle")(Request(user("Add 42 and 58."), (ADD,))).message["tool_calls"]


@pytest.mark.local
@pytest.mark.parametrize("stream", [False, True])
def test_what_llama_refuses_is_a_400(stream: bool, need: Callable[[str], None]) -> None:
    need("smollm2")
    with pytest.raises(ModelError, match="answered 400"):
        LocalModel("smollm2", stream=stream)(Request(user("word " * 5000)))


@pytest.mark.local
def test_nothing_is_printed_and_the_process_ends_by_itself(need: Callable[[str], None]) -> None:
    need("needle")
    need("smollm2")
    code = (
        "from zoolab_course.local import LocalModel; from zoolab.records import Request; "
        "m = [{'role': 'user', 'content': 'Hi'}]; "
        "LocalModel('smollm2')(Request(m, settings={'max_tokens': 4})); LocalModel('needle')(Request(m))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=120)
    assert (told.stdout, told.stderr) == (b"", b"")


@pytest.mark.local
def test_the_shipped_recording_is_what_the_models_say(need: Callable[[str], None]) -> None:
    need("needle")
    need("smollm2")
    tools = starter_tools("add", "get_weather", "check_status")
    told = run("What is 42 + 58?", tools, LocalModel())
    recorded = run("What is 42 + 58?", tools, Replay("starter"))
    assert [call.arguments for call in told.tool_calls] == [call.arguments for call in recorded.tool_calls]
    assert told.answer == recorded.answer == "The answer is 100."
