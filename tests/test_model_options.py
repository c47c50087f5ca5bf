"""The constructor of the models of APIs: options of a client are no settings, and a typing error is named."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import openai
import pytest
from anthropic.types.message_create_params import MessageCreateParamsBase
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from provider_bodies import PROVIDERS
from server import Answer, TestServer, completion, serving

from zoolab import OpenAIModel, Replay, Scripted, Trace, run, tool
from zoolab.apis import APIS
from zoolab.errors import InvalidInput, ModelError, UnknownOption
from zoolab.files import read_table
from zoolab.records import Request
from zoolab_connect.providers import AnthropicModel, GeminiModel, OllamaModel, ResponsesModel
from zoolab_study import experiment
from zoolab_study.cases import Case

#: What no pattern of a secret knows; it is found only by whoever knows where it was given.
PLAIN = "quietly-blue-Horse"
#: What the patterns know.
KEY = "sk-mine-abcdefghijklmnop1234567890"
HELLO = Request([{"role": "user", "content": "Hello"}])
CLASSES = {
    "openai": OpenAIModel,
    "responses": ResponsesModel,
    "anthropic": AnthropicModel,
    "gemini": GeminiModel,
    "ollama": OllamaModel,
}
NAMES = list(CLASSES)
REQUEST = set(read_table("zoolab.apis", "settings.toml")["request"])


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def answer_of(name: str) -> Answer:
    whole = (
        completion({"role": "assistant", "content": "Hi"}) if name == "openai" else PROVIDERS[name].whole[1]
    )
    return Answer(whole)


def address_of(name: str, server: TestServer) -> str:
    return server.url if name == "openai" else server.url.removesuffix("/v1")


@pytest.fixture(autouse=True)
def somewhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names other addresses and keys, which must not be used."""
    for api in APIS.values():
        monkeypatch.setenv(api.address_from, "http://127.0.0.1:9")
        for variable in api.key_from:
            monkeypatch.setenv(variable, "key-of-the-environment")


@pytest.mark.parametrize("name", NAMES)
def test_all_are_made_alike(name: str) -> None:
    wanted = (
        "(model=None, *, base_url=None, api_key=None, client=None, stream=False, timeout=None,"
        " max_retries=None, headers=None, settings=None, **more)"
    )
    parameters = inspect.signature(CLASSES[name]).parameters.values()
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    assert str(inspect.Signature(bare)) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_the_line_that_everybody_writes_does_what_it_says(name: str) -> None:
    with serving(answer_of(name)) as server:
        options: dict[str, Any] = {"base_url": address_of(name, server), "api_key": PLAIN}
        model = CLASSES[name]("m", **options, timeout=5, max_retries=0, headers={"X-Mine": "yes"})
        model(HELLO)
    (asked,) = server.asked
    sent = [asked.headers.get(header, "") for header in ("authorization", "x-api-key", "x-goog-api-key")]
    assert PLAIN in "".join(sent)
    assert asked.headers["x-mine"] == "yes"
    assert not {"base_url", "api_key", "timeout", "max_retries", "headers", "settings"} & asked.body.keys()
    assert PLAIN not in json.dumps(asked.body)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "openai"])
def test_a_blank_key_means_that_none_goes_out(name: str) -> None:
    with serving(answer_of(name)) as server:
        CLASSES[name]("m", base_url=address_of(name, server), api_key="")(HELLO)
    (asked,) = server.asked
    assert "key-of-the-environment" not in str(asked.headers)


@pytest.mark.parametrize("name", NAMES)
def test_an_address_may_lack_its_scheme(name: str) -> None:
    with serving(answer_of(name)) as server:
        address = address_of(name, server).removeprefix("http://")
        CLASSES[name]("m", base_url=address, api_key=PLAIN)(HELLO)
    assert len(server.asked) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("organization", "client="),
        ("project", "client="),
        ("http_client", "client="),
        ("default_headers", "headers="),
        ("extra_headers", "headers="),
        ("extra_body", "settings="),
        ("api_base", "base_url="),
        ("baseURL", "base_url="),
        ("apiKey", "api_key="),
        ("api_ky", "api_key="),
        ("timeuot", "timeout="),
        ("maxRetries", "max_retries="),
        ("temprature", "temperature="),
        ("maxTokens", "max_tokens="),
        ("max_token", "max_tokens="),
        ("tools", "run(prompt, tools, ...)"),
        ("quantum_flux", 'settings={"quantum_flux": ...}'),
    ],
)
def test_a_keyword_that_is_no_setting_names_the_right_one(name: str, wrong: str, right: str) -> None:
    with pytest.raises(UnknownOption) as caught:
        CLASSES[name]("m", **{wrong: KEY})
    assert right in str(caught.value)
    assert KEY not in str(caught.value)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("name", "given"),
    [("anthropic", "seed"), ("ollama", "reasoning_effort"), ("gemini", "user"), ("responses", "stop")],
)
def test_a_setting_that_the_api_does_not_have_is_refused(name: str, given: str) -> None:
    with pytest.raises(UnknownOption, match="no known setting"):
        CLASSES[name]("m", **{given: 1})


@pytest.mark.parametrize("name", NAMES)
def test_settings_pass_anything_on(name: str) -> None:
    with serving(answer_of(name)) as server:
        options: dict[str, Any] = {"base_url": address_of(name, server), "api_key": "k"}
        CLASSES[name]("m", **options, settings={"quantum_flux": {"a": 1}}, top_p=0.5)(HELLO)
    assert server.bodies[0]["quantum_flux"] == {"a": 1}
    assert "0.5" in json.dumps(server.bodies[0])


@pytest.mark.parametrize(
    ("name", "given", "field"),
    [
        ("ollama", {"num_ctx": 8192, "seed": 7}, {"options": {"temperature": 0, "seed": 7, "num_ctx": 8192}}),
        ("ollama", {"think": True}, {"think": True}),
        ("openai", {"top_p": 0.5}, {"temperature": 0, "top_p": 0.5}),
        ("anthropic", {"top_k": 4}, {"temperature": 0, "top_k": 4}),
        ("anthropic", {"top_p": 0.5, "temperature": 1}, {"temperature": 1, "top_p": 0.5}),
        ("gemini", {"topK": 4}, {"generationConfig": {"temperature": 0, "topK": 4}}),
        (
            "gemini",
            {"thinkingConfig": {}, "generationConfig": {"topP": 1}},
            {"generationConfig": {"temperature": 0, "topP": 1, "thinkingConfig": {}}},
        ),
        (
            "anthropic",
            {"thinking": {"type": "adaptive"}, "top_k": 4},
            {"thinking": {"type": "adaptive"}, "top_k": 4},
        ),
        ("responses", {"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "low"}}),
        ("openai", {"chat_template_kwargs": {"x": 1}, "n": 1}, {"chat_template_kwargs": {"x": 1}, "n": 1}),
    ],
)
def test_what_an_api_is_known_to_have_goes_where_it_belongs(name: str, given: Any, field: Any) -> None:
    body = CLASSES[name]("m", api_key="k", **given).body(HELLO)
    assert {key: body[key] for key in field} == field


@pytest.mark.parametrize("given", [{"top_p": 0.5}, {"settings": {"top_p": 0.5}}])
def test_no_temperature_goes_out_where_an_api_refuses_it_beside_what_is_given(given: Any) -> None:
    assert "temperature" not in CLASSES["anthropic"]("m", api_key="k", **given).body(HELLO)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("openai", CompletionCreateParamsBase),
        ("responses", ResponseCreateParamsBase),
        ("anthropic", MessageCreateParamsBase),
    ],
)
def test_all_that_the_official_clients_know_is_known(name: str, params: Any) -> None:
    assert params.__annotations__.keys() - REQUEST - {"stream_options"} <= APIS[name].known
    assert {"temperature", "top_p", "max_tokens", "response_format"} <= APIS[name].known
    assert not APIS[name].known & {"api_key", "base_url", "timeout", "headers", *REQUEST}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"settings": [1]}, InvalidInput, "settings is not an object"),
        ({"settings": {"stream": True}}, UnknownOption, "stream"),
        ({"settings": {"top_p": 1}, "top_p": 0}, UnknownOption, "top_p"),
        ({"settings": {"x": {1, 2}}}, InvalidInput, "not JSON"),
        ({"headers": {"X-Key": KEY + "\n"}}, InvalidInput, "the header .* cannot be sent"),
        ({"headers": {"X-Key": 5}}, InvalidInput, "the header .* cannot be sent"),
        ({"headers": KEY}, InvalidInput, "headers is not an object"),
        ({"max_retries": -1}, InvalidInput, "max_retries is -1"),
        ({"timeout": "3"}, InvalidInput, 'timeout is "3"'),
        ({"timeout": True}, InvalidInput, "timeout is true"),
        ({"timeout": 0}, InvalidInput, "timeout is 0"),
        ({"base_url": " "}, InvalidInput, "base_url is blank"),
        ({"base_url": 5}, InvalidInput, "base_url is int"),
        ({"api_key": [KEY]}, InvalidInput, "api_key is list"),
        ({"client": object()}, InvalidInput, "client is object"),
    ],
)
def test_what_cannot_be_sent_is_refused_at_once(name: str, options: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        CLASSES[name]("m", **{"api_key": "k", **options})
    assert KEY not in str(caught.value)


def test_the_model_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZOOLAB_MODEL", raising=False)
    for kind in CLASSES.values():
        with pytest.raises(ModelError, match="no model is named; give model=, or set ZOOLAB_MODEL"):
            kind(api_key="k")
    monkeypatch.setenv("ZOOLAB_MODEL", "mine")
    assert {kind(api_key="k").model for kind in CLASSES.values()} == {"mine"}


def test_options_change_a_client_of_ones_own_only_for_this_model() -> None:
    client = openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="first", max_retries=5)
    assert OpenAIModel("m", client=client).client is client
    changed = OpenAIModel("m", client=client, api_key="second", max_retries=0, timeout=3).client
    assert (changed.api_key, changed.max_retries, changed.timeout) == ("second", 0, 3)
    assert (client.api_key, client.max_retries) == ("first", 5)


@pytest.mark.parametrize("name", NAMES[1:])
@pytest.mark.parametrize(("statuses", "tries"), [((503, 429), 3), ((400,), 1), ((500, 500, 500), 3)])
def test_a_busy_endpoint_is_asked_again(name: str, statuses: Any, tries: int) -> None:
    busy = [
        Answer({"error": {"message": "busy"}}, status, headers={"retry-after": "0"}) for status in statuses
    ]
    with serving(*busy, answer_of(name)) as server:
        model = CLASSES[name]("m", base_url=address_of(name, server), api_key="k", max_retries=2)
        if statuses in ((400,), (500, 500, 500)):
            with pytest.raises(ModelError, match="busy"):
                model(HELLO)
        else:
            model(HELLO)
    assert len(server.bodies) == tries


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [200, 401])
def test_a_key_never_leaves(name: str, status: int, tmp_path: Path) -> None:
    """A key stands in each argument, and the endpoint repeats all that it was sent."""
    keys = {
        "api_key": PLAIN,
        "headers": {"X-Gateway-Key": f"{PLAIN}-in-a-header", "Cookie": f"session={PLAIN}-in-a-cookie"},
        "settings": {
            "metadata": {"api_key": f"{PLAIN}-in-settings", "note": KEY},
            "auth_token": f"{PLAIN}1-2-3",
        },
    }

    class Repeating(TestServer):
        def next_answer(self, asked: Any) -> Answer:
            self.asked.append(asked)
            if status == 200:
                return answer_of(name)
            return Answer(
                {"error": {"message": f"no: {json.dumps(asked.headers)} {json.dumps(asked.body)}"}}, status
            )

    server = Repeating([])
    model = CLASSES[name]("m", base_url=address_of(name, server), max_retries=0, **keys)
    trace, told = Trace(), [repr(model), repr(vars(model)["model"])]
    recorded = Replay(tmp_path / "recording.jsonl", live=model)
    try:
        run("Hello", [add], recorded, trace=trace)
    except ModelError as error:
        told += [str(error), repr(error)]
    cases = [Case("a", "Hello")]
    table = experiment(
        cases, models={"m": model}, progress=False, scorers=(), journal=tmp_path / "journal.jsonl"
    )
    told += [
        str(table),
        repr(recorded),
        repr(recorded.recording),
        table.to_html(tmp_path / "report.html") or "",
    ]
    trace.save(tmp_path / "trace.jsonl")
    trace.to_html(tmp_path / "trace.html")
    trace.to_html(tmp_path / "inspector.html", interactive=True)
    told += [
        trace.to_markdown(),
        trace._repr_html_(),
        repr(trace),
        str(trace.errors),
        str(trace.to_frame().to_dict()),
    ]
    told += [str(span) for span in trace.to_otel()]
    server.close()
    for path in tmp_path.iterdir():
        told.append(path.read_text(encoding="utf-8"))
    assert server.asked, "nothing was sent"
    for text in map(str, told):
        assert PLAIN not in text, text[max(0, text.index(PLAIN) - 200) : text.index(PLAIN) + 60]
        assert KEY not in text


def test_a_recording_made_by_a_model_that_says_its_key_keeps_none(tmp_path: Path) -> None:
    model: Any = Scripted(["Hi"])
    model.settings = {"api_key": PLAIN, "extra_headers": {"authorization": f"Bearer {KEY}"}}
    replay = Replay(tmp_path / "r.jsonl", live=model)
    assert run("Hello", [], replay).answer == "Hi"
    assert run("Hello", [], Replay(tmp_path / "r.jsonl")).answer == "Hi"
    assert PLAIN not in (tmp_path / "r.jsonl").read_text()
    assert KEY not in (tmp_path / "r.jsonl").read_text()
