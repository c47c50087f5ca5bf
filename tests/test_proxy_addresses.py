"""Addresses are kept: a program under watch asks the same paths of the same hosts as it does alone."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any

import openai
import pytest
from provider_bodies import PROVIDERS
from server import Answer, TestServer, completion, serving

from zoolab import Scripted
from zoolab.apis import APIS
from zoolab_connect.proxy.addresses import endpoints_of, variables
from zoolab_connect.proxy.recognising import api_asked
from zoolab_connect.proxy.watch import watch

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
ANTHROPIC = {"anthropic-version": "2023-06-01", "x-api-key": "k"}


@pytest.fixture(autouse=True)
def _no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (name for names in variables().values() for name in names):
        monkeypatch.delenv(name, raising=False)


def post(url: str, body: Any, **headers: str) -> Any:
    """The answer of a client that is no official one; the body of an error if it is one."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, json.dumps(body).encode(), named)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


class OnlyAt(TestServer):
    """Answers at one path, as a real endpoint does, and everywhere else with 404."""

    def __init__(self, path: str, answer: Any) -> None:
        self.path = path
        super().__init__([answer])

    def next_answer(self, asked: Any) -> Answer:
        found = super().next_answer(asked)
        return found if asked.path == self.path else Answer({"error": {"message": asked.path}}, 404)

    def __enter__(self) -> OnlyAt:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/v1")


BASES = ["/v1", "/openai/v1", "/v1beta/openai", "/inference", "/api/paas/v4", ""]


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "to"])
@pytest.mark.parametrize("base", BASES)
def test_a_program_that_works_alone_works_under_watch(base, variable, monkeypatch):
    with OnlyAt(f"{base}/chat/completions", completion("fine")) as endpoint:
        address = endpoint.origin + base
        if variable != "to":
            monkeypatch.setenv(variable, address)
        with watch(address if variable == "to" else None) as seen:
            client = openai.OpenAI(api_key="k", max_retries=0)
            said = client.chat.completions.create(**CHAT)  # type: ignore[call-overload]
    assert said.choices[0].message.content == "fine"
    assert [trace.answer for trace in seen.traces] == ["fine"]


@pytest.mark.parametrize("base", ["", "/v1", "/claude/v1"])
def test_the_version_of_anthropic_may_be_in_the_address(base, monkeypatch):
    whole = PROVIDERS["anthropic"].whole[1]
    path = f"{base}/messages" if base else "/v1/messages"
    with OnlyAt(path, whole) as endpoint:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", endpoint.origin + base)
        with watch() as seen:
            rest = "/messages" if base else "/v1/messages"
            post(os.environ["ANTHROPIC_BASE_URL"] + rest, {**CHAT, "max_tokens": 5}, **ANTHROPIC)
    assert [asked.path for asked in endpoint.asked] == [path]
    assert [len(trace.turns) for trace in seen.traces] == [1]
    assert not seen.failures[0]


def test_the_version_is_added_if_nobody_named_an_address():
    with OnlyAt("/v1/messages", PROVIDERS["anthropic"].whole[1]) as endpoint, watch(endpoint.url) as seen:
        for path in ("/messages", "/v1/messages"):
            post(os.environ["ANTHROPIC_BASE_URL"] + path, {**CHAT, "max_tokens": 5}, **ANTHROPIC)
    assert [asked.path for asked in endpoint.asked] == ["/v1/messages"] * 2
    assert [dict(each) for each in seen.failures] == [{}] * len(seen.traces)


def test_each_address_leads_to_its_own_endpoint(monkeypatch):
    """A gateway may speak any API at any address; a key goes where the program sent it."""
    with serving(completion("one")) as one, serving(completion("two")) as two:
        monkeypatch.setenv("OPENAI_API_BASE", one.url)
        monkeypatch.setenv("OLLAMA_HOST", two.url.removeprefix("http://").removesuffix("/v1"))
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        with watch():
            post(os.environ["OPENAI_API_BASE"] + "/chat/completions", CHAT, authorization="Bearer k1")
            post(os.environ["OLLAMA_HOST"] + "/v1/chat/completions", CHAT, authorization="Bearer k2")
    assert [asked.headers["authorization"] for asked in one.asked] == ["Bearer k1"]
    assert [asked.headers["authorization"] for asked in two.asked] == ["Bearer k2"]


def test_the_apis_of_gemini_and_ollama_are_understood(monkeypatch):
    gemini, ollama = PROVIDERS["gemini"], PROVIDERS["ollama"]
    with serving(gemini.whole[1], Answer(gemini.streams[1])) as one, serving(ollama.whole[1]) as two:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", one.url.removesuffix("/v1"))
        monkeypatch.setenv("OLLAMA_HOST", two.url.removesuffix("/v1"))
        with watch() as seen:
            models = os.environ["GOOGLE_GEMINI_BASE_URL"] + "/v1beta/models/gemini-3"
            post(f"{models}:generateContent", GEMINI, x_goog_api_key="k")
            again = {"contents": [{"role": "user", "parts": [{"text": "And you?"}]}]}
            post(f"{models}:streamGenerateContent?alt=sse", again, x_goog_api_key="k")
            post(os.environ["OLLAMA_HOST"] + "/api/chat", {**CHAT, "stream": False})
    assert one.asked[1].path == "/v1beta/models/gemini-3:streamGenerateContent?alt=sse"
    assert [len(trace.turns) for trace in seen.traces] == [1, 1, 1]
    named = [trace.turns[0].request.settings["model"] for trace in seen.traces]
    assert named == ["gemini-3", "gemini-3", "m"]
    assert all(trace.answer or trace.tool_calls for trace in seen.traces), seen.failures
    assert not seen.unread


@pytest.mark.parametrize(
    ("variable", "path"),
    [
        ("GEMINI_API_BASE", "/models/gemini-3:generateContent"),
        ("GOOGLE_BASE_URL", "/v1beta/models/gemini-3:generateContent"),
    ],
)
def test_other_clients_of_gemini_find_their_address_in_variables_of_their_own(variable, path):
    """litellm leaves out the version; Inspect AI does not read the variable of Google's own client."""
    true = "/v1beta/models/gemini-3:generateContent"
    with OnlyAt(true, PROVIDERS["gemini"].whole[1]) as endpoint, watch(endpoint.url) as seen:
        post(os.environ[variable] + path, GEMINI, x_goog_api_key="k")
    assert [asked.path for asked in endpoint.asked] == [true]
    assert [len(trace.turns) for trace in seen.traces] == [1]
    assert not seen.failures[0]


def test_results_are_found_if_the_program_gives_the_calls_ids_of_its_own(monkeypatch):
    """Gemini's calls need no ids; the AI SDK makes some up, and sends them back."""
    calls = [{"name": "add", "args": {"a": 42, "b": b}} for b in (58, 59)]
    ids = ["7mlZPcI0", "kQ02mmXz"]
    told = [{"functionCall": {"id": id, **call}} for id, call in zip(ids, calls, strict=True)]
    results = [
        {"functionResponse": {"id": id, "name": "add", "response": {"name": "add", "content": said}}}
        for id, said in zip(ids, (100, 101), strict=True)
    ]
    again = {
        "contents": [
            *GEMINI["contents"],
            {"role": "model", "parts": told},
            {"role": "user", "parts": results},
        ]
    }

    def answered(*parts: dict[str, Any]) -> dict[str, Any]:
        return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, "finishReason": "STOP"}]}

    first = answered(*({"functionCall": call} for call in calls))
    with serving(first, answered({"text": "100 and 101."})) as gemini:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.url.removesuffix("/v1"))
        with watch() as seen:
            models = os.environ["GOOGLE_GEMINI_BASE_URL"] + "/v1beta/models/gemini-3"
            post(f"{models}:generateContent", GEMINI)
            post(f"{models}:generateContent", again)
    [trace] = seen.traces
    found = [(step.call.arguments, step.record.content) for step in trace.steps if step.kind == "result"]
    assert [said for _, said in found] == ['{"name":"add","content":100}', '{"name":"add","content":101}']
    assert [json.loads(arguments)["b"] for arguments, _ in found] == [58, 59]
    assert (len(trace.turns), trace.answer) == (2, "100 and 101.")


def test_fields_of_gemini_are_read_with_underscores_as_well():
    """Google's JSON takes both; litellm writes underscores, and Google's own client in a few fields."""
    schema = {"type": "object", "properties": {"first_one": {"type": "integer"}}}
    args, response = {"first_one": 42}, {"the_sum": 100}

    def body(declared, described, call, result, system, config, most):
        turns = [
            {"role": "user", "parts": [{"text": "What is it?"}]},
            {"role": "model", "parts": [{call: {"name": "add_up", "args": args}}]},
            {"role": "user", "parts": [{result: {"name": "add_up", "response": response}}]},
        ]
        tool = {"name": "add_up", "description": "Add.", described: schema}
        asked = {"contents": turns, system: {"parts": [{"text": "Add."}]}, config: {most: 9}}
        return {**asked, "tools": [{declared: [tool]}]}

    usual = APIS["gemini"].from_body(
        body(
            *("functionDeclarations", "parametersJsonSchema", "functionCall", "functionResponse"),
            *("systemInstruction", "generationConfig", "maxOutputTokens"),
        )
    )
    other = APIS["gemini"].from_body(
        body(
            *("function_declarations", "parameters_json_schema", "function_call", "function_response"),
            *("system_instruction", "generation_config", "max_output_tokens"),
        )
    )
    assert other == usual
    assert usual.tools[0]["function"]["parameters"] == schema
    assert [json.loads(name["function"]["arguments"]) for name in usual.messages[2]["tool_calls"]] == [args]
    assert json.loads(usual.messages[3]["content"]) == response


def test_a_model_answers_in_the_apis_of_gemini_and_ollama():
    with watch(to=Scripted(["Hello."] * 5)) as seen:
        models = os.environ["GOOGLE_GEMINI_BASE_URL"] + "/v1beta/models/gemini-3"
        whole = json.loads(post(f"{models}:generateContent", GEMINI))
        listed = json.loads(post(f"{models}:streamGenerateContent", GEMINI))
        events = post(f"{models}:streamGenerateContent?alt=sse", GEMINI)
        lines = post(os.environ["OLLAMA_HOST"] + "/api/chat", CHAT).splitlines()
        plain = json.loads(post(os.environ["OLLAMA_HOST"] + "/api/chat", {**CHAT, "stream": False}))
    assert whole["candidates"][0]["content"]["parts"] == [{"text": "Hello."}]
    assert whole["modelVersion"] == "gemini-3"
    said = [part["text"] for each in listed for part in each["candidates"][0]["content"]["parts"]]
    assert "".join(said) == "Hello."
    assert events.startswith("data: {")
    assert json.loads(lines[-1])["done"] is True
    assert plain["message"]["content"] == "Hello."
    assert {trace.answer for trace in seen.traces} == {"Hello."}


RESPONSES = {"model": "m", "input": [{"role": "user", "content": "Hi"}]}
FORMS: list[tuple[str, dict[str, str], Any, str | None]] = [
    ("/x/y", {}, CHAT, "openai"),
    ("/openai/deployments/d/chat/completions?api-version=1", {}, CHAT, "openai"),
    ("/x/y", ANTHROPIC, CHAT, "anthropic"),
    ("/x/y", {}, {**CHAT, "system": "Be brief.", "max_tokens": 9}, "anthropic"),
    ("/x/y", {}, {**CHAT, "options": {"seed": 1}}, "ollama"),
    ("/x/y", {}, RESPONSES, "responses"),
    ("/v1/projects/p/locations/l/publishers/google/models/g:generateContent", {}, GEMINI, "gemini"),
    ("/v1beta/models/g:countTokens", {}, GEMINI, None),
    ("/v1/messages/count_tokens", ANTHROPIC, CHAT, None),
    ("/v1/messages/batches", ANTHROPIC, {"requests": []}, None),
    ("/v1/embeddings", {}, {"model": "m", "input": ["Hi"]}, None),
    ("/x/y", {}, {"model": "m", "input": ["Hi"]}, None),
    ("/v1/threads/t/messages", {}, {"role": "user", "content": "Hi"}, None),
]


@pytest.mark.parametrize(("path", "headers", "body", "api"), FORMS)
def test_a_request_is_known_by_what_it_holds(path, headers, body, api):
    found = api_asked(path, headers, body)
    assert (found and found.name) == api


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box:80/ollama", "http://box:80/ollama"),
        ("https://box", "https://box"),
    ],
)
def test_the_host_of_ollama_is_read_as_its_clients_do(said, address):
    (found,) = (each for each in endpoints_of({"OLLAMA_HOST": said}) if "OLLAMA_HOST" in each.variables)
    assert found.address == address


def test_a_fixed_port_is_taken_and_leads_by_what_is_asked(monkeypatch):
    with serving(completion("fine")) as one, serving(PROVIDERS["anthropic"].whole[1]) as two:
        monkeypatch.setenv("OPENAI_BASE_URL", one.url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", two.url.removesuffix("/v1"))
        with watch() as before:
            port = int(before.url.rpartition(":")[2])
        with watch(port=port) as seen:
            assert seen.url == f"http://127.0.0.1:{port}"
            post(f"{seen.url}/v1/chat/completions", CHAT)
            post(f"{seen.url}/v1/messages", {**CHAT, "max_tokens": 5}, **ANTHROPIC)
    assert (len(one.asked), len(two.asked), len(seen.traces)) == (1, 1, 2)


@pytest.mark.parametrize(
    ("base", "variable", "asked", "target"),
    [
        # litellm reads GEMINI_API_BASE, and leaves the version to it.
        ("http://h", "GEMINI_API_BASE", "/models/m:generateContent", "/v1beta/models/m:generateContent"),
        (
            "http://h",
            "GEMINI_API_BASE",
            "/v1beta/models/m:generateContent",
            "/v1beta/models/m:generateContent",
        ),
        ("http://h/v1beta", "GEMINI_API_BASE", "/v1beta/models/m", "/v1beta/models/m"),
        # What the user named stands as it is.
        ("http://h", "GOOGLE_GEMINI_BASE_URL", "/models/m:generateContent", "/models/m:generateContent"),
    ],
)
def test_a_version_is_added_behind_variables_that_the_user_did_not_set(base, variable, asked, target):
    found = [each for each in endpoints_of({"GOOGLE_GEMINI_BASE_URL": base}) if variable in each.variables]
    assert [each.target(asked) for each in found] == [f"http://h{target}"]
