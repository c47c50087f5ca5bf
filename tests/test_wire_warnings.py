"""Each warning by example, on the wires that give it; and bodies of others, read as they mean it."""

from dataclasses import replace

import pytest
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, with_config
from talk import CONVERTED, OWN, USER, answers, asks, call, request

from zoolab.apis import APIS, translate, translate_reply
from zoolab.apis.wire_warnings import CODES as TEXTS
from zoolab.errors import InvalidInput
from zoolab.records import Request, Withheld

anthropic, gemini, ollama, responses = (
    APIS["anthropic"],
    APIS["gemini"],
    APIS["ollama"],
    APIS["responses"],
)

CODES = set(TEXTS)
SPEAKS = {"max_tokens": 9, "stream": False}  # what every wire takes, and some would add
OTHERS = ["responses", *CONVERTED]
APART = ["anthropic", "gemini"]


def tool(**more):
    return {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}, **more}}


def plain(*messages, tools=(), choice="auto", **settings):
    return Request([USER, *messages], tools, choice, settings)


IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
SYSTEM = {"role": "system", "content": "Be brief."}
DEVELOPER = {"role": "developer", "content": "Be brief."}
SEARCH = ({"type": "web_search"},)
NAMELESS = {"function": {"name": "add", "arguments": "{}"}}
BARE = {"role": "assistant", "content": None, "tool_calls": [NAMELESS]}

EXAMPLES = [
    ("tool_choice", "/tool_choice", plain(tools=(tool(),), choice="required"), ["ollama"]),
    ("tool_choice", "/tool_choice", plain(tools=(tool(),), choice="add"), ["ollama"]),
    ("tool_choice", "/tool_choice", plain(choice="required"), OWN),
    ("tools_left_out", "/tools", plain(tools=(tool(),), choice="none"), ["ollama"]),
    ("strict", "/tools/0/function/strict", plain(tools=(tool(strict=True),)), ["gemini", "ollama"]),
    (
        "schema_subset",
        "/tools/0/function/parameters",
        plain(tools=(tool(parameters={"type": "object", "minProperties": 1}),)),
        ["gemini"],
    ),
    ("tool_field", "/tools/0/type", plain(tools=({"function": {"name": "now"}},)), OTHERS),
    ("foreign_tool", "/tools/0", plain(tools=SEARCH), ["openai", "responses", "anthropic"]),
    ("system_moved", "/messages/1", plain(SYSTEM), APART),
    ("system_joined", "/messages/2", plain(SYSTEM, SYSTEM), APART),
    ("messages_merged", "/messages/2", plain(asks(call("a")), asks(call("b"))), ["responses"]),
    ("message_dropped", "/messages/1", plain({"role": "user", "content": ""}), ["responses", *APART]),
    ("role_changed", "/messages/1/role", plain(DEVELOPER), CONVERTED),
    ("parts_joined", "/messages/1/content", plain({"role": "user", "content": []}), OTHERS),
    ("empty_content", "/messages/1/content", plain(asks(call(), content="")), OTHERS),
    ("message_field", "/messages/1/name", plain({**USER, "name": "ada"}), OTHERS),
    ("id_made", "/messages/1/tool_calls/0/id", plain(BARE), OTHERS),
    (
        "arguments_rewritten",
        "/messages/1/tool_calls/0/function/arguments",
        plain(asks(call(arguments='{"a": 1}'))),
        CONVERTED,
    ),
    (
        "arguments_wrapped",
        "/messages/1/tool_calls/0/function/arguments",
        plain(asks(call(arguments="{"))),
        [*CONVERTED, "responses"],
    ),
    ("result_rewritten", "/messages/2/content", plain(asks(call()), answers(content='{"a": 1}')), ["gemini"]),
    ("setting_dropped", "/seed", plain(seed=1), ["responses", "anthropic"]),
    ("setting_dropped", "/parallel_tool_calls", plain(parallel_tool_calls=True), CONVERTED),
    ("setting_changed", "/stop", plain(stop="END"), APART),
    ("setting_changed", "/max_completion_tokens", plain(max_completion_tokens=9), CONVERTED),
    ("setting_added", "/max_tokens", plain(), ["anthropic"]),
    ("setting_added", "/stream", plain(), ["ollama"]),
]


@pytest.mark.parametrize(("code", "pointer", "asked", "wires"), EXAMPLES)
def test_a_warning_is_given_where_it_belongs_and_nowhere_else(code, pointer, asked, wires):
    assert [name for name in OWN if (code, pointer) in told(asked, name)] == sorted(wires)


def told(asked, name):
    """What a wire says of a request, and where; nothing, if it has no form for it."""
    try:
        return [(warning.code, warning.pointer) for warning in translate(asked, name).warnings]
    except InvalidInput:
        return []


def test_every_code_of_the_table_has_an_example():
    assert {code for code, *_ in EXAMPLES} == CODES - {"no_form"}


@pytest.mark.parametrize("name", OWN)
def test_a_usual_request_has_no_warning(name):
    asked = Request(
        [SYSTEM, USER, asks(call()), answers(), {"role": "assistant", "content": "2"}, USER],
        (tool(description="Add."),),
        settings={"temperature": 0, **{key: SPEAKS[key] for key in NEEDS.get(name, ())}},
    )
    made = translate(asked, name)
    assert made.warnings == ()
    assert APIS[name].from_body(made.body) == asked


NEEDS = {"anthropic": ["max_tokens"], "ollama": ["stream"]}


@pytest.mark.parametrize("name", OTHERS)
def test_an_image_has_no_form(name):
    with pytest.raises(InvalidInput, match="parts of text"):
        translate(Request([IMAGE]), name)


@pytest.mark.parametrize("name", OWN)
def test_what_a_retriever_left_out_is_not_sent_and_no_warning(name):
    asked = plain(**SPEAKS)
    narrowed = replace(asked, withheld=(Withheld("now", 9, 0.1, "rank 9"),))
    assert translate(narrowed, name) == translate(asked, name)


def test_of_two_names_for_one_setting_one_is_left_out():
    warnings = translate(plain(max_tokens=9, max_completion_tokens=8), "anthropic").warnings
    assert [(w.code, w.pointer) for w in warnings] == [
        ("setting_changed", "/max_tokens"),
        ("setting_changed", "/max_completion_tokens"),
    ]
    warnings = translate(plain(max_completion_tokens=8, max_tokens=9), "gemini").warnings
    assert [(w.code, w.pointer) for w in warnings] == [("setting_dropped", "/max_completion_tokens")]


# Bodies as OpenAI's own client knows them


@with_config(ConfigDict(extra="forbid"))
class StrictBody(ResponseCreateParamsNonStreaming):
    """The official client's own type, without room for other keys."""


CONVERSATION = [DEVELOPER, USER, asks(call(), content="Let me see."), answers(), DEVELOPER, USER]


@pytest.mark.parametrize("choice", ["auto", "required", "none", "add"])
@pytest.mark.parametrize("strict", [True, False])
def test_responses_bodies_are_what_the_official_client_types_say(choice, strict):
    tools = (tool(strict=strict, description="Add."), tool())
    asked = Request(CONVERSATION, tools, choice, {"max_tokens": 9, "reasoning_effort": "low"})
    TypeAdapter(StrictBody).validate_python(responses.to_body(asked, "gpt", temperature=0))


def test_a_reply_is_a_response_of_the_official_client():
    message = asks(call(), content="Let me see.")
    Response.model_validate(responses.to_response(message), strict=True)
    ChatCompletion.model_validate(APIS["openai"].to_response(message), strict=True)


def test_responses_says_false_where_chat_says_nothing():
    made = responses.to_body(request(USER))["tools"]
    assert [(item["type"], item["name"], item["strict"]) for item in made] == [
        ("function", "add", False),
        ("function", "now", False),
    ]


# Bodies of others


def test_parts_of_a_conversation_in_the_words_of_responses():
    body = {
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": '{"a":1}'},
            {"type": "function_call_output", "call_id": "c1", "output": "2"},
        ],
        "tools": [{"type": "function", "name": "add", "parameters": None}],
        "tool_choice": {"type": "function", "name": "add"},
    }
    read = responses.from_body(body)
    assert [m["role"] for m in read.messages] == ["system", "user", "assistant", "tool"]
    assert read.messages[2]["tool_calls"] == [call()]
    assert (read.tools[0]["function"], read.tool_choice) == ({"name": "add", "strict": None}, "add")
    again = responses.to_body(read)
    assert again["input"][1] == body["input"][1]
    assert again["tools"] == body["tools"]


def test_a_failure_that_anthropic_flags_says_so_in_words():
    said = {"content": [{"type": "text", "text": "late"}], "is_error": True}
    result = {"type": "tool_result", "tool_use_id": "c1", **said}
    use = {"type": "tool_use", "id": "c1", "name": "add", "input": {}}
    turns = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    assert anthropic.from_body({"messages": turns}).messages[1] == answers(content="ERROR: late")


def test_calls_and_results_without_ids_are_paired_by_name_and_place():
    names = ["add", "now", "add"]
    parts = [{"functionCall": {"name": name, "args": {"n": n}}} for n, name in enumerate(names)]
    results = [
        {"functionResponse": {"name": name, "response": {"output": name}}} for name in ["now", "add", "add"]
    ]
    body = {"contents": [{"role": "model", "parts": parts}, {"role": "user", "parts": results}]}
    ids = [m["tool_call_id"] for m in gemini.from_body(body).messages[1:]]
    assert ids == ["call00002", "call00001", "call00003"]
    wanted = [{"function": {"name": name, "arguments": {}}} for name in names]
    said = [{"role": "tool", "tool_name": name, "content": name} for name in ["now", "add"]]
    asked = {"role": "assistant", "content": "", "tool_calls": wanted}
    messages = [asked, *said, {"role": "tool", "content": ""}]
    ids = [m["tool_call_id"] for m in ollama.from_body({"messages": messages}).messages[1:]]
    assert ids == ["call00002", "call00001", "call00003"]


@pytest.mark.parametrize("name", CONVERTED)
def test_broken_arguments_come_back_as_the_raw_text(name):
    made = translate_reply(asks(call(arguments='{"a": ')), name)
    assert "_raw" in str(made.body)
    assert APIS[name].from_response(made.body) == asks(call(arguments='{"a": '))
