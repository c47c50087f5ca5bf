"""One conversation in four formats: what is sent, what comes back, and that no result loses its call."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionToolChoiceOptionParam
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from zoolab import Tool, ToolRegistry
from zoolab.errors import InvalidInput, ModelError
from zoolab.records import Failure, Outcome, Request, ToolCall
from zoolab.steps.result import make_result
from zoolab.steps.tool_call import read_calls
from zoolab.wire import FORMATS, anthropic, gemini, ollama, openai, wire_format

NUMBER = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOLS = ToolRegistry([Tool("add", "Add.", NUMBER), Tool("now", "The time.", {"type": "object"})])
NAMES = sorted(FORMATS)
CONVERTED = ["anthropic", "gemini", "ollama"]

USER = {"role": "user", "content": "Grüße, 東京 🌦️"}


def call(id="c1", name="add", arguments='{"a":1}'):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def answers(id="c1", content="2"):
    return {"role": "tool", "tool_call_id": id, "content": content}


def request(*messages, choice="auto", tools=TOOLS, **settings):
    return Request(list(messages), tuple(tools.schemas()), choice, settings)


PARALLEL = [USER, asks(call("b"), call("a", "now", "")), answers("b", "2"), answers("a", "noon")]


def test_a_format_is_found_by_its_name():
    assert wire_format("gemini") is gemini


@pytest.mark.parametrize("name", ["Gemini", "", None, ["openai"]])
def test_an_unknown_format_is_an_error_that_names_the_known(name):
    with pytest.raises(InvalidInput, match="openai, anthropic, gemini, ollama"):
        wire_format(name)


# Choices

CHOICES = [
    ("openai", "auto", "auto"),
    ("openai", "required", "required"),
    ("openai", "none", "none"),
    ("openai", "add", {"type": "function", "function": {"name": "add"}}),
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
    body = FORMATS[name].to_body(request(USER, choice=choice))
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
    body = FORMATS[name].to_body(Request([USER], tool_choice="required"))
    assert body.keys().isdisjoint({"tools", "tool_choice", "toolConfig"})


@pytest.mark.parametrize("name", NAMES)
def test_tools_look_as_the_registry_writes_them(name):
    tools = FORMATS[name].to_body(request(USER))["tools"]
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
    FORMATS[name].to_body(request(USER, temperature=1), "m", **given_)
    assert given_ == {"options": {"seed": 1}, "generationConfig": {"seed": 1}}


def test_anthropic_always_says_how_many_tokens():
    assert anthropic.to_body(request(USER))["max_tokens"] == 1024


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
    assert sent_arguments(name, FORMATS[name].to_body(made)) == expected


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
        FORMATS[name].to_body(request(*BROKEN[what]))


@pytest.mark.parametrize("name", CONVERTED)
@pytest.mark.parametrize("tool", [{}, {"function": None}, {"function": {}}, "add"])
def test_a_tool_without_a_name_is_named(name, tool):
    with pytest.raises(InvalidInput, match="a tool is"):
        FORMATS[name].to_body(Request([USER], (tool,)))


def test_an_id_that_comes_again_belongs_to_the_latest_call():
    same = [asks(call("x")), answers("x"), asks(call("x", "now"), call("x", "add")), *[answers("x")] * 2]
    messages = ollama.to_body(request(USER, *same))["messages"]
    assert [m["tool_name"] for m in messages if m["role"] == "tool"] == ["add", "now", "add"]


# Responses


def response(name, text, calls):
    """What each API answers with a text and calls of (id, name, arguments)."""
    if name == "openai":
        tool_calls = [call(id, tool, json.dumps(arguments)) for id, tool, arguments in calls]
        return {"choices": [{"message": {"role": "assistant", "content": text, "tool_calls": tool_calls}}]}
    if name == "anthropic":
        blocks = [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in calls]
        return {"content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": text}, *blocks]}
    if name == "gemini":
        parts = [{"functionCall": {"id": i, "name": n, "args": a}} for i, n, a in calls]
        thought = {"text": "?", "thought": True}
        return {"candidates": [{"content": {"role": "model", "parts": [thought, {"text": text}, *parts]}}]}
    wanted = [{"id": i, "function": {"index": 0, "name": n, "arguments": a}} for i, n, a in calls]
    return {"message": {"role": "assistant", "content": text, "thinking": "?", "tool_calls": wanted}}


CALLS = [("b", "add", {"a": 1}), ("a", "now", {}), ("c", "add", {"Ort": "東京 🌦️"})]


@pytest.mark.parametrize("name", NAMES)
def test_a_response_with_calls_is_read(name):
    message = FORMATS[name].from_response(response(name, "Let me see.", CALLS))
    assert (message["role"], message["content"]) == ("assistant", "Let me see.")
    assert [(c.id, c.name, json.loads(c.arguments)) for c in read_calls(message)] == CALLS
    assert {c["type"] for c in message["tool_calls"]} == {"function"}


@pytest.mark.parametrize("name", NAMES)
def test_a_response_of_text_has_no_calls(name):
    assert FORMATS[name].from_response(response(name, "Grüße", [])) == {
        "role": "assistant",
        "content": "Grüße",
    }


@pytest.mark.parametrize("id", [None, 7])
@pytest.mark.parametrize("name", NAMES)
def test_an_id_that_is_missing_or_no_text_stays_missing(name, id):
    message = FORMATS[name].from_response(response(name, "", [(id, "add", {"a": 1})]))
    assert "id" not in message["tool_calls"][0]
    assert read_calls(message) == [ToolCall(1, 0, "call_1", "add", _text(name, {"a": 1}), original_id="")]


def _text(name, arguments):
    return json.dumps(arguments, separators=(", ", ": ") if name == "openai" else (",", ":"))


@pytest.mark.parametrize("name", CONVERTED)
def test_a_call_without_text_has_null_content(name):
    assert FORMATS[name].from_response(response(name, "", CALLS))["content"] is None


def test_what_else_openai_says_is_kept():
    message = {"role": "assistant", "content": None, "refusal": "No.", "annotations": []}
    assert openai.from_response({"choices": [{"message": message}]}) == message


def test_arguments_that_come_as_an_object_become_text():
    message = asks(call(arguments={"a": 1}))
    read = openai.from_response({"choices": [{"message": message}]})
    assert read["tool_calls"][0]["function"]["arguments"] == '{"a":1}'


def test_content_in_parts_becomes_text():
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hi"}]
    assert openai.from_response({"choices": [{"message": {"content": parts}}]})["content"] == "Hi"


def test_calls_that_anthropic_answers_itself_are_none_of_ours():
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    assert anthropic.from_response({"content": [block]}) == {"role": "assistant", "content": None}


def test_geminis_thought_signature_goes_back_with_its_call():
    part = {"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}, "thoughtSignature": "Cv=="}
    message = gemini.from_response({"candidates": [{"content": {"parts": [part]}}]})
    assert gemini.to_body(request(USER, message))["contents"][1]["parts"] == [part]


CYCLE: dict = {}
CYCLE["again"] = CYCLE
DEEP: list = []
for _ in range(100_000):
    DEEP = [DEEP]

JUNK = [
    *(None, 1, "", "<html>", [], {}, {"error": {"message": "overloaded"}}, {"choices": []}),
    *({"choices": None}, {"choices": {}}, {"choices": [None]}, {"choices": [{}]}),
    *({"choices": [{"message": m}]} for m in ("Hi", {"content": 1}, {"role": "user", "content": "Hi"})),
    *({"choices": [{"message": {"tool_calls": c}}]} for c in ("x", {"a": 1}, [1], [{}], [{"function": 1}])),
    *({"choices": [{"message": {"content": c}}]} for c in ([1], [{"type": "text"}], {"a": 1})),
    *({"content": c} for c in ("Hi", None, [1], [{"type": "text"}], [{"type": "text", "text": 1}])),
    {"content": [{"type": "tool_use", "name": "add", "input": CYCLE}]},
    {"content": [{"type": "tool_use", "name": "add", "input": {"a": {1, 2}}}]},
    *({"candidates": c} for c in ("x", [], [1], [{}], [{"finishReason": "SAFETY"}], [{"content": 1}])),
    *({"candidates": [{"content": {"parts": p}}]} for p in ("x", [1], [{"text": 1}], [{"functionCall": 1}])),
    {"choices": [{"message": {"content": DEEP}}], "candidates": DEEP, "message": DEEP, "content": DEEP},
    {"promptFeedback": {"blockReason": "OTHER"}},
    *({"message": m} for m in (None, "Hi", {"content": 1}, {"tool_calls": "x"}, {"tool_calls": [1]})),
    {"message": {"tool_calls": [{"function": "add"}]}},
]


@pytest.mark.parametrize("body", JUNK, ids=range(len(JUNK)))
@pytest.mark.parametrize("name", NAMES)
def test_junk_is_a_model_error(name, body):
    with pytest.raises(ModelError, match="expected"):
        FORMATS[name].from_response(body)


KEYS = st.sampled_from(
    [
        *("choices", "message", "content", "tool_calls", "function", "name", "arguments", "candidates"),
        *("parts", "functionCall", "args", "text", "type", "role", "input", "id", "extra_content"),
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "text", "tool_use", "assistant", "add"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("name", NAMES)
@given(body=st.dictionaries(KEYS, ANYTHING))
def test_any_json_is_a_message_or_a_model_error(name, body):
    try:
        message = FORMATS[name].from_response(body)
    except ModelError:
        return
    assert message["role"] == "assistant"
    assert message["content"] is None or isinstance(message["content"], str)
    assert len(read_calls(message)) == len(message.get("tool_calls", ()))


# Any conversation

ARGUMENTS = st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(-9, 9), max_size=2)
TURN = st.tuples(
    st.text(max_size=8) | st.none(),
    st.lists(st.tuples(st.sampled_from(["add", "now"]), ARGUMENTS), max_size=4),
    st.sampled_from(["noon", "ERROR: late", '{"success":false}', '{"a":1}', ""]),
    st.text(min_size=1, max_size=8),
)


@st.composite
def conversations(draw):
    """Messages, and the calls in them by order: (id, name, arguments)."""
    messages, made = [{"role": "system", "content": "Be brief."}, USER], []
    for text, calls, result, question in draw(st.lists(TURN, max_size=4)):
        own = [(f"c{len(made) + i}", name, arguments) for i, (name, arguments) in enumerate(calls)]
        made += own
        wire = [call(id, name, json.dumps(arguments)) for id, name, arguments in own]
        messages.append(asks(*wire, content=text) if own else {"role": "assistant", "content": text})
        messages += [answers(id, result) for id, _, _ in own]
        messages += [] if own else [{"role": "user", "content": question}]
    return messages, made


def events(name, body):
    """Every call and every result of a body, in order: (kind, id, name or None, arguments or None)."""
    if name == "anthropic":
        blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
        return [
            ("call", b["id"], b["name"], b["input"])
            if b["type"] == "tool_use"
            else ("result", b["tool_use_id"], None, None)
            for b in blocks
            if b["type"] != "text"
        ]
    if name == "gemini":
        parts = [p for turn in body["contents"] for p in turn["parts"] if "text" not in p]
        return [
            ("call", p["functionCall"]["id"], p["functionCall"]["name"], p["functionCall"]["args"])
            if "functionCall" in p
            else ("result", p["functionResponse"]["id"], p["functionResponse"]["name"], None)
            for p in parts
        ]
    found = []
    for m in body["messages"]:
        for c in m.get("tool_calls", ()):
            arguments = c["function"]["arguments"]
            parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
            found.append(("call", c["id"], c["function"]["name"], parsed))
        if m["role"] == "tool":
            found.append(("result", m["tool_call_id"], m.get("tool_name"), None))
    return found


@pytest.mark.parametrize("name", NAMES)
@given(conversation=conversations())
def test_every_call_keeps_its_place_and_its_one_result(name, conversation):
    messages, made = conversation
    before = json.dumps(messages)
    body = FORMATS[name].to_body(request(*messages), "m")
    seen = events(name, body)
    assert [event[1:] for event in seen if event[0] == "call"] == made
    assert [event[1] for event in seen if event[0] == "result"] == [id for id, _, _ in made]
    names = {id: tool for id, tool, _ in made}
    assert all(tool in (None, names[id]) for kind, id, tool, _ in seen if kind == "result")
    place = {event[:2]: at for at, event in enumerate(seen)}
    assert all(place["call", id] < place["result", id] for id in names)
    assert json.dumps(messages) == before
    json.dumps(body, allow_nan=False)


@pytest.mark.parametrize("name", NAMES)
@given(conversation=conversations())
def test_the_results_follow_their_calls_at_once(name, conversation):
    """Between a call and its result stand only calls and results of the same turn."""
    body = FORMATS[name].to_body(request(*conversation[0]), "m")
    turns = body["contents"] if name == "gemini" else body["messages"]
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        calls = [e for e in events(name, _alone(name, turn)) if e[0] == "call"]
        if calls and name in ("anthropic", "gemini"):
            results = events(name, _alone(name, following))
            assert [e[:2] for e in results] == [("result", e[1]) for e in calls]


def _alone(name, turn):
    return {"contents" if name == "gemini" else "messages": [turn]}


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(min_size=1, max_size=9), calls=st.lists(ARGUMENTS, max_size=3))
def test_a_reply_that_is_sent_back_says_the_same(name, text, calls):
    wanted = [(f"c{slot}", "add", arguments) for slot, arguments in enumerate(calls)]
    message = FORMATS[name].from_response(response(name, text, wanted))
    results = [answers(id) for id, _, _ in wanted]
    body = FORMATS[name].to_body(request(USER, message, *results), "m")
    assert [event[1:] for event in events(name, body) if event[0] == "call"] == wanted
    assert text in json.dumps(body, ensure_ascii=False) or json.dumps(text)[1:-1] in json.dumps(body)
