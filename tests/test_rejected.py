"""An endpoint that rejects a setting by name is asked again without it, and everything says so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server import Answer, Asked, TestServer, call, calling, completion
from shell import ESCAPE, KEY, Shell
from test_openai_model import in_pieces

from zoolab import Replay, Trace, run, walk
from zoolab.errors import ModelError, SettingRejected
from zoolab.models.openai import OpenAIModel
from zoolab.models.rejected import rejection_of, without_rejected
from zoolab.models.replay import model_for
from zoolab.records import Reply, Request, Step
from zoolab.runs import drive
from zoolab.show.inspector.panel import panel_of
from zoolab.show.moment import Moment, moments_of
from zoolab.show.text import details
from zoolab.toolbox.starter import starter_tools
from zoolab_connect.providers import ResponsesModel
from zoolab_course.doctor import can_call_tools, examine

HELLO = Request([{"role": "user", "content": "Hello"}])
TOOLS = starter_tools("add")
WORDS = (
    "Unsupported value: '{0}' does not support 0 with this model. Only the default (1) value is supported."
)


def unsupported(name: str, code: str = "unsupported_value", words: str = WORDS) -> Answer:
    """An error as api.openai.com gives it."""
    error = {"message": words.format(name), "type": "invalid_request_error", "param": name, "code": code}
    return Answer({"error": error}, 400)


def deprecated(name: str) -> Answer:
    """An error as api.anthropic.com gives it."""
    said = {"type": "invalid_request_error", "message": f"`{name}` is deprecated for this model."}
    return Answer({"type": "error", "error": said, "request_id": "req_011"}, 400)


class Refusing(TestServer):
    """Refuses each of some settings if it is there, else answers as a capable model would."""

    def __init__(self, names: Sequence[str], refuse: Any = unsupported, only: Any = None) -> None:
        super().__init__([])
        self.names, self.refuse, self.only = names, refuse, only

    def next_answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        for name in self.names:
            if name in asked.body and (self.only is None or asked.body[name] == self.only):
                return self.refuse(name)
        message = capable(asked.body)
        if asked.body.get("stream"):
            return Answer(in_pieces({"content": None, **message}, "stop"))
        return Answer(completion(message))

    @property
    def answered(self) -> list[dict[str, Any]]:
        """The bodies that were not refused."""
        refused = [any(name in body for name in self.names) for body in self.bodies]
        return [body for body, no in zip(self.bodies, refused, strict=True) if not no]


def capable(body: dict[str, Any]) -> dict[str, Any]:
    """What a model that does what each probe asks for says."""
    asked = body["messages"][-1]["content"]
    arguments = {
        "What is 42 + 58?": ("add", '{"a": 42, "b": 58}'),
        "Is nginx running?": ("check_status", '{"service": "nginx"}'),
        "What is the weather in Paris in fahrenheit?": (
            "get_weather",
            '{"city": "Paris", "unit": "fahrenheit"}',
        ),
        "What is 1 + 2?": ("ping", '{"host": "a"}'),
    }
    if asked in arguments:
        return calling(call(*arguments[asked]))
    return {"role": "assistant", "content": "It is 100." if "100" in asked else "Hello."}


@contextmanager
def refusing(*names: str, **more: Any) -> Iterator[Refusing]:
    server = Refusing(names, **more)
    try:
        yield server
    finally:
        server.close()


def model_at(server: TestServer, stream: bool = False, **more: Any) -> OpenAIModel:
    client = openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0, timeout=5)
    return OpenAIModel("gpt-5", client=client, stream=stream, **more)


def texts(trace: Trace) -> dict[str, str]:
    """What each view shows of the first reply."""
    views = {"html": trace.to_html(), "markdown": trace.to_markdown()}
    views["lines"] = "\n".join(line for moment in moments_of(trace) for line in details(moment))
    views |= {f"panel {seq}": json.dumps(panel_of(Moment(trace, seq))) for seq in (1, 2)}
    return views


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("refuse", [unsupported, deprecated])
def test_the_request_goes_out_once_more_and_later_ones_leave_it_out(stream: bool, refuse: Any) -> None:
    with refusing("temperature", refuse=refuse) as server:
        model = model_at(server, stream)
        trace = run("What is 42 + 58?", TOOLS, model)
        assert trace.answer == "It is 100."
        assert ["temperature" in body for body in server.bodies] == [True, False, False]
        assert "temperature" not in model.body(HELLO)
    for turn, body in zip(trace.turns, server.answered, strict=True):
        assert turn.reply is not None
        assert list(turn.reply.left_out) == ["temperature"]
        assert turn.reply.body_sent(turn.request) == body


def test_each_view_says_it_also_after_saving(tmp_path: Path) -> None:
    with refusing("temperature", "seed") as server:
        trace = run("What is 42 + 58?", TOOLS, model_at(server, seed=7))
        assert len(server.bodies) == 4
    loaded = Trace.load(trace.save(tmp_path / "t.jsonl"))
    assert [turn.reply for turn in loaded.turns] == [turn.reply for turn in trace.turns]
    for each in (trace, loaded):
        for name, text in texts(each).items():
            for setting in ("temperature", "seed"):
                assert (
                    f"{setting} was not sent, because the endpoint rejects it: Unsupported"
                    in text.replace("\\", "")
                ), (name, setting)
        raw = json.dumps(panel_of(Moment(each, 1))["tabs"]["raw"])
        assert '\\"seed\\"' not in raw
        assert "gpt-5" in raw


def test_a_setting_of_the_request_itself_is_left_out_and_not_shown_as_sent() -> None:
    with refusing("top_p") as server:
        request = Request(HELLO.prefix, settings={"top_p": 0.5})
        reply = model_at(server)(request)
        assert reply.body_sent(request) == server.answered[0]
        assert "top_p" not in server.answered[0]


def test_a_span_does_not_claim_what_was_not_sent() -> None:
    def settled(step: Step) -> Any:
        return replace(step.record, settings={"top_p": 0.5, "seed": 4}) if step.kind == "request" else None

    with refusing("top_p") as server:
        drive(trace := Trace(), walk("Hello", (), model_at(server)), settled)
    names = {name for span in trace.to_otel() for name in span.attributes}
    assert "gen_ai.request.seed" in names
    assert "gen_ai.request.top_p" not in names


def test_the_switch_of_a_notebook_asks_such_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing("temperature") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("ZOOLAB_MODEL", "gpt-5")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert run("What is 42 + 58?", TOOLS, model_for("endpoint")).answer == "It is 100."


def test_a_value_is_rejected_and_another_one_is_sent() -> None:
    with refusing("effort", only="minimal") as server:
        model = model_at(server)
        for effort in ("minimal", "low", "minimal"):
            model(Request(HELLO.prefix, settings={"effort": effort}))
        assert [body.get("effort") for body in server.bodies] == ["minimal", None, "low", None]


def test_a_parameter_is_rejected_whatever_its_value() -> None:
    def refuse(name: str) -> Answer:
        return unsupported(name, "unsupported_parameter", "Unsupported parameter: '{0}' is not supported.")

    with refusing("max_tokens", refuse=refuse) as server:
        model = model_at(server)
        for size in (10, 20):
            reply = model(Request(HELLO.prefix, settings={"max_tokens": size}))
            assert "is not supported" in reply.left_out["max_tokens"]
        assert [body.get("max_tokens") for body in server.bodies] == [10, None, None]


def test_who_refuses_always_is_asked_no_more_than_twice() -> None:
    server = TestServer([unsupported("temperature")])
    model = model_at(server)
    with pytest.raises(SettingRejected, match="answered 400: Unsupported value"):
        model(HELLO)
    assert len(server.bodies) == 2
    server.close()


@pytest.mark.parametrize(
    "name", ["messages", "messages[0].role", "messages.0.content", "tools", "tools[0].type", "tool_choice"]
)
def test_what_is_no_setting_is_never_left_out(name: str) -> None:
    server = TestServer([unsupported(name)])
    with pytest.raises(ModelError, match="answered 400"):
        model_at(server)(Request(HELLO.prefix, tuple(TOOLS.schemas())))
    assert len(server.bodies) == 1
    server.close()


@pytest.mark.parametrize(
    "answer",
    [
        Answer({"error": {"message": "temperature must be at most 2", "param": "temperature"}}, 400),
        Answer({"error": {"message": "This model is not supported with your temperature plan."}}, 400),
        Answer({"error": {"message": "'messages.0': property 'temperature' is unsupported"}}, 400),
        Answer(
            {"detail": [{"loc": ["body", "messages", 0, "x"], "msg": "Extra inputs are not permitted"}]}, 422
        ),
        Answer(
            {"error": {"message": "Unknown name \"x\" at 'tools[0].temperature': Cannot find field."}}, 400
        ),
        Answer({"error": {"message": "'tools' is not supported with 'temperature'"}}, 400),
        Answer({"error": {"message": "no", "param": "temperature", "code": "invalid_value"}}, 400),
        Answer({"error": {"message": WORDS.format("temperature")}}, 403),
        Answer({"error": {"message": ["temperature"], "param": 3, "code": []}}, 400),
        Answer([1, 2], 400),
        Answer("`temperature`", 400, "text/plain"),
    ],
)
def test_another_error_is_an_error_at_once(answer: Answer) -> None:
    server = TestServer([answer])
    with pytest.raises(ModelError, match="answered 4"):
        model_at(server)(HELLO)
    assert len(server.bodies) == 1
    server.close()


SENT: dict[str, Any] = {
    "model": "m",
    "messages": [],
    "temperature": 0,
    "max_tokens": 9,
    "max_completion_tokens": 9,
    "top_p": 1,
    "stop": ["x"],
    "store": False,
    "user": "ada",
    "n": 1,
    "reasoning_effort": "low",
    "presence_penalty": 0,
    "parallel_tool_calls": True,
    "output_config": {"format": {}},
    "generationConfig": {"topK": 4, "responseMimeType": "x"},
}
EXTRA = "Extra inputs are not permitted"


@pytest.mark.parametrize(
    ("said", "name", "whatever"),
    [
        (WORDS.format("temperature"), "temperature", False),
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'x'", "max_tokens", True),
        ("Unknown parameter: 'store'.", "store", True),
        ("Unrecognized request argument supplied: top_p", "top_p", True),
        ("Unrecognized request argument supplied: user", "user", True),
        ("`temperature` is deprecated for this model.", "temperature", True),
        ("temperature is deprecated for this model.", "temperature", True),
        ("`top_p` is not supported by this model.", "top_p", True),
        (f"output_config.format: {EXTRA}", "output_config.format", True),
        (f"temperature: {EXTRA}", "temperature", True),
        ("property 'store' is unsupported, did you mean 'stop'?", "store", True),
        ("Argument not supported on this model: presencePenalty", "presence_penalty", True),
        ("Argument not supported on this model: stop", "stop", True),
        ("Model grok-4 does not support parameter reasoningEffort.", "reasoning_effort", True),
        ("deepseek-reasoner does not support the parameter `temperature`", "temperature", True),
        ("This model doesn't support temperature", "temperature", True),
        ("Unknown name \"topK\" at 'generation_config': Cannot find field.", "generationConfig.topK", True),
        (
            'Invalid JSON payload received. Unknown name "top_k": Cannot find field.',
            "generationConfig.topK",
            True,
        ),
        ("`max_tokens` and `max_completion_tokens` are mutually exclusive", "max_tokens", True),
        ("'n' is not supported", "n", True),
        ("`temperature` and `top_p` cannot both be specified for this model.", "temperature", True),
        ("temperature and top_p cannot both be specified for this model.", "temperature", True),
        ("invalid temperature: only 1 is allowed for this model", "temperature", False),
        ("Input validation error: `temperature` must be strictly positive", "temperature", False),
    ],
)
def test_the_words_name_the_setting_if_no_code_does(said: str, name: str, whatever: bool) -> None:
    upstream = json.dumps({"error": {"message": said}})
    plain = [{"error": {"message": said}}, {"message": said}, {"error": said}, [{"error": {"message": said}}]]
    for answer in (*plain, said, {"error": {"message": upstream}}, {"detail": said}):
        found = rejection_of(400, answer, SENT)
        assert found is not None, answer
        assert (found.name, found.said, found.whatever) == (name, said, whatever)


@pytest.mark.parametrize(
    "answer",
    [
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "store"], "msg": EXTRA, "input": "top_p"}]},
        {"message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "store"], "msg": EXTRA}]}},
        {"message": json.dumps({"detail": [{"loc": ["body", "store"], "msg": EXTRA}]})},
        {"object": "Error", "message": [{"type": "extra_forbidden", "loc": ["body", "store"], "msg": EXTRA}]},
        {"message": f"[{{'type': 'extra_forbidden', 'loc': ('body', 'store'), 'msg': '{EXTRA}'}}]"},
        {"error": {"message": "Unknown parameter.", "param": "store", "code": None}},
        {"error": {"code": 400, "details": [{"fieldViolations": [{"description": 'Unknown name "store"'}]}]}},
    ],
)
def test_the_place_of_the_setting_may_stand_beside_the_words(answer: Any) -> None:
    found = rejection_of(422, answer, SENT)
    assert found is not None
    assert (found.name, found.whatever) == ("store", True)


@pytest.mark.parametrize(
    "said",
    [
        "'messages.1' : for 'role:user' this is needed[('messages.1' : property 'user' is unsupported)]",
        "tools.0.custom.store: Extra inputs are not permitted",
        "Unknown name \"store\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
        "messages[0].user: Extra inputs are not permitted",
        "This user is not supported in your country",
        "You must not store this; stop at once. The model does not support it",
        "max_tokens is too large: 99999. This model supports at most 4096 completion tokens",
        "top_p must be between 0 and 1",
        "`max_tokens` must be strictly positive",
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        "'model' gpt-x is not supported with user",
        "Function calling is not supported by this model",
    ],
)
def test_what_speaks_of_something_else_rejects_no_setting(said: str) -> None:
    assert rejection_of(400, {"error": {"message": said}}, SENT) is None
    assert rejection_of(500, {"error": {"message": WORDS.format("temperature")}}, SENT) is None


@given(
    st.recursive(
        st.none() | st.text(max_size=9) | st.sampled_from(["loc", "msg", EXTRA, "store", "{", "["]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "message", "detail", "loc", "msg"]), inner, max_size=3
            )
        ),
        max_leaves=9,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_answer_is_read(answer: Any) -> None:
    found = rejection_of(400, answer, SENT)
    assert found is None or found.name not in ("model", "messages")


BESIDE = (
    "json mode cannot be combined with tool/function calling",
    "'response_format` json_object cannot be combined with tool/function calling",
    '"tools" is incompatible with "response_format"',
    "response_format is not supported together with tools",
)


@pytest.mark.parametrize("said", BESIDE)
def test_a_schema_of_the_answer_beside_tools_is_left_out_only_there(said: str) -> None:
    class Groq(TestServer):
        def next_answer(self, asked: Asked) -> Answer:
            self.asked.append(asked)
            if "response_format" in asked.body and "tools" in asked.body:
                return Answer({"error": {"message": said, "type": "invalid_request_error"}}, 400)
            return Answer(completion({"role": "assistant", "content": '{"sum": 100}'}))

    server = Groq([])
    model = model_at(server)
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    trace = run("What is 42 + 58?", TOOLS, model, answer_schema=schema)
    assert trace.value == {"sum": 100}
    reply = trace.turns[0].reply
    assert reply is not None
    assert reply.left_out == {"response_format": said}
    assert run("What is 42 + 58?", (), model, answer_schema=schema).value == {"sum": 100}
    assert ["response_format" in body for body in server.bodies] == [True, False, True]
    server.close()


def test_a_choice_about_parallel_calls_goes_only_with_tools() -> None:
    with refusing("never") as server:
        model = model_at(server, parallel_tool_calls=False)
        model(HELLO)
        model(Request(HELLO.prefix, settings={"parallel_tool_calls": True}))
        model(Request(HELLO.prefix, tuple(TOOLS.schemas())))
        assert [body.get("parallel_tool_calls") for body in server.bodies] == [None, None, False]
        asked = Request(HELLO.prefix, settings={"parallel_tool_calls": True})
        assert model(asked).body_sent(asked) == model.body(asked) == server.bodies[-1]
    responses = ResponsesModel("m", api_key=KEY, parallel_tool_calls=False)
    assert "parallel_tool_calls" not in responses.body(asked)
    assert responses.body(Request(HELLO.prefix, tuple(TOOLS.schemas())))["parallel_tool_calls"] is False


def test_what_the_model_wrote_and_the_endpoint_could_not_read_is_shown() -> None:
    wrote = f"<function=add>{ESCAPE}[2J" + '{"a": 1}' + KEY + "x" * 9_000
    error = {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": wrote}
    server = TestServer([Answer({"error": error}, 400)])
    with pytest.raises(ModelError, match="the model wrote: <function=add>") as caught:
        model_at(server)(HELLO)
    assert len(str(caught.value)) < 1_000
    assert KEY not in str(caught.value)
    assert ESCAPE not in str(caught.value)
    server.close()


def rejected(name: str) -> SettingRejected:
    error = SettingRejected("no")
    error.setting, error.said = name, "no"
    return error


def test_a_field_within_a_setting_is_left_out_alone() -> None:
    sent: list[dict[str, Any]] = []

    def send(body: dict[str, Any]) -> Reply:
        sent.append(body)
        if "effort" in body.get("reasoning", {}):
            raise rejected("reasoning.effort")
        return Reply({"role": "assistant", "content": "Hi"})

    reply = without_rejected(send, {"reasoning": {"effort": "low", "summary": "auto"}}, {})
    assert (sent[-1], reply.left_out) == ({"reasoning": {"summary": "auto"}}, {"reasoning.effort": "no"})


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdefgh")))
@settings(max_examples=30, deadline=None)
def test_a_request_goes_out_once_for_each_rejected_setting(has: set[str], rejects: set[str]) -> None:
    sent = []

    def send(body: dict[str, Any]) -> Reply:
        sent.append(body)
        for name in sorted(rejects & body.keys()):
            raise rejected(name)
        return Reply({"role": "assistant", "content": "Hi"})

    known: dict[tuple[str, str], str] = {}
    for tries in (1 + len(has & rejects), 1):
        sent.clear()
        reply = without_rejected(send, dict.fromkeys(has, 0), known)
        assert len(sent) == tries
        assert (sent[-1].keys(), reply.left_out.keys()) == (has - rejects, has & rejects)


def test_a_recording_keeps_what_was_left_out(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with refusing("temperature") as server:
        first = Replay(path, live=model_at(server))(HELLO)
    again = Replay(path)(HELLO)
    assert first.left_out == again.left_out != {}
    assert again.sent == {"model": "gpt-5"}


def test_what_the_endpoint_says_is_bounded_and_keeps_no_key(tmp_path: Path) -> None:
    def refuse(name: str) -> Answer:
        return unsupported(name, words=f"{ESCAPE}[2J {KEY} " + "x" * 9_000)

    with refusing("temperature", refuse=refuse) as server:
        trace = run("Hello", (), model_at(server))
    reply = trace.turns[0].reply
    assert reply is not None
    assert len(reply.left_out["temperature"]) <= 400
    saved = trace.save(tmp_path / "t.jsonl").read_text()
    for text in (*texts(trace).values(), saved):
        assert KEY not in text
        assert ESCAPE not in text


@pytest.fixture
def zoo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ZOOLAB_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def test_the_doctor_passes_and_says_once_what_is_left_out(zoo: Shell) -> None:
    with refusing("temperature") as server:
        ran = zoo("doctor", "--live", "--base-url", server.url, "--model", "gpt-5")
        assert len(server.bodies) == 8
        as_json = zoo("doctor", "--live", "--base-url", server.url, "--model", "gpt-5", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("temperature was not sent, because the endpoint rejects it") == 1
    assert ran.out.endswith("it can call tools\n")
    for line in map(json.loads, as_json.out.splitlines()):
        assert line["omissions"][0].startswith("temperature was not sent")
        assert "temperature" not in line["sent"]


@pytest.mark.parametrize("answer", [unsupported("messages"), Answer({"error": {"message": "off"}}, 500)])
def test_an_http_error_is_no_verdict_on_the_model(zoo: Shell, answer: Answer) -> None:
    server = TestServer([answer])
    model = model_at(server)
    assert can_call_tools(list(examine(model))) is None
    ran = zoo("doctor", "--live", "--base-url", server.url.replace("/v1", "/v1/"), "--model", "gpt-5")
    server.close()
    assert ran.code == 2
    assert ran.out.count("could not be asked: http://127.0.0.1") == 7
    assert "FAIL" not in ran.out
    assert "cannot" not in ran.out
    assert ran.out.endswith("whether it can call tools is not known: it could not be asked\n")


def test_one_probe_that_fails_is_a_verdict_whatever_the_others_say() -> None:
    def answer(request: Request) -> Reply:
        if request.messages[-1].get("role") == "tool":
            raise ModelError("off")
        return Reply({"role": "assistant", "content": "Hello."})

    assert can_call_tools(list(examine(answer))) is False


@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_the_walk_of_the_command_line(zoo: Shell, options: list[str]) -> None:
    with refusing("temperature", "stream_options") as server:
        ran = zoo("walk", "--live", "--base-url", server.url, "--model", "gpt-5", *options)
    assert (ran.code, ran.err) == (0, "")
    assert "temperature was not sent, because the endpoint rejects it: Unsupported value" in ran.out
    assert "It is 100." in ran.out
