"""One conversation in five formats: what is sent, what comes back, and that no result loses its call."""

import json

import pytest
from openai.types.chat import ChatCompletionToolChoiceOptionParam
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from talk import CONVERTED, NAMES, TOOLS, USER, answers, asks, call, request

from zoolab.apis import APIS, api
from zoolab.errors import InvalidInput
from zoolab.records import Failure, Outcome, Request
from zoolab.steps.result import make_result

anthropic, gemini, ollama, openai = (
    APIS["anthropic"],
    APIS["gemini"],
    APIS["ollama"],
    APIS["openai"],
)

PARALLEL = [USER, asks(call("b"), call("a", "now", "")), answers("b", "2"), answers("a", "noon")]


def test_a_format_is_found_by_its_name():
    assert api("gemini") is gemini


@pytest.mark.parametrize("name", ["Gemini", "", None, ["openai"]])
def test_an_unknown_format_is_an_error_that_names_the_known(name):
    with pytest.raises(InvalidInput, match="openai, responses, anthropic, gemini, ollama"):
        api(name)


# Choices

CHOICES = [
    ("openai", "auto", "auto"),
    ("openai", "required", "required"),
    ("openai", "none", "none"),
    ("openai", "add", {"type": "function", "function": {"name": "add"}}),
    ("responses", "auto", "auto"),
    ("responses", "required", "required"),
    ("responses", "none", "none"),
    ("responses", "add", {"type": "function", "name": "add"}),
    ("anthropic", "auto", {"type": "auto"}),
    ("anthropic", "required", {"type": "any"}),
    ("anthropic", "none", {"type": "none"}),
    ("anthropic", "add", {"type": "tool", "name": "add"}),
    ("gemini", "auto", {"functionCallingConfig": {"mode": "AUTO"}}),
    ("gemini", "required", {"functionCallingConfig": {"mode": "ANY"}}),
    ("gemini", "none", {"functionCallingConfig": {"mode": "NONE"}}),
    ("gemini", "add", {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["add"]}}),
]


@pytest.mark.parametrize(("name", "choice", "expected"), CHOICES)
def test_a_choice_in_the_words_of_each_api(name, choice, expected):
    body = APIS[name].to_body(request(USER, choice=choice))
    assert body["toolConfig" if name == "gemini" else "tool_choice"] == expected
    assert body["tools"]


@pytest.mark.parametrize(
    ("choice", "offered"), [("auto", True), ("required", True), ("add", True), ("none", False)]
)
def test_ollama_knows_no_choice_but_to_leave_the_tools_out(choice, offered):
    body = ollama.to_body(request(USER, choice=choice))
    assert ("tools" in body) is offered
    assert "tool_choice" not in body


@pytest.mark.parametrize("name", NAMES)
def test_without_tools_there_is_no_choice(name):
    body = APIS[name].to_body(Request([USER], tool_choice="required"))
    assert body.keys().isdisjoint({"tools", "tool_choice", "toolConfig"})


@pytest.mark.parametrize("name", ["openai", *CONVERTED])
def test_tools_look_as_the_registry_writes_them(name):
    tools = APIS[name].to_body(request(USER))["tools"]
    assert (tools[0]["functionDeclarations"] if name == "gemini" else tools) == TOOLS.schemas(name)


def test_one_call_at_a_time_is_part_of_the_choice_for_anthropic():
    body = anthropic.to_body(request(USER), parallel_tool_calls=False)
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert "parallel_tool_calls" not in body


# Settings


@pytest.mark.parametrize("model", ["", "m"])
@pytest.mark.parametrize("choice", ["auto", "required", "none", "add"])
def test_openai_is_the_body_of_the_request(model, choice):
    made = request(*PARALLEL, choice=choice, seed=7)
    named = {"model": model} if model else {}
    assert openai.to_body(made, model, temperature=0) == made.body(temperature=0, **named)


@with_config(ConfigDict(extra="forbid"))
class StrictBody(CompletionCreateParamsNonStreaming):
    """The official client's own type, without room for other keys."""


@pytest.mark.parametrize("choice", ["auto", "required", "none", "add"])
def test_openai_bodies_are_what_the_official_client_types_say(choice):
    body = openai.to_body(request(*PARALLEL, choice=choice), "m", temperature=0)
    TypeAdapter(StrictBody).validate_python(body)
    TypeAdapter(ChatCompletionToolChoiceOptionParam).validate_python(body["tool_choice"])
    with pytest.raises(ValidationError):
        TypeAdapter(StrictBody).validate_python({**body, "toolChoice": "auto"})


SAMPLING = {"temperature": 0, "top_p": 0.5, "stop": "END", "max_tokens": 9}


def test_settings_in_the_words_of_each_api():
    made = Request([USER], settings={"temperature": 1})
    sampled = {"temperature": 1, "top_p": 0.5}
    assert openai.to_body(made, **SAMPLING).items() >= {**SAMPLING, "temperature": 1}.items()
    body = anthropic.to_body(made, "m", **SAMPLING)
    assert body.items() >= {**sampled, "stop_sequences": ["END"], "max_tokens": 9, "model": "m"}.items()
    body = gemini.to_body(made, "m", **SAMPLING, generationConfig={"topK": 3})
    assert body["generationConfig"] == {
        "temperature": 1,
        "topP": 0.5,
        "stopSequences": ["END"],
        "maxOutputTokens": 9,
        "topK": 3,
    }
    assert body.keys() == {"generationConfig", "contents"}
    body = ollama.to_body(made, "m", **SAMPLING, think=False)
    assert body["options"] == {**sampled, "stop": "END", "num_predict": 9}
    assert (body["model"], body["stream"], body["think"]) == ("m", False, False)


@pytest.mark.parametrize("name", NAMES)
def test_the_settings_given_are_not_changed(name):
    given_ = {"options": {"seed": 1}, "generationConfig": {"seed": 1}}
    APIS[name].to_body(request(USER, temperature=1), "m", **given_)
    assert given_ == {"options": {"seed": 1}, "generationConfig": {"seed": 1}}


def test_anthropic_always_says_how_many_tokens():
    assert anthropic.to_body(request(USER))["max_tokens"] == 8192
    assert anthropic.to_body(request(USER, max_completion_tokens=9))["max_tokens"] == 9


# Messages


def test_parallel_calls_in_anthropics_form():
    assert anthropic.to_body(request(*PARALLEL))["messages"] == [
        USER,
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "b", "name": "add", "input": {"a": 1}},
                {"type": "tool_use", "id": "a", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "2"},
                {"type": "tool_result", "tool_use_id": "a", "content": "noon"},
            ],
        },
    ]


def test_parallel_calls_in_geminis_form():
    assert gemini.to_body(request(*PARALLEL))["contents"] == [
        {"role": "user", "parts": [{"text": USER["content"]}]},
        {
            "role": "model",
            "parts": [
                {"functionCall": {"id": "b", "name": "add", "args": {"a": 1}}},
                {"functionCall": {"id": "a", "name": "now", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "b", "name": "add", "response": {"output": "2"}}},
                {"functionResponse": {"id": "a", "name": "now", "response": {"output": "noon"}}},
            ],
        },
    ]


def test_parallel_calls_in_ollamas_form():
    assert ollama.to_body(request(*PARALLEL))["messages"] == [
        USER,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "b", "function": {"name": "add", "arguments": {"a": 1}}},
                {"id": "a", "function": {"name": "now", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": "2", "tool_name": "add", "tool_call_id": "b"},
        {"role": "tool", "content": "noon", "tool_name": "now", "tool_call_id": "a"},
    ]


def test_system_messages_stand_apart_where_the_api_wants_it():
    made = request({"role": "system", "content": "A"}, USER, {"role": "developer", "content": "B"})
    assert anthropic.to_body(made)["system"] == "A\n\nB"
    assert gemini.to_body(made)["systemInstruction"] == {"parts": [{"text": "A\n\nB"}]}
    assert len(anthropic.to_body(made)["messages"]) == len(gemini.to_body(made)["contents"]) == 1
    assert [m["role"] for m in ollama.to_body(made)["messages"]] == ["system", "user", "system"]


def test_text_beside_a_call_comes_first():
    made = request(USER, asks(call(), content="Let me see."), answers())
    assert anthropic.to_body(made)["messages"][1]["content"][0] == {"type": "text", "text": "Let me see."}
    assert gemini.to_body(made)["contents"][1]["parts"][0] == {"text": "Let me see."}
    assert ollama.to_body(made)["messages"][1]["content"] == "Let me see."


def test_a_message_that_says_nothing_is_left_out_where_the_api_takes_none():
    made = request(USER, {"role": "assistant", "content": None})
    assert len(anthropic.to_body(made)["messages"]) == len(gemini.to_body(made)["contents"]) == 1
    assert ollama.to_body(made)["messages"][1] == {"role": "assistant", "content": ""}


def test_results_of_two_turns_stay_two_turns():
    made = request(USER, asks(call("a")), answers("a"), asks(call("b")), answers("b"), USER)
    roles = ["user", "assistant", "user", "assistant", "user", "user"]
    assert [m["role"] for m in anthropic.to_body(made)["messages"]] == roles
    assert [m["role"].replace("model", "assistant") for m in gemini.to_body(made)["contents"]] == roles


@pytest.mark.parametrize("envelope", ["json", "plain"])
def test_a_failed_result_says_so(envelope):
    failed = make_result(Outcome(error=Failure("timeout", "gave up")), "c1", envelope).message
    made = request(USER, asks(call()), failed)
    assert anthropic.to_body(made)["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": failed["content"], "is_error": True}
    ]
    response = gemini.to_body(made)["contents"][2]["parts"][0]["functionResponse"]["response"]
    expected = json.loads(failed["content"]) if envelope == "json" else {"error": failed["content"]}
    assert response == expected
    assert ollama.to_body(made)["messages"][2]["content"] == failed["content"]


def test_a_result_that_is_an_object_is_one_for_gemini():
    made = request(USER, asks(call()), make_result(Outcome({"Ort": "東京"}), "c1", "plain").message)
    part = gemini.to_body(made)["contents"][2]["parts"][0]
    assert part["functionResponse"]["response"] == {"Ort": "東京"}
    assert "is_error" not in anthropic.to_body(made)["messages"][2]["content"][0]


def sent_arguments(name, body):
    message = body["contents" if name == "gemini" else "messages"][1]
    if name == "gemini":
        return message["parts"][0]["functionCall"]["args"]
    if name == "anthropic":
        return message["content"][0]["input"]
    return message["tool_calls"][0]["function"]["arguments"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (" \n", {}),
        (None, {}),
        ('{"a": 1', {"_raw": '{"a": 1'}),
        ('{"a":1,"a":2}', {"_raw": '{"a":1,"a":2}'}),
        ('{"a": NaN}', {"_raw": '{"a": NaN}'}),
        ('"{}"', {"_raw": '"{}"'}),
        ("[1]", {"_raw": "[1]"}),
        ([1], {"_raw": "[1]"}),
        ("[" * 9_999, {"_raw": "[" * 9_999}),
    ],
)
@pytest.mark.parametrize("name", CONVERTED)
def test_broken_arguments_stay_visible(name, arguments, expected):
    made = request(USER, asks(call(arguments=arguments)), answers())
    assert sent_arguments(name, APIS[name].to_body(made)) == expected


BROKEN = {
    "an unknown role": [{"role": "robot", "content": ""}],
    "no role": [{"content": ""}],
    "an image": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}],
    "content that is a number": [{"role": "user", "content": 1}],
    "calls that are no list": [{"role": "assistant", "tool_calls": "add"}],
    "a call without a function": [{"role": "assistant", "tool_calls": [{"id": "c"}]}],
    "a call without a name": [asks({"id": "c", "function": {"arguments": ""}})],
    "a result without a call": [USER, answers()],
    "a result before its call": [answers(), asks(call())],
    "a result without an id": [asks(call()), {"role": "tool", "content": ""}],
}


@pytest.mark.parametrize("name", CONVERTED)
@pytest.mark.parametrize("what", BROKEN)
def test_what_has_no_form_is_named(name, what):
    with pytest.raises(InvalidInput, match="expected"):
        APIS[name].to_body(request(*BROKEN[what]))


@pytest.mark.parametrize("name", CONVERTED)
@pytest.mark.parametrize("tool", [{}, {"function": None}, {"function": {}}, "add"])
def test_a_tool_without_a_name_is_named(name, tool):
    with pytest.raises(InvalidInput, match="a tool is"):
        APIS[name].to_body(Request([USER], (tool,)))


def test_an_id_that_comes_again_belongs_to_the_latest_call():
    same = [asks(call("x")), answers("x"), asks(call("x", "now"), call("x", "add")), *[answers("x")] * 2]
    messages = ollama.to_body(request(USER, *same))["messages"]
    assert [m["tool_name"] for m in messages if m["role"] == "tool"] == ["add", "now", "add"]


def test_an_id_that_is_no_text_is_written_all_the_same():
    messages = [{"role": "user", "content": "Hi"}, {"role": "tool", "tool_call_id": {"a": 1}, "content": "z"}]
    assert "z" in str(APIS["responses"].to_body(Request(messages), "m"))


def test_an_argument_called_raw_is_no_wrapped_text_unless_it_is_a_text():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"_raw": null}'}}
    asked = request({"role": "assistant", "content": None, "tool_calls": [call]})
    assert APIS["responses"].from_body(APIS["responses"].to_body(asked)).messages[0]["tool_calls"] == [call]
